// Reads the tokens of a token response (RFC 6749 5.1), for connections that keep them.
import type { Claims } from '../../rules/connections/connection-answer.ts';
import type { Connection } from '../../entities/connections.ts';
import type { GivenTokens } from './kind.ts';
import { isToken } from './provider-client.ts';

/** The longest lifetime of an access token that the service accepts from a provider, in seconds. */
const longest = 90 * 86_400;

const tokenOf = (value: unknown): string | undefined => (isToken(value) ? value : undefined);

/** The tokens of an answer. Members that are malformed are left out. */
export function tokensOf(answer: Claims, now: Date): GivenTokens {
  const { expires_in: life, scope, id_token: idToken } = answer;
  const seconds = typeof life === 'number' || (typeof life === 'string' && /^\d{1,9}$/.test(life)) ? Number(life) : NaN;
  return {
    accessToken: tokenOf(answer['access_token']),
    refreshToken: tokenOf(answer['refresh_token']),
    idToken: tokenOf(idToken),
    scope: typeof scope === 'string' && /^[\x20-\x7e]{1,2000}$/.test(scope) ? scope : undefined,
    ...(seconds >= 0 && { expiresAt: Math.floor(now.getTime() / 1000) + Math.min(seconds, longest) }),
  };
}

/** The tokens of an answer that the connection keeps; undefined if it keeps none. */
export function keptTokens({ logout, storeTokens }: Connection, answer: Claims, now: Date): GivenTokens | undefined {
  return storeTokens || logout === 'propagate' ? tokensOf(answer, now) : undefined;
}
