// Administrators list and end sessions, by admin route and by command line; a change of the admin flag ends them, too.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserName } from '../../src/domain/sessions/browser-name.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, obtainTokens, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { ask, isSignedIn, runCodeFlow, second } from '../spec/kit.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const offline = { client_name: 'Harbour', scope: 'openid profile offline_access', uma_profile: true };
const admin = (path: string, method = 'GET') => call(`${service.issuer}/admin/api${path}`, { method, token });
const listed = async (sub: string) =>
  (await admin(`/sessions?sub=${sub}`)).body['sessions'] as Record<string, unknown>[];
const ended = (sub: string) =>
  service.database.sql(`SELECT actor, detail FROM audit_events WHERE type = 'session.ended' AND sub = $1 ORDER BY id`, [
    sub,
  ]);

/** Signs in, and returns the cookie and tokens that a browser and a client hold of one session. */
async function startSession(client: TestClient, user?: Awaited<ReturnType<TestService['createUser']>>) {
  const held = await runCodeFlow(service, client, { scope: 'openid profile offline_access' }, user && { user });
  const kept = await runCodeFlow(service, client, { scope: 'openid profile' }, { user: held.user, agent: held.agent });
  return { ...held, kept };
}
/** Names the credentials that work at the other instance. */
async function workingCredentials({
  agent,
  client,
  tokens,
  kept,
}: Awaited<ReturnType<typeof startSession>>): Promise<string[]> {
  const base = second(service);
  const handle = await ask(base, '/user/me/info', `Bearer ${kept.tokens.client_session_handle}`);
  const works = {
    cookie: await isSignedIn(agent, base),
    'access token': (await userinfo(base, tokens.access_token)).status === 200,
    handle: handle.status === 200,
    'refresh token': (await refresh(base, client, kept.tokens.refresh_token)).status === 200,
    'offline refresh token': (await refresh(base, client, tokens.refresh_token)).status === 200,
  };
  return Object.entries(works).flatMap(([name, works]) => (works ? [name] : []));
}

test('the list of sessions shows the times, address, browser, authentication level and clients of a session (decisions section 8)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  const login = await agent.get('/login');
  const csrf = /name="csrf" value="([^"]*)"/.exec(login.body)![1]!;
  await agent.post(
    '/login',
    { csrf, username: user.username, password: user.password },
    { 'user-agent': `${firefox} ${'x'.repeat(4000)}` },
  );
  const clients = [await service.createClient({ client_name: 'Harbour' }), await service.createClient()];
  for (const client of clients) await obtainTokens(service, client, undefined, {}, agent);
  const time = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(await listed(user.sub)).toEqual([
    {
      id: expect.any(String),
      sub: user.sub,
      username: user.username,
      created_at: time,
      signed_in_at: time,
      used_at: time,
      expires_at: time,
      remembered: false,
      acr: 'urn:gatehouse:acr:password',
      amr: ['pwd'],
      address: expect.stringMatching(/^(::1|127\.0\.0\.1)$/),
      browser: 'Firefox on Linux',
      user_agent: expect.stringMatching(/^Mozilla.{193}$/),
      clients: expect.arrayContaining([
        { client_id: clients[0]!.clientId, client_name: 'Harbour' },
        { client_id: clients[1]!.clientId, client_name: clients[1]!.clientId },
      ]),
    },
  ]);
});

test.each([
  [firefox, 'Firefox on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Edg/138.0',
    'Edge on Windows',
  ],
  [
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36',
    'Chrome on Android',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1',
    'Safari on iPhone',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15',
    'Safari on macOS',
  ],
  ['curl/8.14.1', 'curl'],
  ['Mozilla/5.0', undefined],
  ['<script>', undefined],
  [undefined, undefined],
])('the user agent %j is shown as %j (decisions section 8)', (userAgent, name) => {
  expect(browserName(userAgent)).toBe(name);
});

describe('ending sessions', () => {
  test('ending one session revokes everything issued in it, on every instance, and leaves other sessions alone (security R54)', async () => {
    const client = await service.createClient(offline);
    const mine = await startSession(client);
    const elsewhere = await startSession(client, mine.user);
    const [newest, older] = await listed(mine.user.sub);
    expect(await admin(`/sessions/${older!['id'] as string}`, 'DELETE')).toMatchObject({ status: 204 });
    expect(await workingCredentials(mine)).toEqual([]);
    expect(await workingCredentials(elsewhere)).toHaveLength(5);
    expect((await listed(mine.user.sub)).map(({ id }) => id)).toEqual([newest!['id']]);
  });

  test('ending all sessions of a user also revokes tokens that outlived a logout, and records the actor (security R54)', async () => {
    const client = await service.createClient(offline);
    const mine = await startSession(client);
    const elsewhere = await startSession(client, mine.user);
    const { agent, user } = await startSession(client, mine.user);
    await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
    const path = `/users/${user.sub}/sessions`;
    expect(await admin(path, 'DELETE')).toMatchObject({ status: 200 });
    for (const held of [mine, elsewhere]) expect(await workingCredentials(held)).toEqual([]);
    expect(await service.database.sql('SELECT 1 FROM client_sessions WHERE sub = $1', [user.sub])).toEqual([]);
    expect(await listed(user.sub)).toEqual([]);
    const events = await ended(user.sub);
    expect(events).toEqual([{ actor: expect.any(String), detail: { sessions: 2 } }]);
    // a second request ends nothing, and writes no event
    expect(await admin(path, 'DELETE')).toMatchObject({ status: 200 });
    expect(await ended(user.sub)).toEqual(events);
    expect(await admin('/users/nobody/sessions', 'DELETE')).toMatchObject({ status: 404 });
  });

  test('the command line lists and ends sessions (decisions section 8)', async () => {
    const user = await service.createUser();
    const agents = [1, 2, 3].map(() => new UserAgent(service));
    for (const agent of agents) await agent.signIn(user);
    const run = (...args: string[]) => runCommand(service, ['session', ...args]);
    const [json, text] = await Promise.all([run('list', '--user', user.username, '--json'), run('list')]);
    const sessions = await listed(user.sub);
    expect(JSON.parse(json.stdout)).toEqual(sessions);
    for (const { id } of sessions) expect(text.stdout).toContain(id);
    const one = await run('end', sessions[0]!['id'] as string);
    expect([one.code, one.stdout]).toEqual([0, expect.stringContaining('Ended the session')]);
    expect(await isSignedIn(agents[2]!, second(service))).toBe(false);
    const rest = await run('end-all', user.username, '--json');
    expect(JSON.parse(rest.stdout)).toEqual({ sub: user.sub, sessions: 2, tokens: expect.any(Number) });
    expect(await listed(user.sub)).toEqual([]);
    expect(await ended(user.sub)).toMatchObject([{ actor: 'command line' }, { actor: 'command line' }]);
    const again = await run('end', sessions[0]!['id'] as string);
    expect([again.code, again.stderr]).toEqual([1, 'There is no such session.\n']);
    // an id may begin with hyphens
    expect((await run('end', '--aBc0dEf')).stderr).toBe('There is no such session.\n');
  });
});

test.each([
  [
    'by an admin route',
    (sub: string, admin: boolean) =>
      call(`${service.issuer}/admin/api/users/${sub}`, { method: 'PATCH', token, body: { admin } }),
  ],
  [
    'by SQL',
    (sub: string, admin: boolean) => service.database.sql('UPDATE users SET admin = $2 WHERE sub = $1', [sub, admin]),
  ],
])(
  "a change of the admin flag %s ends the user's sessions, and earlier tokens no longer open the admin routes (security R52)",
  async (_way, set) => {
    await service.createUser({ admin: true });
    const console = await service.createClient({ scope: 'openid admin offline_access' }, { firstParty: true });
    const client = await service.createClient(offline);
    const user = await service.createUser();
    for (const isAdmin of [true, false]) {
      const held = await startSession(client, user);
      const scope = { scope: 'openid admin offline_access' };
      const tokens = await obtainTokens(service, console, undefined, scope, held.agent);
      await set(user.sub, isAdmin);
      // offline_access that was granted without the scope admin survives, as after a logout
      expect(await workingCredentials(held)).toEqual(['offline refresh token']);
      expect(await refresh(second(service), console, tokens.refresh_token)).toMatchObject({ status: 400 });
      const read = await call(`${second(service)}/admin/api/users`, { token: tokens.access_token });
      expect(read.status).toBe(401);
    }
  },
);
