// A client exchanges a token of a user for a token of its own, by a policy of an administrator (RFC 8693).
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tokenExchangeGrant } from '../../src/oauth/registrable-values.ts';
import { tokenTypes } from '../../src/oauth/token-exchange.ts';
import { newProofKey, post, proofFor } from '../helpers/dpop.ts';
import { eventsOf } from '../helpers/events.ts';
import { exchange, exchangeMetadata, made } from '../helpers/exchange.ts';
import { adminToken, call, eventually, obtainCode, obtainTokens, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

let service: TestService;
let token: string;
let alice: TestUser;
let agent: UserAgent;
/** The application that users see, the gateway that it calls, and the client of the API behind it. */
let app: TestClient;
let gateway: TestClient;
let backend: TestClient;
const entry = 'https://gateway.example/api';
const orders = 'https://orders.example/api';
const ledger = 'https://ledger.example/api';
const scopes = ['orders.read', 'orders.write', 'invoices.read'].map((value) => ({ value }));

beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
  gateway = await service.createClient(exchangeMetadata);
  backend = await service.createClient(exchangeMetadata);
  for (const [resource, client, more] of [
    [entry, gateway, { clients: 'approved' }],
    [orders, backend, { access_token_format: 'jwt', access_token_lifetime: 120 }],
    [ledger, backend, {}],
  ] as const)
    await made(service, token, 'resources', { resource, name: 'API', client_id: client.clientId, scopes, ...more });
  app = await service.createClient({
    scope: 'openid profile offline_access',
    grant_types: ['authorization_code', 'refresh_token'],
  });
  alice = await service.createUser({ username: 'alice' });
  agent = new UserAgent(service);
});
afterAll(() => service?.stop());

let number = 0;
/** A gateway of its own for each test, with its policy, so that no test sees the policies of another. */
async function bridge(members: object = {}, metadata: object = {}) {
  const client = await service.createClient({ ...exchangeMetadata, ...metadata });
  const uri = `https://bridge-${(number += 1)}.example/`;
  await made(service, token, 'resources', {
    resource: uri,
    name: 'Bridge',
    client_id: client.clientId,
    scopes,
    clients: 'approved',
  });
  const policy = await made(service, token, 'exchange-policies', {
    name: `policy ${number}`,
    client_id: client.clientId,
    subject_clients: [app.clientId],
    resources: [orders],
    scopes: ['orders.read', 'orders.write', 'openid'],
    ...members,
  });
  return { client, uri, policy, change: (body: object) => change(String(policy['id']), body) };
}
const change = (id: string, body: object) => made(service, token, `exchange-policies/${id}`, body, 'PATCH');
const subject = (resource: string, parameters: Record<string, string> = {}, of = app) =>
  obtainTokens(service, of, alice, { scope: 'openid orders.read invoices.read', resource, ...parameters }, agent);
const refusal = ({ status, body }: Awaited<ReturnType<typeof exchange>>) => [status, body['error']];
const seen = async (given: unknown, by: TestClient) => (await introspect(service.issuer, by, String(given))).body;

describe('by delegation', () => {
  test('the new token is for the other API, names the client as the actor, and has what token, policy and API have together (RFC 8693 2.2, 4.1, security R145)', async () => {
    const { client, uri } = await bridge();
    const { access_token: given } = await subject(uri);
    const { status, headers, body } = await exchange(service.issuer, client, given);
    expect({ status, cache: headers.get('cache-control') }).toEqual({ status: 200, cache: 'no-store' });
    expect(body).toEqual({
      access_token: expect.any(String),
      issued_token_type: tokenTypes.accessToken,
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      scope: 'orders.read',
    });
    const act = { sub: client.clientId, client_id: client.clientId };
    const claims = decodeJwt(String(body['access_token']));
    expect(claims).toMatchObject({
      aud: orders,
      sub: alice.sub,
      client_id: client.clientId,
      act,
      scope: 'orders.read',
    });
    expect(Number(claims.exp) - Number(claims.iat)).toBe(body['expires_in']);
    for (const by of [backend, client])
      expect(await seen(body['access_token'], by)).toMatchObject({
        active: true,
        act,
        sub: alice.sub,
        client_id: client.clientId,
        aud: [orders, backend.clientId],
      });
    expect(await seen(body['access_token'], app)).toEqual({ active: false });
    const [event] = await eventsOf(service, { type: 'token.exchanged', clientId: client.clientId });
    expect(event).toMatchObject({
      sub: alice.sub,
      actor: client.clientId,
      detail: {
        mode: 'delegate',
        subject_client: app.clientId,
        resource: orders,
        scope: 'orders.read',
        actors: [client.clientId],
      },
    });
  });

  test('an ID Token of a client in the policy is a subject token, too, with the scopes of its authorization (RFC 8693 2.1)', async () => {
    const { client, uri } = await bridge();
    const { id_token: idToken } = await subject(uri);
    const answer = await exchange(service.issuer, client, idToken, { subject_token_type: tokenTypes.idToken });
    expect(answer).toMatchObject({ status: 200, body: { scope: 'orders.read' } });
    expect(decodeJwt(String(answer.body['access_token'])).sub).toBe(alice.sub);
  });

  test('a JWT access token is presented by either type, and an ID Token by its own only (RFC 8693 3, protocols P46)', async () => {
    const { client, uri } = await bridge();
    await made(service, token, `resources/${encodeURIComponent(uri)}`, { access_token_format: 'jwt' }, 'PATCH');
    const { access_token: given, id_token: idToken } = await subject(uri);
    expect(given.split('.')).toHaveLength(3);
    for (const type of [tokenTypes.jwt, tokenTypes.accessToken])
      expect((await exchange(service.issuer, client, given, { subject_token_type: type })).status).toBe(200);
    expect(refusal(await exchange(service.issuer, client, idToken, { subject_token_type: tokenTypes.jwt }))).toEqual([
      400,
      'invalid_request',
    ]);
  });

  describe('an actor token', () => {
    const grants = { grant_types: [tokenExchangeGrant, 'client_credentials', 'authorization_code'] };
    const withUsers = { ...grants, redirect_uris: ['https://rp.example.com/callback'], response_types: ['code'] };
    /** The token of Bob at the client that exchanges. */
    async function acting(policy: object = {}) {
      const world = await bridge(policy, withUsers);
      const bob = await service.createUser();
      const { access_token: actor } = await obtainTokens(service, world.client, bob, { scope: 'openid' });
      const { access_token: given } = await subject(world.uri);
      const named = { actor_token: actor, actor_token_type: tokenTypes.accessToken };
      return { ...world, bob, actor, given, named };
    }

    test('names the user who acts by the client, or the client itself (RFC 8693 2.1, 4.1)', async () => {
      const { client, bob, given, named } = await acting();
      const { status, body } = await exchange(service.issuer, client, given, named);
      expect(status).toBe(200);
      expect(decodeJwt(String(body['access_token']))).toMatchObject({
        sub: alice.sub,
        act: { sub: bob.sub, client_id: client.clientId },
      });
      const own = await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' });
      const asItself = { ...named, actor_token: String(own.body['access_token']) };
      const second = await exchange(service.issuer, client, given, asItself);
      const act = { sub: client.clientId, client_id: client.clientId };
      expect(decodeJwt(String(second.body['access_token']))).toMatchObject({ act });
      const events = await eventsOf(service, { type: 'token.exchanged', clientId: client.clientId });
      expect(events.map(({ detail }) => detail['actor'])).toEqual([bob.sub, client.clientId]);
    });

    test('of another client, of an exchange, bound to a key, or for a policy that impersonates, is refused (security R145)', async () => {
      const { client, given, named } = await acting();
      const foreign = await subject(entry);
      const first = await exchange(service.issuer, client, given);
      const key = await newProofKey();
      const proof = await proofFor(key, `${service.issuer}/token`);
      const bound = await fetch(`${service.issuer}/token`, {
        method: 'POST',
        headers: { authorization: client.basic, dpop: proof },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      }).then((answer) => answer.json() as Promise<Record<string, string>>);
      for (const wrong of [foreign.access_token, String(first.body['access_token']), bound['access_token']!])
        expect(refusal(await exchange(service.issuer, client, given, { ...named, actor_token: wrong }))).toEqual([
          400,
          'invalid_request',
        ]);
      const silent = await acting({ mode: 'impersonate' });
      expect(refusal(await exchange(service.issuer, silent.client, silent.given, silent.named))).toEqual([
        400,
        'invalid_request',
      ]);
    });

    test('limits the new token to its own lifetime, and names nobody whose authorization has ended (security R133)', async () => {
      const { client, bob, actor, given, named } = await acting();
      await service.database.sql(
        `UPDATE access_tokens SET expires_at = now() + interval '20 seconds' WHERE client_session_id IN (SELECT id FROM client_sessions WHERE sub = $1)`,
        [bob.sub],
      );
      const { body } = await exchange(service.issuer, client, given, named);
      expect(body['expires_in']).toBeLessThanOrEqual(20);
      expect(actor).toBeDefined();
      await made(service, token, `users/${bob.sub}`, { status: 'disabled' }, 'PATCH');
      expect(refusal(await exchange(service.instances[1]!, client, given, named))).toEqual([400, 'invalid_request']);
    });
  });

  test('a JWT is requested by its type, where the API takes one (RFC 8693 3)', async () => {
    const { client, uri } = await bridge({ resources: [orders, ledger] });
    const { access_token: given } = await subject(uri);
    const jwt = { requested_token_type: tokenTypes.jwt };
    const answer = await exchange(service.issuer, client, given, { ...jwt, resource: orders });
    expect(answer).toMatchObject({ status: 200, body: { issued_token_type: tokenTypes.jwt } });
    expect(refusal(await exchange(service.issuer, client, given, { ...jwt, resource: ledger }))).toEqual([
      400,
      'invalid_request',
    ]);
  });

  test('the audience names an API by its id, or by the client that it alone has (RFC 8693 2.1)', async () => {
    const { client, uri } = await bridge({ resources: [ledger, entry] });
    const { access_token: given } = await subject(uri);
    const { id } = (await call(`${service.issuer}/admin/api/resources/${encodeURIComponent(ledger)}`, { token })).body;
    for (const audience of [String(id), backend.clientId, ledger]) {
      const answer = await exchange(service.issuer, client, given, { audience });
      expect(answer.status, audience).toBe(200);
      expect((await seen(answer.body['access_token'], backend))['aud']).toEqual([ledger, backend.clientId]);
    }
    const wrong: Record<string, string>[] = [
      {},
      { audience: 'nowhere' },
      { audience: backend.clientId, resource: entry },
    ];
    for (const fields of wrong)
      expect(refusal(await exchange(service.issuer, client, given, fields))).toEqual([400, 'invalid_target']);
  });

  test('a token for UserInfo works there alone, and no other address of the service takes one (protocols R145)', async () => {
    const address = `${service.issuer}/user/info`;
    const { client, uri } = await bridge({ resources: [address] });
    const { access_token: given } = await subject(uri);
    const { status, body } = await exchange(service.issuer, client, given);
    expect({ status, scope: body['scope'] }).toEqual({ status: 200, scope: 'openid' });
    expect((await userinfo(service.issuer, String(body['access_token']))).body).toMatchObject({ sub: alice.sub });
    expect((await call(`${service.issuer}/admin/api/users`, { token: String(body['access_token']) })).status).toBe(401);
    for (const resource of [service.issuer, `${service.issuer}/admin/api`])
      expect(
        await call(`${service.issuer}/admin/api/exchange-policies`, {
          token,
          body: { name: 'own', client_id: client.clientId, resources: [resource], scopes: ['openid'] },
        }),
      ).toMatchObject({ status: 400 });
  });
});

test('by impersonation the new token names no actor, and the event names the client (RFC 8693 1.1)', async () => {
  const { client, uri } = await bridge({ mode: 'impersonate' });
  const { access_token: given } = await subject(uri);
  const { body } = await exchange(service.issuer, client, given);
  expect(decodeJwt(String(body['access_token']))).not.toHaveProperty('act');
  expect(await seen(body['access_token'], backend)).not.toHaveProperty('act');
  const [event] = await eventsOf(service, { type: 'token.exchanged', clientId: client.clientId });
  expect(event).toMatchObject({ actor: client.clientId, sub: alice.sub, detail: { mode: 'impersonate' } });
});

test('impersonation hides no client that acted before (RFC 8693 4.1)', async () => {
  const first = await bridge({ resources: [entry] });
  await made(service, token, 'exchange-policies', {
    name: `second ${(number += 1)}`,
    client_id: gateway.clientId,
    subject_clients: [first.client.clientId],
    resources: [ledger],
    scopes: ['orders.read'],
    mode: 'impersonate',
  });
  const { access_token: given } = await subject(first.uri);
  const middle = await exchange(service.issuer, first.client, given);
  const last = await exchange(service.issuer, gateway, String(middle.body['access_token']));
  expect(await seen(last.body['access_token'], backend)).toMatchObject({
    client_id: gateway.clientId,
    act: { client_id: first.client.clientId },
  });
});

describe('is refused', () => {
  const cases: [string, () => Promise<Awaited<ReturnType<typeof exchange>>>, unknown[]][] = [
    [
      'a public client',
      async () => {
        const client = await service.createClient({
          grant_types: ['authorization_code'],
          token_endpoint_auth_method: 'none',
        });
        return tokenRequest(
          service.issuer,
          { ...client, basic: '' },
          {
            grant_type: tokenExchangeGrant,
            client_id: client.clientId,
            subject_token: 'x',
            subject_token_type: tokenTypes.accessToken,
          },
        );
      },
      [401, 'invalid_client'],
    ],
    [
      'a client that is not registered for it',
      async () => {
        const { uri } = await bridge();
        return exchange(service.issuer, await service.createClient(), (await subject(uri)).access_token);
      },
      [400, 'unauthorized_client'],
    ],
    [
      'a client without a policy',
      async () => {
        const client = await service.createClient(exchangeMetadata);
        return exchange(service.issuer, client, (await subject(entry)).access_token);
      },
      [400, 'unauthorized_client'],
    ],
    [
      'a token of a client that no policy names',
      async () => {
        const { client, uri } = await bridge({ subject_clients: [] });
        return exchange(service.issuer, client, (await subject(uri)).access_token);
      },
      [400, 'invalid_request'],
    ],
    [
      'a token for another API',
      async () => {
        const { client } = await bridge();
        return exchange(service.issuer, client, (await subject(entry)).access_token);
      },
      [400, 'invalid_request'],
    ],
    [
      'a token without a user',
      async () => {
        const { client } = await bridge({ resources: [entry] });
        const { body } = await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' });
        return exchange(service.issuer, client, String(body['access_token']));
      },
      [400, 'invalid_request'],
    ],
    [
      'a refresh token',
      async () => {
        const { client, uri } = await bridge();
        const { refresh_token: given } = await subject(uri, { scope: 'openid orders.read offline_access' });
        return exchange(service.issuer, client, given, { subject_token_type: tokenTypes.refreshToken });
      },
      [400, 'invalid_request'],
    ],
    [
      'an ID Token as an access token',
      async () => {
        const { client, uri } = await bridge();
        return exchange(service.issuer, client, (await subject(uri)).id_token);
      },
      [400, 'invalid_request'],
    ],
    [
      'an access token as an ID Token',
      async () => {
        const { client, uri } = await bridge();
        const { access_token: given } = await subject(uri);
        return exchange(service.issuer, client, given, { subject_token_type: tokenTypes.idToken });
      },
      [400, 'invalid_request'],
    ],
  ];
  test.each(cases)('%s (RFC 8693 2.2.2, security R145)', async (_who, send, expected) => {
    expect(refusal(await send())).toEqual(expected);
  });

  test.each([
    [{ subject_token_type: tokenTypes.jwt }, 'invalid_request'],
    [{ requested_token_type: tokenTypes.refreshToken }, 'invalid_request'],
    [{ requested_token_type: tokenTypes.idToken }, 'invalid_request'],
    [{ actor_token: 'x' }, 'invalid_request'],
    [{ actor_token_type: tokenTypes.accessToken }, 'invalid_request'],
    [{ actor_token: 'x', actor_token_type: tokenTypes.accessToken }, 'invalid_request'],
    [{ actor_token: 'x', actor_token_type: tokenTypes.idToken }, 'invalid_request'],
    [{ authorization_details: '[]' }, 'invalid_authorization_details'],
    [{ claims: '{}' }, 'invalid_request'],
    [{ scope: 'orders.read "' }, 'invalid_scope'],
    [{ scope: 'orders.write' }, 'invalid_scope'],
    [{ scope: 'invoices.read' }, 'invalid_scope'],
    [{ scope: 'admin' }, 'invalid_scope'],
    [{ resource: ledger }, 'invalid_target'],
    [{ resource: 'https://nowhere.example/' }, 'invalid_target'],
  ])('a request with %j, which is not left out (RFC 8693 2.1, security R145)', async (fields, error) => {
    const { client, uri } = await bridge();
    const { access_token: given } = await subject(uri);
    expect(refusal(await exchange(service.issuer, client, given, fields))).toEqual([400, error]);
    expect((await exchange(service.issuer, client, given)).status).toBe(200);
  });

  test('a sign-in that is too weak for the API or the client (RFC 9470 3)', async () => {
    const { client, uri, change: changePolicy } = await bridge();
    const strict = `https://strict-${(number += 1)}.example/`;
    await made(service, token, 'resources', {
      resource: strict,
      name: 'Strict',
      scopes,
      required_acr: 'urn:gatehouse:acr:mfa',
    });
    await changePolicy({ resources: [strict, orders] });
    const { access_token: given } = await subject(uri);
    expect(refusal(await exchange(service.issuer, client, given, { resource: strict }))).toEqual([
      400,
      'invalid_target',
    ]);
    expect((await exchange(service.issuer, client, given, { resource: orders })).status).toBe(200);
    await service.database.sql(`UPDATE clients SET required_acr = 'urn:gatehouse:acr:mfa' WHERE client_id = $1`, [
      client.clientId,
    ]);
    const again = await eventually(
      () => exchange(service.issuer, client, given, { resource: orders }),
      ({ status }) => status === 400,
    );
    expect(refusal(again)).toEqual([400, 'invalid_target']);
  });

  test('a user whom the client does not admit, though another client does (federation FR42)', async () => {
    const { client, uri } = await bridge();
    const { access_token: given } = await subject(uri);
    await service.database.sql(`UPDATE clients SET access = 'groups', access_groups = '{staff}' WHERE client_id = $1`, [
      client.clientId,
    ]);
    expect(refusal(await exchange(service.issuer, client, given))).toEqual([400, 'invalid_request']);
  });

  test('a client outside of its networks (federation FR42)', async () => {
    const { client, uri } = await bridge();
    const { access_token: given } = await subject(uri);
    await service.database.sql(`UPDATE clients SET networks = '{192.0.2.0/24}' WHERE client_id = $1`, [
      client.clientId,
    ]);
    const answer = await eventually(
      () => exchange(service.issuer, client, given),
      ({ status }) => status === 400,
    );
    expect(answer.status).toBe(400);
  });
});

describe('never more by exchanging', () => {
  test('neither scope nor time nor level, no refresh token, no fifth actor, and nothing after revocation or the end of the session (RFC 8693 1.1, 5, protocols P75)', async () => {
    const { client, uri } = await bridge({ resources: [orders, ledger] });
    const given = await subject(uri, { acr_values: 'urn:gatehouse:acr:password' });
    // as long as the presented token at most, whatever the API allows
    await service.database.sql(
      `UPDATE access_tokens SET expires_at = now() + interval '40 seconds' WHERE client_session_id IS NOT NULL AND exchange IS NULL`,
    );
    const { body } = await exchange(service.issuer, client, given.access_token, { resource: orders });
    expect(Number(body['expires_in'])).toBeLessThanOrEqual(40);
    expect(body).not.toHaveProperty('refresh_token');
    expect(body).not.toHaveProperty('id_token');
    for (const scope of ['orders.read orders.write', 'orders.read offline_access', 'openid admin'])
      expect(refusal(await exchange(service.issuer, client, given.access_token, { resource: orders, scope }))).toEqual([
        400,
        'invalid_scope',
      ]);
    expect((await seen(body['access_token'], backend))['acr']).toBe((await seen(given.access_token, app))['acr']);
    // revoked: the presented token gives nothing more
    const revoked = await subject(uri);
    await fetch(`${service.issuer}/revoke`, {
      method: 'POST',
      headers: { authorization: app.basic },
      body: new URLSearchParams({ token: revoked.access_token }),
    });
    expect(refusal(await exchange(service.issuer, client, revoked.access_token, { resource: ledger }))).toEqual([
      400,
      'invalid_request',
    ]);
    // the session ends, and with it every token that came of it, on every instance
    const opaque = await exchange(service.issuer, client, given.access_token, { resource: ledger });
    expect(await seen(opaque.body['access_token'], backend)).toMatchObject({ active: true });
    await call(`${service.issuer}/admin/api/users/${alice.sub}/sessions`, { method: 'DELETE', token });
    for (const each of [body['access_token'], opaque.body['access_token']])
      for (const base of service.instances)
        expect((await introspect(base, backend, String(each))).body).toEqual({ active: false });
    expect(refusal(await exchange(service.issuer, client, given.access_token, { resource: ledger }))).toEqual([
      400,
      'invalid_request',
    ]);
    agent = new UserAgent(service);
  });

  test('a chain ends at four actors (RFC 8693 4.1, protocols P75)', async () => {
    const links = [];
    for (let each = 0; each < 5; each++) links.push(await bridge({ resources: [ledger] }));
    // each takes the tokens of the one before, for the API of the next
    for (const [index, { change: changePolicy }] of links.entries())
      await changePolicy({
        subject_clients: [index === 0 ? app.clientId : links[index - 1]!.client.clientId],
        resources: [links[index + 1]?.uri ?? ledger],
      });
    let { access_token: given } = await subject(links[0]!.uri);
    for (const { client } of links.slice(0, 4)) {
      const { status, body } = await exchange(service.issuer, client, given);
      expect(status).toBe(200);
      given = String(body['access_token']);
    }
    const chain = (await seen(given, links[4]!.client))['act'];
    expect(JSON.stringify(chain).match(/client_id/g)).toHaveLength(4);
    expect(refusal(await exchange(service.issuer, links[4]!.client, given))).toEqual([400, 'invalid_request']);
  });

  test('a client in the middle of a chain that is disabled ends what came after it (protocols P75, security R133)', async () => {
    const first = await bridge({ resources: [ledger] });
    const second = await bridge({ subject_clients: [first.client.clientId], resources: [ledger] });
    await first.change({ resources: [second.uri] });
    const { access_token: given } = await subject(first.uri);
    const middle = String((await exchange(service.issuer, first.client, given)).body['access_token']);
    expect((await exchange(service.issuer, second.client, middle)).status).toBe(200);
    await call(`${service.issuer}/admin/api/clients/${first.client.clientId}`, {
      method: 'PATCH',
      token,
      body: { status: 'disabled' },
    });
    expect(await seen(middle, second.client)).toEqual({ active: false });
    expect(refusal(await exchange(service.issuer, second.client, middle))).toEqual([400, 'invalid_request']);
  });

  test('a bound token is exchanged only with a proof of its own key, and the new token is bound to that key (RFC 9449 7, protocols P76, security R134)', async () => {
    const { client, uri } = await bridge();
    const [key, other] = [await newProofKey(), await newProofKey()];
    const address = `${service.issuer}/token`;
    const code = await obtainCode(service, app, alice, { scope: 'openid orders.read', resource: uri }, agent);
    const fields = { grant_type: 'authorization_code', code, redirect_uri: app.redirectUri };
    const bound = await post(address, app, fields, await proofFor(key, address));
    expect(bound.body['token_type']).toBe('DPoP');
    const asked = {
      grant_type: tokenExchangeGrant,
      subject_token: String(bound.body['access_token']),
      subject_token_type: tokenTypes.accessToken,
    };
    expect(refusal(await post(address, client, asked))).toEqual([400, 'invalid_request']);
    expect(refusal(await post(address, client, asked, await proofFor(other, address)))).toEqual([
      400,
      'invalid_request',
    ]);
    const proof = await proofFor(key, address);
    const good = await post(address, client, asked, proof);
    expect(good).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
    expect(decodeJwt(String(good.body['access_token']))['cnf']).toEqual({ jkt: key.jkt });
    expect(refusal(await post(address, client, asked, proof))).toEqual([400, 'invalid_dpop_proof']);
  });
});

test('a client with pairwise subjects gets its own subject and an opaque token (OpenID Connect Core 8.1, security R139)', async () => {
  const { client, uri } = await bridge(
    {},
    { subject_type: 'pairwise', redirect_uris: ['https://pairwise.example/cb'] },
  );
  const { access_token: given } = await subject(uri);
  const { body } = await exchange(service.issuer, client, given);
  expect(body['access_token']).toMatch(/^ghat_/);
  const own = (await seen(body['access_token'], client))['sub'];
  expect(own).not.toBe(alice.sub);
  expect((await seen(body['access_token'], backend))['sub']).toBe(alice.sub);
});

test('a policy that is disabled or deleted issues nothing more, and a client that is deleted takes its policies along (security R133)', async () => {
  const { client, uri, policy, change: changePolicy } = await bridge();
  const { access_token: given } = await subject(uri);
  await changePolicy({ status: 'disabled' });
  for (const base of service.instances)
    expect(refusal(await exchange(base, client, given))).toEqual([400, 'unauthorized_client']);
  await changePolicy({ status: 'enabled' });
  expect((await exchange(service.issuer, client, given)).status).toBe(200);
  const path = `${service.issuer}/admin/api/exchange-policies/${String(policy['id'])}`;
  expect((await call(path, { method: 'DELETE', token })).status).toBe(204);
  expect(refusal(await exchange(service.issuer, client, given))).toEqual([400, 'unauthorized_client']);
  const other = await bridge({ subject_clients: [app.clientId, client.clientId] });
  await call(`${service.issuer}/admin/api/clients/${client.clientId}`, { method: 'DELETE', token });
  const left = await call(`${service.issuer}/admin/api/exchange-policies/${String(other.policy['id'])}`, { token });
  expect(left.body['subject_clients']).toEqual([app.clientId]);
  await call(`${service.issuer}/admin/api/clients/${other.client.clientId}`, { method: 'DELETE', token });
  expect(
    (await call(`${service.issuer}/admin/api/exchange-policies/${String(other.policy['id'])}`, { token })).status,
  ).toBe(404);
});

test('a token revoked by the client that exchanged it is dead, and only that one (RFC 7009 2.1)', async () => {
  const { client, uri } = await bridge({ resources: [ledger] });
  const { access_token: given } = await subject(uri);
  const { body } = await exchange(service.issuer, client, given);
  const revoke = (by: TestClient) =>
    fetch(`${service.issuer}/revoke`, {
      method: 'POST',
      headers: { authorization: by.basic },
      body: new URLSearchParams({ token: String(body['access_token']) }),
    });
  await revoke(app);
  expect(await seen(body['access_token'], backend)).toMatchObject({ active: true });
  await revoke(client);
  expect(await seen(body['access_token'], backend)).toEqual({ active: false });
  expect(await seen(given, app)).toMatchObject({ active: true });
});

test('no presented or issued token is in the log or in the audit trail (security R99, protocols P95)', async () => {
  const { client, uri } = await bridge();
  const { access_token: given } = await subject(uri);
  const { body } = await exchange(service.issuer, client, given);
  await exchange(service.issuer, client, given, { resource: 'https://nowhere.example/' });
  const trail = await service.database.sql('SELECT * FROM audit_events');
  for (const text of [JSON.stringify(service.logs), JSON.stringify(trail)])
    for (const secret of [given, String(body['access_token'])]) expect(text.includes(secret)).toBe(false);
});
