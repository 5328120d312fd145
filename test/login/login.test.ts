// GET and POST /login sign a user in with valid credentials, give all failures the same answer, and accept their own forms only.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  responseParameters,
  UserAgent,
  withoutReference,
} from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
beforeAll(async () => {
  service = await startTestService({
    fullPasswordWork: true,
    environment: { LIMIT_SIGN_IN_PER_ACCOUNT: '0', LIMIT_SIGN_IN_PER_NETWORK: '0' },
  });
  user = await service.createUser({ username: 'Alice', email: 'alice@example.com' });
});
afterAll(() => service?.stop());

const sessionsOf = async (user: TestUser) =>
  (await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM sessions WHERE sub = $1', [user.sub]))[0]!
    .n;

const isSignedIn = async (agent: UserAgent) => (await agent.get('/account')).status === 200;

test('the page without an authorization request signs the user in and redirects to the account page with a 303 (decisions section 3, security R10)', async () => {
  const agent = new UserAgent(service);
  const page = await agent.get('/login');
  expect(page.status).toBe(200);
  const answer = await agent.post('/login', {
    ...hiddenFields(page.body),
    username: 'Alice',
    password: user.password,
  });
  expect(answer.status).toBe(303);
  expect(answer.location).toBe(`${service.issuer}/account`);
  const account = await agent.follow(answer);
  expect(account.status).toBe(200);
  expect(account.body).toContain('alice@example.com');
});

test.each(['Alice', 'alice', ' ALICE ', 'Alice@Example.COM', 'Ａｌｉｃｅ'])(
  '%j names the same account (decisions section 3, security A75)',
  async (username) => {
    const agent = new UserAgent(service);
    expect((await agent.signIn({ username, password: user.password })).url).toBe(`${service.issuer}/account`);
  },
);

test('an unknown name, a wrong password, a disabled user and a user without a password get the same answer (security R60)', async () => {
  const disabled = await service.createUser({ username: 'disabled-user' });
  await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [disabled.sub]);
  const passwordless = await service.createUser({ username: 'no-password' });
  await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [passwordless.sub]);
  const client = await service.createClient();
  for (const address of ['/login', authorizationUrl(service.issuer, client)]) {
    const agent = new UserAgent(service);
    const page = await agent.follow(await agent.get(address));
    const answers = [];
    for (const [username, password] of [
      ['Alice', 'not her password'],
      ['nobody', 'not her password'],
      [disabled.username, disabled.password],
      [passwordless.username, 'not her password'],
      ['Alice', 'x'],
      ['Alice', 'x'.repeat(2000)],
    ] as const) {
      const answer = await agent.post('/login', { ...hiddenFields(page.body), username, password });
      answers.push({
        status: answer.status,
        headers: [...answer.headers].filter(([name]) => !['date', 'content-length'].includes(name)),
        body: withoutReference(answer)
          .replaceAll(/(name="csrf" value|data-options)="[^"]*"/g, '')
          .replace(`value="${username}"`, 'value=""'),
      });
    }
    expect(answers[0]!.status).toBe(400);
    expect(answers[0]!.body).toContain('Incorrect user name or password');
    expect(answers[0]!.headers.some(([name]) => name === 'set-cookie')).toBe(false);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(await isSignedIn(agent)).toBe(false);
  }
});

test('passwords are used unchanged: they are not cut, trimmed or folded (security A80, R59)', async () => {
  const long = `${'a'.repeat(80)}b`;
  for (const [password, near] of [
    [long, `${'a'.repeat(80)}c`],
    [' leading and trailing ', 'leading and trailing'],
    ['pässwörd 🙂 emoji', 'password 🙂 emoji'],
    ['CaseMatters!!', 'casematters!!'],
  ] as const) {
    const user = await service.createUser({ password });
    const agent = new UserAgent(service);
    expect((await agent.signIn({ username: user.username, password: near })).status).toBe(400);
    expect((await agent.signIn({ username: user.username, password })).url).toBe(`${service.issuer}/account`);
  }
});

test('a missing field is named, and the user is not signed in (security A20)', async () => {
  const agent = new UserAgent(service);
  const page = await agent.get('/login');
  const hidden = hiddenFields(page.body);
  for (const [fields, named] of [
    [{}, ['username', 'password']],
    [{ username: 'Alice' }, ['password']],
    [{ username: 'Alice', password: '' }, ['password']],
    [{ password: user.password }, ['username']],
  ] as const) {
    const answer = await agent.post('/login', { ...hidden, ...fields });
    expect(answer.status).toBe(400);
    for (const field of ['username', 'password'] as const)
      expect(answer.body.includes(`id="${field}-fault"`)).toBe(named.some((one) => one === field));
    expect(answer.body).not.toContain(user.password);
  }
  expect(await isSignedIn(agent)).toBe(false);
});

test('a body that is not a form is refused before it is read (security A20, R106)', async () => {
  const agent = new UserAgent(service);
  const hidden = hiddenFields((await agent.get('/login')).body);
  const body = new URLSearchParams({ ...hidden, username: 'Alice', password: user.password }).toString();
  for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencodedx', '']) {
    const answer = await agent.fetch('/login', { method: 'POST', body, headers: { 'content-type': type } });
    expect(answer.status).toBe(415);
  }
  expect((await agent.fetch('/login', { method: 'POST' })).status).toBe(415);
  expect(await isSignedIn(agent)).toBe(false);
});

test.each<[string, Record<string, string>]>([
  ['a NUL in the name', { username: 'a\0b', password: 'x' }],
  ['a NUL in the password', { username: 'Alice', password: 'a\0b' }],
  ['an oversize name', { username: 'x'.repeat(5000), password: 'x' }],
  ['an oversize password', { username: 'Alice', password: 'x'.repeat(50_000) }],
  ['markup', { username: '"><script>alert(1)</script>', password: 'x' }],
  ['a quote', { username: `' OR 1=1 --`, password: `' OR 1=1 --` }],
  ['an oversize anti-forgery token', { username: 'Alice', password: 'x', csrf: 'x'.repeat(5000) }],
  ['an invalid transaction', { username: 'Alice', password: 'x', transaction: '__proto__' }],
])('%s is refused without a server error (security R107)', async (_what, fields) => {
  const agent = new UserAgent(service);
  const page = await agent.get('/login');
  const answer = await agent.post('/login', { ...hiddenFields(page.body), ...fields });
  expect(answer.status).toBe(400);
  expect(answer.body).not.toContain('<script>alert');
  expect(await isSignedIn(agent)).toBe(false);
});

test('a repeated field and a form over 64 KiB are refused (security R5, R103)', async () => {
  const agent = new UserAgent(service);
  const hidden = new URLSearchParams(hiddenFields((await agent.get('/login')).body)).toString();
  const send = (body: string) =>
    agent.fetch('/login', { method: 'POST', body, headers: { 'content-type': 'application/x-www-form-urlencoded' } });
  expect((await send(`${hidden}&username=Alice&username=Bob&password=${user.password}`)).status).toBe(400);
  expect((await send(`${hidden}&username=Alice&password=${'x'.repeat(70_000)}`)).status).toBe(413);
});

test.each<[string, Record<string, string>, Record<string, string>?]>([
  ['without the token', { csrf: '' }],
  ['with an invented token', { csrf: 'A'.repeat(43) }],
  ['from a foreign origin', {}, { origin: 'https://evil.example' }],
  ['from an opaque origin', {}, { origin: 'null', 'sec-fetch-site': 'cross-site' }],
  ['from another port', {}, { origin: 'http://localhost:1' }],
  ['from another site', {}, { 'sec-fetch-site': 'cross-site' }],
  ['from another host of the same site', {}, { 'sec-fetch-site': 'same-site' }],
  ['from a bookmark or a tool', {}, { 'sec-fetch-site': 'none' }],
])('a form %s signs no user in, whatever the password (security A72, R55)', async (_what, fields, headers) => {
  const agent = new UserAgent(service);
  const page = await agent.get('/login');
  const before = await sessionsOf(user);
  const form = { ...hiddenFields(page.body), username: user.username, password: user.password, ...fields };
  const answer = await agent.post('/login', form, headers);
  expect(answer.status).toBe(headers ? 403 : 400);
  expect(answer.location).toBeUndefined();
  expect(answer.headers.getSetCookie()).toEqual([]);
  expect(await sessionsOf(user)).toBe(before);
  expect((await agent.signIn(user, headers ? page : answer)).url).toBe(`${service.issuer}/account`);
});

test('an opaque origin is refused without Sec-Fetch-Site, and accepted with same-origin, which browsers send under no-referrer (security R55)', async () => {
  const agent = new UserAgent(service);
  const page = await agent.get('/login');
  const form = { ...hiddenFields(page.body), username: user.username, password: user.password };
  const send = (headers: Record<string, string>) =>
    agent.fetch('/login', { method: 'POST', body: new URLSearchParams(form), headers });
  expect((await send({ origin: 'null' })).status).toBe(403);
  expect((await send({ origin: 'null', 'sec-fetch-site': 'same-origin' })).status).toBe(303);
});

test("another site's form, which the browser sends without cookies, does not sign the user in (security A72)", async () => {
  const attacker = new UserAgent(service);
  const page = await attacker.get('/login');
  const victim = new UserAgent(service);
  const form = { ...hiddenFields(page.body), username: user.username, password: user.password };
  const answer = await victim.post('/login', form, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' });
  expect(answer.status).toBe(403);
  expect(answer.headers.getSetCookie()).toEqual([]);
});

test("the anti-forgery token of an attacker's page does not sign the victim in (security A72, R55)", async () => {
  const attacker = new UserAgent(service);
  const stolen = hiddenFields((await attacker.get('/login')).body);
  const agent = new UserAgent(service);
  await agent.get('/login');
  const answer = await agent.post('/login', { ...stolen, username: user.username, password: user.password });
  expect(answer.status).toBe(400);
  expect(agent.cookies.has('JSESSIONOPENID')).toBe(false);
});

test("the anti-forgery token of another browser's page or of another transaction is refused (security R55)", async () => {
  const client = await service.createClient();
  const agent = new UserAgent(service);
  const open = async () => agent.follow(await agent.get(authorizationUrl(service.issuer, client)));
  const [first, second] = [await open(), await open()];
  const otherPage = await new UserAgent(service).get('/login');
  for (const other of [second, otherPage, await agent.get('/login')]) {
    const answer = await agent.post('/login', {
      ...hiddenFields(first.body),
      csrf: hiddenFields(other.body)['csrf']!,
      username: user.username,
      password: user.password,
    });
    expect(answer.status).toBe(400);
    expect(agent.cookies.has('JSESSIONOPENID')).toBe(false);
  }
});

test('a form that was open for too long says so, keeps the user name, and signs in to the account page (decisions section 4)', async () => {
  const client = await service.createClient();
  const agent = new UserAgent(service);
  const page = await agent.follow(await agent.get(authorizationUrl(service.issuer, client)));
  await service.database.sql('UPDATE authorization_requests SET expires_at = now() WHERE client_id = $1', [
    client.clientId,
  ]);
  const answer = await agent.submit(page, { username: user.username, password: user.password });
  expect(answer.status).toBe(400);
  expect(answer.body).toContain('This page expired');
  expect(agent.cookies.has('JSESSIONOPENID')).toBe(false);
  expect((await agent.signIn(user, answer)).url).toBe(`${service.issuer}/account`);
});

test.each([
  ['client', 'This application can’t sign you in'],
  ['request', 'The application sent an invalid request'],
  ['expired', 'This page expired'],
])('?problem=%s gets 400 and a page without a form (decisions section 3)', async (problem, text) => {
  const page = await new UserAgent(service).get(`/login?problem=${problem}`);
  expect(page.status).toBe(400);
  expect(page.body).toContain(text);
  expect(page.body).not.toContain('<form');
});

test('a URL can put no other problem into the page (security A17)', async () => {
  for (const problem of ['<script>', 'credentials', 'toString', '__proto__']) {
    const page: Page = await new UserAgent(service).get(`/login?problem=${encodeURIComponent(problem)}`);
    expect(page.status).toBe(200);
    expect(page.body).not.toContain('<script>alert');
    expect(page.body).not.toContain('Incorrect user name or password');
  }
});

test('the page names the client and shows its legal links, and after sign-in redirects only to that client (decisions section 2)', async () => {
  const client = await service.createClient({
    client_name: 'Harbour',
    policy_uri: 'https://rp.example.com/p',
    tos_uri: 'https://rp.example.com/t',
  });
  const agent = new UserAgent(service);
  const page = await agent.follow(await agent.get(authorizationUrl(service.issuer, client, { state: 's' })));
  for (const shown of ['Harbour', 'https://rp.example.com/p', 'https://rp.example.com/t'])
    expect(page.body).toContain(shown);
  expect((await agent.get(`/login?next=https://evil.example&redirect_uri=https://evil.example`)).body).not.toContain(
    'evil.example',
  );
  const answer = await agent.post('/login', {
    ...hiddenFields(page.body),
    username: user.username,
    password: user.password,
  });
  expect(answer.status).toBe(303);
  expect(answer.location).toMatch(`${service.issuer}/consent?transaction=`);
  const end = await agent.submit(await agent.follow(answer), { decision: 'allow' });
  expect(responseParameters(end)['state']).toBe('s');
});

test('a weak password hash is upgraded at sign-in, and the password still works (security R58)', async () => {
  const argon2 = (await import('argon2')).default;
  const user = await service.createUser();
  const weak = await argon2.hash(user.password, {
    type: argon2.argon2id,
    memoryCost: 8192,
    timeCost: 2,
    parallelism: 1,
  });
  await service.database.sql('UPDATE users SET password_hash = $2 WHERE sub = $1', [user.sub, weak]);
  for (let attempt = 0; attempt < 2; attempt++)
    expect((await new UserAgent(service).signIn(user)).url).toBe(`${service.issuer}/account`);
  const [row] = await service.database.sql<{ password_hash: string }>(
    'SELECT password_hash FROM users WHERE sub = $1',
    [user.sub],
  );
  expect(row!.password_hash).toContain('m=19456,');
});

test('the audit trail contains sign-ins and failures, without the password (decisions section 7)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.signIn({ ...user, password: 'the wrong password' });
  await agent.signIn(user);
  const rows = await service.database.sql<{ type: string; detail: unknown; row: string }>(
    `SELECT type, detail, row_to_json(a)::text AS row FROM audit_events a WHERE sub = $1 AND type LIKE 'user.sign%' ORDER BY id`,
    [user.sub],
  );
  expect(rows).toMatchObject([{ type: 'user.sign_in_failed' }, { type: 'user.signed_in', detail: { amr: ['pwd'] } }]);
  const logged = JSON.stringify(service.logs) + rows.map(({ row }) => row).join();
  expect(logged).not.toContain('the wrong password');
  expect(logged).not.toContain(user.password);
});
