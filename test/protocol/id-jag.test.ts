// A client gets an ID-JAG about its user for a connected server (draft-ietf-oauth-identity-assertion-authz-grant).
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jwtBearerGrant, tokenExchangeGrant } from '../../src/oauth/registrable-values.ts';
import { idJagType, tokenTypes } from '../../src/oauth/token-exchange.ts';
import { eventsOf } from '../helpers/events.ts';
import { exchange, made } from '../helpers/exchange.ts';
import { adminToken, call, eventually, obtainTokens, refresh, type Tokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let client: TestClient;
let other: TestClient;
let alice: TestUser;
let serverId: string;
const audience = 'https://id.tracker.example';
const resource = 'https://mcp.tracker.example/';
const metadata = {
  scope: 'openid offline_access',
  grant_types: ['authorization_code', 'refresh_token', tokenExchangeGrant, jwtBearerGrant],
};
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, ID_JAG: 'on' } });
  token = await adminToken(service);
  client = await service.createClient(metadata);
  other = await service.createClient(metadata);
  alice = await service.createUser({ username: 'alice' });
  const clients = [{ client: client.clientId, id: 'portal-there', scopes: ['issues.read', 'issues.write'] }];
  serverId = String(
    (
      await made(service, token, 'connected-servers', {
        name: 'Tracker',
        issuer: audience,
        clients,
        resources: [resource],
      })
    )['id'],
  );
});
afterAll(() => service?.stop());

const change = (body: object) => made(service, token, `connected-servers/${serverId}`, body, 'PATCH');
const ask = (
  given: string,
  fields: Record<string, string> = {},
  { type = tokenTypes.idToken as string, by = client, base = service.issuer } = {},
) =>
  exchange(base, by, given, { subject_token_type: type, requested_token_type: tokenTypes.idJag, audience, ...fields });
const signedIn = (of = client, scope = 'openid offline_access', agent = new UserAgent(service)): Promise<Tokens> =>
  obtainTokens(service, of, alice, { scope }, agent);
const refusal = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [status, body['error']];

test.each([
  ['ID Token', tokenTypes.idToken, (given: Tokens) => given.id_token],
  ['refresh token', tokenTypes.refreshToken, (given: Tokens) => given.refresh_token],
])(
  'by its %s a client gets an ID-JAG with its own type, for the server, as the server knows the client (draft-ietf-oauth-identity-assertion-authz-grant)',
  async (_what, type, of) => {
    const given = await signedIn();
    const { status, headers, body } = await ask(of(given), { resource, scope: 'issues.read' }, { type });
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      access_token: expect.any(String),
      issued_token_type: tokenTypes.idJag,
      token_type: 'N_A',
      expires_in: 300,
      scope: 'issues.read',
    });
    const keys = createRemoteJWKSet(new URL(`${service.issuer}/jwks`));
    const { payload } = await jwtVerify(String(body['access_token']), keys, {
      typ: idJagType,
      issuer: service.issuer,
      audience,
    });
    expect(payload).toMatchObject({
      sub: alice.sub,
      client_id: 'portal-there',
      scope: 'issues.read',
      resource,
      amr: ['pwd'],
    });
    expect(payload.exp! - payload.iat!).toBe(300);
    expect(payload['auth_time']).toEqual(expect.any(Number));
    // the refresh token stays as it is
    expect((await refresh(service.issuer, client, given.refresh_token)).status).toBe(200);
    expect(await eventsOf(service, { type: 'id_jag.issued', clientId: client.clientId })).not.toEqual([]);
  },
);

describe('is refused', () => {
  test.each<[string, (given: Tokens, foreign: Tokens) => ReturnType<typeof ask>, unknown[]]>([
    [
      'an access token',
      (given) => ask(given.access_token, {}, { type: tokenTypes.accessToken }),
      [400, 'invalid_request'],
    ],
    ['an ID Token of another client', (_, foreign) => ask(foreign.id_token), [400, 'invalid_request']],
    [
      'a refresh token of another client',
      (_, foreign) => ask(foreign.refresh_token, {}, { type: tokenTypes.refreshToken }),
      [400, 'invalid_request'],
    ],
    [
      'a client that the server does not name',
      (_, foreign) => ask(foreign.id_token, {}, { by: other }),
      [400, 'unauthorized_client'],
    ],
    [
      'an unknown audience',
      (given) => ask(given.id_token, { audience: 'https://unknown.example' }),
      [400, 'invalid_target'],
    ],
    ['no audience', (given) => ask(given.id_token, { audience: '' }), [400, 'invalid_target']],
    [
      'another resource',
      (given) => ask(given.id_token, { resource: 'https://else.example/' }),
      [400, 'invalid_target'],
    ],
    ['another scope', (given) => ask(given.id_token, { scope: 'issues.read admin' }), [400, 'invalid_scope']],
  ])('%s (protocols R145)', async (_what, send, expected) => {
    expect(refusal(await send(await signedIn(), await signedIn(other)))).toEqual(expected);
  });

  test('a user outside of the groups of the entry, and one who is disabled (security R133)', async () => {
    const given = await signedIn();
    const entry = { client: client.clientId, id: 'portal-there', scopes: ['issues.read'] };
    await made(service, token, 'groups', { name: 'staff' });
    await change({ clients: [{ ...entry, groups: ['staff'] }] });
    expect(refusal(await ask(given.id_token))).toEqual([400, 'access_denied']);
    await change({ clients: [entry] });
    expect((await ask(given.id_token)).status).toBe(200);
    await change({ status: 'disabled' });
    for (const base of service.instances)
      expect(refusal(await ask(given.id_token, {}, { base }))).toEqual([400, 'invalid_target']);
    await change({ status: 'enabled' });
    await made(service, token, `users/${alice.sub}`, { status: 'disabled' }, 'PATCH');
    expect(refusal(await ask(given.id_token))).toEqual([400, 'invalid_request']);
    expect(refusal(await ask(given.refresh_token, {}, { type: tokenTypes.refreshToken }))).toEqual([
      400,
      'invalid_request',
    ]);
    await made(service, token, `users/${alice.sub}`, { status: 'enabled' }, 'PATCH');
  });

  test('a token after the sign-out, but for a refresh token with offline_access (draft-ietf-oauth-identity-assertion-authz-grant)', async () => {
    const given = await signedIn();
    await service.database.sql('DELETE FROM sessions WHERE sub = $1', [alice.sub]);
    expect(refusal(await ask(given.id_token))).toEqual([400, 'invalid_request']);
    expect((await ask(given.refresh_token, {}, { type: tokenTypes.refreshToken })).status).toBe(200);
    await call(`${service.issuer}/admin/api/users/${alice.sub}/sessions`, { method: 'DELETE', token });
    expect(refusal(await ask(given.refresh_token, {}, { type: tokenTypes.refreshToken }))).toEqual([
      400,
      'invalid_request',
    ]);
  });

  test('an ID-JAG of this service that is presented back to it (protocols P79, security R138)', async () => {
    const { body } = await ask((await signedIn()).id_token);
    const assertion = String(body['access_token']);
    expect(await tokenRequest(service.issuer, client, { grant_type: jwtBearerGrant, assertion })).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    for (const type of [tokenTypes.idToken, tokenTypes.accessToken])
      expect((await exchange(service.issuer, client, assertion, { subject_token_type: type })).status).toBe(400);
  });
});

test('a server with pairwise subjects gets one of its own (OpenID Connect Core 8.1)', async () => {
  await change({ subject: 'pairwise' });
  const given = await signedIn();
  const subjects = new Set<string>();
  for (let each = 0; each < 2; each++) {
    const { body } = await eventually(
      () => ask(given.id_token),
      ({ status }) => status === 200,
    );
    subjects.add(
      JSON.parse(Buffer.from(String(body['access_token']).split('.')[1]!, 'base64url').toString()).sub as string,
    );
  }
  expect(subjects.size).toBe(1);
  expect([...subjects][0]).not.toBe(alice.sub);
  await change({ subject: 'public' });
});
