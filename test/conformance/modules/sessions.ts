// Signs in again in the same browser: prompt, max_age, id_token_hint (OpenID Connect Core 3.1.2.1).
import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { interactionErrors } from '../checks/errors.ts';
import type { Client } from '../client.ts';
import type { RelyingParty } from '../relying-party.ts';
import { expectError, type Grant, signIn } from '../responses.ts';
import type { Module, Modules } from './definition.ts';

/** 128 characters that end in characters that URLs do not escape. */
export const longState = (): string => `${randomBytes(62).toString('hex')}-._~`;

/** The one auth_time and the one subject of a grant's ID Tokens. */
function signedIn({ idTokens }: Grant): { authTime: number; sub: string } {
  const all = new Set(idTokens.map(({ claims }) => JSON.stringify([claims['auth_time'], claims.sub])));
  expect(all.size).toBe(1);
  const { auth_time: authTime, sub } = idTokens[0]!.claims;
  expect(authTime).toBeTypeOf('number');
  return { authTime: authTime as number, sub: sub! };
}

/** After `seconds`, a second request that must show the sign-in page, and give a later auth_time. */
function signsInAgain(clause: string, seconds: number, parameters: Record<string, string>): Module {
  return {
    clause,
    async run(rp) {
      const client = await rp.register();
      const first = signedIn(await signIn(rp, client));
      await rp.timePasses(seconds);
      const grant = await signIn(rp, client, parameters);
      expect(grant.outcome.signIns, 'sign-in pages').toBe(1);
      expect(grant.outcome.pages[0]!.body).toMatch(/<input id="password"/);
      const second = signedIn(grant);
      expect(second.authTime).toBeGreaterThan(first.authTime - seconds);
      expect(Math.abs(second.authTime - Date.now() / 1000), 'seconds since the second sign-in').toBeLessThan(60);
      expect(second.sub).toBe(first.sub);
    },
  };
}

/** A second request that must be answered without a page and with the same auth_time. */
async function staysSignedIn(
  rp: RelyingParty,
  firstParameters: Record<string, string>,
  parameters: (first: Grant) => Record<string, string>,
): Promise<void> {
  const client = await rp.register();
  const first = await signIn(rp, client, firstParameters);
  await rp.timePasses(1);
  const second = await signIn(rp, client, parameters(first));
  expect(second.outcome.pages, 'pages of the second request').toEqual([]);
  const before = signedIn(first);
  expect(signedIn(second)).toEqual({ ...before, authTime: before.authTime - 1 });
}

/** prompt=none is refused with an error and without a page: the user is not signed in, or no longer. */
export async function expectSignedOut(rp: RelyingParty, client: Client): Promise<void> {
  const outcome = await rp.authorize(client, { prompt: 'none', state: longState() });
  expect(outcome.pages, 'pages of prompt=none').toEqual([]);
  expectError(rp, client, outcome, interactionErrors);
}

export const sessionModules: Modules = {
  'oidcc-prompt-login': signsInAgain('OpenID Connect Core 3.1.2.1', 1, { prompt: 'login' }),
  'oidcc-max-age-1': signsInAgain('OpenID Connect Core 3.1.2.1', 2, { max_age: '1' }),
  'oidcc-prompt-none-not-logged-in': {
    clause: 'OpenID Connect Core 3.1.2.6',
    run: async (rp) => expectSignedOut(rp, await rp.register()),
  },
  'oidcc-prompt-none-logged-in': {
    clause: 'OpenID Connect Core 3.1.2.1',
    run: (rp) => staysSignedIn(rp, {}, () => ({ prompt: 'none', state: longState() })),
  },
  'oidcc-max-age-10000': {
    clause: 'OpenID Connect Core 3.1.2.1',
    run: (rp) => staysSignedIn(rp, { max_age: '15000' }, () => ({ max_age: '10000' })),
  },
  'oidcc-id-token-hint': {
    clause: 'OpenID Connect Core 3.1.2.1',
    run: (rp) => staysSignedIn(rp, {}, ({ idTokens }) => ({ prompt: 'none', id_token_hint: idTokens[0]!.raw })),
  },
};
