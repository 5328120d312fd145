// Specification section 8: tests limits, lifetimes and sizes, each with the default that the decisions give it.
import { decodeJwt } from 'jose';
import { expect, test } from 'vitest';
import { settings } from '../../src/config.ts';
import { call, obtainCode, redeem, withoutLimits } from '../helpers/grants.ts';
import { startTestService } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  responseParameters,
  tokenRequest,
  UserAgent,
} from '../helpers/user-agent.ts';
import {
  basic,
  createTestUser,
  form,
  isSignedIn,
  register,
  runCodeFlow,
  second,
  useService,
  wholeClient,
} from './kit.ts';

const service = useService({
  LIMIT_SIGN_IN_PER_ACCOUNT: '2',
  LIMIT_REGISTRATION_PER_NETWORK: '2',
  LIMIT_CLIENT_AUTH_FAILURES: '2',
  TRUST_PROXY: '127.0.0.0/8,::1',
});
/** A network of its own for each test that exhausts one. */
const from = (network: number) => ({ 'x-forwarded-for': `198.51.${network}.7` });

test('8 defaults: rates and lifetimes are settings with the values of the decisions (decisions 4, 7)', () => {
  const values = Object.entries(settings).map(([name, setting]) => [name, setting.safeParse(undefined).data]);
  expect(Object.fromEntries(values)).toMatchObject({
    LIMIT_SIGN_IN_PER_ACCOUNT: 10,
    LIMIT_SIGN_IN_PER_NETWORK: 100,
    LIMIT_REGISTRATION_PER_NETWORK: 60,
    LIMIT_REGISTRATIONS_WAITING: 10_000,
    LIMIT_CLIENT_AUTH_FAILURES: 30,
    LIMIT_SIGN_IN_FAILURES: 1000,
    KNOWN_BROWSER_LIFETIME: 90 * 86_400,
    PASSWORD_HASH_QUEUE: 64,
    AUTHORIZATION_CODE_LIFETIME: 60,
    ACCESS_TOKEN_LIFETIME: 600,
    REFRESH_TOKEN_LIFETIME: 30 * 86_400,
    REFRESH_TOKEN_ABSOLUTE_LIFETIME: 180 * 86_400,
    ID_TOKEN_LIFETIME: 600,
    SESSION_IDLE_LIFETIME: 8 * 3600,
    SESSION_LIFETIME: 86_400,
    FORM_LIFETIME: 600,
    INITIAL_ACCESS_TOKEN_LIFETIME: 7 * 86_400,
  });
});

test('8 rate, sign-in per account: past the limit the right password looks wrong, and other accounts are not affected (decisions 7)', async () => {
  const [user, other] = [await createTestUser(service()), await createTestUser(service())];
  for (let times = 0; times < 2; times++)
    await new UserAgent(service()).signIn({ username: user.username, password: 'wrong password' });
  expect((await new UserAgent(service()).signIn(user)).status).toBe(400);
  const agent = new UserAgent(service());
  await agent.signIn(other);
  expect(await isSignedIn(agent, second(service()))).toBe(true);
});

test('8 rate, registrations per network: 429 with Retry-After, counted for all instances together (decisions 7)', async () => {
  const body = { redirect_uris: ['https://rp.example.com/callback'] };
  const post = (base: string, network: number) => call(`${base}/register`, { body, headers: from(network) });
  const statuses = [];
  for (const base of [...service().instances, service().issuer]) statuses.push((await post(base, 1)).status);
  expect(statuses).toEqual([201, 201, 429]);
  const refused = await post(second(service()), 1);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await post(second(service()), 2)).status).toBe(201);
});

test('8 rate, client authentication failures: 429 in that network, and the client works in others (decisions 7)', async () => {
  const client = await service().createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
  const attempt = (secret: string, network: number) =>
    form(
      `${second(service())}/token`,
      { grant_type: 'client_credentials' },
      { authorization: basic(client.clientId, secret), ...from(network) },
    );
  const statuses = [];
  for (let times = 0; times < 3; times++) statuses.push((await attempt('wrong', 3)).status);
  expect(statuses).toEqual([401, 401, 429]);
  expect((await attempt(client.clientSecret, 4)).status).toBe(200);
});

test('8 size, request body: at most 64 KiB, and 413 beyond (decisions 7)', async () => {
  const long = (length: number) => ({ grant_type: 'x', padding: 'x'.repeat(length) });
  expect((await tokenRequest(second(service()), undefined, long(60_000))).status).not.toBe(413);
  const refused = await tokenRequest(second(service()), undefined, long(66_000));
  expect(refused).toMatchObject({ status: 413, body: { error: 'invalid_request' } });
});

test('8 size, header: at most 16 KiB, and 431 beyond (decisions 7)', async () => {
  const send = (length: number) =>
    call(`${second(service())}/health/live`, { headers: { 'x-padding': 'x'.repeat(length) } });
  expect((await send(15_000)).status).toBe(200);
  expect(await send(17_000)).toMatchObject({
    status: 431,
    body: { error: 'invalid_request', error_description: 'the headers are too large' },
  });
});

test('8 size, URL: at most 8 KiB, and 414 beyond (decisions 7)', async () => {
  const send = (length: number) => call(`${second(service())}/health/live?padding=${'x'.repeat(length)}`);
  expect((await send(8000)).status).toBe(200);
  expect(await send(8300)).toMatchObject({ status: 414, body: { error: 'invalid_request' } });
});

test('8 size, state and nonce: at most 2 KiB each, and an error to the client beyond (decisions 7)', async () => {
  const client = await service().createClient(wholeClient, { firstParty: true });
  const agent = new UserAgent(service());
  await agent.signIn(await createTestUser(service()));
  const send = async (parameters: Record<string, string>) =>
    responseParameters(await agent.get(authorizationUrl(service().issuer, client, parameters)));
  for (const name of ['state', 'nonce']) {
    expect(await send({ [name]: 'x'.repeat(2048) }), name).toHaveProperty('code');
    expect(await send({ [name]: 'x'.repeat(2049) }), name).toMatchObject({ error: 'invalid_request' });
  }
});

test('8 life times, tokens: issued codes live 60 s, access and ID Tokens 10 min, refresh tokens 30 days (decisions 4)', async () => {
  const client = await service().createClient(wholeClient);
  const { tokens, agent } = await runCodeFlow(service(), client, { scope: 'openid offline_access' });
  const { exp, iat } = decodeJwt(tokens.id_token);
  expect([tokens.expires_in, exp! - iat!]).toEqual([600, 600]);
  const seconds = async (table: string, start: string) => {
    const rows = await service().database.sql<{ s: number }>(
      `SELECT round(extract(epoch FROM max(x.expires_at - x.${start})))::int AS s FROM ${table} x
         JOIN client_sessions cs ON cs.id = x.client_session_id WHERE cs.client_id = $1`,
      [client.clientId],
    );
    return rows[0]!.s;
  };
  expect(await seconds('authorization_codes', 'issued_at')).toBe(60);
  expect(await seconds('refresh_tokens', 'issued_at')).toBe(30 * 86_400);
  const code = await obtainCode(service(), client, undefined, { scope: 'openid' }, agent);
  await service().database.sql('UPDATE authorization_codes SET expires_at = now()');
  expect((await redeem(second(service()), client, code)).body['error']).toBe('invalid_grant');
});

test('8 life times, session: 8 h without use, and 24 h in total (decisions 4)', async () => {
  const { user, agent } = await runCodeFlow(service(), await service().createClient(wholeClient));
  const [row] = await service().database.sql<{ idle: number; whole: number }>(
    `SELECT round(extract(epoch FROM idle_expires_at - created_at) / 3600)::int AS idle,
            round(extract(epoch FROM expires_at - created_at) / 3600)::int AS whole FROM sessions WHERE sub = $1`,
    [user.sub],
  );
  expect(row).toEqual({ idle: 8, whole: 24 });
  await service().database.sql('UPDATE sessions SET idle_expires_at = now() WHERE sub = $1', [user.sub]);
  expect(await isSignedIn(agent, second(service()))).toBe(false);
});

test('8 rate, sign-in per network: past the limit no user of the network can sign in, the page says for how long, and other networks are not affected (decisions 7)', async () => {
  const limited = await startTestService({
    fullPasswordWork: true,
    environment: { LIMIT_SIGN_IN_PER_NETWORK: '2', TRUST_PROXY: '127.0.0.0/8,::1' },
  });
  try {
    const user = await limited.createUser();
    let last: Page | undefined;
    const signIn = async (network: number) => {
      const agent = new UserAgent(limited);
      const hidden = hiddenFields((await agent.get('/login')).body);
      const { username, password } = user;
      last = await agent.post('/login', { ...hidden, username, password }, from(network));
      return isSignedIn(agent, limited.issuer);
    };
    const outcomes = [];
    for (const network of [2, 1, 1, 1]) outcomes.push(await signIn(network));
    expect(outcomes).toEqual([true, true, true, false]);
    expect([last?.status, last?.body]).toEqual([429, expect.stringContaining('Please try again in 1 minute.')]);
  } finally {
    await limited.stop();
  }
});

test('8 size, registrations that wait: past the limit a new one gets 503 with Retry-After (decisions 7)', async () => {
  const limited = await startTestService({ environment: { LIMIT_REGISTRATIONS_WAITING: '1' } });
  try {
    expect((await register(limited)).status).toBe(201);
    const late = await register(limited);
    expect(late).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
    expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
  } finally {
    await limited.stop();
  }
});

test('8 limits off: 0 switches a limit off, for test systems (decisions 7)', async () => {
  const open = await startTestService({ environment: withoutLimits });
  try {
    const user = await open.createUser();
    // one more than the default of LIMIT_SIGN_IN_PER_ACCOUNT
    for (let times = 0; times < 11; times++)
      await new UserAgent(open).signIn({ username: user.username, password: 'wrong password' });
    const agent = new UserAgent(open);
    await agent.signIn(user);
    expect(await isSignedIn(agent, open.issuer)).toBe(true);
  } finally {
    await open.stop();
  }
});
