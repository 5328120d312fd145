// Attacks the sign-in by a code from an email: guesses, other browsers, later and again, unknown addresses, and users with power.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { redeem, withoutLimits } from '../helpers/grants.ts';
import { MailServer } from '../helpers/mail-server.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  responseParameters,
  UserAgent,
  withoutReference,
} from '../helpers/user-agent.ts';

const wrongCode = 'That code is wrong or expired.';
const subject = /Your sign-in code/;
const server = new MailServer();
let service: TestService;
beforeAll(async () => {
  await server.start();
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      EMAIL_SIGN_IN: 'on',
      LIMIT_MAILED_LINKS: '3',
      LIMIT_MAILED_LINKS_PER_NETWORK: '0',
      REQUIRE_SECOND_FACTOR_GROUPS: 'ops',
      SMTP_URL: `smtp://gatehouse:let%20me%20in@127.0.0.1:${server.port}`,
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await server.stop();
});

const sql = <Row extends Record<string, unknown>>(text: string, ...values: unknown[]) =>
  service.database.sql<Row>(text, values);
let number = 0;
async function newUser(person: Parameters<TestService['createUser']>[0] = {}) {
  const email = `coded-${++number}@example.com`;
  return { ...(await service.createUser({ email, emailVerified: true, ...person })), email };
}
/** Asks for a code; ends at the page that takes it. */
async function ask(agent: UserAgent, login: string, fields: Record<string, string> = {}, start = '/login/email') {
  const page = await agent.submit(await agent.get(start), { login, ...fields });
  expect(page.url).toContain('/login/email/code');
  return page;
}
async function mailedCode(email: string): Promise<string> {
  const { text } = await server.find(email, subject);
  const code = /^([BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4})$/m.exec(text)![1]!;
  server.mails.splice(0);
  return code;
}
const codeMails = () => server.mails.filter(({ parsed }) => subject.test(parsed.subject ?? ''));
const enter = (agent: UserAgent, page: Page, code: string) => agent.submit(page, { code });
const otherThan = (code: string) => (code === 'BBBB-BBBB' ? 'CCCC-CCCC' : 'BBBB-BBBB');
const isSignedIn = async (agent: UserAgent) => (await agent.get('/account')).status === 200;
/** What a page says, without the tokens of its forms. */
const said = (page: Page) => [page.status, withoutReference(page).replace(/value="[^"]{20,}"/g, '')];
/** Waits until every mail is sent, or turned out not to be. */
const quiet = () =>
  expect.poll(async () => (await sql<{ n: number }>('SELECT count(*)::int AS n FROM outbox'))[0]!.n).toBe(0);
const triesOf = async () =>
  (await sql<{ tries: number }>('SELECT tries FROM sign_in_codes ORDER BY expires_at DESC LIMIT 1'))[0]?.tries;

describe('a code from an email', () => {
  test.each([
    ['as it is written', (code: string) => code],
    ['in lower case, with spaces and without a hyphen', (code: string) => ` ${code.toLowerCase().replace('-', ' ')} `],
    ['with another dash', (code: string) => code.replace('-', ' – ')],
  ])(
    'signs in by the user name, %s, and the token says otp (federation F109, pages, code by email)',
    async (_, typed) => {
      const user = await newUser();
      const client = await service.createClient({}, { firstParty: true });
      const agent = new UserAgent(service);
      const start = await agent.follow(await agent.get(authorizationUrl(service.issuer, client)));
      const [, link] = /<a class="button" id="email-code" href="([^"]*)"/.exec(start.body)!;
      const page = await ask(agent, user.username, {}, link!.replaceAll('&amp;', '&'));
      const mail = await server.find(user.email, subject);
      expect(mail.text).toContain('expires in 10 minutes');
      const code = await mailedCode(user.email);
      const { body } = await redeem(
        service.issuer,
        client,
        responseParameters(await enter(agent, page, typed(code)))['code']!,
      );
      const claims = JSON.parse(
        Buffer.from((body['id_token'] as string).split('.')[1]!, 'base64url').toString(),
      ) as object;
      expect(claims).toMatchObject({ sub: user.sub, amr: ['otp'] });
      expect(claims).not.toHaveProperty('acr', expect.stringContaining('mfa'));
      // it is stored as a keyed hash, and gone with its use
      expect(await sql('SELECT FROM sign_in_codes WHERE sub = $1', user.sub)).toEqual([]);
    },
  );

  test('works by the address, and keeps the user signed in by choice (federation F109, pages, staying signed in)', async () => {
    const user = await newUser();
    const agent = new UserAgent(service);
    const page = await ask(agent, user.email.toUpperCase(), { remember: 'on' });
    await enter(agent, page, await mailedCode(user.email));
    expect(await isSignedIn(agent)).toBe(true);
    expect(await sql('SELECT remembered FROM sessions WHERE sub = $1', user.sub)).toEqual([{ remembered: true }]);
  });

  test('is refused after five wrong ones, and the page is the same (federation F109, security R62)', async () => {
    const user = await newUser();
    const agent = new UserAgent(service);
    let page = await ask(agent, user.username);
    const code = await mailedCode(user.email);
    const pages: Page[] = [];
    for (let guess = 0; guess < 5; guess++) pages.push((page = await enter(agent, page, otherThan(code))));
    pages.push(await enter(agent, page, code));
    for (const one of pages) expect(said(one)).toEqual(said(pages[0]!));
    expect(pages[0]!.body).toContain(wrongCode);
    expect(await triesOf()).toBe(5);
    expect(await isSignedIn(agent)).toBe(false);
  });

  test('is compared five times when fifty guesses arrive at once, on two instances (federation F109, security R62)', async () => {
    const user = await newUser();
    const agent = new UserAgent(service);
    const page = await ask(agent, user.username);
    const code = await mailedCode(user.email);
    const fields = hiddenFields(page.body);
    const guesses = Array.from({ length: 50 }, (_, index) =>
      agent.post(`${service.instances[index % 2]!}/login/email/code`, {
        ...fields,
        code: `BBBB-BBB${'BCDFGHJKLMNPQRSTVWXZ'[index % 20]}`,
      }),
    );
    for (const { status, body } of await Promise.all(guesses)) {
      expect(status).toBe(400);
      expect(body).toContain(wrongCode);
    }
    expect(await triesOf()).toBe(5);
    await enter(agent, page, code);
    expect(await isSignedIn(agent)).toBe(false);
  });

  test('that arrives fifty times at once signs in once (federation F109)', async () => {
    const user = await newUser();
    const agent = new UserAgent(service);
    const page = await ask(agent, user.username);
    const code = await mailedCode(user.email);
    const fields = hiddenFields(page.body);
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        // different forms: no double click
        agent.post(`${service.instances[index % 2]!}/login/email/code`, { ...fields, code, at: String(index) }),
      ),
    );
    const events = await sql(`SELECT FROM audit_events WHERE type = 'user.signed_in' AND sub = $1`, user.sub);
    expect(events).toHaveLength(1);
  });

  test('works in no other browser, and ends with the next one (federation F109)', async () => {
    const user = await newUser();
    const agent = new UserAgent(service);
    const page = await ask(agent, user.username);
    const code = await mailedCode(user.email);
    // a browser that has the cookie of the code alone, and one that asked for another code
    const thief = new UserAgent(service);
    thief.cookies.set('GATEHOUSE_EMAIL_CODE', agent.cookies.get('GATEHOUSE_EMAIL_CODE')!);
    const stolen = await enter(thief, await thief.get('/login/email/code'), code);
    const other = new UserAgent(service);
    const foreign = await enter(other, await ask(other, user.username), code);
    for (const refused of [stolen, foreign])
      expect(refused).toMatchObject({ status: 400, body: expect.stringContaining(wrongCode) });
    for (const one of [thief, other]) expect(await isSignedIn(one)).toBe(false);
    await mailedCode(user.email);
    const next = await ask(agent, user.username);
    expect(said(await enter(agent, next, code))).toEqual(said(foreign));
    expect(await isSignedIn(agent)).toBe(false);
    expect(page.status).toBe(200);
  });

  test('works once, and not after ten minutes (federation F109)', async () => {
    const user = await newUser();
    const agent = new UserAgent(service);
    const page = await ask(agent, user.username);
    const code = await mailedCode(user.email);
    await enter(agent, page, code);
    expect(await isSignedIn(agent)).toBe(true);
    agent.cookies.delete('JSESSIONOPENID');
    const again = await enter(agent, await ask(agent, 'nobody at all'), code);
    expect(again.body).toContain(wrongCode);
    const late = new UserAgent(service);
    const asked = await ask(late, user.username);
    const second = await mailedCode(user.email);
    await sql(`UPDATE sign_in_codes SET expires_at = expires_at - interval '10 minutes' WHERE sub = $1`, user.sub);
    expect(said(await enter(late, asked, second))).toEqual(said(again));
    expect(await isSignedIn(late)).toBe(false);
  });

  test('of a name without an account, or an address that is not confirmed, gets the same pages and no mail (federation F109, security R60)', async () => {
    const user = await newUser();
    const unconfirmed = await newUser({ emailVerified: false });
    const disabled = await newUser();
    await sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, disabled.sub);
    const answers: unknown[] = [];
    for (const login of [user.username, 'nobody', 'nobody@example.com', unconfirmed.email, disabled.email]) {
      const agent = new UserAgent(service);
      const page = await ask(agent, login);
      const refused = await enter(agent, page, 'BCDF-GHJK');
      answers.push([said(page), said(refused), [...agent.cookies.keys()].sort()]);
    }
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    await quiet();
    expect(codeMails().flatMap(({ to }) => to)).toEqual([user.email]);
    server.mails.splice(0);
  });

  test('is mailed three times an hour at most, and a request beyond gets the same page (federation F109, security R62)', async () => {
    const user = await newUser();
    const pages: unknown[] = [];
    for (let time = 0; time < 5; time++) {
      pages.push(said(await ask(new UserAgent(service), user.username)));
      await quiet();
    }
    for (const page of pages) expect(page).toEqual(pages[0]);
    expect(server.mails.filter(({ to }) => to.includes(user.email))).toHaveLength(3);
    server.mails.splice(0);
  });

  test('says nothing to a user whose address has changed, or who was disabled, meanwhile (federation F109)', async () => {
    for (const change of [`email = 'other-' || email`, `status = 'disabled'`, 'email_verified = false']) {
      const user = await newUser();
      const agent = new UserAgent(service);
      const page = await ask(agent, user.username);
      const code = await mailedCode(user.email);
      await sql(`UPDATE users SET ${change} WHERE sub = $1`, user.sub);
      expect((await enter(agent, page, code)).body, change).toContain(wrongCode);
      expect(await sql('SELECT FROM sessions WHERE sub = $1', user.sub)).toEqual([]);
    }
  });
});

describe('a code is never all that protects', () => {
  test('a second factor, also in a browser that has shown one (federation F109, security R127)', async () => {
    const user = await newUser();
    const home = new UserAgent(service);
    await home.signIn(user);
    const { app } = await setUpAuthenticator(home);
    await sql('UPDATE authenticators SET last_step = last_step - 3 WHERE sub = $1', user.sub);
    const agent = new UserAgent(service);
    const asked = await enter(agent, await ask(agent, user.username), await mailedCode(user.email));
    expect(asked.url).toContain('/login/second-factor');
    expect(await isSignedIn(agent)).toBe(false);
    await agent.submit(asked, { code: app.code() });
    expect(await isSignedIn(agent)).toBe(true);
    const [session] = await sql<{ amr: string[] }>(
      'SELECT amr FROM sessions WHERE sub = $1 ORDER BY id DESC LIMIT 1',
      user.sub,
    );
    expect(session!.amr).toEqual(['otp', 'mfa']);
  });

  test.each([
    ['an administrator', { admin: true }, 'admin = true'],
    ['a member of a guarded group', { groups: ['ops'] }, `groups = '{ops}'`],
  ])(
    '%s without a second factor, who gets none, and whose earlier one is refused (federation F109)',
    async (_who, power, becomes) => {
      const user = await newUser(power);
      const agent = new UserAgent(service);
      const page = await ask(agent, user.username);
      await quiet();
      expect(codeMails()).toEqual([]);
      const refused = await enter(agent, page, 'BCDF-GHJK');
      const plain = await newUser();
      const other = new UserAgent(service);
      const asked = await ask(other, plain.username);
      const code = await mailedCode(plain.email);
      await sql(`UPDATE users SET ${becomes} WHERE sub = $1`, plain.sub);
      expect(said(await enter(other, asked, code))).toEqual(said(refused));
      expect(await sql('SELECT FROM sessions WHERE sub = ANY ($1)', [user.sub, plain.sub])).toEqual([]);
    },
  );
});

test('without the setting there is no such page, form or button (federation F109)', async () => {
  const plain = await startTestService();
  try {
    const agent = new UserAgent(plain);
    const page = await agent.get('/login');
    expect(page.body).not.toContain('id="email-code"');
    for (const path of ['/login/email', '/login/email/code']) expect((await agent.get(path)).status).toBe(404);
    await agent.post('/login/email', { ...hiddenFields(page.body), login: 'admin' });
    await agent.post('/login/email/code', { ...hiddenFields(page.body), code: 'BCDF-GHJK' });
    expect(await plain.database.sql('SELECT FROM sign_in_codes')).toEqual([]);
    expect(await plain.database.sql(`SELECT FROM outbox WHERE name LIKE 'sign-in-code%'`)).toEqual([]);
  } finally {
    await plain.stop();
  }
});
