// Uses DPoP through two standard client libraries with their strict defaults, with nonces and without them (RFC 9449).
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deviceMetadata } from '../helpers/device.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

describe.each(['off', 'required'])('with DPOP_NONCE=%s', (nonces) => {
  let service: TestService;
  let user: TestUser;
  beforeAll(async () => {
    service = await startTestService({
      environment: { ...withoutLimits, DEVICE_GRANT: 'on', DPOP_NONCE: nonces },
    });
    user = await service.createUser({ claims: { name: 'Ada Lovelace' } });
  });
  afterAll(() => service?.stop());

  /** Acts as the browser, from the client's authorization address to the answer at its redirect URI. */
  async function followTo(url: URL): Promise<URL> {
    const agent = new UserAgent(service);
    let page = await agent.follow(await agent.get(url.href));
    if (page.body.includes('id="password"')) page = await agent.signIn(user, page);
    if (page.body.includes('id="allow"')) page = await agent.submit(page, { decision: 'allow' });
    return new URL(page.location!);
  }
  const insecure = { execute: [openid.allowInsecureRequests] };

  test.each(['ES256', 'EdDSA', 'PS256', 'Ed25519'])(
    'openid-client pushes a request, redeems its code, reads UserInfo and refreshes, by %s (RFC 9449, RFC 9126)',
    async (alg) => {
      for (const method of ['none', 'client_secret_basic']) {
        const made = await service.createClient({
          token_endpoint_auth_method: method,
          scope: 'openid profile',
          dpop_bound_access_tokens: true,
        });
        const authentication = method === 'none' ? openid.None() : openid.ClientSecretBasic(made.clientSecret);
        const config = await openid.discovery(
          new URL(service.issuer),
          made.clientId,
          undefined,
          authentication,
          insecure,
        );
        const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair(alg));
        const verifier = openid.randomPKCECodeVerifier();
        const url = await openid.buildAuthorizationUrlWithPAR(
          config,
          {
            redirect_uri: made.redirectUri,
            scope: 'openid profile',
            code_challenge_method: 'S256',
            code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          },
          { DPoP },
        );
        const checks = { pkceCodeVerifier: verifier };
        const back = await followTo(url);
        const tokens = await openid.authorizationCodeGrant(config, back, checks, undefined, { DPoP });
        expect(tokens.token_type).toBe('dpop');
        const { sub } = tokens.claims()!;
        const userinfo = await openid.fetchUserInfo(config, tokens.access_token, sub, { DPoP });
        expect(userinfo).toMatchObject({ name: 'Ada Lovelace' });
        const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP });
        expect(await openid.fetchUserInfo(config, renewed.access_token, sub, { DPoP })).toMatchObject({ sub });
      }
    },
  );

  test('openid-client gets a token of its own, and calls the admin API with it (RFC 6749 4.4)', async () => {
    const made = await service.createClient({
      grant_types: ['client_credentials'],
      redirect_uris: [],
      scope: 'admin',
    });
    const authentication = openid.ClientSecretBasic(made.clientSecret);
    const config = await openid.discovery(new URL(service.issuer), made.clientId, undefined, authentication, insecure);
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair());
    const { access_token: token } = await openid.clientCredentialsGrant(config, { scope: 'admin' }, { DPoP });
    for (let count = 0; count < 2; count++) {
      const address = new URL(`${service.issuer}/admin/api/clients?limit=1`);
      const answer = await openid.fetchProtectedResource(config, token, address, 'GET', null, undefined, { DPoP });
      expect(answer.status).toBe(200);
    }
  });

  test('openid-client binds the tokens of a device (RFC 8628)', async () => {
    const { clientId } = await service.createClient({ ...deviceMetadata, token_endpoint_auth_method: 'none' });
    const config = await openid.discovery(new URL(service.issuer), clientId, undefined, openid.None(), insecure);
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair());
    const codes = await openid.initiateDeviceAuthorization(config, { scope: 'openid profile offline_access' });
    const agent = new UserAgent(service);
    const page = await agent.signIn(user, await agent.follow(await agent.get(codes.verification_uri_complete!)));
    await agent.submit(page, { decision: 'allow' });
    const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...codes, interval: 0 }, undefined, { DPoP });
    expect(tokens.token_type).toBe('dpop');
    const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP });
    expect(await openid.fetchUserInfo(config, renewed.access_token, user.sub, { DPoP })).toMatchObject({
      sub: user.sub,
    });
  });

  test('oauth4webapi binds the code by dpop_jkt, and repeats a request with the nonce that it gets (RFC 9449 8, 10)', async () => {
    const plain = { [oauth.allowInsecureRequests]: true };
    const issuer = new URL(service.issuer);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, plain));
    expect(as.dpop_signing_alg_values_supported).toContain('ES256');
    const made = await service.createClient({ token_endpoint_auth_method: 'none', scope: 'openid profile' });
    const client: oauth.Client = { client_id: made.clientId };
    const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256'));
    const options = { ...plain, DPoP };
    /** Counts the repetitions that a nonce makes necessary. */
    let repeated = 0;
    const withNonce = async <T>(request: () => Promise<T>): Promise<T> => {
      try {
        return await request();
      } catch (error) {
        if (!oauth.isDPoPNonceError(error)) throw error;
        repeated++;
        return request();
      }
    };
    const verifier = oauth.generateRandomCodeVerifier();
    const url = new URL(as.authorization_endpoint!);
    url.search = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: made.redirectUri,
      response_type: 'code',
      scope: 'openid profile',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      dpop_jkt: await DPoP.calculateThumbprint(),
    }).toString();
    const parameters = oauth.validateAuthResponse(as, client, await followTo(url));
    const tokens = await withNonce(async () =>
      oauth.processAuthorizationCodeResponse(
        as,
        client,
        await oauth.authorizationCodeGrantRequest(
          as,
          client,
          oauth.None(),
          parameters,
          made.redirectUri,
          verifier,
          options,
        ),
      ),
    );
    const read = () => oauth.userInfoRequest(as, client, tokens.access_token, options);
    const answer = await withNonce(async () => oauth.processUserInfoResponse(as, client, user.sub, await read()));
    expect(answer).toMatchObject({ name: 'Ada Lovelace' });
    const renewed = await withNonce(async () =>
      oauth.processRefreshTokenResponse(
        as,
        client,
        await oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh_token!, options),
      ),
    );
    expect(renewed.token_type).toBe('dpop');
    expect(repeated).toBe(nonces === 'required' ? 1 : 0);
  });
});
