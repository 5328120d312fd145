// Redeems codes twice, and uses refresh tokens (RFC 6749 4.1.2, 6; OpenID Connect Core 12).
import { expect } from 'vitest';
import { checkEntropy } from '../checks/entropy.ts';
import { checkJsonError } from '../checks/errors.ts';
import { texts } from '../checks/discovery.ts';
import { checkIdToken } from '../checks/id-token.ts';
import type { Client } from '../client.ts';
import { json, type RelyingParty } from '../relying-party.ts';
import { checkTokenResponse, checkUserinfo, type Grant, signIn } from '../responses.ts';
import type { Modules } from './definition.ts';

/** A grant with a refresh token, as the suite requests it. */
export async function offline(rp: RelyingParty, client: Client): Promise<Grant> {
  expect(texts(rp.discovery, 'scopes_supported')).toContain('offline_access');
  expect(texts(rp.discovery, 'grant_types_supported')).toContain('refresh_token');
  const grant = await signIn(rp, client, { scope: 'openid offline_access', prompt: 'consent' });
  checkRefreshToken(grant.tokens!);
  return grant;
}

function checkRefreshToken(tokens: Record<string, unknown>): string {
  expect(tokens['refresh_token']).toEqual(expect.stringMatching(/^[\x20-\x7e]+$/));
  const token = tokens['refresh_token'] as string;
  checkEntropy('refresh token', token, { minimumBytes: 16 });
  return token;
}

/** Refreshes, a second later, and checks the answer. @returns the refresh token that is valid now */
export async function refresh(rp: RelyingParty, client: Client, grant: Grant, scope?: string): Promise<string> {
  await rp.timePasses(1);
  const answer = await rp.tokenRequest(client, {
    grant_type: 'refresh_token',
    refresh_token: grant.tokens!['refresh_token'] as string,
    ...(scope !== undefined && { scope }),
  });
  const tokens = checkTokenResponse(answer);
  expect(tokens['access_token']).not.toBe(grant.tokens!['access_token']);
  if (tokens['id_token'] !== undefined) {
    const { claims } = await checkIdToken(tokens['id_token'] as string, rp.keys, {
      issuer: rp.discovery.issuer,
      clientId: client.clientId,
      nonce: undefined,
      alg: 'RS256',
      accessToken: tokens['access_token'] as string,
      hashes: false,
    });
    const original = grant.idTokens.at(-1)!.claims;
    const { iss, sub, aud } = original;
    // the original's times moved by the second that passed
    expect(claims).toMatchObject({ iss, sub, aud, auth_time: (original['auth_time'] as number) - 1 });
    expect(claims.iat).toBeGreaterThan(original.iat! - 1);
    expect([original['azp'], undefined]).toContain(claims['azp']);
  }
  await checkUserinfo(rp, client, await rp.userinfo(tokens['access_token'] as string), grant.idTokens);
  return checkRefreshToken(tokens);
}

/** Runs oidcc-refresh-token, for two clients; `rotate` is called between the grant and the refresh of each. */
export async function refreshTokens(
  rp: RelyingParty,
  register: () => Promise<Client>,
  rotate: (client: Client) => Promise<void> = async () => undefined,
): Promise<void> {
  const one = await register();
  const two = await register();
  const first = await offline(rp, one);
  await rotate(one);
  await refresh(rp, one, first, 'openid offline_access');
  const second = await offline(rp, two);
  await rotate(two);
  const foreign = await refresh(rp, two, second);
  const stolen = await rp.tokenRequest(one, { grant_type: 'refresh_token', refresh_token: foreign });
  checkJsonError(stolen, [400], ['invalid_grant']);
}

export const codeModules: Modules = {
  'oidcc-codereuse': {
    clause: 'OpenID Connect Core 3.1.3.2, RFC 6749 4.1.2',
    async run(rp) {
      const client = await rp.register();
      const { code } = await signIn(rp, client);
      checkJsonError(await rp.redeem(client, code!), [400], ['invalid_grant']);
    },
  },
  'oidcc-codereuse-30seconds': {
    clause: 'OpenID Connect Core 3.1.3.2, RFC 6749 4.1.2',
    async run(rp) {
      const client = await rp.register();
      const { code, tokens } = await signIn(rp, client);
      await rp.timePasses(30);
      checkJsonError(await rp.redeem(client, code!), [400], ['invalid_grant']);
      const answer = await rp.userinfo(tokens!['access_token'] as string);
      expect(answer.status, 'status of UserInfo with what the code gave first').toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect(json(answer)).toHaveProperty('error');
    },
  },
  'oidcc-refresh-token': {
    clause: 'OpenID Connect Core 12, RFC 6749 6',
    run: (rp) => refreshTokens(rp, () => rp.register({ refresh: true })),
  },
};
