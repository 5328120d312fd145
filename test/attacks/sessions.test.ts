// Attacks browser sessions: planted, doubled and broken cookies, forms of other sites, sessions that should be over.
import { afterAll, beforeAll, expect } from 'vitest';
import { adminToken, call, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import { newOpaqueToken } from '../../src/tokens/opaque-token.ts';
import { ask, createTestUser, isSignedIn, runCodeFlow, second, wholeClient } from '../spec/kit.ts';
import { attack } from './attack.ts';
import { hostOf, raw } from './raw.ts';

const name = 'JSESSIONOPENID';
const browser = 'GATEHOUSE_BROWSER';

let service: TestService;
let alice: TestUser;
let bob: TestUser;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  alice = await createTestUser(service);
  bob = await createTestUser(service);
});
afterAll(() => service?.stop());

async function signedIn(user: TestUser, agent = new UserAgent(service)): Promise<UserAgent> {
  await agent.signIn(user);
  return agent;
}
function copyOf(agent: UserAgent): UserAgent {
  const copy = new UserAgent(service);
  for (const [key, value] of agent.cookies) copy.cookies.set(key, value);
  return copy;
}
const expires = (page: Page, cookie: string) =>
  page.headers
    .getSetCookie()
    .filter((line) => line.startsWith(`${cookie}=;`) && /Max-Age=0|Expires=Thu, 01 Jan 1970/.test(line));

attack(
  {
    id: 'A69',
    name: 'Fixation',
    request:
      'The victim signs in with a session cookie and a browser cookie that the attacker planted, invented or live; then the attacker uses them',
    answer: 'The id changes at sign-in, the planted session is gone from the store, and the attacker stays signed out',
    source: 'CVE-2026-7507, fastify/session#240, CVE-2023-29019',
    requirements: ['R52'],
  },
  async () => {
    const client = await service.createClient();
    // an invented cookie in the published format; and a live one of the attacker
    for (const planted of [newOpaqueToken('session').token, (await signedIn(bob)).cookies.get(name)!]) {
      const attacker = new UserAgent(service);
      // a request of the attacker waits in the browser whose cookie is planted too
      const waiting = await attacker.get(authorizationUrl(service.issuer, client));
      attacker.cookies.set(name, planted);
      const victim = copyOf(attacker);
      await signedIn(alice, victim);
      expect(victim.cookies.get(name)).not.toBe(planted);
      attacker.cookies.set(name, planted);
      expect(await isSignedIn(attacker, second(service))).toBe(false);
      attacker.cookies.set(name, planted);
      const resumed = await attacker.get(waiting.location!.replace('/login', '/authorize'));
      expect(resumed.location).toContain(`${service.issuer}/login`);
      const silent = await attacker.get(authorizationUrl(service.issuer, client, { prompt: 'none' }));
      expect(responseParameters(silent)['error']).toBe('login_required');
      expect(await isSignedIn(victim, second(service))).toBe(true);
    }
    const { n } = (
      await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM sessions WHERE sub = $1', [bob.sub])
    )[0]!;
    expect(n).toBe(0);
  },
);

attack(
  {
    id: 'A70',
    name: 'Cookie tossing',
    request:
      "Two cookies of the name JSESSIONOPENID, the victim's and the attacker's, in either order, in one header or two",
    answer: 'Signed out, and the cookie is expired with the attributes that it was set with',
    source: 'OWASP ASVS 3.3.1',
    requirements: ['R51', 'R50'],
  },
  async () => {
    const client = await service.createClient();
    const agent = await signedIn(alice);
    const [own, attackers] = [agent.cookies.get(name)!, (await signedIn(bob)).cookies.get(name)!];
    const set = (await new UserAgent(service).get('/login')).headers.getSetCookie()[0]!;
    const attributes = (line: string) =>
      line
        .split('; ')
        .slice(1)
        .filter((part) => !/^(Max-Age|Expires)=/.test(part))
        .toSorted();
    for (const pair of [
      [attackers, own],
      [own, attackers],
      [own, own],
    ] as const) {
      const cookie = pair.map((value) => `${name}=${value}`).join('; ');
      const page = await agent.get('/account', { cookie });
      expect(page.location).toBe(`${service.issuer}/login`);
      const gone = expires(page, name);
      expect(gone).toHaveLength(1);
      expect(attributes(gone[0]!)).toEqual(attributes(set));
      const silent = await agent.get(authorizationUrl(service.issuer, client, { prompt: 'none' }), { cookie });
      expect(responseParameters(silent)['error']).toBe('login_required');
      const form = await agent.post('/account', { csrf: 'x', withdraw: client.clientId }, { cookie });
      expect(form.location).toBe(`${service.issuer}/login`);
      const lines = pair.map((value) => `Cookie: ${name}=${value}`);
      const answer = await raw(service.issuer, ['GET /account HTTP/1.1', hostOf(service.issuer), ...lines]);
      expect(answer.status).toBe(303);
      expect(answer.headers).toMatch(/location: \/login\b/i);
    }
    // the request signed out no user on the server
    agent.cookies.set(name, own);
    expect(await isSignedIn(agent, second(service))).toBe(true);
  },
);

attack(
  {
    id: 'A71',
    name: 'Malformed cookie',
    request:
      'A session cookie that is empty, quoted, a percent sign, 8 KB long, not UTF-8, a NUL, a list, the name of a property of every object, or another type of token',
    answer: 'Anonymous: 200 or a redirect to the sign-in page as usual, never 5xx and never signed in',
    source: 'CVE-2026-25748',
    requirements: ['R53'],
  },
  async () => {
    const live = (await signedIn(alice)).cookies.get(name)!;
    const values = [
      '',
      '%',
      '%zz',
      '%00',
      '%ff',
      '\xff\xfe',
      '\xc3\x28',
      '__proto__',
      'constructor',
      '[object Object]',
      '["a"]',
      'j:{"a":1}',
      `"${live}"`,
      `${live}=`,
      `${live}%20`,
      live.slice(0, -1),
      live.toUpperCase(),
      live.replace('ghse_', 'ghat_'),
      newOpaqueToken('session').token,
      newOpaqueToken('access_token').token,
      'x'.repeat(8 * 1024),
    ];
    const send = (path: string, value: string) =>
      raw(second(service), [
        `GET ${path} HTTP/1.1`,
        hostOf(service.issuer),
        'Accept: text/html',
        `Cookie: ${name}=${value}`,
      ]);
    const client = await service.createClient();
    const silent = authorizationUrl('', client, { prompt: 'none' });
    await Promise.all(
      values.map(async (value) => {
        const shown = value.slice(0, 40);
        const account = await send('/account', value);
        expect(account.status, shown).toBe(303);
        expect(account.headers, shown).toMatch(/location: \/login\b/i);
        expect((await send('/login', value)).status, shown).toBe(200);
        const answer = await send(silent, value);
        expect(answer.status, shown).toBe(302);
        expect(answer.headers, shown).toContain('error=login_required');
      }),
    );
    // bytes that no header may contain
    expect((await send('/account', 'a\0b')).status).toBe(400);
    expect((await send('/account', live)).status).toBe(200);
  },
);

attack(
  {
    id: 'A72',
    name: 'Login CSRF',
    request:
      'Another site posts the sign-in form with the attacker’s right credentials: with its origin, with none, with Origin: null, as text/plain, JSON or multipart, with the attacker’s own anti-forgery token',
    answer: '403, 400 or 415; no user is signed in, and the victim’s cookies are untouched',
    source: 'OWASP ASVS 3.5.1, GHSA-rww4-4w9c-7733',
    requirements: ['R55'],
  },
  async () => {
    const mallory = await service.createUser();
    const own = hiddenFields((await new UserAgent(service).get('/login')).body);
    for (const victim of [await signedIn(alice), new UserAgent(service)]) {
      await victim.get('/login');
      const before = new Map(victim.cookies);
      const credentials = { ...own, username: mallory.username, password: mallory.password };
      const body = new URLSearchParams(credentials).toString();
      const type = 'application/x-www-form-urlencoded';
      const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
      const tries: [number[], Record<string, string>][] = [
        [[403], { ...foreign, 'content-type': type }],
        [[403], { 'sec-fetch-site': 'same-site', origin: 'https://other.localhost', 'content-type': type }],
        [[403], { 'sec-fetch-site': 'none', 'content-type': type }],
        [[403], { origin: 'https://evil.example', 'content-type': type }],
        [[403], { origin: 'null', 'content-type': type }],
        [[403], { origin: `${service.issuer}.evil.example`, 'content-type': type }],
        [[400], { 'content-type': type }],
        [[400], { origin: service.issuer, 'sec-fetch-site': 'same-origin', 'content-type': type }],
        [[415], { ...foreign, 'content-type': 'text/plain' }],
        [[415], { 'content-type': 'application/json' }],
        [[415], { 'content-type': 'multipart/form-data; boundary=x' }],
      ];
      for (const [statuses, headers] of tries) {
        const page = await victim.fetch('/login', { method: 'POST', body, headers });
        expect(statuses, JSON.stringify(headers)).toContain(page.status);
        expect(page.location).toBeUndefined();
        expect(new Map(victim.cookies), JSON.stringify(headers)).toEqual(before);
      }
      // a page of another site sends no Lax cookies at all
      const bare = await new UserAgent(service).fetch('/login', {
        method: 'POST',
        body,
        headers: { ...foreign, 'content-type': type },
      });
      expect(bare.status).toBe(403);
      expect(bare.headers.getSetCookie()).toEqual([]);
    }
    const sessions = await service.database.sql('SELECT 1 FROM sessions WHERE sub = $1', [mallory.sub]);
    expect(sessions).toEqual([]);
  },
);

attack(
  {
    id: 'A73',
    name: 'Session lives on',
    request:
      'A copy of the cookie, the tokens and the handle are used again after the user signed out, got a new password or was disabled, or after an administrator ended the session',
    answer: 'Anonymous or 401 everywhere on the other instance, from the moment the operation was answered',
    source: 'GHSA-9g4j-v8w5-7x42, OWASP ASVS 7.4',
    requirements: ['R54'],
  },
  async () => {
    const client = await service.createClient(wholeClient);
    const token = await adminToken(service);
    const admin = (method: string, path: string, body?: unknown) =>
      call(`${service.issuer}/admin/api${path}`, { method, token, ...(body !== undefined && { body }) });
    const acts: [string, (user: TestUser, agent: UserAgent) => Promise<{ status: number }>][] = [
      ['sign-out', async (_user, agent) => agent.submit(await agent.get('/logout'), { decision: 'sign-out' })],
      ['password', (user) => admin('PATCH', `/users/${user.sub}`, { password: 'quill-marmot-saffron-91' })],
      ['disabled', (user) => admin('PATCH', `/users/${user.sub}`, { status: 'disabled' })],
      ['deleted', (user) => admin('DELETE', `/users/${user.sub}`)],
      [
        'session ended',
        async (user) => {
          const { body } = await admin('GET', `/sessions?sub=${user.sub}`);
          const [session] = body['sessions'] as { id: string }[];
          return admin('DELETE', `/sessions/${session!.id}`);
        },
      ],
    ];
    for (const [act, run] of acts) {
      const { agent, user, tokens } = await runCodeFlow(service, client, { scope: 'openid' });
      const copy = copyOf(agent);
      const handle = `Bearer ${tokens.client_session_handle}`;
      expect((await ask(second(service), '/user/me/settings', handle)).status, act).toBe(200);
      expect((await run(user, agent)).status, act).toBeLessThan(300);
      const [settings, info, refreshed, silent] = await Promise.all([
        ask(second(service), '/user/me/settings', handle),
        userinfo(second(service), tokens.access_token),
        refresh(second(service), client, tokens.refresh_token),
        copyOf(copy).get(authorizationUrl(second(service), client, { prompt: 'none' })),
      ]);
      expect([settings.status, info.status, refreshed.status], act).toEqual([401, 401, 400]);
      expect(responseParameters(silent)['error'], act).toBe('login_required');
      expect(await isSignedIn(copyOf(copy), second(service)), act).toBe(false);
      const page = await copyOf(copy).get('/access-denied');
      expect(page.body, act).not.toContain(user.username);
      expect(copy.cookies.get(browser), act).toBeDefined();
    }
  },
);
