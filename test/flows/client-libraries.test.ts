// Uses the service through two standard client libraries with their strict defaults: registration, sign-in, refresh, UserInfo.
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allowPolls, deviceMetadata } from '../helpers/device.ts';
import { adminToken, approveClient } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: { sub: string; username: string; password: string };
beforeAll(async () => {
  service = await startTestService({ environment: { DEVICE_GRANT: 'on' } });
  user = await service.createUser({
    email: 'alice@example.com',
    emailVerified: true,
    claims: { name: 'Alice Adams', given_name: 'Alice' },
  });
});
afterAll(() => service?.stop());

const redirectUri = 'https://rp.example.com/callback';

async function approve(clientId: string): Promise<void> {
  const answer = await approveClient(service.issuer, await adminToken(service), clientId);
  expect(answer).toMatchObject({ status: 200, body: { status: 'enabled' } });
}

/** Acts as the browser, from the client's authorization address to the answer at its redirect URI. */
async function followTo(url: URL): Promise<URL> {
  const agent = new UserAgent(service);
  let page = await agent.follow(await agent.get(url.href));
  if (page.body.includes('id="password"')) page = await agent.signIn(user, page);
  if (page.body.includes('id="allow"')) page = await agent.submit(page, { decision: 'allow' });
  return new URL(page.location!);
}

test.each([
  ['client_secret_basic', undefined],
  ['client_secret_post', undefined],
  ['client_secret_jwt', undefined],
  ['none', undefined],
  ['client_secret_basic', 'ES256'],
  ['client_secret_basic', 'EdDSA'],
  ['client_secret_basic', 'PS256'],
  ['client_secret_basic', 'HS256'],
])(
  'openid-client registers, signs in with PKCE, refreshes and reads claims: %s, ID Token by %s (OpenID Connect Core 3.1)',
  async (method, alg) => {
    const plain = { execute: [openid.allowInsecureRequests] };
    const authentication: Record<string, (secret: string) => openid.ClientAuth> = {
      client_secret_basic: openid.ClientSecretBasic,
      client_secret_post: openid.ClientSecretPost,
      client_secret_jwt: (secret) => openid.ClientSecretJwt(secret),
      none: () => openid.None(),
    };
    const registered = await openid.dynamicClientRegistration(
      new URL(service.issuer),
      {
        redirect_uris: [redirectUri],
        client_name: 'Harbour',
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: method,
        scope: 'openid profile email offline_access',
        ...(alg !== undefined && { id_token_signed_response_alg: alg }),
      },
      undefined,
      plain,
    );
    const { client_id: clientId, client_secret: secret } = registered.clientMetadata();
    await approve(clientId);
    const config = await openid.discovery(
      new URL(service.issuer),
      clientId,
      { client_secret: secret as string, ...(alg !== undefined && { id_token_signed_response_alg: alg }) },
      authentication[method]!(secret as string),
      plain,
    );
    const verifier = openid.randomPKCECodeVerifier();
    const [state, nonce] = [openid.randomState(), openid.randomNonce()];
    const callback = await followTo(
      openid.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid profile email offline_access',
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      }),
    );
    const tokens = await openid.authorizationCodeGrant(config, callback, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    expect(tokens.claims()).toMatchObject({ sub: user.sub, iss: service.issuer });
    expect(await openid.fetchUserInfo(config, tokens.access_token, user.sub)).toMatchObject({
      sub: user.sub,
      name: 'Alice Adams',
      email: 'alice@example.com',
      email_verified: true,
    });
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!);
    expect(refreshed.claims()).toMatchObject({ sub: user.sub });
    expect(await openid.fetchUserInfo(config, refreshed.access_token, user.sub)).toMatchObject({ name: 'Alice Adams' });
  },
);

test('openid-client gets a token by client credentials (RFC 6749 4.4)', async () => {
  const config = await openid.dynamicClientRegistration(
    new URL(service.issuer),
    // the library sends the secret in the form by default
    { grant_types: ['client_credentials'], redirect_uris: [], token_endpoint_auth_method: 'client_secret_post' },
    undefined,
    { execute: [openid.allowInsecureRequests] },
  );
  await approve(config.clientMetadata().client_id);
  const tokens = await openid.clientCredentialsGrant(config);
  expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 600 });
  expect(tokens.refresh_token).toBeUndefined();
});

test('oauth4webapi registers, signs in with PKCE, refreshes, reads claims and gets client credentials (OAuth 2.0 Security, RFC 9700)', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(service.issuer);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      as,
      {
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
        client_name: 'Harbour two',
        require_pkce: true,
      },
      insecure,
    ),
  );
  await approve(client.client_id);
  const authentication = oauth.ClientSecretBasic(client.client_secret as string);
  const verifier = oauth.generateRandomCodeVerifier();
  const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
  const url = new URL(as.authorization_endpoint!);
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid profile',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  }).toString();
  const parameters = oauth.validateAuthResponse(as, client, await followTo(url), state);
  const tokenResponse = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    authentication,
    parameters,
    redirectUri,
    verifier,
    insecure,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, tokenResponse, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  // checks the ID Token's signature too, although the token came over a direct connection
  await oauth.validateApplicationLevelSignature(as, tokenResponse, insecure);
  expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: user.sub });

  const claims = await oauth.processUserInfoResponse(
    as,
    client,
    user.sub,
    await oauth.userInfoRequest(as, client, tokens.access_token, insecure),
  );
  expect(claims).toMatchObject({ name: 'Alice Adams' });

  const refreshed = await oauth.processRefreshTokenResponse(
    as,
    client,
    await oauth.refreshTokenGrantRequest(as, client, authentication, tokens.refresh_token!, insecure),
  );
  expect(refreshed.refresh_token).not.toBe(tokens.refresh_token);

  const own = await oauth.processClientCredentialsResponse(
    as,
    client,
    await oauth.clientCredentialsGrantRequest(as, client, authentication, {}, insecure),
  );
  expect(own.access_token).toMatch(/^ghat_/);
});

test.each(['ES256', 'Ed25519'])(
  'oauth4webapi authenticates with a private key of its registered set: %s (RFC 7523)',
  async (alg) => {
    const insecure = { [oauth.allowInsecureRequests]: true };
    const issuer = new URL(service.issuer);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
    const keys = await oauth.generateKeyPair(alg, { extractable: true });
    const jwk = { ...(await crypto.subtle.exportKey('jwk', keys.publicKey)), kid: 'k1', alg, use: 'sig' };
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(
        as,
        {
          redirect_uris: [],
          grant_types: ['client_credentials'],
          token_endpoint_auth_method: 'private_key_jwt',
          jwks: { keys: [jwk] } as unknown as oauth.JsonObject,
        },
        insecure,
      ),
    );
    await approve(client.client_id);
    const authentication = oauth.PrivateKeyJwt({ key: keys.privateKey, kid: 'k1' });
    const tokens = await oauth.processClientCredentialsResponse(
      as,
      client,
      await oauth.clientCredentialsGrantRequest(as, client, authentication, {}, insecure),
    );
    expect(tokens.access_token).toMatch(/^ghat_/);
  },
);

test.each([
  ['RS256', 'in the address'],
  ['PS256', 'in the address'],
  ['EdDSA', 'in the address'],
  ['ES256', 'pushed'],
  ['none', 'pushed without an object'],
])(
  'openid-client signs its request by %s, %s, and a client that must push signs in (RFC 9101, RFC 9126)',
  async (alg, way) => {
    const plain = { execute: [openid.allowInsecureRequests] };
    const pair = alg === 'none' ? undefined : await oauth.generateKeyPair(alg === 'EdDSA' ? 'Ed25519' : alg);
    const exported = pair && ((await crypto.subtle.exportKey('jwk', pair.publicKey)) as Record<string, string>);
    const jwk = exported && { ...exported, kid: 'k1', alg: alg === 'EdDSA' ? 'Ed25519' : alg, use: 'sig' };
    const registered = await openid.dynamicClientRegistration(
      new URL(service.issuer),
      {
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_basic',
        ...(jwk && { jwks: { keys: [jwk] }, request_object_signing_alg: alg, require_signed_request_object: true }),
        require_pushed_authorization_requests: way.startsWith('pushed'),
      },
      undefined,
      plain,
    );
    const { client_id: clientId, client_secret: secret } = registered.clientMetadata();
    await approve(clientId);
    const config = await openid.discovery(
      new URL(service.issuer),
      clientId,
      { client_secret: secret as string },
      openid.ClientSecretBasic(secret as string),
      plain,
    );
    const verifier = openid.randomPKCECodeVerifier();
    const [state, nonce] = [openid.randomState(), openid.randomNonce()];
    const parameters = {
      redirect_uri: redirectUri,
      scope: 'openid profile',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    };
    const signed =
      pair && (await openid.buildAuthorizationUrlWithJAR(config, parameters, { key: pair.privateKey, kid: 'k1' }));
    const url = !way.startsWith('pushed')
      ? signed!
      : await openid.buildAuthorizationUrlWithPAR(
          config,
          signed ? { request: signed.searchParams.get('request')! } : parameters,
        );
    const callback = await followTo(url);
    const tokens = await openid.authorizationCodeGrant(config, callback, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    expect(tokens.claims()).toMatchObject({ sub: user.sub });
  },
);

test('oauth4webapi pushes a signed request as a public client (RFC 9101, RFC 9126)', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(service.issuer);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  const keys = await oauth.generateKeyPair('ES256');
  const jwk = { ...(await crypto.subtle.exportKey('jwk', keys.publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' };
  const { clientId } = await service.createClient({ token_endpoint_auth_method: 'none', jwks: { keys: [jwk] } });
  const client: oauth.Client = { client_id: clientId };
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const request = await oauth.issueRequestObject(
    as,
    client,
    {
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
    },
    { key: keys.privateKey, kid: 'k1' },
  );
  const pushed = await oauth.processPushedAuthorizationResponse(
    as,
    client,
    await oauth.pushedAuthorizationRequest(as, client, oauth.None(), { request }, insecure),
  );
  const url = new URL(as.authorization_endpoint!);
  url.search = new URLSearchParams({ client_id: clientId, request_uri: pushed.request_uri }).toString();
  const parameters = oauth.validateAuthResponse(as, client, await followTo(url), state);
  const answer = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    oauth.None(),
    parameters,
    redirectUri,
    verifier,
    insecure,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, answer, { requireIdToken: true });
  expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: user.sub });
});

/** Acts as the user in a browser: opens the address that the device shows, signs in, and allows the request. */
async function allowDevice(address: string): Promise<void> {
  const agent = new UserAgent(service);
  const page = await agent.signIn(user, await agent.follow(await agent.get(address)));
  await agent.submit(page, { decision: 'allow' });
}

test.each(['none', 'client_secret_post'])(
  'openid-client gets codes for a device, polls until the user allows it, and refreshes: %s (RFC 8628)',
  async (method) => {
    const plain = { execute: [openid.allowInsecureRequests] };
    const config = await openid.dynamicClientRegistration(
      new URL(service.issuer),
      { ...deviceMetadata, token_endpoint_auth_method: method },
      method === 'none' ? openid.None() : undefined,
      plain,
    );
    await approve(config.clientMetadata().client_id);
    const codes = await openid.initiateDeviceAuthorization(config, { scope: 'openid profile offline_access' });
    expect(codes).toMatchObject({ interval: 5, expires_in: 600 });
    await allowDevice(codes.verification_uri_complete!);
    const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...codes, interval: 0 });
    expect(tokens.claims()).toMatchObject({ sub: user.sub });
    expect(await openid.fetchUserInfo(config, tokens.access_token, user.sub)).toMatchObject({ name: 'Alice Adams' });
    expect((await openid.refreshTokenGrant(config, tokens.refresh_token!)).claims()).toMatchObject({ sub: user.sub });
  },
);

test('oauth4webapi reads authorization_pending, slow_down and the tokens of a device (RFC 8628 3.5)', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(service.issuer);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  const { clientId } = await service.createClient({ ...deviceMetadata, token_endpoint_auth_method: 'none' });
  const client = { client_id: clientId };
  const codes = await oauth.processDeviceAuthorizationResponse(
    as,
    client,
    await oauth.deviceAuthorizationRequest(as, client, oauth.None(), { scope: 'openid profile' }, insecure),
  );
  const poll = async () =>
    oauth.processDeviceCodeResponse(
      as,
      client,
      await oauth.deviceCodeGrantRequest(as, client, oauth.None(), codes.device_code, insecure),
    );
  await expect(poll()).rejects.toMatchObject({ error: 'authorization_pending' });
  await expect(poll()).rejects.toMatchObject({ error: 'slow_down' });
  await allowPolls(service);
  await allowDevice(codes.verification_uri_complete!);
  const tokens = await poll();
  expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: user.sub });
});
