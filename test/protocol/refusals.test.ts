// A refusal that stays on a page of the service shows a reference, by which an administrator learns what was wrong.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let client: TestClient;
let networks = 0;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, TRUST_PROXY: '127.0.0.0/8,::1' } });
  token = await adminToken(service);
  client = await service.createClient({ client_name: 'Harbour' });
});
afterAll(() => service?.stop());
beforeEach(() => {
  networks++;
});

/** A browser in a network of its own: of each network ten refusals a minute are kept. */
const browser = () => new UserAgent(service, { 'x-forwarded-for': `10.0.${networks}.1` });
const why = async (reference: string | undefined) => {
  expect(reference).toMatch(/^[0-9a-f]{8}$/);
  const command = await runCommand(service, ['why', reference!, '--json']);
  expect(command.stderr).toBe('');
  const answer = await call(`${service.issuer}/admin/api/refusals/${reference}`, { token });
  const told = JSON.parse(command.stdout) as Record<string, unknown>;
  expect([answer.status, answer.body]).toEqual([200, told]);
  const lines = service.logs.filter((line) => line['reference'] === reference);
  expect(lines).toHaveLength(1);
  for (const name of ['client_id', 'sent', 'registered', 'hint']) expect(lines[0]![name], name).toEqual(told[name]);
  return told;
};
/** The page to which a refusal leads, with its reference. */
const shown = async (agent: UserAgent, page: Page) => {
  const end = await agent.follow(page);
  expect(end.body).toContain(page.reference ?? end.reference);
  return end;
};
const authorize = (parameters: Record<string, string>, one = client) =>
  authorizationUrl(service.issuer, one, parameters);

test('a redirect URI that does not match shows a reference, and the log and the command tell client, address and what is registered (reports B2)', async () => {
  const agent = browser();
  const page = await agent.get(
    authorize({ redirect_uri: 'https://user:pass@rp.example.com/callbak?code=private&x#y' }),
  );
  expect([page.status, page.location]).toEqual([303, `${service.issuer}/login?problem=client`]);
  const end = await shown(agent, page);
  expect([end.status, end.reference]).toEqual([400, page.reference]);
  const told = await why(page.reference);
  expect(told).toMatchObject({
    error: 'invalid_request',
    path: '/authorize',
    client_id: client.clientId,
    client_name: 'Harbour',
    sent: 'https://…@rp.example.com/callbak?code=…&…#…',
    registered: client.metadata.redirect_uris,
    reason: 'the redirect URI is not registered for the client',
  });
  expect(told).not.toHaveProperty('hint');
  const { stdout } = await runCommand(service, ['why', page.reference!]);
  expect(stdout).toMatch(/^sent +https:/m);
  expect(JSON.stringify(service.logs)).not.toMatch(/private|user:pass/);
});

test('the address is cut to 500 characters, and any text of it is kept (reports B2)', async () => {
  const agent = browser();
  const long = await agent.get(authorize({ redirect_uri: `https://rp.example.com/${'a'.repeat(900)}` }));
  expect((await why(long.reference))['sent']).toBe(`https://rp.example.com/${'a'.repeat(900)}`.slice(0, 500));
  const odd = await agent.get(authorize({ redirect_uri: '\u0007javascript:"<x>' }));
  expect((await why(odd.reference))['sent']).toBe('\u0007javascript:"<x>');
});

test('another port of a loopback address is told with the hint at the type native (reports B2)', async () => {
  const local = await service.createClient({ redirect_uris: ['http://127.0.0.1:3000/cb'] });
  const agent = browser();
  const page = await agent.get(authorize({ redirect_uri: 'http://127.0.0.1:3001/cb' }, local));
  expect((await why(page.reference))['hint']).toContain('native');
  const other = await agent.get(authorize({ redirect_uri: 'http://127.0.0.1:3001/other' }, local));
  expect(await why(other.reference)).not.toHaveProperty('hint');
  const short = await agent.get(
    `/authenticate?client_id=${local.clientId}&redirect_uri=${encodeURIComponent('http://127.0.0.1:3001/cb')}`,
  );
  expect(await why(short.reference)).toMatchObject({ path: '/authenticate', hint: expect.stringContaining('native') });
});

test('each other refusal that stays on a page has a reference: an unknown and a disabled client, a request that is wrong, has expired or was answered (reports B2)', async () => {
  const disabled = await service.createClient({ client_name: 'Asleep' }, { status: 'disabled' });
  const agent = browser();
  const unknown = await agent.get(authorize({ client_id: 'nobody-knows-me' }));
  expect(await why(unknown.reference)).toMatchObject({ client_id: 'nobody-knows-me', reason: /no client/ });
  const asleep = await agent.get(authorize({}, disabled));
  expect(await why(asleep.reference)).toMatchObject({ client_name: 'Asleep', reason: /not enabled/ });
  const doubled = await agent.get(`${authorize({})}&client_id=x`);
  expect(doubled.location).toBe(`${service.issuer}/login?problem=request`);
  await shown(agent, doubled);
  expect(await why(doubled.reference)).toMatchObject({ error_description: expect.stringContaining('repeated') });
  const expired = await agent.get('/authorize?transaction=unknown');
  expect(expired.location).toBe(`${service.issuer}/login?problem=expired`);
  await shown(agent, expired);
  expect(await why(expired.reference)).toMatchObject({ error_description: expect.stringContaining('expired') });
});

test('a logout request that cannot be answered has a reference, with the addresses of the client (reports B2)', async () => {
  const agent = browser();
  const rp = await service.createClient({ post_logout_redirect_uris: ['https://rp.example.com/out'] });
  const page = await agent.get(
    `/logout?client_id=${rp.clientId}&post_logout_redirect_uri=${encodeURIComponent('https://rp.example.com/uot?a=b')}`,
  );
  expect(page.status).toBe(400);
  expect(await why(page.reference)).toMatchObject({
    path: '/logout',
    client_id: rp.clientId,
    sent: 'https://rp.example.com/uot?a=…',
    registered: ['https://rp.example.com/out'],
  });
  const unnamed = await agent.get('/logout?post_logout_redirect_uri=https%3A%2F%2Frp.example.com%2Fout');
  expect(await why(unnamed.reference)).toMatchObject({ reason: expect.stringContaining('names no client') });
  const hint = await agent.get('/logout?id_token_hint=nonsense');
  expect(await why(hint.reference)).toMatchObject({ reason: expect.stringContaining('id_token_hint') });
});

test('a user whom the service does not admit to a client sees a reference, and an administrator learns why (reports B2)', async () => {
  const user = await service.createUser();
  const closed = await service.createClient({ client_name: 'Closed' });
  await service.database.sql(`UPDATE clients SET access = 'groups', access_groups = '{staff}' WHERE client_id = $1`, [
    closed.clientId,
  ]);
  const agent = browser();
  const page = await agent.authorize(closed, user);
  expect(page.url).toContain('/access-denied');
  expect(await why(page.reference)).toMatchObject({ client_name: 'Closed', sub: user.sub, reason: 'not_in_group' });
});

test('ten refusals a minute and network are kept, and the others have a reference that only the log knows (reports B2, security R105)', async () => {
  const agent = browser();
  const pages = [];
  for (let n = 0; n < 12; n++) pages.push(await agent.get(authorize({ redirect_uri: `https://rp.example.com/${n}` })));
  for (const { reference } of pages.slice(0, 10)) await why(reference);
  for (const { reference } of pages.slice(10)) {
    const refused = await runCommand(service, ['why', reference!]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('24 hours')]);
    expect(service.logs.some((line) => line['reference'] === reference && line['sent'] !== undefined)).toBe(true);
  }
  networks++;
  await why((await browser().get(authorize({ redirect_uri: 'https://rp.example.com/x' }))).reference);
});

test('at most 10,000 refusals are kept, the newest, each for 24 hours (reports B2, security R105)', async () => {
  await service.database.sql(
    `INSERT INTO refusals (slot, reference, facts) SELECT n, lpad(to_hex(n), 8, '0'), '{}' FROM generate_series(0, 9999) n
     ON CONFLICT (slot) DO NOTHING`,
  );
  const page = await browser().get(authorize({ redirect_uri: 'https://rp.example.com/newest' }));
  await why(page.reference);
  expect(await service.database.sql('SELECT count(*)::int AS n FROM refusals')).toEqual([{ n: 10_000 }]);
  await service.database.sql(
    `UPDATE refusals SET refused_at = now() - interval '24 hours 1 second' WHERE reference = $1`,
    [page.reference],
  );
  expect((await runCommand(service, ['why', page.reference!])).code).toBe(1);
});

test('a reference is eight characters, for the route, the command and the page (reports B2)', async () => {
  expect((await call(`${service.issuer}/admin/api/refusals/nonsense`, { token })).status).toBe(400);
  expect((await runCommand(service, ['why', "x' OR 1=1"])).code).toBe(1);
  const page = await browser().get('/login?problem=client&reference=Call+0800+1234');
  expect(page.body).not.toContain('0800');
});
