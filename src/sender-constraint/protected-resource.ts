// Decides whether the access token of a request is live, meant for this address, and sent as it has to be.
import type { FastifyRequest } from 'fastify';
import { invalidToken, OAuthError } from '../oauth/errors.ts';
import { servesAt } from '../oauth/own-resource.ts';
import type { AccessToken } from '../repositories/tokens/access-tokens.ts';
import type { Store } from '../repositories/store.ts';
import { opaqueTokenHash } from '../tokens/opaque-token.ts';

/** What a token is checked against. */
export interface ProtectedResource {
  config: { readonly issuer: string };
  store: Pick<Store, 'accessTokens'>;
}

/**
 * The token in the Authorization header (RFC 6750 section 2.1).
 * @throws OAuthError 401 without an error code's details when there is none (RFC 6750 section 3.1)
 */
export function bearerToken(request: FastifyRequest): string {
  const header = request.headers.authorization;
  const match = header === undefined ? null : /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header);
  if (!match) {
    throw new OAuthError('invalid_request', 'send the token as: Authorization: Bearer TOKEN', 401, {
      headers: { 'www-authenticate': 'Bearer realm="gatehouse"' },
    });
  }
  return match[1]!;
}

/**
 * The access token of a request.
 * @param token where the request carries it elsewhere than in the Authorization header
 * @throws OAuthError invalid_token; 401 without a token
 */
export async function requireAccessToken(
  { config, store }: ProtectedResource,
  request: FastifyRequest,
  token = bearerToken(request),
): Promise<AccessToken> {
  const hash = opaqueTokenHash('access_token', token);
  const found = hash && (await store.accessTokens.find(hash));
  return requireAccepted(config.issuer, request, found, 'access token');
}

/**
 * The token that a request was found to carry, if it serves at this address (security R115).
 * @param found undefined where no live token was found
 * @param name of what the address takes, for the refusal
 * @throws OAuthError invalid_token
 */
export function requireAccepted<Token extends Pick<AccessToken, 'restrictedTo'>>(
  issuer: string,
  request: FastifyRequest,
  found: Token | undefined,
  name: 'token' | 'access token',
): Token {
  if (!found) throw invalidToken(`the ${name} is unknown, expired or revoked`);
  const { restrictedTo } = found;
  // usually undefined: a token without a resource serves everywhere, and the comparison costs time
  if (restrictedTo !== undefined && !servesAt(issuer, restrictedTo, request.url, request.routeOptions.url))
    throw invalidToken(
      'the token was issued for another resource: request one for this resource, or one without resource',
    );
  return found;
}
