// Mail: every mail in every language, links that work once, and a queue from which nothing is lost and nothing goes twice.
import { statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { MailServer, mailsIn, type ReceivedMail } from '../helpers/mail-server.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

type User = Awaited<ReturnType<TestService['createUser']>>;

const server = new MailServer();
const fresh = 'three umbrellas under a lighthouse';
const environment = { ...withoutLimits, LIMIT_MAILED_LINKS: '0', LIMIT_MAILED_LINKS_PER_NETWORK: '0' };
let service: TestService;
let admin: string;
beforeAll(async () => {
  await server.start();
  service = await startTestService({
    instances: 2,
    environment: { ...environment, SMTP_URL: `smtp://gatehouse:let%20me%20in@127.0.0.1:${server.port}`, SIGN_UP: 'on' },
  });
  admin = await adminToken(service);
});
afterAll(async () => {
  await service?.stop();
  await server.stop();
});

let made = 0;
async function newUser(user: Parameters<TestService['createUser']>[0] = {}): Promise<User & { email: string }> {
  const email = `person-${++made}@example.com`;
  return { ...(await service.createUser({ email, emailVerified: true, ...user })) } as User & { email: string };
}
/** Sends the form of a page that asks for a link. */
async function order(path: string, fields: Record<string, string>, agent = new UserAgent(service)): Promise<Page> {
  return agent.post(path, { ...hiddenFields((await agent.get(path)).body), ...fields });
}
const forgotten = (login: string, agent?: UserAgent) => order('/password/forgotten', { login }, agent);
const linkTo = async (address: string, subject: RegExp): Promise<string> =>
  (await server.find(address, subject)).link!.replace(service.issuer, '');
/** Opens a link and presses its button; what is typed there beside. */
async function follow(link: string, fields: Record<string, string> = {}, agent = new UserAgent(service)) {
  const page = await agent.get(link);
  if (page.status !== 200) return page;
  return agent.post(link.split('?')[0]!, { ...hiddenFields(page.body), ...fields });
}
const takes = async (user: { username: string }, password: string) => {
  const agent = new UserAgent(service);
  await agent.signIn({ username: user.username, password });
  return (await agent.get('/account')).status === 200;
};
const eventsOf = async (sub: string, type: string) =>
  service.database.sql('SELECT detail FROM audit_events WHERE sub = $1 AND type = $2', [sub, type]);
const waiting = async () =>
  (await service.database.sql<{ n: number }>(`SELECT count(*)::int AS n FROM mails WHERE name <> 'registrations'`))[0]!
    .n;
const quiet = () => vi.waitUntil(async () => (await waiting()) === 0, { timeout: 10_000, interval: 20 });
const mailsTo = (address: string) => server.mails.filter((mail) => mail.to.includes(address));

describe('a forgotten password', () => {
  test.each([
    ['en', 'Choose a new password', 'works once, and for 30 minutes', 'ltr'],
    ['de', 'Wählen Sie ein neues Passwort', 'gilt ein einziges Mal und 30 Minuten lang', 'ltr'],
    ['ar', 'اختر كلمة مرور جديدة', 'يعمل الرابط مرة واحدة فقط', 'rtl'],
  ])('is replaced by a mailed link that works once, in %s (issue 6)', async (locale, subject, sentence, dir) => {
    const user = await newUser({ claims: { locale } });
    const elsewhere = new UserAgent(service);
    await elsewhere.signIn(user);
    await forgotten(locale === 'en' ? user.username.toUpperCase() : user.email);
    const mail = await server.find(user.email, new RegExp(subject));
    expect(mail.parsed.to).toMatchObject({ text: user.email });
    expect(mail.parsed.from).toMatchObject({ text: '"Gatehouse" <no-reply@localhost>' });
    expect(mail.parsed.messageId).toMatch(/^<[0-9a-f-]{36}@localhost>$/);
    expect(mail.parsed.headers.get('auto-submitted')).toBe('auto-generated');
    for (const part of [mail.text, mail.html])
      for (const text of [sentence, user.username]) expect(part).toContain(text);
    expect(mail.html).toContain(`<html lang="${locale}" dir="${dir}">`);
    // nothing is loaded, so that nobody sees who reads it
    expect(mail.html).not.toMatch(/<img|<link|<script|url\(|@import/i);
    expect(mail.html).not.toMatch(/undefined|\[object|[{}]\w+\}/);
    expect(mail.html.split(`href="${mail.link}"`)).toHaveLength(3);
    const link = mail.link!.replace(service.issuer, '');
    // mail programs look before people do
    for (let look = 0; look < 2; look++) expect((await new UserAgent(service).get(link)).status).toBe(200);
    const page = await follow(link, { new_password: fresh });
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('Your password is changed')]);
    expect((await elsewhere.get('/account')).status).toBe(303);
    expect([await takes(user, user.password), await takes(user, fresh)]).toEqual([false, true]);
    expect(await follow(link, { new_password: `${fresh} again` })).toMatchObject({ status: 410 });
    expect(await eventsOf(user.sub, 'link.used')).toEqual([{ detail: { purpose: 'reset_password' } }]);
    expect(await eventsOf(user.sub, 'link.sent')).toEqual([{ detail: { purpose: 'reset_password' } }]);
    const notice = await server.find(user.email, /password was changed|Passwort wurde geändert|تغيّرت كلمة مرورك/);
    expect(notice.text).toMatch(/127\.0\.0\.1|::1/);
  });

  test('gets the same answer for a name that nobody has, an unproven address and a disabled account, and no mail (security R60)', async () => {
    const known = await newUser();
    const unproven = await newUser({ emailVerified: false });
    const disabled = await newUser();
    await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [disabled.sub]);
    service.statements.length = 0;
    const answers = [];
    const sent: string[][] = [];
    for (const login of [known.username, 'nobody at all', unproven.email, disabled.username]) {
      const page = await forgotten(login);
      answers.push([page.status, page.body.replace(/value="[^"]*"/g, ''), [...page.headers.keys()]]);
      sent.push(service.statements.splice(0).filter((name) => name.startsWith('users.')));
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    // nobody is even looked up before the answer
    expect(sent.flat().filter((name) => name === 'users.find_by_login')).toEqual([]);
    await server.to(known.email);
    await quiet();
    expect([known, unproven, disabled].map(({ email }) => mailsTo(email).length)).toEqual([1, 0, 0]);
  });

  test('of several who use a link at the same moment one does, on whatever instance (security R62)', async () => {
    const user = await newUser();
    await forgotten(user.username);
    const link = await linkTo(user.email, /new password/);
    const agents = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const agent = new UserAgent(service);
        return { agent, fields: hiddenFields((await agent.get(link)).body) };
      }),
    );
    const pages = await Promise.all(
      agents.map(({ agent, fields }, index) =>
        agent.post(`${service.instances[index % 2]!}/password/reset`, { ...fields, new_password: `${fresh} ${index}` }),
      ),
    );
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410]);
    expect(await eventsOf(user.sub, 'user.password_changed')).toHaveLength(1);
  });

  test('a link is dead once it expired, a newer password was set or the address changed, and in another form or purpose (security R55)', async () => {
    const user = await newUser();
    const links: string[] = [];
    const another = async () => {
      server.mails.length = 0;
      await forgotten(user.username);
      links.push(await linkTo(user.email, /new password/));
    };
    await another();
    await service.database.sql(`UPDATE mailed_links SET expires_at = now() - interval '1 second'`);
    await another();
    await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [user.sub]);
    await another();
    await service.database.sql('UPDATE users SET email = $2 WHERE sub = $1', [user.sub, user.email.toUpperCase()]);
    for (const link of links) expect((await follow(link, { new_password: fresh })).status).toBe(410);
    await service.database.sql('UPDATE users SET email = $2 WHERE sub = $1', [user.sub, user.email]);
    await another();
    const link = links.at(-1)!;
    const elsewhere = link.replace('/password/reset', '/account/email/confirm');
    expect((await new UserAgent(service).get(elsewhere)).status).toBe(410);
    const agent = new UserAgent(service);
    const fields = hiddenFields((await agent.get(link)).body);
    const other = hiddenFields((await agent.get('/password/forgotten')).body);
    const refused = [
      await agent.post('/password/reset', { ...fields, ...other, new_password: fresh }),
      await agent.post('/password/reset', { ...fields, new_password: 'short' }),
      await agent.post('/password/reset', { ...fields, new_password: `${user.username} 2026` }),
      await new UserAgent(service).post('/password/reset', { ...fields, new_password: fresh }),
    ];
    for (const page of refused)
      expect([page.status, page.body]).toEqual([400, expect.stringContaining('has not been changed')]);
    const foreign = { 'sec-fetch-site': 'cross-site' };
    expect((await agent.post('/password/reset', { ...fields, new_password: fresh }, foreign)).status).toBe(403);
    expect((await agent.get(link, { 'sec-purpose': 'prefetch' })).status).toBe(403);
    expect((await agent.post('/password/reset', { ...fields, new_password: fresh })).status).toBe(200);
  });

  test.each([
    ['is no longer confirmed', 'UPDATE users SET email_verified = false WHERE sub = $1'],
    ['had it taken away while nobody looked', 'UPDATE users SET email_verified = false WHERE sub = $1', true],
    ['is disabled, and enabled again', `UPDATE users SET status = 'disabled' WHERE sub = $1`],
  ])('a link is dead once its address or account %s (security R55)', async (_how, change, revived = false) => {
    const user = await newUser();
    await forgotten(user.username);
    const link = await linkTo(user.email, /new password/);
    const agent = new UserAgent(service);
    const fields = hiddenFields((await agent.get(link)).body);
    await service.database.sql(change, [user.sub]);
    if (revived) await service.database.sql('UPDATE mailed_links SET used_at = NULL WHERE sub = $1', [user.sub]);
    else
      await service.database.sql(`UPDATE users SET status = 'enabled', email_verified = true WHERE sub = $1`, [
        user.sub,
      ]);
    expect((await agent.post('/password/reset', { ...fields, new_password: fresh })).status).toBe(410);
    expect(await takes(user, user.password)).toBe(true);
  });

  test('an administrator hands over a recovery link, by route and by command line (issue 6)', async () => {
    const user = await service.createUser();
    const made = await call(`${service.issuer}/admin/api/users/${user.sub}/recovery-link`, { token: admin, body: {} });
    expect(made.status).toBe(201);
    const link = (made.body['recovery_uri'] as string).replace(service.issuer, '');
    expect((await follow(link, { new_password: fresh })).status).toBe(200);
    expect([await takes(user, fresh), (await follow(link, { new_password: fresh })).status]).toEqual([true, 410]);
    const printed = await runCommand(service, ['user', 'recovery-link', user.username, '--lifetime', '60']);
    const second = /http\S+/.exec(printed.stdout)![0].replace(service.issuer, '');
    expect((await follow(second, { new_password: `${fresh}!` })).status).toBe(200);
    expect(await eventsOf(user.sub, 'link.created')).toHaveLength(2);
  });
});

describe('an address', () => {
  test.each([
    ['en', /Confirm your address/, '/account'],
    ['de', /Bestätigen Sie Ihre Adresse/, '/account/email'],
    ['ar', /أكّد عنوان بريدك/, '/account'],
  ])(
    'is proven by a link that works once, in %s, the language of the browser (issue 6)',
    async (language, subject, from) => {
      const user = await newUser({ emailVerified: false });
      const agent = new UserAgent(service);
      await agent.signIn(user);
      const page = await agent.get(from);
      const csrf = /action="\/account\/email\/verification"[^]*?name="csrf" value="([^"]*)"/.exec(page.body)![1]!;
      const sent = await agent.post(
        '/account/email/verification',
        { csrf },
        { 'accept-language': `${language},en;q=0.1` },
      );
      expect([sent.status, sent.body]).toEqual([200, expect.stringContaining(user.email)]);
      const link = await linkTo(user.email, subject);
      expect((await follow(link)).body).toContain('Your address is confirmed');
      expect((await follow(link)).status).toBe(410);
      expect(await service.store.users.find(user.sub)).toMatchObject({ email: user.email, emailVerified: true });
      expect(await eventsOf(user.sub, 'user.email_verified')).toHaveLength(1);
    },
  );

  test('another one takes effect once its link was used, and the old one is told; one of another account never does (issue 6)', async () => {
    const user = await newUser();
    const other = await newUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    for (const [email, fault] of [
      ['not an address', 'name@example.com'],
      ['a@b\r\nBcc: eve@example.com', 'name@example.com'],
      [user.email.toUpperCase(), 'already'],
    ] as const)
      expect((await order('/account/email', { email }, agent)).body).toMatch(new RegExp(`email-fault">[^<]*${fault}`));
    const wanted = `new-${user.email}`;
    expect((await order('/account/email', { email: wanted }, agent)).body).toContain(wanted);
    expect((await order('/account/email', { email: other.email }, agent)).body).toContain(other.email);
    const theirs = await linkTo(other.email, /Confirm/);
    const link = await linkTo(wanted, /Confirm/);
    expect((await service.store.users.find(user.sub))?.email).toBe(user.email);
    const taken = await follow(theirs);
    expect([taken.status, taken.body]).toEqual([409, expect.stringContaining('belongs to another account')]);
    const pages = await Promise.all([follow(link), follow(link), follow(link)]);
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 410, 410]);
    expect(await service.store.users.find(user.sub)).toMatchObject({ email: wanted, emailVerified: true });
    await server.find(user.email, /address of your account was changed/);
    expect(await eventsOf(user.sub, 'user.email_changed')).toHaveLength(1);
    // one that was ordered before the change is dead
    expect((await follow(theirs)).status).toBe(410);
  });

  test('is confirmed in another browser, which is told of whom, and by a button alone (security R55)', async () => {
    const user = await newUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const wanted = `new-${user.email}`;
    await order('/account/email', { email: wanted }, agent);
    const link = await linkTo(wanted, /Confirm/);
    const telephone = new UserAgent(service);
    for (let look = 0; look < 2; look++) {
      const page = await telephone.get(link);
      for (const text of [user.username, wanted]) expect(page.body).toContain(text);
    }
    expect((await service.store.users.find(user.sub))?.email).toBe(user.email);
    expect(
      (await new UserAgent(service).post('/account/email/confirm', { token: link.split('token=')[1]! })).status,
    ).toBe(400);
    expect((await follow(link, {}, telephone)).body).toContain(user.username);
    expect((await service.store.users.find(user.sub))?.email).toBe(wanted);
    // nobody is signed in by it
    expect((await telephone.get('/account')).status).toBe(303);
  });

  test('is changed after a fresh sign-in only (security R91)', async () => {
    const user = await newUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const fields = hiddenFields((await agent.get('/account/email')).body);
    await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '16 minutes' WHERE sub = $1`, [
      user.sub,
    ]);
    const pages = [
      await agent.get('/account/email'),
      await agent.post('/account/email', { ...fields, email: 'x@example.com' }),
    ];
    for (const page of pages) expect(page.location).toBe(`${service.issuer}/login?destination=email`);
    const back = await agent.signIn(user, await agent.follow(pages[0]!));
    expect(back.url).toBe(`${service.issuer}/account/email`);
  });
});

describe('sign-up', () => {
  test('makes an account by a mailed link, once, and tells nobody but the reader of the mail which addresses have one (security R60)', async () => {
    const user = await newUser();
    const email = 'newcomer@example.com';
    expect((await new UserAgent(service).get('/login')).body).toContain('href="/sign-up"');
    const answers = [];
    for (const address of [email, user.email])
      answers.push((await order('/sign-up', { email: address })).body.replace(/value="[^"]*"/g, ''));
    expect(answers[0]).toBe(answers[1]);
    const known = await server.find(user.email, /have an account already/);
    expect([known.link, known.text]).toEqual([undefined, expect.stringContaining(user.username)]);
    const link = await linkTo(email, /Finish your new account/);
    expect(await service.store.users.findByEmail(email)).toBeUndefined();
    for (const [username, sentence] of [
      [user.username, 'already'],
      ['eve@example.com', 'Use up to 64 letters'],
      ['https://evil.example', 'Use up to 64 letters'],
      ['www.evil.example', 'Use up to 64 letters'],
      ['You won! Look at evil', 'Use up to 64 letters'],
      ['Go to evil.example now', 'Use up to 64 letters'],
      ['Ada\nLovelace', 'Use up to 64 letters'],
      ['a'.repeat(65), 'Use up to 64 letters'],
      ['', 'Enter a user name'],
    ] as const)
      expect((await follow(link, { username, new_password: fresh })).body).toContain(sentence);
    const pages = await Promise.all(
      ["J. R. d'Été-1", 'newcomer.2'].map((username) => follow(link, { username, new_password: fresh })),
    );
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 410]);
    const account = await service.store.users.findByEmail(email);
    expect(account).toMatchObject({ emailVerified: true, admin: false, groups: [] });
    expect(await takes({ username: email }, fresh)).toBe(true);
    expect(await eventsOf(account!.sub, 'user.signed_up')).toHaveLength(1);
  });

  test('goes back to the application that asked for a new account, in the browser that it was asked in (Initiating User Registration 1.0, 4.1)', async () => {
    const { body } = await call(`${service.issuer}/.well-known/openid-configuration`);
    expect(body['prompt_values_supported']).toEqual(['none', 'login', 'consent', 'select_account', 'create']);
    const client = await service.createClient({ client_name: 'Harbour' });
    const ask = (agent: UserAgent, prompt = 'create') =>
      agent.get(authorizationUrl(service.issuer, client, { prompt })).then((page) => agent.follow(page));
    // who is signed in is not signed in by it either
    const agent = new UserAgent(service);
    await agent.authorize(client, await newUser());
    const page = await ask(agent);
    expect(page.url).toContain('/sign-up?transaction=');
    expect(page.body).toContain('Harbour');
    const [email, username] = ['harbour@example.com', 'harbourer'];
    await agent.submit(page, { email });
    const link = await linkTo(email, /Finish your new account/);
    // elsewhere it is a sign-up like any other
    expect((await new UserAgent(service).get(page.url)).body).not.toContain('Harbour');
    const done = await follow(link, { username, new_password: fresh }, agent);
    expect(done.body).toContain('Harbour');
    expect(agent.cookies.has('GATEHOUSE_SIGN_UP')).toBe(false);
    const onward = /href="(\/login\?transaction=[^"]*)" *>|id="sign-in" href="([^"]*)"/.exec(done.body);
    const signedIn = await agent.signIn({ username, password: fresh }, await agent.get(onward![1] ?? onward![2]!));
    const answer = signedIn.body.includes('id="allow"')
      ? await agent.submit(signedIn, { decision: 'allow' })
      : signedIn;
    expect(responseParameters(answer)).toMatchObject({ code: expect.any(String) as string });
    // together with another value it is an error for the client
    for (const prompt of ['create login', 'create consent', 'create none', 'none create'])
      expect(responseParameters(await ask(agent, prompt))['error'], prompt).toBe('invalid_request');
  });

  test.each(['recovery', 'confirm', 'sign-up'])(
    'and a link of the kind %s is good for one of several at the same moment, on whatever instance (security R62)',
    async (kind) => {
      const user = await newUser();
      let link: string;
      if (kind === 'recovery') {
        const path = `${service.issuer}/admin/api/users/${user.sub}/recovery-link`;
        link = (await call(path, { token: admin, body: {} })).body['recovery_uri'] as string;
      } else if (kind === 'confirm') {
        const agent = new UserAgent(service);
        await agent.signIn(user);
        await order('/account/email', { email: `raced-${user.email}` }, agent);
        link = await linkTo(`raced-${user.email}`, /Confirm/);
      } else {
        await order('/sign-up', { email: `raced-up-${user.email}` });
        link = await linkTo(`raced-up-${user.email}`, /Finish/);
      }
      link = link.replace(service.issuer, '');
      const agents = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const agent = new UserAgent(service);
          return { agent, fields: hiddenFields((await agent.get(link)).body) };
        }),
      );
      const pages = await Promise.all(
        agents.map(({ agent, fields }, index) =>
          agent.post(service.instances[index % 2]! + link.split('?')[0]!, {
            ...fields,
            username: `raced ${made} ${index}`,
            new_password: `${fresh} ${index}`,
          }),
        ),
      );
      expect(pages.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410]);
    },
  );

  test('is off unless the operator wants it, and for the domains that the operator names (issue 6)', async () => {
    const off = await startTestService();
    const some = await startTestService({
      environment: { SIGN_UP: 'on', SIGN_UP_DOMAINS: 'example.org, Example.NET' },
    });
    try {
      const agent = new UserAgent(off);
      expect((await agent.get('/sign-up')).status).toBe(404);
      expect((await agent.get('/login')).body).not.toContain('/sign-up');
      const { body } = await call(`${off.issuer}/.well-known/openid-configuration`);
      expect(body['prompt_values_supported']).not.toContain('create');
      const [user, client] = [await off.createUser(), await off.createClient()];
      await agent.authorize(client, user);
      const answer = await agent.follow(await agent.get(authorizationUrl(off.issuer, client, { prompt: 'create' })));
      expect(responseParameters(answer)['error']).toBe('invalid_request');
      const visitor = new UserAgent(some);
      for (const [email, status] of [
        ['a@example.org', 200],
        ['b@EXAMPLE.net', 200],
        ['c@example.com', 400],
        ['d@evil.example.org', 400],
      ] as const)
        expect((await order('/sign-up', { email }, visitor)).status, email).toBe(status);
    } finally {
      await off.stop();
      await some.stop();
    }
  });
});

describe('a notice', () => {
  test('tells of a sign-in in a browser that was not used before, once, in the words of the person (issue 6)', async () => {
    const user = await newUser({ claims: { locale: 'de-CH' } });
    const agent = new UserAgent(service);
    const firefox = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };
    const fields = hiddenFields((await agent.get('/login')).body);
    await agent.post('/login', { ...fields, username: user.username, password: user.password }, firefox);
    const mail = await server.find(user.email, /Neue Anmeldung/);
    for (const part of [mail.text, mail.html]) {
      expect(part).toContain('Firefox auf Linux');
      expect(part).toMatch(/127\.0\.0\.1|::1/);
      expect(part).toContain('UTC');
    }
    await agent.signIn(user);
    await quiet();
    expect(mailsTo(user.email)).toHaveLength(1);
    // people whose address nobody proved are told nothing: it may be a stranger's
    const unproven = await newUser({ emailVerified: false });
    await new UserAgent(service).signIn(unproven);
    await quiet();
    expect(mailsTo(unproven.email)).toEqual([]);
  });

  test.each([
    ['en', /ways to sign in/, /password was changed/, 'ltr', { claims: {}, browser: 'fi' }],
    ['de', /Wege, sich/, /Passwort wurde/, 'ltr', { claims: { locale: 'de' }, browser: 'ar' }],
    ['ar', /طرق تسجيل الدخول/, /كلمة مرورك/, 'rtl', { claims: {}, browser: 'ar-EG,ar;q=0.9' }],
  ])(
    'tells in %s, chosen by the person or else the language of the browser, of each second factor that is added or removed, and of another password (issue 6)',
    async (locale, factors, password, dir, { claims, browser }) => {
      const user = await newUser({ claims });
      const agent = new UserAgent(service, { 'accept-language': browser });
      await agent.signIn(user);
      await setUpAuthenticator(agent);
      await server.find(user.email, factors);
      const form = hiddenFields((await agent.get('/account/second-factors')).body);
      const [factor] = await service.store.authenticators.list(user.sub);
      await agent.post('/account/second-factors', { ...form, remove: factor!.id });
      await order('/account/password', { current_password: user.password, new_password: fresh }, agent);
      const notice = await server.find(user.email, password);
      for (const mail of [await server.find(user.email, factors), notice])
        expect(mail.html).toContain(`<html lang="${locale}" dir="${dir}">`);
      await quiet();
      const told = mailsTo(user.email).filter(({ parsed }) => factors.test(parsed.subject!));
      expect(told).toHaveLength(2);
      for (const mail of [...told, notice])
        for (const part of [mail.text, mail.html]) {
          expect(part).toContain(user.username);
          expect(part).toContain(`${service.issuer}/account`);
          expect(part).toMatch(/127\.0\.0\.1|::1/);
        }
    },
  );

  test('tells administrators what waits, once for many, and registrants what was decided, with the reason (issue 6)', async () => {
    const boss = await newUser({ admin: true });
    const names = ['Harbour', 'Lighthouse'];
    const registered = [];
    for (const client_name of names)
      registered.push(
        await call(`${service.issuer}/register`, {
          body: {
            redirect_uris: ['https://rp.example.com/callback'],
            client_name,
            contacts: [`${client_name}@example.org`, 'the desk'],
          },
        }),
      );
    const mail = await server.find(boss.email, /wait for your decision/);
    expect(mail.text).toContain('Harbour');
    const [first, second] = registered.map(({ body }) => body['client_id'] as string);
    const api = `${service.issuer}/admin/api/clients`;
    const { body } = await call(`${api}/${first}`, { token: admin });
    await call(`${api}/${first}/approve`, { token: admin, body: { version: body['version'] } });
    const reason = 'Nobody here\r\nBcc: eve@example.com knows it.';
    await service.store.clients.refuse(second!, reason);
    await server.find('Harbour@example.org', /approved: Harbour/);
    const refused = await server.find('Lighthouse@example.org', /not approved: Lighthouse/);
    expect(refused.text).toContain('Nobody here Bcc: eve@example.com knows it.');
    await quiet();
    expect(mailsTo(boss.email).filter(({ parsed }) => /wait/.test(parsed.subject!))).toHaveLength(1);
    expect(server.mails.some(({ to }) => to.includes('eve@example.com'))).toBe(false);
  });

  test('no name makes a header of its own, and no address becomes two (security R107)', async () => {
    const user = await newUser();
    const name = 'x\r\nBcc: eve@example.com\r\n\r\nhello';
    await service.database.sql('UPDATE users SET username = $2 WHERE sub = $1', [user.sub, name]);
    await forgotten(user.email);
    const mail = await server.find(user.email, /new password/);
    expect(mail.parsed.bcc).toBeUndefined();
    expect(mail.text).toContain('x Bcc: eve@example.com hello');
    await service.store.mails.insert({ name: 'sign-up', recipient: 'a@example.com, eve@example.com' });
    await service.store.mails.insert({ name: 'sign-up', recipient: 'a@example.com>\r\nRCPT TO:<eve@example.com' });
    await quiet();
    expect(server.mails.some(({ to }) => to.includes('eve@example.com'))).toBe(false);
    const given = await service.database.sql(`SELECT detail FROM audit_events WHERE type = 'mail.given_up'`);
    expect(given).toHaveLength(2);
  });
});

describe('the queue', () => {
  const due = async () => {
    await service.database.sql('UPDATE mails SET next_attempt_at = now()');
    await service.database.sql(`NOTIFY gatehouse, 'mail'`);
  };

  test('keeps what a mail server that is away does not take, and two instances send each once when it is back (issue 6)', async () => {
    await quiet();
    await server.stop();
    const users = await Promise.all(Array.from({ length: 12 }, () => newUser()));
    for (const user of users) expect((await forgotten(user.username)).status).toBe(200);
    await vi.waitUntil(
      async () =>
        (await service.database.sql(`SELECT FROM mails WHERE last_failure LIKE '%ECONNREFUSED%'`)).length ===
        users.length,
      { timeout: 10_000, interval: 20 },
    );
    await server.start();
    await due();
    for (const { email } of users) await server.to(email);
    await quiet();
    for (const { email } of users) expect(mailsTo(email)).toHaveLength(1);
  });

  test('takes back the order of a link when the password changes before the mail server is back (security R55)', async () => {
    await quiet();
    const user = await newUser();
    const thief = new UserAgent(service);
    await thief.signIn(user);
    await quiet();
    await server.stop();
    await order('/account/email', { email: `thief-of-${user.email}` }, thief);
    await forgotten(user.username);
    const failed = () =>
      service.database.sql(`SELECT FROM mails WHERE last_failure IS NOT NULL AND sub = $1`, [user.sub]);
    await vi.waitUntil(async () => (await failed()).length === 2, { timeout: 10_000, interval: 20 });
    const owner = new UserAgent(service);
    await owner.signIn(user);
    const page = await owner.get('/account/password');
    await owner.submit(page, { current_password: user.password, new_password: fresh });
    expect(await service.database.sql(`SELECT name FROM mails WHERE sub = $1 ORDER BY name`, [user.sub])).toEqual([
      { name: 'new-sign-in' },
      { name: 'password-changed' },
    ]);
    await server.start();
    await due();
    await quiet();
    expect(mailsTo(`thief-of-${user.email}`)).toEqual([]);
    expect(
      await service.database.sql('SELECT FROM mailed_links WHERE sub = $1 AND used_at IS NULL', [user.sub]),
    ).toEqual([]);
  });

  test('makes no link for an order that is taken back at that moment (security R55)', async () => {
    await quiet();
    const user = await newUser();
    await service.store.transaction(async ({ users }) => {
      await users.lock(user.sub);
      await service.store.mails.insert({ name: 'reset-password', sub: user.sub });
      const waits = () =>
        service.database.sql(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
      await vi.waitUntil(async () => (await waits()).length > 0, { timeout: 10_000, interval: 20 });
      await users.setPassword(user.sub, user.passwordHash!.replace(/.$/, 'x'));
    });
    await vi.waitUntil(
      () => service.logs.some(({ msg, sub }) => String(msg).startsWith('a mail concerns nobody') && sub === user.sub),
      { timeout: 10_000, interval: 20 },
    );
    expect(await service.database.sql('SELECT FROM mailed_links WHERE sub = $1', [user.sub])).toEqual([]);
  });

  test('gives up what is refused for good, and after a day the rest, and the trail has it (issue 6)', async () => {
    await quiet();
    const [user, late] = [await newUser(), await newUser()];
    server.unknown.add(user.email);
    await forgotten(user.username);
    await vi.waitUntil(async () => (await eventsOf(user.sub, 'mail.given_up')).length === 1, { timeout: 10_000 });
    await server.stop();
    await forgotten(late.username);
    await vi.waitUntil(
      async () => (await service.database.sql('SELECT FROM mails WHERE last_failure IS NOT NULL')).length === 1,
      { timeout: 10_000, interval: 20 },
    );
    await service.database.sql(`UPDATE mails SET created_at = now() - interval '25 hours'`);
    await due();
    await vi.waitUntil(async () => (await eventsOf(late.sub, 'mail.given_up')).length === 1, { timeout: 10_000 });
    await server.start();
    expect(await eventsOf(late.sub, 'mail.given_up')).toEqual([{ detail: { mail: 'reset-password', attempts: 1 } }]);
  });

  test('holds no secret, and the log holds none (security R26, R99)', async () => {
    const logs = JSON.stringify(service.logs);
    for (const mail of server.mails.filter(({ link }) => link !== undefined))
      expect(logs).not.toContain(new URL(mail.link!).searchParams.get('token'));
    expect(logs).not.toContain('let me in');
    expect(logs).not.toContain('let%20me%20in');
    const columns = await service.database.sql<{ text: string }>('SELECT m::text AS text FROM mails m');
    for (const { text } of columns) expect(text).not.toContain('ghml_');
  });

  test('sends no more links to one address than the limit, nor takes more orders of one network (security R62)', async () => {
    const limited = await startTestService({
      environment: { LIMIT_MAILED_LINKS: '2', LIMIT_MAILED_LINKS_PER_NETWORK: '4' },
    });
    try {
      const user = await limited.createUser({ email: 'many@example.com', emailVerified: true });
      const agent = new UserAgent(limited);
      const answers: Page[] = [];
      for (let count = 0; count < 5; count++) answers.push(await forgotten(user.username, agent));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429]);
      expect(answers[4]!.body).toContain('Too many links were asked for');
      await vi.waitUntil(async () => (await limited.database.sql('SELECT FROM mails')).length === 0, {
        timeout: 10_000,
      });
      expect(await mailsIn(limited.dataDir)).toHaveLength(2);
      // that somebody orders one kind for an address holds up none of the others, and each has its end
      for (let count = 0; count < 3; count++)
        for (const name of ['sign-up-known', 'verify-address'])
          await limited.store.mails.insert({ name, sub: user.sub, data: { replaces: user.email } });
      await vi.waitUntil(async () => (await limited.database.sql('SELECT FROM mails')).length === 0, {
        timeout: 10_000,
      });
      expect(await mailsIn(limited.dataDir)).toHaveLength(6);
    } finally {
      await limited.stop();
    }
  });
});

test('without a mail server each mail is a file for its owner alone, and the log says so without the link (issue 6)', async () => {
  const alone = await startTestService();
  try {
    const user = await alone.createUser({ email: 'ada@example.com', emailVerified: true });
    await forgotten(user.username, new UserAgent(alone));
    let mails: Awaited<ReturnType<typeof mailsIn>> = [];
    await vi.waitUntil(async () => (mails = await mailsIn(alone.dataDir)).length === 1, {
      timeout: 10_000,
      interval: 20,
    });
    const [mail] = mails as [ReceivedMail & { file: string }];
    expect(mail.parsed).toMatchObject({ subject: 'Choose a new password', to: { text: 'ada@example.com' } });
    expect([statSync(mail.file).mode & 0o777, statSync(`${alone.dataDir}/mail`).mode & 0o777]).toEqual([0o600, 0o700]);
    await vi.waitUntil(() => alone.logs.some(({ msg }) => String(msg).startsWith('mail written')), { timeout: 10_000 });
    expect(alone.logs.filter(({ msg }) => String(msg).startsWith('SMTP_URL is not set'))).toHaveLength(1);
    expect(JSON.stringify(alone.logs)).not.toContain(new URL(mail.link!).searchParams.get('token'));
    expect((await new UserAgent(alone).get(mail.link!)).status).toBe(200);
  } finally {
    await alone.stop();
  }
});
