// Clients come with certificates that a proxy passes on: they authenticate by them, and their tokens are bound to them (RFC 8705, RFC 9440).
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { newProofKey, proofFor } from '../helpers/dpop.ts';
import { adminToken, type Answer, call, obtainCode, withoutLimits } from '../helpers/grants.ts';
import {
  clientCert,
  createCertificateFolder,
  escapedPem,
  send,
  type Sent,
  type TestAuthority,
  type TestCertificate,
} from '../helpers/mtls.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { pkce, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

const base = 'https://mtls.example.test';
const folder = createCertificateFolder();
const dn = 'CN=client,O=Example\\, Ltd,C=DE';
const subject = '/C=DE/O=Example, Ltd/CN=client';
const flows = {
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  scope: 'openid email offline_access',
};

let service: TestService;
let keyServer: Server;
let keysAt: string;
let published: unknown[] = [];
let user: TestUser;
let agent: UserAgent;
let authority: TestAuthority;
let own: TestCertificate;
let self: TestCertificate;
let stranger: TestCertificate;
/** By a name in its certificate. */
let t1: TestClient;
/** By its key. */
let t2: TestClient;
let common: TestClient;
let bound: TestClient;
let publicClient: TestClient;
beforeAll(async () => {
  keyServer = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: published }));
  });
  await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve));
  const { port } = keyServer.address() as AddressInfo;
  keysAt = `http://127.0.0.1:${port}/keys`;
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      TRUST_PROXY: '127.0.0.1,::1',
      MTLS_BASE_URL: base,
      CLIENT_CERT_HEADER: 'Client-Cert',
      CLIENT_CERT_VERIFY_HEADER: 'X-Client-Verify',
      OUTBOUND_ALLOW: `127.0.0.1:${port}`,
    },
  });
  authority = folder.newAuthority();
  own = authority.sign({ subject });
  self = folder.selfSigned();
  stranger = folder.selfSigned({ subject });
  const byName = { token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: dn };
  t1 = await service.createClient({ ...flows, ...byName });
  t2 = await service.createClient({
    ...flows,
    token_endpoint_auth_method: 'self_signed_tls_client_auth',
    jwks: { keys: [self.jwk] },
  });
  common = await service.createClient({ ...flows });
  const wantsBinding = { tls_client_certificate_bound_access_tokens: true };
  bound = await service.createClient({ ...flows, ...byName, ...wantsBinding });
  publicClient = await service.createClient({
    token_endpoint_auth_method: 'none',
    scope: 'openid email offline_access',
    ...wantsBinding,
  });
  user = await service.createUser({ email: 'ada@example.org' });
  agent = new UserAgent(service);
});
afterAll(async () => {
  await service?.stop();
  keyServer?.close();
  folder.remove();
});

interface AtAlias extends Sent {
  /** What the proxy passes on. */
  by?: TestCertificate | undefined;
  verdict?: string | undefined;
  host?: string;
  instance?: number;
}

/** A request as it comes through the proxy. */
function atAlias(
  path: string,
  { by, verdict = 'SUCCESS', host = 'mtls.example.test', instance = 0, ...sent }: AtAlias,
) {
  const { port } = new URL(service.instances[instance]!);
  const certificate = by && { 'client-cert': clientCert(by), 'x-client-verify': verdict };
  return send(`http://127.0.0.1:${port}${path}`, { ...sent, headers: { host, ...certificate, ...sent.headers } });
}

const credentials = { grant_type: 'client_credentials' };
/** A token request of a client that authenticates by its certificate. */
const token = (
  client: TestClient,
  by: TestCertificate | undefined,
  sent: AtAlias & { form?: Record<string, string> } = {},
) => atAlias('/token', { by, ...sent, form: { client_id: client.clientId, ...credentials, ...sent.form } });
const invalidClient = { status: 401, body: { error: 'invalid_client' } };

/** A code of the client, and what its redemption must send. */
async function newGrant(of: TestClient, parameters: Record<string, string> = {}): Promise<Record<string, string>> {
  const { code_verifier, ...challenge } = pkce();
  const code = await obtainCode(service, of, user, { scope: 'openid email', ...challenge, ...parameters }, agent);
  return { grant_type: 'authorization_code', code, redirect_uri: of.redirectUri, code_verifier };
}
async function tokensOf(
  client: TestClient,
  by: TestCertificate,
  scope = 'openid email',
): Promise<Record<string, string>> {
  const { status, body } = await token(client, by, { form: await newGrant(client, { scope }) });
  expect(status, JSON.stringify(body)).toBe(200);
  return body as Record<string, string>;
}
const refreshWith = (refreshToken: string) => ({ grant_type: 'refresh_token', refresh_token: refreshToken });

describe('discovery', () => {
  test('names the aliases, the binding and the methods (RFC 8705 3.3, 5)', async () => {
    const { body } = await call(`${service.issuer}/.well-known/openid-configuration`);
    expect(body['tls_client_certificate_bound_access_tokens']).toBe(true);
    expect(body['mtls_endpoint_aliases']).toEqual({
      pushed_authorization_request_endpoint: `${base}/par`,
      token_endpoint: `${base}/token`,
      revocation_endpoint: `${base}/revoke`,
      introspection_endpoint: `${base}/introspect`,
      userinfo_endpoint: `${base}/user/info`,
    });
    for (const endpoint of ['token', 'revocation', 'introspection'])
      expect(body[`${endpoint}_endpoint_auth_methods_supported`]).toEqual(
        expect.arrayContaining(['tls_client_auth', 'self_signed_tls_client_auth']),
      );
  });

  test('the metadata of our resources says that tokens can be bound to certificates (RFC 9728 2)', async () => {
    const { body } = await call(`${service.issuer}/.well-known/oauth-protected-resource/user/info`);
    expect(body['tls_client_certificate_bound_access_tokens']).toBe(true);
  });
});

describe('client authentication', () => {
  test('succeeds by the name in a verified certificate, and by a registered key, on every instance (RFC 8705 2.1, 2.2)', async () => {
    for (const instance of [0, 1]) {
      expect((await token(t1, own, { instance })).status).toBe(200);
      expect((await token(t2, self, { instance, verdict: 'FAILED:self-signed certificate' })).status).toBe(200);
    }
    const { access_token: issued } = (await token(t1, own)).body as { access_token: string };
    const asked = { by: own, form: { client_id: t1.clientId, token: issued } };
    expect((await atAlias('/introspect', asked)).body).toMatchObject({ active: true, token_type: 'Bearer' });
    expect((await atAlias('/revoke', asked)).status).toBe(200);
    expect((await atAlias('/introspect', asked)).body).toEqual({ active: false });
  });

  test.each([
    ['tls_client_auth_san_dns', 'bank.example'],
    ['tls_client_auth_san_uri', 'https://bank.example/client'],
    ['tls_client_auth_san_ip', '2001:db8::7'],
    ['tls_client_auth_san_email', 'desk@bank.example'],
  ])('succeeds by %s (RFC 8705 2.1.2)', async (member, value) => {
    const client = await service.createClient({
      ...flows,
      token_endpoint_auth_method: 'tls_client_auth',
      [member]: value,
    });
    const alternatives = [
      'DNS:bank.example',
      'URI:https://bank.example/client',
      'IP:2001:db8::7',
      'email:desk@bank.example',
    ];
    expect((await token(client, authority.sign({ alternatives }))).status).toBe(200);
    expect(await token(client, authority.sign({ alternatives: ['DNS:evil.example'] }))).toMatchObject(invalidClient);
    // the subject is no alternative name
    expect(await token(client, authority.sign({ subject: `/CN=${value.replaceAll('/', '\\/')}` }))).toMatchObject(
      invalidClient,
    );
  });

  test('Same name, other issuer: a certificate without the verdict of the proxy, of another name, expired or not yet valid is refused (RFC 8705 2.1, 7.3, security R136, protocols P23)', async () => {
    for (const verdict of ['FAILED:unable to get local issuer certificate', 'NONE', '', 'success', 'SUCCESS, SUCCESS'])
      expect(await token(t1, stranger, { verdict }), verdict).toMatchObject(invalidClient);
    const { headers } = { headers: { 'client-cert': clientCert(own) } };
    expect(await token(t1, undefined, { headers })).toMatchObject(invalidClient);
    // the dates count whatever the proxy says
    for (const dates of [
      { from: -3, to: -1 },
      { from: 1, to: 2 },
    ])
      expect(await token(t1, authority.sign({ subject, ...dates }))).toMatchObject(invalidClient);
    expect(await token(t2, folder.selfSigned())).toMatchObject(invalidClient);
    // nor does a registered key make up for them
    expect(await token(t2, authority.sign({ keyOf: self, from: -3, to: -1 }))).toMatchObject(invalidClient);
    expect((await token(t2, authority.sign({ keyOf: self }))).status).toBe(200);
  });

  test('DN tricks: only a certificate with the same attributes in the same order is accepted (RFC 4514, protocols P24)', async () => {
    for (const trick of [
      '/CN=client/O=Example, Ltd/C=DE',
      '/CN=client,O=Example\\\\, Ltd,C=DE',
      `${subject}/CN=client`,
      '/C=DE/O=Example/CN=client',
    ])
      expect(await token(t1, authority.sign({ subject: trick })), trick).toMatchObject(invalidClient);
    expect((await token(t1, authority.sign({ subject, stringMask: 'default' }))).status).toBe(200);
  });

  test('Identity by certificate only: client_id is needed, is that of the certificate, and no other credentials are beside (RFC 8705 2, RFC 6749 2.3, security R37, protocols P26)', async () => {
    expect(await atAlias('/token', { by: own, form: credentials })).toMatchObject(invalidClient);
    expect(await token(common, own)).toMatchObject(invalidClient);
    const beside = { form: { client_secret: 'x'.repeat(43) } };
    expect(await token(t1, own, beside)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    // a wrong certificate learns nothing of that
    expect(await token(t1, stranger, { ...beside, verdict: 'NONE' })).toMatchObject(invalidClient);
    expect(
      await token(t1, own, { headers: { authorization: common.basic }, form: { client_id: common.clientId } }),
    ).toMatchObject({
      status: 200,
    });
    // no certificate at all, and no method without one
    expect(await token(t1, undefined)).toMatchObject(invalidClient);
    expect(await send(`${service.issuer}/token`, { form: { client_id: t1.clientId, ...credentials } })).toMatchObject(
      invalidClient,
    );
  });

  test('Key rotation at jwks_uri: a new key is accepted after one fetch, and a removed one refused once the set is read again (RFC 8705 2.2, security R47, protocols P28)', async () => {
    const client = await service.createClient({
      ...flows,
      token_endpoint_auth_method: 'self_signed_tls_client_auth',
      jwks_uri: keysAt,
    });
    const now = vi.spyOn(performance, 'now');
    const later = (milliseconds: number) => {
      const time = performance.now() + milliseconds;
      now.mockImplementation(() => time);
    };
    try {
      published = [self.jwk];
      expect((await token(client, self)).status).toBe(200);
      const next = folder.selfSigned();
      published = [next.jwk];
      later(10_000);
      expect((await token(client, next)).status).toBe(200);
      expect(await token(client, self)).toMatchObject(invalidClient);
      published = [];
      later(120_000);
      expect(await token(client, next)).toMatchObject(invalidClient);
    } finally {
      now.mockRestore();
    }
  });

  test('fetches no keys for a client that was never enabled (security R113)', async () => {
    const metadata = {
      ...flows,
      token_endpoint_auth_method: 'self_signed_tls_client_auth',
      jwks: { keys: [self.jwk] },
    };
    const waiting = await service.createClient(metadata, { status: 'disabled' });
    expect(await token(waiting, self)).toMatchObject(invalidClient);
  });
});

test('another certificate than before is an event, and the page of the client shows the last one with its end (protocols 3)', async () => {
  const client = await service.createClient({
    ...flows,
    token_endpoint_auth_method: 'tls_client_auth',
    tls_client_auth_subject_dn: dn,
  });
  const events = () =>
    service.database.sql<{ detail: Record<string, unknown> }>(
      `SELECT detail FROM audit_events WHERE type = 'client.certificate_changed' AND client_id = $1`,
      [client.clientId],
    );
  const [short, long] = [authority.sign({ subject, to: 3 }), authority.sign({ subject, to: 300 })];
  await token(client, short);
  await token(client, short, { instance: 1 });
  expect(await events()).toEqual([]);
  expect(await service.store.clientCertificates.last(client.clientId)).toMatchObject({ x5t: short.x5t });
  await token(client, long);
  await token(client, long, { instance: 1 });
  expect(await events()).toMatchObject([{ detail: { certificate: long.x5t, expires: expect.any(String) as string } }]);
  // a certificate that is refused is not noted
  await token(client, stranger, { verdict: 'NONE' });
  expect(await service.store.clientCertificates.last(client.clientId)).toMatchObject({ x5t: long.x5t });
  for (let more = 0; more < 11; more++)
    await service.store.clientCertificates.note(client.clientId, {
      x5t: String(more).padStart(43, 'x'),
      subject: undefined,
      expiresAt: new Date(),
    });
  const [kept] = await service.database.sql<{ count: number }>(
    'SELECT count(*)::int FROM client_certificates WHERE client_id = $1',
    [client.clientId],
  );
  expect(kept!.count).toBe(10);
});

describe('the header', () => {
  test('from another peer than a proxy of TRUST_PROXY is dropped and counted (RFC 9440 4, security R136)', async () => {
    const admin = await adminToken(service);
    const dropped = async () => {
      const { text } = await send(`${service.issuer}/metrics`, { token: admin });
      return Number(/^gatehouse_client_certificate_headers_dropped_total (\d+)/m.exec(text)![1]);
    };
    const before = await dropped();
    expect(await token(t1, own, { from: '127.0.0.2' })).toMatchObject(invalidClient);
    const asProxy = { 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1' };
    expect(await token(t1, own, { from: '127.0.0.2', headers: asProxy })).toMatchObject(invalidClient);
    expect(await dropped()).toBe(before + 2);
  });

  test('Header on the plain host: a certificate at the address of the issuer is not believed (RFC 9440 2.4, security R136, protocols P21)', async () => {
    const { host } = new URL(service.issuer);
    expect(await token(t1, own, { host })).toMatchObject(invalidClient);
    for (const other of [
      'evil.example',
      'mtls.example.test.evil.example',
      'mtls.example.test:8443',
      'mtls.example.test.',
    ])
      expect(await token(t1, own, { host: other }), other).toMatchObject(invalidClient);
    expect((await token(t1, own, { host: 'MTLS.example.test:443' })).status).toBe(200);
  });

  test('Two certificates: a repeated header, two values, bytes after the certificate and another form are 400, and 64 KiB are 431 (RFC 9440 2, security R136, protocols P22)', async () => {
    const value = clientCert(own);
    const refused = { status: 400, body: { error: 'invalid_request' } };
    const verdict = { 'x-client-verify': 'SUCCESS' };
    const withHeader = (header: string | string[]) =>
      token(t1, undefined, { headers: { 'client-cert': header, ...verdict } });
    expect(await withHeader([value, value])).toMatchObject(refused);
    expect(await withHeader(`${value}, ${clientCert(stranger)}`)).toMatchObject(refused);
    expect(await withHeader(`:${Buffer.concat([own.der, Buffer.of(0)]).toString('base64')}:`)).toMatchObject(refused);
    expect(await withHeader(escapedPem(own))).toMatchObject(refused);
    const twice = { 'client-cert': value, 'x-client-verify': ['FAILED', 'SUCCESS'] };
    expect(await token(t1, undefined, { headers: twice })).toMatchObject(refused);
    for (const size of [20_000, 65_536]) expect((await withHeader(`:${'A'.repeat(size)}:`)).status).toBe(431);
  });

  test('of a proxy without a certificate is an ordinary request (RFC 9440 2.4)', async () => {
    expect(await token(t1, undefined, { headers: { 'client-cert': '' } })).toMatchObject(invalidClient);
    const { authorization } = { authorization: common.basic };
    expect((await atAlias('/token', { headers: { authorization, 'client-cert': '' }, form: credentials })).status).toBe(
      200,
    );
  });
});

test('Pages at the alias: only the endpoints of clients answer there, and no cookie is set (RFC 8705 5, security R136, protocols P27)', async () => {
  for (const path of [
    '/',
    '/authorize?client_id=x',
    '/login',
    '/admin',
    '/admin/api/clients',
    '/account',
    '/jwks',
    '/logout',
    '/register',
    '/scim/v2/Users',
    '/nothing',
  ])
    for (const from of ['127.0.0.1', '127.0.0.2']) {
      const answer = await atAlias(path, { by: own, from, headers: { accept: 'text/html' } });
      expect([answer.status, answer.body['error']], path).toEqual([404, 'not_found']);
      expect(answer.headers.get('set-cookie')).toBeNull();
    }
});

describe('bound tokens', () => {
  test('have the thumbprint of the certificate at introspection, and serve only with it (RFC 8705 3, 3.2, security R134)', async () => {
    const tokens = await tokensOf(bound, own);
    expect(tokens['token_type']).toBe('Bearer');
    const issued = tokens['access_token']!;
    const form = { client_id: bound.clientId, token: issued };
    expect((await atAlias('/introspect', { by: own, form })).body).toMatchObject({
      token_type: 'Bearer',
      cnf: { 'x5t#S256': own.x5t },
    });
    for (const instance of [0, 1]) {
      const good = await atAlias('/user/info', { by: own, token: issued, instance });
      expect([good.status, good.body['email']]).toEqual([200, 'ada@example.org']);
    }
    const refused: Answer[] = [
      await call(`${service.issuer}/user/info`, { token: issued }),
      await atAlias('/user/info', { token: issued }),
      await atAlias('/user/info', { token: issued, by: authority.sign({ subject }) }),
      await atAlias('/user/info', { token: issued, by: own, from: '127.0.0.2' }),
      await atAlias('/user/info', { token: issued, by: own, host: new URL(service.issuer).host }),
      await call(`${service.issuer}/admin/api/clients`, { token: issued }),
    ];
    for (const answer of refused) {
      expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
      expect(answer.body['sub']).toBeUndefined();
    }
    const key = await newProofKey();
    const dpop = await proofFor(key, `${service.issuer}/user/info`, { method: 'GET', token: issued });
    const headers = { authorization: `DPoP ${issued}`, dpop };
    expect((await send(`${service.issuer}/user/info`, { headers })).status).toBe(401);
  });

  test('serve no longer once their certificate has expired (RFC 8705 7.1, security R134)', async () => {
    const { access_token: token } = await tokensOf(bound, own);
    const expired = authority.sign({ subject, from: -3, to: -1 });
    // as if the certificate had expired after the issue
    await service.database.sql(
      `UPDATE access_tokens SET cnf = jsonb_build_object('x5t#S256', $1::text) WHERE cnf ->> 'x5t#S256' = $2`,
      [expired.x5t, own.x5t],
    );
    expect((await atAlias('/user/info', { by: expired, token: token! })).status).toBe(401);
  });

  test('are not made for a client that does not want them, and such a token serves everywhere (RFC 8705 3.4)', async () => {
    const { access_token: issued } = await tokensOf(t1, own);
    expect((await call(`${service.issuer}/user/info`, { token: issued! })).status).toBe(200);
    expect((await atAlias('/user/info', { by: stranger, token: issued! })).status).toBe(200);
  });

  test('are the only ones of a client that wants them: without a certificate the code stays good (RFC 8705 3.4, security R134)', async () => {
    const client = await service.createClient({ ...flows, tls_client_certificate_bound_access_tokens: true });
    const grant = await newGrant(client);
    const headers = { authorization: client.basic };
    const plain = await send(`${service.issuer}/token`, { headers, form: grant });
    expect(plain).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    const expired = authority.sign({ from: -3, to: -1 });
    expect(await atAlias('/token', { by: expired, headers, form: grant })).toMatchObject({ status: 400 });
    // any certificate binds: the secret authenticates the client
    expect((await atAlias('/token', { by: stranger, verdict: 'NONE', headers, form: grant })).status).toBe(200);
    const own = await atAlias('/token', { by: self, headers, form: credentials });
    expect((await introspect(service.issuer, client, String(own.body['access_token']))).body['cnf']).toEqual({
      'x5t#S256': self.x5t,
    });
  });

  test('of a confidential client end with the certificate, and its refresh token does not (RFC 8705 6.3, 7.1)', async () => {
    const tokens = await tokensOf(bound, own, 'openid offline_access');
    const next = authority.sign({ subject });
    const renewed = await token(bound, next, { form: refreshWith(tokens['refresh_token']!) });
    expect(renewed.status).toBe(200);
    const issued = String(renewed.body['access_token']);
    expect((await atAlias('/user/info', { by: next, token: issued })).status).toBe(200);
    expect((await atAlias('/user/info', { by: own, token: issued })).status).toBe(401);
  });

  test('of a public client include its refresh tokens, for ever (RFC 8705 4, 7.1, security R134)', async () => {
    const tokens = await tokensOf(publicClient, self, 'openid offline_access');
    const form = refreshWith(tokens['refresh_token']!);
    expect(await token(publicClient, stranger, { form })).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    expect(await token(publicClient, undefined, { form })).toMatchObject({ status: 400 });
    const dpop = await proofFor(await newProofKey(), `${base}/token`);
    expect(await token(publicClient, self, { form, headers: { dpop } })).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    const renewed = await token(publicClient, self, { form });
    expect(renewed.status).toBe(200);
    expect((await atAlias('/user/info', { by: self, token: String(renewed.body['access_token']) })).status).toBe(200);
  });

  test('are bound by a proof where one is sent, for the address of the alias (RFC 9449 4.3, protocols 3)', async () => {
    const key = await newProofKey();
    const form = credentials;
    const dpop = await proofFor(key, `${base}/token`);
    const { status, body } = await token(bound, own, { form, headers: { dpop } });
    expect([status, body['token_type']]).toEqual([200, 'DPoP']);
    const wrong = await proofFor(key, `${service.issuer}/token`);
    expect(await token(bound, own, { form, headers: { dpop: wrong } })).toMatchObject({
      status: 400,
      body: { error: 'invalid_dpop_proof' },
    });
  });

  test('as handles of the UMA profile need the certificate, and the code in the URL is none (decisions 5, security R134)', async () => {
    const client = await service.createClient({
      ...flows,
      uma_profile: true,
      tls_client_certificate_bound_access_tokens: true,
    });
    const grant = await newGrant(client);
    const { code } = grant as { code: string };
    expect((await atAlias('/user/me/scope', { by: own, token: code })).status).toBe(401);
    const { body } = await atAlias('/token', { by: own, headers: { authorization: client.basic }, form: grant });
    const handle = String(body['client_session_handle']);
    const path = `/user/${user.sub}/info`;
    expect((await call(service.issuer + path, { token: handle })).status).toBe(401);
    expect((await atAlias(path, { by: self, token: handle })).status).toBe(401);
    expect((await atAlias(path, { by: own, token: handle })).status).toBe(200);
  });
});

describe('a resource', () => {
  const uri = 'https://api.example/accounts';
  beforeAll(async () => {
    const form = {
      resource: uri,
      name: 'Accounts',
      clients: 'approved',
      binding: 'mtls',
      access_token_format: 'jwt',
      scopes: [{ value: 'accounts' }],
    };
    const made = await send(`${service.issuer}/admin/api/resources`, {
      method: 'POST',
      token: await adminToken(service),
      json: form,
    });
    expect(made.status, made.text).toBe(201);
  });

  test('that demands certificates gets tokens bound to one, whatever the client registered (RFC 8705 3.1, security R134)', async () => {
    const grant = await newGrant(t1, { scope: 'openid accounts', resource: uri });
    const { status, body } = await token(t1, own, { form: grant });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(decodeJwt(String(body['access_token']))['cnf']).toEqual({ 'x5t#S256': own.x5t });
    const forClient = await token(t1, own, { form: { resource: uri, scope: 'accounts' } });
    expect(decodeJwt(String(forClient.body['access_token']))['cnf']).toEqual({ 'x5t#S256': own.x5t });
  });

  test('gives a public client refresh tokens that stay bound to the certificate (RFC 8705 4)', async () => {
    const client = await service.createClient({ token_endpoint_auth_method: 'none', scope: 'openid offline_access' });
    const grant = await newGrant(client, { scope: 'openid accounts offline_access', resource: uri });
    const { body } = await token(client, self, { form: grant });
    const form = refreshWith(String(body['refresh_token']));
    expect(await token(client, stranger, { form })).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    const renewed = await token(client, self, { form });
    expect(decodeJwt(String(renewed.body['access_token']))['cnf']).toEqual({ 'x5t#S256': self.x5t });
  });

  test('refuses a request without a certificate or with a proof only, and the code stays good (security R134)', async () => {
    const headers = { authorization: common.basic };
    const grant = await newGrant(common, { scope: 'openid accounts', resource: uri });
    const refused = { status: 400, body: { error: 'invalid_dpop_proof' } };
    expect(await send(`${service.issuer}/token`, { headers, form: grant })).toMatchObject(refused);
    const dpop = await proofFor(await newProofKey(), `${service.issuer}/token`);
    expect(await send(`${service.issuer}/token`, { headers: { ...headers, dpop }, form: grant })).toMatchObject(
      refused,
    );
    const form = { ...credentials, resource: uri, scope: 'accounts' };
    expect(await send(`${service.issuer}/token`, { headers, form })).toMatchObject(refused);
    expect((await atAlias('/token', { by: self, headers, form: grant })).status).toBe(200);
  });
});
