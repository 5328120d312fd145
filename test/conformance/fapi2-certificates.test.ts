// A client with a FAPI 2.0 profile authenticates by its certificate, or has its tokens bound to it, as the variants of the plans with mTLS demand.
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, withoutLimits } from '../helpers/grants.ts';
import { createCertificateFolder, clientCert, send, type TestCertificate } from '../helpers/mtls.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { pkce, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const base = 'https://mtls.example.test';
const folder = createCertificateFolder();
const challenge = pkce();

let service: TestService;
let user: TestUser;
let agent: UserAgent;
let key: CryptoKey;
let own: TestCertificate;
let other: TestCertificate;
/** Authenticates by its certificate. */
let client: TestClient;
/** Authenticates by its key, and has its tokens bound to a certificate. */
let signing: TestClient;
beforeAll(async () => {
  service = await startTestService({
    environment: {
      ...withoutLimits,
      TRUST_PROXY: '127.0.0.1,::1',
      MTLS_BASE_URL: base,
      CLIENT_CERT_HEADER: 'Client-Cert',
      CLIENT_CERT_VERIFY_HEADER: 'Client-Cert-Verify',
    },
  });
  const authority = folder.newAuthority();
  own = authority.sign({ subject: '/O=Suite/CN=first' });
  other = authority.sign({ subject: '/O=Suite/CN=second' });
  const pair = await generateKeyPair('PS256', { extractable: true });
  key = pair.privateKey;
  const common = {
    fapi2: 'security',
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    scope: 'openid profile offline_access',
  };
  const byName = { token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=first,O=Suite' };
  const jwks = { keys: [await exportJWK(pair.publicKey)] };
  client = await service.createClient({ ...common, ...byName }, { firstParty: true });
  signing = await service.createClient(
    { ...common, token_endpoint_auth_method: 'private_key_jwt', jwks },
    { firstParty: true },
  );
  user = await service.createUser();
  agent = new UserAgent(service);
  await agent.signIn(user);
});
afterAll(async () => {
  await service?.stop();
  folder.remove();
});

/** A request through the proxy, with a certificate or without one. */
const through = (
  path: string,
  by: TestCertificate | undefined,
  sent: { form?: Record<string, string>; token?: string },
) =>
  send(service.issuer + path, {
    ...sent,
    headers: {
      host: 'mtls.example.test',
      ...(by && { 'client-cert': clientCert(by), 'client-cert-verify': 'SUCCESS' }),
    },
  });

const now = () => Math.floor(Date.now() / 1000);
const assertion = (aud: string) =>
  new SignJWT({
    iss: signing.clientId,
    sub: signing.clientId,
    aud,
    jti: crypto.randomUUID(),
    iat: now(),
    exp: now() + 60,
  })
    .setProtectedHeader({ alg: 'PS256' })
    .sign(key);
const credentialsOf = async (rp: TestClient, aud = service.issuer): Promise<Record<string, string>> =>
  rp === client
    ? { client_id: client.clientId }
    : {
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await assertion(aud),
      };
const push = async (rp: TestClient, by: TestCertificate | undefined) =>
  through('/par', by, {
    form: {
      ...(await credentialsOf(rp)),
      client_id: rp.clientId,
      response_type: 'code',
      scope: 'openid offline_access',
      redirect_uri: rp.redirectUri,
      code_challenge: challenge.code_challenge,
      code_challenge_method: 'S256',
    },
  });
async function grantOf(rp: TestClient): Promise<Record<string, string>> {
  const pushed = await push(rp, own);
  const query = new URLSearchParams({ client_id: rp.clientId, request_uri: String(pushed.body['request_uri']) });
  const { code } = responseParameters(await agent.get(`${service.issuer}/authorize?${query}`));
  return {
    grant_type: 'authorization_code',
    code: code!,
    redirect_uri: rp.redirectUri,
    code_verifier: challenge.code_verifier,
  };
}
const token = async (rp: TestClient, by: TestCertificate | undefined, form: Record<string, string>) =>
  through('/token', by, { form: { ...form, ...(await credentialsOf(rp)) } });

test('discovery says that tokens can be bound to certificates, and where clients come with them (RFC 8705 3.3, 5)', async () => {
  for (const name of ['openid-configuration', 'oauth-authorization-server']) {
    const { body } = await call(`${service.issuer}/.well-known/${name}`);
    expect(body).toMatchObject({
      tls_client_certificate_bound_access_tokens: true,
      mtls_endpoint_aliases: { token_endpoint: `${base}/token`, pushed_authorization_request_endpoint: `${base}/par` },
      token_endpoint_auth_methods_supported: expect.arrayContaining([
        'private_key_jwt',
        'tls_client_auth',
        'self_signed_tls_client_auth',
      ]) as string[],
    });
  }
});

test('a request is pushed, redeemed and refreshed by the certificate, and each token is bound to it (FAPI 2.0 SP 5.3.2.1-5, -6)', async () => {
  for (const rp of [client, signing]) {
    const { status, body } = await token(rp, own, await grantOf(rp));
    expect([status, body['token_type']]).toEqual([200, 'Bearer']);
    const issued = [String(body['access_token'])];
    // the same refresh token again and again
    const form = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
    for (let round = 0; round < 2; round++) {
      const renewed = await token(rp, own, form);
      expect(renewed.status).toBe(200);
      issued.push(String(renewed.body['access_token']));
    }
    const machine = await token(rp, own, { grant_type: 'client_credentials' });
    issued.push(String(machine.body['access_token']));
    for (const each of issued) {
      const shown = await through('/introspect', own, { form: { ...(await credentialsOf(rp)), token: each } });
      expect(shown.body).toMatchObject({ active: true, cnf: { 'x5t#S256': own.x5t } });
    }
    const [first] = issued;
    expect((await through('/user/info', own, { token: first! })).body).toMatchObject({ sub: user.sub });
    for (const by of [other, undefined])
      expect(await through('/user/info', by, { token: first! })).toMatchObject({
        status: 401,
        body: { error: 'invalid_token' },
      });
    expect(await call(`${service.issuer}/user/info`, { token: first! })).toMatchObject({ status: 401 });
  }
});

test('a push or a token request with the certificate of another client, or with none, is invalid_client (FAPI 2.0 SP 5.3.2.1-6)', async () => {
  const grant = await grantOf(client);
  for (const by of [other, undefined]) {
    const refused = { status: 401, body: { error: 'invalid_client' } };
    expect(await push(client, by)).toMatchObject(refused);
    expect(await token(client, by, grant)).toMatchObject(refused);
  }
  expect((await token(client, own, grant)).status).toBe(200);
});

test('Unbound at the token endpoint: without a certificate and a proof the code and the refresh token stay good (FAPI 2.0 SP 5.3.2.1-4, security R137, protocols P33)', async () => {
  const grant = await grantOf(signing);
  const refused = { status: 400, body: { error: 'invalid_dpop_proof' } };
  expect(await token(signing, undefined, grant)).toMatchObject(refused);
  expect(await token(signing, undefined, { grant_type: 'client_credentials' })).toMatchObject(refused);
  const { status, body } = await token(signing, own, grant);
  expect(status).toBe(200);
  const form = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
  expect(await token(signing, undefined, form)).toMatchObject(refused);
  expect((await token(signing, own, form)).status).toBe(200);
});

test('the audience of an assertion is the issuer, and not an address for certificates (FAPI 2.0 SP 5.3.2.1-8, protocols P30)', async () => {
  for (const aud of [`${base}/token`, base, `${service.issuer}/token`]) {
    const form = { grant_type: 'client_credentials', ...(await credentialsOf(signing, aud)) };
    expect(await through('/token', own, { form }), aud).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    });
  }
  const free = await service.createClient({
    ...signing.metadata,
    fapi2: undefined,
    redirect_uris: signing.metadata.redirect_uris,
  });
  const claims = {
    iss: free.clientId,
    sub: free.clientId,
    aud: `${base}/token`,
    jti: crypto.randomUUID(),
    iat: now(),
    exp: now() + 60,
  };
  const signed = await new SignJWT(claims).setProtectedHeader({ alg: 'PS256' }).sign(key);
  const form = { ...(await credentialsOf(signing)), client_assertion: signed, grant_type: 'client_credentials' };
  expect((await through('/token', own, { form })).status).toBe(200);
});
