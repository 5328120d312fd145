// The browser's session has its own cookie, is replaced at each sign-in, and counts as signed out if its cookie is malformed or repeated.
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const name = 'JSESSIONOPENID';
let service: TestService;
let user: TestUser;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
  user = await service.createUser();
});
afterAll(() => service?.stop());

async function signedIn(as = user): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(as);
  return agent;
}

const isSignedIn = async (agent: UserAgent) => (await agent.get('/account')).status === 200;
const countSessions = async (user: TestUser) =>
  (await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM sessions WHERE sub = $1', [user.sub]))[0]!
    .n;

/** Sends a request with these Cookie headers, byte by byte. */
function raw(
  path: string,
  cookies: string[],
): Promise<{ status: number; location: string | undefined; setCookie: string[] }> {
  return new Promise((resolve, reject) => {
    const url = new URL(service.issuer + path);
    const headers = ['host', url.host, 'accept', 'text/html', ...cookies.flatMap((cookie) => ['cookie', cookie])];
    httpRequest({ host: url.hostname, port: url.port, path: url.pathname + url.search, headers }, (response) => {
      response.resume().once('end', () =>
        resolve({
          status: response.statusCode!,
          location: response.headers.location,
          setCookie: response.headers['set-cookie'] ?? [],
        }),
      );
    })
      .once('error', reject)
      .end();
  });
}

test('the cookies are random, HttpOnly, SameSite=Lax, limited to the base path, and have no domain (security R50)', async () => {
  const agent = new UserAgent(service);
  const page = await agent.get('/login');
  const answer = await agent.post('/login', {
    ...hiddenFields(page.body),
    username: user.username,
    password: user.password,
  });
  const lines = [...page.headers.getSetCookie(), ...answer.headers.getSetCookie()];
  expect(lines.map((line) => line.split('=')[0]!.replace(/_[0-9a-f]{8}$/, '')).sort()).toEqual([
    'GATEHOUSE_BROWSER',
    'GATEHOUSE_KNOWN_BROWSER',
    name,
  ]);
  for (const line of lines) {
    expect(line).toMatch(/; Path=\/(;|$)/);
    expect(line).toContain('HttpOnly');
    expect(line).toContain('SameSite=Lax');
    expect(line).not.toMatch(/Domain|Secure/i);
    expect(line.split(';')[0]!.split('=')[1]!.length).toBeGreaterThanOrEqual(43);
  }
});

test('with an https base URL every cookie is Secure (security R50)', async () => {
  const secure = await startTestService({ environment: { BASE_URL: 'https://id.example.com' } });
  try {
    const user = await secure.createUser();
    const agent = new UserAgent(secure);
    const page = await agent.get('/login');
    const form = { ...hiddenFields(page.body), username: user.username, password: user.password };
    const answer = await agent.post('/login', form, { origin: 'https://id.example.com' });
    expect(answer.headers.get('location')).toBe('/account');
    for (const line of [...page.headers.getSetCookie(), ...answer.headers.getSetCookie()])
      expect(line).toContain('; Secure');
    expect(page.headers.get('strict-transport-security')).toMatch(/max-age=31536000/);
  } finally {
    await secure.stop();
  }
});

test('a session cookie that an attacker planted before the sign-in is invalid after it (security A69, R52)', async () => {
  const attacker = await signedIn(await service.createUser());
  for (const planted of [attacker.cookies.get(name)!, `ghs_${'A'.repeat(49)}`]) {
    const victim = new UserAgent(service);
    victim.cookies.set(name, planted);
    await victim.signIn(user);
    expect(victim.cookies.get(name)).not.toBe(planted);
    expect(await isSignedIn(victim)).toBe(true);
    const browserWithPlanted = new UserAgent(service);
    browserWithPlanted.cookies.set(name, planted);
    expect(await isSignedIn(browserWithPlanted)).toBe(false);
  }
});

test('a new sign-in creates a new session, and the old cookie is invalid on every instance (security R52)', async () => {
  const user = await service.createUser();
  const agent = await signedIn(user);
  const old = agent.cookies.get(name)!;
  await agent.signIn(user);
  expect(agent.cookies.get(name)).not.toBe(old);
  expect(await countSessions(user)).toBe(1);
  for (const issuer of service.instances) {
    const attacker = new UserAgent({ issuer });
    attacker.cookies.set(name, old);
    expect(await isSignedIn(attacker)).toBe(false);
  }
});

test('a new sign-in of the same user keeps the tokens of other clients in the session (OpenID Connect Core 3.1.2.1)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const page = await agent.authorize(client, undefined);
  const { body } = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: responseParameters(page)['code']!,
    redirect_uri: client.redirectUri,
  });
  const userinfo = () =>
    fetch(`${service.issuer}/user/info`, { headers: { authorization: `Bearer ${body['access_token'] as string}` } });
  await agent.signIn(user);
  expect((await userinfo()).status).toBe(200);
  await agent.signIn(await service.createUser());
  expect((await userinfo()).status).toBe(401);
});

test('a wrong password at re-authentication leaves the session unchanged (security R52)', async () => {
  const agent = await signedIn();
  const old = agent.cookies.get(name);
  await agent.signIn({ ...user, password: 'a wrong password' });
  expect(agent.cookies.get(name)).toBe(old);
  expect(await isSignedIn(agent)).toBe(true);
});

test('two session cookies count as signed out, in either order and in two headers, and the service expires the cookie (security A70, R51)', async () => {
  const alice = (await signedIn()).cookies.get(name)!;
  const evil = (await signedIn(await service.createUser())).cookies.get(name)!;
  expect((await raw('/account', [`${name}=${alice}`])).status).toBe(200);
  const silent = authorizationUrl(service.issuer, await service.createClient(), { prompt: 'none' }).slice(
    service.issuer.length,
  );
  for (const cookies of [
    [`${name}=${alice}; ${name}=${evil}`],
    [`${name}=${evil}; ${name}=${alice}`],
    [`${name}=${alice}; ${name}=${alice}`],
    [`${name}=${evil}`, `${name}=${alice}`],
  ]) {
    const answer = await raw('/account', cookies);
    expect(answer.status).toBe(303);
    expect(answer.setCookie.join()).toMatch(new RegExp(`${name}=;.*(Max-Age=0|Expires=Thu, 01 Jan 1970)`));
    expect((await raw(silent, cookies)).location).toContain('error=login_required');
  }
});

test('a malformed cookie counts as signed out, and causes no server error (security A71, R53)', async () => {
  const good = (await signedIn()).cookies.get(name)!;
  for (const value of [
    '',
    '%',
    '%00',
    '%ff%fe',
    '\xff\xfe',
    '__proto__',
    '[object Object]',
    '"',
    `"${good}"`,
    `${good}x`,
    good.slice(0, -1),
    good.slice(0, -1) + (good.endsWith('A') ? 'B' : 'A'),
    good.toUpperCase(),
    ` ${good} x`,
    `${good}%00`,
    'x'.repeat(8000),
    'true',
    '1',
    "' OR 1=1",
  ]) {
    const answer = await raw('/account', [`${name}=${value}`]);
    expect(answer.status, value).toBe(303);
    expect(answer.location, value).toMatch('/login');
  }
});

test('a malformed browser cookie is replaced, and the sign-in works (security R53)', async () => {
  for (const value of ['', '%', 'short', 'x'.repeat(5000), '__proto__']) {
    const agent = new UserAgent(service);
    agent.cookies.set('GATEHOUSE_BROWSER', value);
    expect((await agent.signIn(user)).url).toBe(`${service.issuer}/account`);
  }
});

test('an access token, a code or a refresh token is not accepted as a session cookie (security R18, R30)', async () => {
  const client = await service.createClient();
  const code = responseParameters(await (await signedIn()).authorize(client, undefined))['code']!;
  expect((await raw('/account', [`${name}=${code}`])).status).toBe(303);
});

test('without cookies the page says that they are needed (decisions section 3)', async () => {
  const page = await new UserAgent(service).get('/login');
  const form = { ...hiddenFields(page.body), username: user.username, password: user.password };
  const answer = await new UserAgent(service).post('/login', form);
  expect(answer.status).toBe(400);
  expect(answer.body).toContain('Cookies are blocked');
});

test.each<[string, string]>([
  ['after its idle timeout', 'UPDATE sessions SET idle_expires_at = now() WHERE sub = $1'],
  ['after its absolute timeout', 'UPDATE sessions SET idle_expires_at = now(), expires_at = now() WHERE sub = $1'],
  ['of a disabled user', `UPDATE users SET status = 'disabled' WHERE sub = $1`],
  ['ended by an administrator', 'DELETE FROM sessions WHERE sub = $1'],
])('a session %s ends at once on every instance (security R54, A73)', async (_what, sql) => {
  const user = await service.createUser();
  const client = await service.createClient();
  const agent = await signedIn(user);
  await agent.authorize(client, undefined);
  const value = agent.cookies.get(name)!;
  await service.database.sql(sql, [user.sub]);
  for (const issuer of service.instances) {
    const copied = new UserAgent({ issuer });
    copied.cookies.set(name, value);
    expect(await isSignedIn(copied)).toBe(false);
    copied.cookies.set(name, value);
    const silent = await copied.get(authorizationUrl(issuer, client, { prompt: 'none' }));
    expect(responseParameters(silent)['error']).toBe('login_required');
  }
});

test('a user who is disabled during the sign-in is not signed in (security R54)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  const page = await agent.get('/login');
  await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [user.sub]);
  expect((await agent.signIn(user, page)).status).toBe(400);
  expect(await countSessions(user)).toBe(0);
});

test('the anti-forgery token neither equals nor contains a cookie, and differs between pages (security R56)', async () => {
  const agent = await signedIn();
  const tokens = [];
  for (const path of ['/login', '/logout', '/login']) tokens.push(hiddenFields((await agent.get(path)).body)['csrf']!);
  expect(tokens[0]).not.toBe(tokens[1]);
  for (const value of agent.cookies.values())
    for (const token of tokens) expect(token.includes(value) || value.includes(token)).toBe(false);
});

test('a sign-in whose audit event cannot be stored leaves no session, and its cookie is invalid (security R101)', async () => {
  const user = await service.createUser();
  // the database refuses the audit event at each attempt
  await service.database.sql(`CREATE FUNCTION lose_record() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END $$`);
  await service.database.sql(`CREATE TRIGGER lose_record BEFORE INSERT ON audit_events FOR EACH ROW
    WHEN (NEW.type = 'user.signed_in') EXECUTE FUNCTION lose_record()`);
  const agent = new UserAgent(service);
  expect(await agent.signIn(user)).toMatchObject({ status: 503 });
  await service.database.sql('DROP TRIGGER lose_record ON audit_events');
  expect(await countSessions(user)).toBe(0);
  expect(await isSignedIn(agent)).toBe(false);
  expect(await isSignedIn(await signedIn(user))).toBe(true);
});
