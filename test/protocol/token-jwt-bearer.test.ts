// A client presents an assertion that a trusted issuer signed about a user, and gets a token for that user (RFC 7523).
import { createServer, type Server } from 'node:http';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventsOf } from '../helpers/events.ts';
import { made } from '../helpers/exchange.ts';
import { adminToken, call, obtainTokens, userinfo, withoutLimits } from '../helpers/grants.ts';
import { assertionMetadata, createIssuer, type Issuer, present } from '../helpers/issuer.ts';
import { freePort } from '../helpers/server-process.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { introspect } from '../spec/kit.ts';

let service: TestService;
let token: string;
let partner: Issuer;
let client: TestClient;
let server: TestClient;
let alice: TestUser;
let issuerId: string;
let keyServer: Server;
let keyUri: string;
const api = 'https://api.example/v1';
const jwtApi = 'https://jwt.example/v1';
const scopes = ['read', 'write'].map((value) => ({ value }));

beforeAll(async () => {
  const port = await freePort();
  keyServer = createServer((_request, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(partner.jwks)),
  );
  await new Promise<void>((resolve) => keyServer.listen(port, '127.0.0.1', resolve));
  keyUri = `http://127.0.0.1:${port}/jwks`;
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, OUTBOUND_ALLOW: `127.0.0.1:${port}`, ID_JAG: 'on' },
  });
  token = await adminToken(service);
  partner = await createIssuer('https://partner.example');
  client = await service.createClient(assertionMetadata);
  server = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
  await made(service, token, 'resources', { resource: api, name: 'API', client_id: server.clientId, scopes });
  await made(service, token, 'resources', {
    resource: jwtApi,
    name: 'JWT',
    client_id: server.clientId,
    scopes,
    access_token_format: 'jwt',
  });
  alice = await service.createUser({ username: 'alice', email: 'alice@partner.example', emailVerified: true });
  issuerId = String((await trust({ name: 'Partner', issuer: partner.issuer, jwks: partner.jwks }))['id']);
});
afterAll(async () => {
  await service?.stop();
  keyServer?.close();
});

const trust = (members: object) =>
  made(service, token, 'trusted-issuers', {
    links: [{ subject: 'them', user: alice.sub }],
    clients: [client.clientId],
    resources: [api],
    scopes: ['read', 'openid'],
    algorithms: ['ES256'],
    ...members,
  });
const change = (body: object, id = issuerId) => made(service, token, `trusted-issuers/${id}`, body, 'PATCH');
const refusal = ({ status, body }: Awaited<ReturnType<typeof present>>) => [status, body['error']];
const seen = async (given: unknown, base = service.issuer) => (await introspect(base, server, String(given))).body;

test('the token is for the linked user, the API and the scopes of the issuer, without sign-in, refresh token and ID Token (RFC 7523 2.1, security R146)', async () => {
  const { status, body } = await present(service.issuer, client, await partner.sign(service.issuer));
  expect(status).toBe(200);
  expect(body).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 300, scope: 'read' });
  const shown = await seen(body['access_token']);
  expect(shown).toMatchObject({
    active: true,
    sub: alice.sub,
    client_id: client.clientId,
    scope: 'read',
    aud: [api, server.clientId],
  });
  expect(shown).not.toHaveProperty('auth_time');
  expect(shown).not.toHaveProperty('acr');
  expect((await userinfo(service.issuer, String(body['access_token']))).status).toBe(401);
  expect(await eventsOf(service, { type: 'assertion.accepted', sub: alice.sub })).toMatchObject([
    { actor: client.clientId, detail: { trusted_issuer: 'Partner', resource: api, scope: 'read' } },
  ]);
});

test('the address of the token endpoint is an audience, too, and the keys can be at an address (RFC 7523 3)', async () => {
  const remote = await createIssuer('https://remote.example');
  const { id } = await trust({ name: 'Remote', issuer: remote.issuer, jwks_uri: keyUri });
  const signed = await partner.sign(`${service.issuer}/token`, { iss: remote.issuer });
  expect((await present(service.issuer, client, signed)).status).toBe(200);
  await call(`${service.issuer}/admin/api/trusted-issuers/${String(id)}`, { method: 'DELETE', token });
});

test('a JWT for an API says when nothing of a sign-in is known by leaving it out (RFC 9068 2.2.1)', async () => {
  const { id } = await change({ resources: [api, jwtApi] });
  const { body } = await present(service.issuer, client, await partner.sign(service.issuer), { resource: jwtApi });
  const claims = decodeJwt(String(body['access_token']));
  expect(claims).toMatchObject({ sub: alice.sub, aud: jwtApi, client_id: client.clientId });
  expect(claims).not.toHaveProperty('auth_time');
  expect(refusal(await present(service.issuer, client, await partner.sign(service.issuer)))).toEqual([
    400,
    'invalid_target',
  ]);
  await change({ resources: [api] }, String(id));
});

describe('an assertion is refused', () => {
  const now = () => Math.floor(Date.now() / 1000);
  const crafted: [string, () => Promise<string> | string][] = [
    ['for another server', () => partner.sign('https://other.example')],
    ['for two audiences', () => partner.sign(service.issuer, { aud: [service.issuer, 'https://other.example'] })],
    ['with the audience in a list', () => partner.sign(service.issuer, { aud: [service.issuer] })],
    ['of the issuer with a slash', () => partner.sign(service.issuer, { iss: `${partner.issuer}/` })],
    ['of another issuer', () => partner.sign(service.issuer, { iss: 'https://unknown.example' })],
    ['about a user name', () => partner.sign(service.issuer, { sub: 'alice' })],
    ['about a user ID of this service', () => partner.sign(service.issuer, { sub: alice.sub })],
    ['that is valid for an hour', () => partner.sign(service.issuer, { exp: now() + 3600 })],
    ['whose time began an hour ago', () => partner.sign(service.issuer, { iat: now() - 3600 })],
    ['that has expired', () => partner.sign(service.issuer, { iat: now() - 200, exp: now() - 60 })],
    ['from the future', () => partner.sign(service.issuer, { iat: now() + 100, exp: now() + 200 })],
    ...['iat', 'exp', 'jti', 'sub', 'aud'].map((name): [string, () => Promise<string>] => [
      `without ${name}`,
      () => partner.sign(service.issuer, { [name]: undefined }),
    ]),
    ...['at+jwt', 'dpop+jwt', 'logout+jwt', 'secevent+jwt', 'oauth-id-jag+jwt', 'application/AT+JWT'].map(
      (typ): [string, () => Promise<string>] => [`of the type ${typ}`, () => partner.sign(service.issuer, {}, { typ })],
    ),
    ['with keys in its header', () => partner.sign(service.issuer, {}, { jwk: partner.jwks.keys[0] })],
    ['by another key', async () => (await createIssuer(partner.issuer)).sign(service.issuer)],
    ['that is no JWT', () => 'a.b.c'],
  ];
  test.each(crafted)('%s (RFC 7523 3, protocols P78, security R138)', async (_what, make) => {
    expect(refusal(await present(service.issuer, client, await make()))).toEqual([400, 'invalid_grant']);
  });

  test('that was used before, also with other bytes of its signature, and on another instance (RFC 7523 3, protocols P78)', async () => {
    const signed = await partner.sign(service.issuer);
    expect((await present(service.issuer, client, signed)).status).toBe(200);
    // the last character of a signature of 64 bytes has four bits that a lenient reader ignores
    const last = signed.at(-1)!;
    const others = ['A', 'Q', 'g', 'w']
      .map((character) => signed.slice(0, -1) + character)
      .filter((text) => text.at(-1) !== last);
    for (const again of [signed, ...others])
      for (const base of service.instances)
        expect(refusal(await present(base, client, again))).toEqual([400, 'invalid_grant']);
    const jti = 'once';
    expect((await present(service.issuer, client, await partner.sign(service.issuer, { jti }))).status).toBe(200);
    expect(refusal(await present(service.issuer, client, await partner.sign(service.issuer, { jti })))).toEqual([
      400,
      'invalid_grant',
    ]);
    expect(await eventsOf(service, { type: 'assertion.replayed', clientId: client.clientId })).not.toEqual([]);
  });

  test('fifty times at once gets one token (RFC 7523 3, protocols P78)', async () => {
    const signed = await partner.sign(service.issuer);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => present(service.instances[index % 2]!, client, signed)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => ![200, 400].includes(status))).toEqual([]);
  });

  test('that is a token of this service (protocols P78, security R138)', async () => {
    const app = await service.createClient({ scope: 'openid' });
    const given = await obtainTokens(service, app, alice, { scope: 'openid' });
    for (const own of [given.id_token, given.access_token])
      expect(refusal(await present(service.issuer, client, own))).toEqual([400, 'invalid_grant']);
    const body = {
      name: 'Own',
      issuer: service.issuer,
      jwks_uri: `${service.issuer}/jwks`,
      resources: [api],
      scopes: ['read'],
    };
    expect((await call(`${service.issuer}/admin/api/trusted-issuers`, { token, body })).status).toBe(400);
  });

  test('of a client that the issuer does not name, and of a client that signs for itself (RFC 7523 3, security R146)', async () => {
    const other = await service.createClient(assertionMetadata);
    expect(refusal(await present(service.issuer, other, await partner.sign(service.issuer)))).toEqual([
      400,
      'invalid_grant',
    ]);
    await service.database.sql(`UPDATE trusted_issuers SET issuer = $2 WHERE id = $1`, [issuerId, client.clientId]);
    const own = await partner.sign(service.issuer, { iss: client.clientId });
    expect(refusal(await present(service.issuer, client, own))).toEqual([400, 'invalid_grant']);
    await service.database.sql(`UPDATE trusted_issuers SET issuer = $2 WHERE id = $1`, [issuerId, partner.issuer]);
  });

  test.each([
    [{ scope: 'read write' }, 'invalid_scope'],
    [{ scope: 'admin' }, 'invalid_scope'],
    [{ scope: 'openid' }, 'invalid_scope'],
    [{ resource: jwtApi }, 'invalid_target'],
  ])('with %j, which the issuer has no right to (security R146)', async (fields, error) => {
    expect(refusal(await present(service.issuer, client, await partner.sign(service.issuer), fields))).toEqual([
      400,
      error,
    ]);
  });

  test('for an API that requires a sign-in here (RFC 9470 3)', async () => {
    const strict = 'https://strict.example/';
    await made(service, token, 'resources', {
      resource: strict,
      name: 'Strict',
      scopes,
      required_acr: 'urn:gatehouse:acr:mfa',
    });
    await change({ resources: [strict] });
    expect(refusal(await present(service.issuer, client, await partner.sign(service.issuer)))).toEqual([
      400,
      'invalid_target',
    ]);
    await change({ resources: [api] });
  });
});

describe('an ID-JAG', () => {
  const typ = 'oauth-id-jag+jwt';
  const jag = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = { typ }) =>
    partner.sign(service.issuer, { client_id: client.clientId, resource: api, scope: 'read', ...claims }, header);

  test('of an issuer of this kind gets a token for its client, resource and scopes (draft-ietf-oauth-identity-assertion-authz-grant-05, security R146)', async () => {
    await change({ kind: 'id_jag' });
    const { status, body } = await present(service.issuer, client, await jag());
    expect([status, body['scope']]).toEqual([200, 'read']);
    expect(await seen(body['access_token'])).toMatchObject({
      active: true,
      sub: alice.sub,
      aud: [api, server.clientId],
    });
  });

  test.each<[string, () => Promise<string>]>([
    ['for another client', async () => jag({ client_id: (await service.createClient(assertionMetadata)).clientId })],
    ['without a client', () => jag({ client_id: undefined })],
    ['of the type JWT', () => jag({}, { typ: 'JWT' })],
    ['without a type', () => jag({}, {})],
    ['for an unknown resource', () => jag({ resource: 'https://unknown.example/' })],
    ['for two resources', () => jag({ resource: [api, jwtApi] })],
    ['that is valid for 301 seconds', () => jag({ exp: Math.floor(Date.now() / 1000) + 301 })],
  ])('%s is refused (draft-ietf-oauth-identity-assertion-authz-grant-05, protocols P79)', async (_what, make) => {
    expect(refusal(await present(service.issuer, client, await make()))).toEqual([400, 'invalid_grant']);
  });

  test('gets no other resource and no more scopes than it names (security R146)', async () => {
    expect(refusal(await present(service.issuer, client, await jag(), { resource: jwtApi }))).toEqual([
      400,
      'invalid_target',
    ]);
    expect(refusal(await present(service.issuer, client, await jag({ scope: 'other' })))).toEqual([
      400,
      'invalid_scope',
    ]);
    expect(
      (
        await call(`${service.issuer}/admin/api/trusted-issuers/${issuerId}`, {
          method: 'PATCH',
          token,
          body: { subject: 'email', email_domains: ['partner.example'] },
        })
      ).status,
    ).toBe(400);
    await change({ kind: 'jwt' });
  });
});

describe('by address', () => {
  test('only a confirmed address of a domain of the issuer names a user, whose own address is confirmed (protocols P78, security R146)', async () => {
    const bob = await service.createUser({ username: 'bob', email: 'bob@partner.example', emailVerified: false });
    const eve = await service.createUser({ username: 'eve', email: 'eve@elsewhere.example', emailVerified: true });
    await change({ subject: 'email', email_domains: ['partner.example'] });
    const by = async (claims: Record<string, unknown>) =>
      refusal(await present(service.issuer, client, await partner.sign(service.issuer, claims)));
    const email = alice.email!;
    expect(await by({ email, email_verified: true })).toEqual([200, undefined]);
    for (const claims of [
      {},
      { email },
      { email, email_verified: false },
      { email, email_verified: 'true' },
      { email: bob.email, email_verified: true },
      { email: eve.email, email_verified: true },
      { email: 'alice@sub.partner.example', email_verified: true },
      { email: 'nobody@partner.example', email_verified: true },
      { email: 'alice', email_verified: true },
      { email: [email], email_verified: true },
    ])
      expect([claims, await by(claims)]).toEqual([claims, [400, 'invalid_grant']]);
    await change({ subject: 'linked' });
  });

  test('an address that only the statement of another system confirmed names no user, and an issuer of ID-JAGs names none by an address (security R146, R156)', async () => {
    await change({ subject: 'email', email_domains: ['partner.example'] });
    const reached: unknown[] = [];
    for (const confirmedBy of ['mail', 'administrator', 'authority', 'word'] as const) {
      const { email } = await service.createUser({ email: `${confirmedBy}@partner.example`, confirmedBy });
      const signed = await partner.sign(service.issuer, { email, email_verified: true });
      reached.push([confirmedBy, ...refusal(await present(service.issuer, client, signed))]);
    }
    expect(reached).toEqual([
      ['mail', 200, undefined],
      ['administrator', 200, undefined],
      ['authority', 200, undefined],
      ['word', 400, 'invalid_grant'],
    ]);
    const body = { kind: 'id_jag' };
    const path = `${service.issuer}/admin/api/trusted-issuers/${issuerId}`;
    expect((await call(path, { method: 'PATCH', token, body })).status).toBe(400);
    await change({ subject: 'linked' });
  });
});

test('a user with a connection of the same issuer is linked, unless the service made the link by an address (security R146)', async () => {
  await service.database.sql(
    `INSERT INTO connections (id, kind, display_name, status, settings) VALUES ('partner', 'oidc', 'Partner', 'enabled', '{}')`,
  );
  const carol = await service.createUser({ username: 'carol' });
  await service.database.sql(
    `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ('partner', $1, 'carol-there', $2, 'domain')`,
    [partner.issuer, carol.sub],
  );
  const sign = () => partner.sign(service.issuer, { sub: 'carol-there' });
  expect(refusal(await present(service.issuer, client, await sign()))).toEqual([400, 'invalid_grant']);
  await service.database.sql(`UPDATE linked_identities SET how = 'person' WHERE sub = $1`, [carol.sub]);
  const { body } = await present(service.issuer, client, await sign());
  expect(await seen(body['access_token'])).toMatchObject({ active: true, sub: carol.sub });
});

describe('nothing is issued, and what was issued ends', () => {
  const off = { status: 'disabled' };
  const on = { status: 'enabled' };
  const patch = (path: string, body: object) => made(service, token, path, body, 'PATCH');
  test.each<[string, (body: object) => Promise<unknown>]>([
    ['the issuer', (body) => change(body)],
    ['the user', (body) => patch(`users/${alice.sub}`, body)],
  ])(
    'while %s is disabled, on every instance, also in a race (CVE-2026-1609, CVE-2026-1486, security R133, R146)',
    async (_what, set) => {
      for (let round = 0; round < 5; round++) {
        const assertions = await Promise.all(Array.from({ length: 50 }, () => partner.sign(service.issuer)));
        const send = (index: number) => present(service.instances[index % 2]!, client, assertions[index]!);
        const before = Array.from({ length: 20 }, (_, index) => send(index));
        const disabled = set(off);
        const answers = await Promise.all([...before, ...Array.from({ length: 26 }, (_, index) => send(20 + index))]);
        await disabled;
        expect(answers.filter(({ status }) => ![200, 400].includes(status))).toEqual([]);
        for (const index of [46, 47]) expect(refusal(await send(index))).toEqual([400, 'invalid_grant']);
        for (const { status, body } of answers)
          if (status === 200)
            expect(await seen(body['access_token'], service.instances[1]!)).toEqual({ active: false });
        await set(on);
        // what ended does not come back
        for (const { status, body } of answers)
          if (status === 200) expect(await seen(body['access_token'])).toEqual({ active: false });
        expect((await send(48)).status).toBe(200);
      }
    },
  );

  test('while failed sign-ins pause the user, since no known browser acts (security R63, R133)', async () => {
    await service.database.sql(
      `INSERT INTO sign_in_failures (account, sub, failures, held_until, expires_at)
       VALUES (sha256(convert_to($1, 'UTF8')), $1, 9, now() + interval '1 hour', 'infinity')`,
      [alice.sub],
    );
    expect(refusal(await present(service.issuer, client, await partner.sign(service.issuer)))).toEqual([
      400,
      'invalid_grant',
    ]);
    await service.database.sql('DELETE FROM sign_in_failures');
    expect((await present(service.issuer, client, await partner.sign(service.issuer))).status).toBe(200);
  });

  test('for a user whom the client does not admit, and for a client outside of its networks (federation FR42)', async () => {
    const set = (sql: string) =>
      service.database.sql(`UPDATE clients SET ${sql} WHERE client_id = $1`, [client.clientId]);
    for (const [closed, open] of [
      [`access = 'groups', access_groups = '{staff}'`, `access = 'everyone', access_groups = '{}'`],
      [`connections = '{corp}'`, `connections = '{}'`],
    ] as const) {
      await set(closed);
      expect(refusal(await present(service.issuer, client, await partner.sign(service.issuer)))).toEqual([
        400,
        'invalid_grant',
      ]);
      await set(open);
    }
  });
});
