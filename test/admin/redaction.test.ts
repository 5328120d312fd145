// No log line, no audit row and no span of a trace holds a secret: canary values are sent in every part of every request.
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, call, eventually, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { spanLimits } from '../../src/outbound/span-queue.ts';
import { startTraceCollector, type TraceCollector } from '../helpers/trace-collector.ts';
import { routesOf } from '../helpers/route-map.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, pkce, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { basic, endSessionAddress, everyScope, form, wholeClient } from '../spec/kit.ts';

let service: TestService;
let collector: TraceCollector;
const usual = { ...spanLimits };
beforeAll(async () => {
  spanLimits.interval = 20;
  collector = await startTraceCollector();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      USERINFO_POST: 'true',
      LOG_LEVEL: 'trace',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await collector?.stop();
  Object.assign(spanLimits, usual);
});

/** Returns everything that the service wrote: its log lines, the stored audit trail, and its spans. */
async function written(): Promise<string> {
  const isLast = ({ name }: { name: string }) => name === 'GET /health/live';
  const before = collector.spans().filter(isLast).length;
  await fetch(`${service.issuer}/health/live`);
  // spans are sent in the order of their ends
  await eventually(
    async () => collector.spans().filter(isLast).length,
    (count) => count > before,
  );
  const sent = collector.requests.map(({ body }) => body.toString('latin1'));
  const rows = await service.database.sql('SELECT e::text AS row FROM audit_events e');
  return JSON.stringify([service.logs, rows, sent]);
}

async function expectNoneOf(secrets: Record<string, string>): Promise<void> {
  const text = await written();
  for (const [name, secret] of Object.entries(secrets)) {
    expect(secret.length, name).toBeGreaterThan(7);
    expect(text.includes(secret), name).toBe(false);
    // encodings that a program could reverse
    expect(text.includes(encodeURIComponent(secret)), `${name}, encoded`).toBe(false);
    expect(text.includes(Buffer.from(secret).toString('base64')), `${name}, in base64`).toBe(false);
  }
}

test('no secret of a flow from sign-in to logout is written: passwords, cookies, codes, tokens, secrets, state (security R99)', async () => {
  const password = `pw ${randomUUID()}`;
  const user = await service.createUser({ password });
  const client = await service.createClient(wholeClient);
  const { code_verifier, ...challenge } = pkce();
  const state = randomUUID();
  const nonce = randomUUID();
  const agent = new UserAgent(service);
  const login = await agent.follow(
    await agent.get(
      `/authorize?${new URLSearchParams({
        response_type: 'code',
        client_id: client.clientId,
        redirect_uri: client.redirectUri,
        scope: everyScope,
        state,
        nonce,
        ...challenge,
      }).toString()}`,
    ),
  );
  await agent.submit(login, { username: user.username, password: `${password} wrong` });
  const consent = await agent.signIn(user, login);
  const { code } = responseParameters(await agent.submit(consent, { decision: 'allow' }));
  const redirect_uri = client.redirectUri;
  const { body } = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: code!,
    redirect_uri,
    code_verifier,
  });
  const { access_token, refresh_token, id_token, client_session_handle } = body as Record<string, string>;
  const tokens = {
    access_token: access_token!,
    refresh_token: refresh_token!,
    id_token: id_token!,
    client_session_handle: client_session_handle!,
  };
  const cookies = Object.fromEntries([...agent.cookies].map(([name, value]) => [`cookie ${name}`, value]));
  const forms = { ...hiddenFields(login.body), ...hiddenFields(consent.body) };
  await tokenRequest(service.issuer, client, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token });
  for (const token of Object.values(tokens)) {
    await form(`${service.issuer}/introspect`, { token }, { authorization: client.basic });
    await call(`${service.issuer}/user/me/info`, { token });
    await call(`${service.issuer}/user/info?access_token=${token}`);
  }
  const endSession = await endSessionAddress(service, client);
  await agent.get(endSession);
  await agent.get(endSession);
  await agent.get(`/logout?id_token_hint=${tokens.id_token}&state=${state}`);
  await form(`${service.issuer}/revoke`, { token: tokens.refresh_token }, { authorization: client.basic });
  await expectNoneOf({
    password,
    code: code!,
    state,
    nonce,
    code_verifier,
    ...tokens,
    ...cookies,
    endSession: endSession.slice(21),
    clientSecret: client.clientSecret,
    sharedSecret: client.sharedSecret,
    basic: client.basic.slice(6),
    ...Object.fromEntries(Object.entries(forms).filter(([, value]) => value.length > 20)),
  });
});

test('no secret of a registration, its repetition, its update or its approval is written: secrets, registration tokens, idempotency keys (security R99)', async () => {
  const admin = await adminToken(service);
  const idempotencyKey = randomBytes(16).toString('hex');
  const { body: initial } = await call(`${service.issuer}/admin/api/registration-tokens`, {
    method: 'POST',
    token: admin,
    body: {},
  });
  const metadata = { redirect_uris: ['https://rp.example.com/callback'], client_name: 'Harbour' };
  const secrets: Record<string, string> = { admin, idempotencyKey, initial: initial['initial_access_token'] as string };
  const keep = (round: string, body: Record<string, unknown>) => {
    for (const name of ['client_secret', 'shared_secret', 'registration_access_token'])
      secrets[`${round} ${name}`] = body[name] as string;
    return body as Record<string, string>;
  };
  const register = async (headers: Record<string, string>, body: unknown = metadata) =>
    (await call(`${service.issuer}/register`, { method: 'POST', headers, body })).body;
  keep('approved', await register({ authorization: `Bearer ${secrets['initial']}` }));
  keep('first', await register({ 'idempotency-key': idempotencyKey }));
  const again = keep('again', await register({ 'idempotency-key': idempotencyKey }));
  await register({ authorization: `Bearer ${again['registration_access_token']}x` });
  await register({ authorization: basic(again['client_id']!, `${again['client_secret']} wrong`) });
  await call(again['registration_client_uri']!, {
    method: 'PUT',
    token: again['registration_access_token']!,
    body: { ...metadata, client_id: again['client_id'], client_secret: `${again['client_secret']} wrong` },
  });
  await call(`${service.issuer}/admin/api/clients/${again['client_id']}/approve`, {
    token: admin,
    body: { version: 1 },
  });
  await expectNoneOf(secrets);
});

test('no client assertion is written, whether it is valid or not (security R99)', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const client = await service.createClient({
    redirect_uris: [],
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [publicKey.export({ format: 'jwk' })] },
  });
  const secrets: Record<string, string> = {};
  for (const audience of [service.issuer, 'https://elsewhere.example.com']) {
    const assertion = await new SignJWT({ jti: randomUUID(), sub: client.clientId })
      .setProtectedHeader({ alg: 'RS256' })
      .setIssuer(client.clientId)
      .setAudience(audience)
      .setExpirationTime('1m')
      .sign(privateKey);
    secrets[`assertion for ${audience}`] = assertion;
    for (let times = 0; times < 2; times++)
      await tokenRequest(service.issuer, undefined, {
        grant_type: 'client_credentials',
        client_assertion: assertion,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      });
  }
  await expectNoneOf(secrets);
});

/** Sends requests to every route, with a canary in every part that can hold one. */
async function sendCanaries(canary: string, client: { clientId: string }): Promise<string[]> {
  const opaque = `ghat_${canary}`;
  const fields = {
    username: canary,
    password: canary,
    client_secret: canary,
    code: canary,
    code_verifier: canary,
    refresh_token: canary,
    access_token: canary,
    token: canary,
    id_token_hint: canary,
    state: canary,
    nonce: canary,
    client_assertion: canary,
    client_id: client.clientId,
    transaction: canary,
    csrf: canary,
    grant_type: 'authorization_code',
    request: canary,
    form_token: canary,
    registration_access_token: canary,
  };
  const statuses: string[] = [];
  // fetch sends no TRACE; the same route answers other methods
  const seen = routesOf(service.apps[0]!).filter((route) => !/\*|^TRACE /.test(route));
  for (const route of seen) {
    const [method = '', path = ''] = route.split(' ');
    const url = service.issuer + path.replace(/:\w+/g, path.startsWith('/user/') ? 'me' : client.clientId);
    for (const authorization of [`Bearer ${canary}`, `Bearer ${opaque}`, basic(client.clientId, canary)]) {
      const headers: Record<string, string> = {
        authorization,
        cookie: `JSESSIONOPENID=${canary}; GATEHOUSE_BROWSER=${canary}`,
        origin: service.issuer,
        'sec-fetch-site': 'same-origin',
        'idempotency-key': canary,
      };
      const json = path.startsWith('/register') || path.startsWith('/admin') || path.endsWith('/settings');
      headers['content-type'] = json ? 'application/json' : 'application/x-www-form-urlencoded';
      const body = json ? JSON.stringify({ ...fields, settings: { canary } }) : new URLSearchParams(fields).toString();
      const bare = ['GET', 'HEAD', 'DELETE'].includes(method);
      if (bare) delete headers['content-type'];
      const address = bare ? `${url}?${new URLSearchParams(fields).toString()}` : url;
      for (const accept of ['text/html', 'application/json']) {
        const init = { method, headers: { ...headers, accept }, ...(!bare && { body }) };
        const response = await fetch(address, { ...init, redirect: 'manual' });
        await response.text();
        statuses.push(`${response.status} ${route}`);
      }
    }
  }
  return statuses;
}

test('no canary in any part of a request to any route is written (security R99)', async () => {
  const client = await service.createClient();
  const canary = `canary-${randomUUID()}`;
  const statuses = await sendCanaries(canary, client);
  expect(statuses.length).toBeGreaterThan(300);
  expect(statuses.filter((line) => line.startsWith('5'))).toEqual([]);
  await expectNoneOf({ canary });
});

test('no canary is written when the database is gone and every request fails (security R99, R100, F21)', async () => {
  const other = service;
  service = await startTestService({ environment: { ...withoutLimits, LOG_LEVEL: 'trace' } });
  const failing = service;
  try {
    const client = await service.createClient();
    const user = await service.createUser({ password: `pw ${randomUUID()}` });
    const tokens = await obtainTokens(service, client, user);
    const database = failing.database.connection.database;
    await other.database.sql(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS false`);
    await other.database.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, [database]);
    const canary = `canary-${randomUUID()}`;
    const statuses = await sendCanaries(canary, client);
    expect(statuses.some((line) => line.startsWith('503'))).toBe(true);
    await call(`${service.issuer}/user/info`, { token: tokens.access_token });
    await tokenRequest(service.issuer, client, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token });
    await new UserAgent(service).post('/login', { username: user.username, password: user.password });
    const text = JSON.stringify(failing.logs);
    const { password } = user;
    const secrets = { canary, ...tokens, password, clientSecret: client.clientSecret, secretKey: failing.secretKey };
    for (const [name, secret] of Object.entries(secrets))
      if (typeof secret === 'string' && secret.length > 20) expect(text.includes(secret), name).toBe(false);
    await other.database.sql(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS true`);
  } finally {
    await failing.stop();
    service = other;
  }
});
