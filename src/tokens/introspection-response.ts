// Mints an introspection response as a JWT, which proves to its caller what the service said about a token (RFC 9701 5).
import { type ResponseKey, signJwt } from './id-token.ts';
import type { KeyRing } from './key-ring.ts';

/**
 * Has neither sub nor exp outside token_introspection, so that no reader takes it for a token (RFC 9701 8.1).
 * @param audience the client that introspects (security R148)
 * @param members those of the plain response
 */
export function mintIntrospectionResponse(
  ring: KeyRing,
  key: ResponseKey,
  issuer: string,
  audience: string,
  members: Readonly<Record<string, unknown>>,
): Promise<string> {
  return signJwt(ring, key, 'token-introspection+jwt', {
    iss: issuer,
    aud: audience,
    iat: Math.floor(ring.now().getTime() / 1000),
    token_introspection: members,
  });
}
