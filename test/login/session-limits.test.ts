// The service limits the codes of a session, in a minute and unredeemed at once, the sessions of a user, and the polls from one network.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, obtainCode, redeem, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const perMinute = 8;
let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      LIMIT_CODES_PER_SESSION: String(perMinute),
      LIMIT_SESSIONS_PER_USER: '3',
      LIMIT_REGISTRATION_POLLS: '4',
      TRUST_PROXY: '127.0.0.0/8,::1',
    },
  });
});
afterAll(() => service?.stop());

const sql = (text: string, ...values: unknown[]) => service.database.sql<Record<string, unknown>>(text, values);
/** Sends `count` requests at once, alternately to both instances. */
const atOnce = (count: number, ask: (base: string) => Promise<Page>) =>
  Promise.all(Array.from({ length: count }, (_, index) => ask(service.instances[index % 2]!)));
async function signedIn(): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(await service.createUser());
  return agent;
}
const requestSilently = (agent: UserAgent, client: TestClient, base = service.issuer) =>
  agent.get(authorizationUrl(base, client, { prompt: 'none' }));
const obtainCodes = async (agent: UserAgent, client: TestClient, times = perMinute) => {
  for (let count = 0; count < times; count++)
    expect(responseParameters(await requestSilently(agent, client))).toHaveProperty('code');
};

test('of 40 simultaneous requests of one session on two instances, as many as the limit get a code, and five of the codes are valid (security R19)', async () => {
  const client = await service.createClient({}, { firstParty: true });
  const agent = await signedIn();
  const pages = await atOnce(40, (base) => agent.get(authorizationUrl(base, client)));
  const codes = pages.filter(({ status }) => status === 302).map((page) => responseParameters(page)['code']!);
  expect(codes).toHaveLength(perMinute);
  for (const page of pages.filter(({ status }) => status !== 302)) {
    expect([page.status, page.location]).toEqual([429, undefined]);
    expect(page.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
    expect(page.body).toContain('Too many requests');
  }
  const answers = await Promise.all(codes.map((code) => redeem(service.issuer, client, code)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
});

test('the limit counts all clients and response types of a session, and no other session (security R19)', async () => {
  const client = await service.createClient({}, { firstParty: true });
  const types = { grant_types: ['implicit'], response_types: ['id_token', 'id_token token'] };
  const implicit = await service.createClient(types, { firstParty: true });
  const agent = await signedIn();
  await obtainCodes(agent, client, perMinute - 2);
  for (const response_type of types.response_types) {
    const page = await agent.get(authorizationUrl(service.issuer, implicit, { response_type, nonce: 'n' }));
    expect(page.location).toContain('#');
    expect(page.location).toContain('id_token=');
  }
  expect((await agent.get(authorizationUrl(service.issuer, client))).status).toBe(429);
  await obtainCodes(await signedIn(), client, 1);
});

test('a client that sent prompt=none gets temporarily_unavailable, and a script gets JSON (security R19)', async () => {
  const client = await service.createClient({}, { firstParty: true });
  const agent = await signedIn();
  await obtainCodes(agent, client);
  const silent = responseParameters(await requestSilently(agent, client, service.instances[1]));
  expect(silent).toMatchObject({ error: 'temporarily_unavailable', iss: service.issuer });
  expect(silent['error_description']).toMatch(/wait \d+ seconds/);
  const program = await agent.get(authorizationUrl(service.issuer, client), {
    accept: 'application/json',
    'sec-fetch-mode': 'cors',
  });
  expect(program.status).toBe(429);
  expect(JSON.parse(program.body)).toMatchObject({ error: 'temporarily_unavailable' });
});

test('one minute after its first response the session gets another code, and the waiting request still exists (security R19)', async () => {
  const client = await service.createClient({}, { firstParty: true });
  const consenting = await service.createClient();
  const agent = await signedIn();
  await obtainCodes(agent, client);
  const refused = await agent.authorize(consenting, undefined);
  expect(refused.status).toBe(429);
  await sql(
    `UPDATE sessions SET codes_at[1] = codes_at[1] - interval '1 minute' WHERE cardinality(codes_at) = $1`,
    perMinute,
  );
  const again = await agent.get(refused.url);
  expect(responseParameters(again)).toHaveProperty('code');
  expect((await agent.get(authorizationUrl(service.issuer, client))).status).toBe(429);
});

test('a code in use as a client session handle does not count as unredeemed (decisions section 5, security R19)', async () => {
  const client = await service.createClient({ uma_profile: true }, { firstParty: true });
  const agent = await signedIn();
  const short = `/authenticate?${new URLSearchParams({ client_id: client.clientId, redirect_uri: client.redirectUri }).toString()}`;
  const typedAddress = { 'sec-fetch-site': 'none' };
  const handle = responseParameters(await agent.get(short, typedAddress))['code']!;
  const info = () => call(`${service.instances[1]}/user/me/info`, { token: handle });
  expect(await info()).toMatchObject({ status: 200 });
  const next = responseParameters(await agent.get(short, typedAddress))['code']!;
  expect(await info()).toMatchObject({ status: 200 });
  expect(await redeem(service.issuer, client, next)).toMatchObject({ status: 200 });
});

test('after 20 simultaneous sign-ins of one user on two instances, as many sessions as the limit remain, and each ended one has its event (security R54)', async () => {
  const client = await service.createClient(
    { backchannel_logout_uri: 'https://rp.example.com/logout' },
    { firstParty: true },
  );
  const user = await service.createUser();
  const first = new UserAgent(service);
  const code = await obtainCode(service, client, user, {}, first);
  const { body } = await redeem(service.issuer, client, code);
  const agents = Array.from({ length: 20 }, (_, index) => new UserAgent({ issuer: service.instances[index % 2]! }));
  const origin = { origin: new URL(service.issuer).origin };
  await Promise.all(
    agents.map(async (agent) => {
      const page = await agent.get('/login');
      const csrf = /name="csrf" value="([^"]*)"/.exec(page.body)![1]!;
      const form = { csrf, username: user.username, password: user.password };
      expect((await agent.post('/login', form, origin)).status).toBe(303);
    }),
  );
  const signedIn = await Promise.all(agents.map(async (agent) => (await agent.get('/account')).status === 200));
  expect(signedIn.filter(Boolean)).toHaveLength(3);
  expect(await sql('SELECT 1 FROM sessions WHERE sub = $1', user.sub)).toHaveLength(3);
  expect((await first.get('/account')).status).toBe(303);
  expect((await call(`${service.instances[1]}/user/info`, { token: body['access_token'] as string })).status).toBe(401);
  expect(await sql('SELECT 1 FROM logout_deliveries WHERE sub = $1', user.sub)).toHaveLength(1);
  const events = await sql(
    `SELECT actor, detail FROM audit_events WHERE type = 'session.ended' AND sub = $1`,
    user.sub,
  );
  expect(events).toHaveLength(18);
  for (const event of events)
    expect(event).toMatchObject({ actor: user.sub, detail: { reason: 'limit', session: expect.any(String) } });
});

test('the oldest session ends first, and a new sign-in in the same browser ends no other session (security R52, R54)', async () => {
  const user = await service.createUser();
  const agents = [1, 2, 3].map(() => new UserAgent(service));
  for (const agent of agents) await agent.signIn(user);
  await agents[0]!.signIn(user);
  const signedInStates = () => Promise.all(agents.map(async (agent) => (await agent.get('/account')).status === 200));
  expect(await signedInStates()).toEqual([true, true, true]);
  await new UserAgent(service).signIn(user);
  expect(await signedInStates()).toEqual([true, false, true]);
});

test('use of a session moves its idle timeout by the time of the database, never past the absolute timeout (security R54)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.signIn(user);
  const times = `SELECT round(extract(epoch FROM idle_expires_at - now()) / 60)::int AS idle,
    round(extract(epoch FROM expires_at - now()) / 60)::int AS absolute FROM sessions WHERE sub = $1`;
  expect(await sql(times, user.sub)).toEqual([{ idle: 480, absolute: 1440 }]);
  const moveIntoPast = (hours: number) =>
    sql(
      `UPDATE sessions SET used_at = used_at - t, idle_expires_at = idle_expires_at - t, expires_at = expires_at - t
         FROM make_interval(hours => $2) AS t WHERE sub = $1`,
      user.sub,
      hours,
    );
  for (const [hours, idle, absolute] of [
    [7, 480, 1020],
    [7, 480, 600],
    [7, 180, 180],
  ] as const) {
    await moveIntoPast(hours);
    expect((await agent.get(`${service.instances[1]}/account`)).status).toBe(200);
    expect(await sql(times, user.sub)).toEqual([{ idle, absolute }]);
  }
  await moveIntoPast(4);
  expect((await agent.get('/account')).location).toBe(`${service.issuer}/login`);
});

test('polls of registrations are limited for each network, whatever their code (decisions section 7)', async () => {
  const body = { redirect_uris: ['https://rp.example.com/callback'], registration_mode: ['approval'] };
  const { registration_code } = (await call(`${service.issuer}/register`, { body })).body;
  const poll = (code: unknown, address: string, base = service.issuer) =>
    call(`${base}/register`, { body: { registration_code: code }, headers: { 'x-forwarded-for': address } });
  for (let count = 0; count < 4; count++)
    expect(await poll('unknown', '192.0.2.1', service.instances[count % 2])).toMatchObject({ status: 400 });
  const refused = [
    await poll(registration_code, '192.0.2.2'),
    await poll('unknown', '192.0.2.3', service.instances[1]),
  ];
  for (const answer of refused) {
    expect(answer).toMatchObject({ status: 429, body: { error: 'slow_down' } });
    expect(answer.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
  }
  expect(await poll(registration_code, '198.51.100.1')).toMatchObject({ status: 202 });
});
