// Two requests of a double click at the same instant, on two instances: one acts, and both answer alike.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Authenticator as App, recoveryCodesOf, setUpAuthenticator } from '../helpers/authenticator.ts';
import { addConnection, signInBy } from '../helpers/connections.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { Authenticator, passkeyForm } from '../helpers/passkey.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

const rounds = 20;
let provider: Provider;
let service: TestService;
let strict: TestService;
beforeAll(async () => {
  provider = await startProvider();
  const environment = { ...withoutLimits, OUTBOUND_ALLOW: provider.host, LIMIT_CONNECTION_ANSWERS: '0' };
  service = await startTestService({ instances: 2, environment: { ...environment, LIMIT_PENDING_SIGN_INS: '0' } });
  strict = await startTestService({
    instances: 2,
    environment: { ...environment, LIMIT_PENDING_SIGN_INS: '0', REQUIRE_SECOND_FACTOR: 'everyone' },
  });
  for (const one of [service, strict])
    await addConnection(one, provider, 'partner', { provisioning: 'on', linking: 'ask' });
});
afterAll(async () => {
  await service?.stop();
  await strict?.stop();
  await provider?.stop();
});

/** Another browser with the same cookies. */
function copyOf(agent: UserAgent, of: TestService): UserAgent {
  const copy = new UserAgent(of);
  for (const [name, value] of agent.cookies) copy.cookies.set(name, value);
  return copy;
}

/** Sends a form to both instances at the same instant, and once more. @returns the browsers, each with its own answer */
async function race(agent: UserAgent, action: string, form: Record<string, string>, of = service) {
  const path = action.startsWith('/') ? action : action.slice(of.issuer.length);
  const send = async (index: number) => {
    const browser = copyOf(agent, of);
    const page = await browser.post(of.instances[index]! + path, form);
    // the two instances have one address elsewhere
    return { browser, page: { ...page, location: page.location?.replace(of.instances[index]!, of.issuer) } };
  };
  const clicks = await Promise.all([send(0), send(1)]);
  return [...clicks, await send(0)];
}
const eventsOf = (sub: string, type: string) =>
  service.database.sql('SELECT FROM audit_events WHERE sub = $1 AND type = $2', [sub, type]);
const sessionsOf = (sub: string) => service.database.sql('SELECT FROM sessions WHERE sub = $1', [sub]);
const answers = (sent: Awaited<ReturnType<typeof race>>) => sent.map(({ page }) => [page.status, page.location]);
const thrice = (status: number, location: string) => Array.from({ length: 3 }, () => [status, location]);
const home = () => `${service.issuer}/account`;

/** The page of the second step, in a new browser. */
async function secondStep({ username, password }: TestUser): Promise<{ agent: UserAgent; page: Page }> {
  const agent = new UserAgent(service);
  return { agent, page: await agent.submit(await agent.get('/login'), { username, password }) };
}
async function expectSignedInOnce(
  user: TestUser,
  sent: Awaited<ReturnType<typeof race>>,
  [sessions, signIns, failures]: [number, number, number],
) {
  expect(answers(sent)).toEqual(thrice(303, home()));
  expect((await sent.at(-1)!.browser.get('/account')).status).toBe(200);
  expect(await countsOf(user)).toEqual([sessions + 1, signIns + 1, failures]);
}
/** The sessions, sign-ins and failures of a user. */
const countsOf = async ({ sub }: TestUser): Promise<[number, number, number]> => [
  (await sessionsOf(sub)).length,
  (await eventsOf(sub, 'user.signed_in')).length,
  (await eventsOf(sub, 'user.sign_in_failed')).length,
];

test('a code of an authenticator app, sent twice at once, signs in once, and no other form or browser with it (RFC 6238 5.2, reports A4)', async () => {
  for (let round = 0; round < rounds; round++) {
    const user = await service.createUser();
    const owner = new UserAgent(service);
    await owner.signIn(user);
    const { app } = await setUpAuthenticator(owner);
    const { agent, page } = await secondStep(user);
    const stranger = await secondStep(user);
    const code = app.code(1);
    const before = await countsOf(user);
    const sent = await race(agent, '/login/second-factor', { ...hiddenFields(page.body), code });
    await expectSignedInOnce(user, sent, before);
    const theirs = { ...hiddenFields(stranger.page.body), code };
    expect((await stranger.agent.post('/login/second-factor', theirs)).status).toBe(400);
    const stolen = { ...hiddenFields(page.body), code };
    expect((await stranger.agent.post('/login/second-factor', stolen)).status).toBe(400);
  }
});

test('a recovery code, sent twice at once, is used once and signs in once (reports A4)', async () => {
  for (let round = 0; round < rounds;) {
    const user = await service.createUser();
    const owner = new UserAgent(service);
    await owner.signIn(user);
    for (const code of (await setUpAuthenticator(owner)).recoveryCodes) {
      if (round++ === rounds) break;
      const { agent, page } = await secondStep(user);
      const stranger = await secondStep(user);
      const before = await countsOf(user);
      const used = (await eventsOf(user.sub, 'user.recovery_code_used')).length;
      const form = { ...hiddenFields(page.body), recovery_code: code };
      await expectSignedInOnce(user, await race(agent, '/login/second-factor', form), before);
      expect(await eventsOf(user.sub, 'user.recovery_code_used')).toHaveLength(used + 1);
      const theirs = { ...hiddenFields(stranger.page.body), recovery_code: code };
      expect((await stranger.agent.post('/login/second-factor', theirs)).status).toBe(400);
    }
  }
});

test('a passkey as the second factor, sent twice at once, signs in once (Web Authentication 13.4.3, reports A4)', async () => {
  const user = await service.createUser();
  const owner = new UserAgent(service);
  await owner.signIn(user);
  const key = new Authenticator(service.issuer);
  const made = passkeyForm(await owner.get('/account/passkeys'));
  await owner.post(made.action, { ...made.fields, credential: key.create(made.options) });
  for (let round = 0; round < rounds; round++) {
    const { agent, page } = await secondStep(user);
    const { action, options, fields } = passkeyForm(page);
    const before = await countsOf(user);
    await expectSignedInOnce(user, await race(agent, action, { ...fields, credential: key.get(options) }), before);
  }
});

test('a name that was chosen after a connection leads twice to the second step, and to the request that waits (reports A4)', async () => {
  const named = async (of: TestService, agent: UserAgent, address?: string) => {
    provider.be({ sub: `unnamed-${Math.random()}` });
    const page = await signInBy(agent, 'partner', address);
    expect(page.url).toBe(`${of.issuer}/login/name`);
    const username = `Named ${Math.random().toString(36).slice(2)}`;
    return { username, sent: await race(agent, '/login/name', { ...hiddenFields(page.body), username }, of) };
  };
  const { sent } = await named(strict, new UserAgent(strict));
  expect(answers(sent)).toEqual(thrice(303, `${strict.issuer}/login/second-factor`));
  for (const { browser, page } of sent)
    expect((await browser.follow(page)).url).toBe(`${strict.issuer}/login/authenticator`);

  const client = await service.createClient();
  const agent = new UserAgent(service);
  const waiting = await named(service, agent, authorizationUrl(service.issuer, client, { state: 's' }));
  expect(new Set(waiting.sent.map(({ page }) => page.location)).size).toBe(1);
  const last = waiting.sent.at(-1)!;
  expect((await last.browser.follow(last.page)).url).toContain(`${service.issuer}/consent?transaction=`);
  const made = await service.store.users.findByUsername(waiting.username);
  expect(await sessionsOf(made!.sub)).toHaveLength(1);
  await service.database.sql('UPDATE form_outcomes SET expires_at = now()');
  const { browser } = waiting.sent[0]!;
  expect((await browser.post('/login/name', { username: waiting.username, csrf: 'A'.repeat(43) })).status).toBe(400);
});

test('an account is connected once by a form that is sent twice at once, and both answers go on (federation FR9, reports A4)', async () => {
  const user = await service.createUser({ email: 'joined@else.example', emailVerified: true });
  await service.database.sql(`UPDATE connections SET linking = 'domain' WHERE id = 'partner'`);
  const subject = 'to-be-joined';
  provider.be({ sub: subject, email: 'joined@else.example', email_verified: true });
  const agent = new UserAgent(service);
  expect((await signInBy(agent, 'partner')).url).toBe(`${service.issuer}/login/connect`);
  const proven = await agent.signIn(user, await agent.get('/login?destination=connect'));
  expect(proven.url).toBe(`${service.issuer}/login/connect`);
  const sent = await race(agent, '/login/connect', hiddenFields(proven.body));
  expect(answers(sent)).toEqual(thrice(303, home()));
  for (const { browser } of sent) expect((await browser.get('/account')).status).toBe(200);
  expect(
    await service.database.sql('SELECT FROM linked_identities WHERE sub = $1 AND subject = $2', [user.sub, subject]),
  ).toHaveLength(1);
});

/** The recovery codes that each answer shows. */
const codesOf = (sent: Awaited<ReturnType<typeof race>>) => sent.map(({ page }) => recoveryCodesOf(page));
async function expectSameCodes(sent: Awaited<ReturnType<typeof race>>, of = service) {
  const [codes] = codesOf(sent);
  expect(codes, sent[0]!.page.body).toHaveLength(10);
  expect(codesOf(sent)).toEqual([codes, codes, codes]);
  const last = sent.at(-1)!;
  expect((await last.browser.get('/account')).status).toBe(200);
  // sealed, and for some seconds
  const rows = await of.database.sql<{ row: string }>('SELECT o::text AS row FROM form_outcomes o');
  const hex = Buffer.from(codes![0]!).toString('hex');
  expect(rows.filter(({ row }) => row.includes(codes![0]!) || row.includes(hex))).toEqual([]);
  await of.database.sql('UPDATE form_outcomes SET expires_at = now()');
}

test('each answer shows the recovery codes of an invitation that is completed by a passkey (reports A4)', async () => {
  const { body } = await call(`${service.issuer}/admin/api/users`, {
    token: await adminToken(service),
    body: { username: 'invited-by-passkey', invite: true },
  });
  const agent = new UserAgent(service);
  const link = (body['invitation_uri'] as string).replace(service.issuer, '');
  const { action, options, fields } = passkeyForm(await agent.get(link));
  const form = { ...fields, credential: new Authenticator(service.issuer).create(options) };
  await expectSameCodes(await race(agent, action, form));
  expect(await sessionsOf(body['sub'] as string)).toHaveLength(1);
  expect(await eventsOf(body['sub'] as string, 'user.second_factor_added')).toHaveLength(1);
  // later, the link is used up
  expect(recoveryCodesOf(await agent.post(action, form))).toEqual([]);
});

test('each answer shows the recovery codes of an authenticator app, added at a sign-in or on the account page, and of new codes (reports A4)', async () => {
  const required = await strict.createUser();
  const agent = new UserAgent(strict);
  const page = await agent.signIn(required);
  expect(page.url).toBe(`${strict.issuer}/login/authenticator`);
  const { setUpForm, code } = appOf(page);
  await expectSameCodes(await race(agent, '/login/authenticator', { ...setUpForm, code: code() }, strict), strict);

  const user = await service.createUser();
  const owner = new UserAgent(service);
  await owner.signIn(user);
  const own = appOf(await owner.get('/account/authenticator'));
  const added = await race(owner, '/account/authenticator', { ...own.setUpForm, code: own.code() });
  await expectSameCodes(added);
  expect(await sessionsOf(user.sub)).toHaveLength(1);
  const browser = added.at(-1)!.browser;
  const overview = await browser.get('/account/second-factors');
  const form = hiddenFields(overview.body.slice(overview.body.indexOf('action="/account/recovery-codes"')));
  await expectSameCodes(await race(browser, '/account/recovery-codes', form));
  expect(await eventsOf(user.sub, 'user.recovery_codes_renewed')).toHaveLength(1);
});

test('a user’s own new password, sent twice at once, is changed once, and each answer keeps the session (reports A4)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.signIn(user);
  const page = await agent.get('/account/password');
  const passwords = { current_password: user.password, new_password: 'three umbrellas under a lighthouse' };
  const form = { ...hiddenFields(page.body), ...passwords };
  const sent = await race(agent, '/account/password', form);
  expect(answers(sent)).toEqual(thrice(303, `${home()}/security?done=password-changed`));
  const last = sent.at(-1)!.browser;
  // the browser may have kept the cookie of an earlier answer
  expect((await last.post('/account/password', form)).location).toContain('done=password-changed');
  expect((await last.get('/account')).status).toBe(200);
  expect(await sessionsOf(user.sub)).toHaveLength(1);
  expect(await eventsOf(user.sub, 'user.password_changed')).toHaveLength(1);
  expect(await eventsOf(user.sub, 'user.sign_in_failed')).toEqual([]);
  // no other form is this session's for it
  const stranger = new UserAgent(service);
  await stranger.signIn(await service.createUser());
  expect((await stranger.post('/account/password', form)).status).toBe(400);
});

test('the forms of a stranger are answered, and write nothing (security R105, reports A4)', async () => {
  const { sql } = service.database;
  await sql('CREATE TABLE claimed (id text)');
  await sql(`CREATE FUNCTION note_claim() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO claimed VALUES (NEW.id); RETURN NEW; END'`);
  await sql('CREATE TRIGGER note_claim BEFORE INSERT ON form_outcomes FOR EACH ROW EXECUTE FUNCTION note_claim()');
  const agent = new UserAgent(service);
  await agent.get('/login');
  const form = { csrf: 'A'.repeat(43), code: '123456', username: 'ada', credential: '{}' };
  const paths = ['second-factor', 'authenticator', 'name', 'connect'].map((name) => `/login/${name}`);
  const statuses = [];
  for (const path of [...paths, '/invitation']) statuses.push((await agent.post(path, form)).status);
  expect(statuses).toEqual([303, 303, 400, 400, 410]);
  expect(await sql('SELECT FROM claimed')).toEqual([]);
});

test.each([
  ['the account is disabled', `UPDATE users SET status = 'disabled' WHERE sub = $1`],
  ['the session has ended', 'DELETE FROM sessions WHERE sub = $1'],
])('no answer shows recovery codes again once %s (security R54, reports A4)', async (_what, statement) => {
  const user = await strict.createUser();
  const agent = new UserAgent(strict);
  const page = await agent.signIn(user);
  const { setUpForm, code } = appOf(page);
  const form = { ...setUpForm, code: code() };
  const browsers = [copyOf(agent, strict), agent];
  expect(recoveryCodesOf(await agent.post('/login/authenticator', form))).toHaveLength(10);
  await strict.database.sql(statement, [user.sub]);
  for (const browser of browsers) {
    const again = await browser.post('/login/authenticator', form);
    expect([again.status, recoveryCodesOf(again)]).toEqual([303, []]);
    expect((await browser.follow(again)).url).toContain('/login');
  }
});

test('each answer shows the recovery codes of a first passkey on the account page (reports A4)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.signIn(user);
  const { action, options, fields } = passkeyForm(await agent.get('/account/passkeys'));
  const credential = new Authenticator(service.issuer).create(options);
  await expectSameCodes(await race(agent, action, { ...fields, credential }));
  expect(await sessionsOf(user.sub)).toHaveLength(1);
});

/** The form of the page that sets up an app, and the codes of the app. */
function appOf(page: Page) {
  const app = new App(page);
  return { setUpForm: hiddenFields(page.body), code: () => app.code() };
}
