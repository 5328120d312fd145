// A client that signs its backchannel requests and has its tokens bound to a certificate gets what FAPI-CIBA demands, by poll and by ping.
import { type CryptoKey, decodeJwt, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { cibaGrant } from '../../src/oauth/registrable-values.ts';
import { allowPolls, answer, cibaMetadata } from '../helpers/ciba.ts';
import { call, withoutLimits } from '../helpers/grants.ts';
import { clientCert, createCertificateFolder, send, type TestCertificate } from '../helpers/mtls.ts';
import { PingReceiver } from '../helpers/ping-receiver.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const base = 'https://mtls.example.test';
const folder = createCertificateFolder();
const receiver = new PingReceiver();
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

let service: TestService;
/** Of both clients, by algorithm. */
let keys: Record<'PS256' | 'ES256' | 'RS256', CryptoKey>;
let foreignKey: CryptoKey;
let certificate: TestCertificate;
let other: TestCertificate;
/** Polls. */
let client: TestClient;
/** Gets pings. */
let pinged: TestClient;
beforeAll(async () => {
  await receiver.start();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      CIBA: 'on',
      TRUST_PROXY: '127.0.0.1,::1',
      MTLS_BASE_URL: base,
      CLIENT_CERT_HEADER: 'Client-Cert',
      OUTBOUND_ALLOW: receiver.host,
    },
  });
  const authority = folder.newAuthority();
  certificate = authority.sign({ subject: '/O=Suite/CN=first' });
  other = authority.sign({ subject: '/O=Suite/CN=second' });
  const made = async (alg: string) => [alg, await generateKeyPair(alg, { extractable: true })] as const;
  const pairs = await Promise.all(['PS256', 'ES256', 'RS256'].map(made));
  keys = Object.fromEntries(pairs.map(([alg, { privateKey }]) => [alg, privateKey])) as typeof keys;
  foreignKey = (await generateKeyPair('PS256')).privateKey;
  const published = pairs.map(async ([alg, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid: alg }));
  const metadata = {
    ...cibaMetadata,
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'PS256',
    backchannel_authentication_request_signing_alg: 'PS256',
    tls_client_certificate_bound_access_tokens: true,
    jwks: { keys: await Promise.all(published) },
  };
  client = await service.createClient(metadata);
  pinged = await service.createClient({
    ...metadata,
    backchannel_token_delivery_mode: 'ping',
    backchannel_client_notification_endpoint: receiver.uri('/ping'),
  });
  // the users of the suite have granted its clients nothing
  await service.database.sql('UPDATE clients SET ciba_trusted = true');
});
afterAll(async () => {
  await service?.stop();
  await receiver.stop();
  folder.remove();
});

const now = () => Math.floor(Date.now() / 1000);
const errorOf = ({ status, body }: { status: number; body: Record<string, unknown> }) => [status, body['error']];

const assertion = (of: TestClient, alg: keyof typeof keys = 'PS256') =>
  new SignJWT({ iss: of.clientId, sub: of.clientId, aud: service.issuer, jti: crypto.randomUUID(), exp: now() + 60 })
    .setProtectedHeader({ alg, kid: alg })
    .sign(keys[alg]);

/** The members of a request as the profile demands them. */
const members = (of: TestClient, more: Record<string, unknown>): Record<string, unknown> => ({
  iss: of.clientId,
  aud: service.issuer,
  iat: now(),
  nbf: now(),
  exp: now() + 300,
  jti: crypto.randomUUID(),
  scope: 'openid profile',
  ...more,
});
const signed = (payload: Record<string, unknown>, key: CryptoKey = keys.PS256, alg = 'PS256') =>
  new SignJWT(payload).setProtectedHeader({ alg, ...(key !== foreignKey && { kid: alg }) }).sign(key);

/** Sends a form with an assertion, through the proxy with a certificate, or to the address without one. */
async function post(
  path: string,
  of: TestClient,
  form: Record<string, string>,
  by: TestCertificate | 'none' = certificate,
) {
  const all = { client_assertion: await assertion(of), client_assertion_type: assertionType, ...form };
  const headers: Record<string, string> =
    by !== 'none' ? { host: 'mtls.example.test', 'client-cert': clientCert(by) } : {};
  return send(service.issuer + path, { form: all, headers });
}
const ask = async (more: Record<string, unknown>, of = client) =>
  post('/bc-authorize', of, { request: await signed(members(of, more)) });
const poll = (id: unknown, of = client, by: TestCertificate | 'none' = certificate) =>
  post('/token', of, { grant_type: cibaGrant, auth_req_id: String(id) }, by);

async function signedIn(as: TestUser): Promise<UserAgent> {
  const browser = new UserAgent(service);
  await browser.signIn(as);
  return browser;
}

describe('a signed request', () => {
  test.each([
    ['poll', () => client, {}],
    ['ping', () => pinged, { client_notification_token: 'notification-token-of-the-suite' }],
  ])(
    'gets tokens that are bound to the certificate, by %s, with a binding message (FAPI-CIBA 5.2.2)',
    async (mode, of, more) => {
      const user = await service.createUser();
      const asked = await ask({ login_hint: user.username, binding_message: '1234', ...more }, of());
      expect(asked).toMatchObject({ status: 200, body: { expires_in: 120, interval: 5 } });
      const id = asked.body['auth_req_id'];
      expect(errorOf(await poll(id, of()))).toEqual([400, 'authorization_pending']);
      const agent = await signedIn(user);
      expect((await agent.get('/account/requests')).body).toContain('1234');
      await answer(agent);
      if (mode === 'ping') {
        const [ping] = await vi.waitUntil(() => receiver.received.length > 0 && receiver.received);
        expect(JSON.parse(ping!.body)).toEqual({ auth_req_id: id });
        expect(ping!.headers.authorization).toBe('Bearer notification-token-of-the-suite');
      }
      expect(errorOf(await post('/token', of(), { grant_type: cibaGrant, auth_req_id: String(id) }, 'none'))).toEqual([
        400,
        'invalid_request',
      ]);
      const tokens = await poll(id, of());
      expect(tokens.status).toBe(200);
      const claims = decodeJwt(String(tokens.body['id_token']));
      expect(claims).toMatchObject({
        iss: service.issuer,
        aud: of().clientId,
        sub: user.sub,
        acr: 'urn:gatehouse:acr:password',
      });
      const read = (by: TestCertificate) =>
        send(`${service.issuer}/user/info`, {
          token: String(tokens.body['access_token']),
          headers: { host: 'mtls.example.test', 'client-cert': clientCert(by) },
        });
      expect([(await read(certificate)).status, (await read(other)).status]).toEqual([200, 401]);
    },
  );

  const wrong: [string, () => Promise<string>][] = [
    ...['iss', 'aud', 'exp', 'iat', 'nbf', 'jti'].map((member): [string, () => Promise<string>] => [
      `without ${member}`,
      () => signed(members(client, { login_hint: 'ada', [member]: undefined })),
    ]),
    ...(
      [
        ['another iss', () => ({ iss: pinged.clientId })],
        ['another aud', () => ({ aud: 'https://other.example' })],
        ['exp in the past', () => ({ exp: now() - 300, nbf: now() - 600, iat: now() - 600 })],
        ['exp 70 minutes ahead', () => ({ exp: now() + 70 * 60 })],
        ['nbf 70 minutes ago', () => ({ nbf: now() - 70 * 60, exp: now() + 60 })],
        ['nbf 10 minutes ahead', () => ({ nbf: now() + 600, exp: now() + 900 })],
        ['iat 10 minutes ahead', () => ({ iat: now() + 600 })],
        ['jti that is no text', () => ({ jti: 7 })],
        ['the sub of a client assertion', () => ({ sub: client.clientId })],
        ['two hints', () => ({ id_token_hint: 'x' })],
        ['requested_expiry that is no number', () => ({ requested_expiry: 'soon' })],
      ] as const
    ).map(([name, more]): [string, () => Promise<string>] => [
      `with ${name}`,
      () => signed(members(client, { login_hint: 'ada', ...more() })),
    ]),
    ['with the signature of another key', () => signed(members(client, { login_hint: 'ada' }), foreignKey)],
    ['with RS256', () => signed(members(client, { login_hint: 'ada' }), keys.RS256, 'RS256')],
    [
      'with an algorithm that the client did not register',
      () => signed(members(client, { login_hint: 'ada' }), keys.ES256, 'ES256'),
    ],
    ['with no signature', async () => new UnsecuredJWT(members(client, { login_hint: 'ada' })).encode()],
    ['without a hint', () => signed(members(client, {}))],
  ];
  test.each(wrong)('%s is refused (FAPI-CIBA 5.2.2, OpenID Connect CIBA 7.1.1)', async (_, request) => {
    expect(errorOf(await post('/bc-authorize', client, { request: await request() }))).toEqual([
      400,
      'invalid_request',
    ]);
  });

  test('may have nbf 8 seconds ahead and an array as aud, and counts once (FAPI-CIBA 5.2.2)', async () => {
    const { username: login_hint } = await service.createUser();
    const request = await signed(
      members(client, { login_hint, nbf: now() + 8, aud: [service.issuer, 'https://other.example'] }),
    );
    expect((await post('/bc-authorize', client, { request })).status).toBe(200);
    expect(errorOf(await post('/bc-authorize', client, { request }))).toEqual([400, 'invalid_request']);
  });

  test('is demanded of a client that registered to sign, and no parameter stands beside it (OpenID Connect CIBA 7.1.1)', async () => {
    const { username: login_hint } = await service.createUser();
    expect(errorOf(await post('/bc-authorize', client, { scope: 'openid', login_hint }))).toEqual([
      400,
      'invalid_request',
    ]);
    const request = await signed(members(client, { login_hint }));
    expect(errorOf(await post('/bc-authorize', client, { request, binding_message: '1' }))).toEqual([
      400,
      'invalid_request',
    ]);
  });

  test('by a client that authenticates wrongly is refused (FAPI-CIBA 5.2.2)', async () => {
    const { username: login_hint } = await service.createUser();
    const request = await signed(members(client, { login_hint }));
    const form = { request, client_assertion: await assertion(client, 'RS256') };
    expect(errorOf(await post('/bc-authorize', client, form))).toEqual([401, 'invalid_client']);
    const without = await send(`${service.issuer}/bc-authorize`, { form: { request, client_id: client.clientId } });
    expect(without.status).toBe(401);
  });
});

describe('a poll', () => {
  test('that comes early is slow_down, of another client invalid_grant, after a denial access_denied and after the end expired_token (OpenID Connect CIBA 11)', async () => {
    const user = await service.createUser();
    const { body } = await ask({ login_hint: user.username, requested_expiry: '30' });
    expect(body['expires_in']).toBe(30);
    const id = body['auth_req_id'];
    expect(errorOf(await poll(id))).toEqual([400, 'authorization_pending']);
    expect(errorOf(await poll(id))).toEqual([400, 'slow_down']);
    expect(errorOf(await poll(id, pinged))).toEqual([400, 'invalid_grant']);
    await answer(await signedIn(user), 'deny');
    expect(errorOf(await poll(id))).toEqual([400, 'access_denied']);
    const { body: late } = await ask({ login_hint: user.username, requested_expiry: 30 });
    await service.database.sql(`UPDATE backchannel_requests SET expires_at = expires_at - interval '30 seconds'`);
    await allowPolls(service);
    expect(errorOf(await poll(late['auth_req_id']))).toEqual([400, 'expired_token']);
  });

  test('after the tokens is invalid_grant (OpenID Connect CIBA 11)', async () => {
    const user = await service.createUser();
    const { body } = await ask({ login_hint: user.username });
    await answer(await signedIn(user));
    expect((await poll(body['auth_req_id'])).status).toBe(200);
    expect(errorOf(await poll(body['auth_req_id']))).toEqual([400, 'invalid_grant']);
  });
});

test('discovery has the endpoint with its alias, the modes, the algorithms and bound tokens (OpenID Connect CIBA 4, RFC 8705 3.3)', async () => {
  const { body } = await call(`${service.issuer}/.well-known/openid-configuration`);
  expect(body).toMatchObject({
    backchannel_authentication_endpoint: `${service.issuer}/bc-authorize`,
    backchannel_token_delivery_modes_supported: ['poll', 'ping'],
    backchannel_authentication_request_signing_alg_values_supported: expect.arrayContaining(['PS256', 'ES256']),
    tls_client_certificate_bound_access_tokens: true,
    mtls_endpoint_aliases: { backchannel_authentication_endpoint: `${base}/bc-authorize` },
  });
});
