// The example of docs/dev.md for Node: a relying party signs a user in at a provider that this test starts.
import { join } from 'node:path';
import * as client from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gatehouse, startGatehouse } from './gatehouse.ts';

let gatehouse: Gatehouse;
beforeAll(async () => {
  const command = process.env['GATEHOUSE'] ?? join(import.meta.dirname, '../../../bin/gatehouse');
  gatehouse = await startGatehouse(join(import.meta.dirname, '../gatehouse.yaml'), command);
});
afterAll(() => gatehouse?.stop());

/** What a relying party keeps of a sign-in that it begins. */
async function begin() {
  const [shop] = gatehouse.clients;
  const issuer = new URL(gatehouse.issuer);
  const execute = [client.allowInsecureRequests]; // the provider is on this machine
  const config = await client.discovery(issuer, shop!.client_id, shop!.client_secret, undefined, { execute });
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const request = client.buildAuthorizationUrl(config, {
    redirect_uri: shop!.redirect_uris[0]!,
    scope: 'openid profile email offline_access',
    prompt: 'consent',
    state,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return { config, request: request.href, checks: { pkceCodeVerifier: verifier, expectedState: state } };
}

test('a user signs in, and the session ends when its time has passed (delivery 5)', async () => {
  const { config, request, checks } = await begin();
  const callback = await gatehouse.signIn('alice', request);
  const tokens = await client.authorizationCodeGrant(config, callback, checks);
  expect(tokens.scope).toBe('openid profile email offline_access');
  const { sub } = tokens.claims()!;
  expect(await client.fetchUserInfo(config, tokens.access_token, sub)).toMatchObject({ name: 'Alice' });

  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token!);
  await gatehouse.passTime(181 * 86_400);
  await expect(client.refreshTokenGrant(config, refreshed.refresh_token!)).rejects.toMatchObject({
    error: 'invalid_grant',
  });
});

test('a user refuses (delivery 5)', async () => {
  const { config, request, checks } = await begin();
  const callback = await gatehouse.signIn('alice', request, { decision: 'deny' });
  await expect(client.authorizationCodeGrant(config, callback, checks)).rejects.toMatchObject({
    error: 'access_denied',
  });
});

test('a user signs out (delivery 5)', async () => {
  const { config, request, checks } = await begin();
  const callback = await gatehouse.signIn('alice', request, { browser: 'kitchen' });
  const { id_token: hint = '' } = await client.authorizationCodeGrant(config, callback, checks);
  const end = client.buildEndSessionUrl(config, {
    id_token_hint: hint,
    post_logout_redirect_uri: 'http://127.0.0.1:5555/signed-out',
  });
  expect((await gatehouse.signOut('kitchen', end.href)).href).toBe('http://127.0.0.1:5555/signed-out');
});
