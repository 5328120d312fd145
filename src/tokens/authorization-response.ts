// Mints an authorization response as a JWT, which carries all of its parameters as claims (JARM 2.1).
import { type ResponseKey, signJwt } from './id-token.ts';
import type { KeyRing } from './key-ring.ts';

const lifetime = 300; // seconds: the standard recommends at most 10 minutes

/** @param audience the client, which alone may use the response (security R148) */
export function mintAuthorizationResponse(
  ring: KeyRing,
  key: ResponseKey,
  issuer: string,
  audience: string,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  return signJwt(ring, key, 'oauth-authz-resp+jwt', {
    ...parameters,
    iss: issuer,
    aud: audience,
    exp: Math.floor(ring.now().getTime() / 1000) + lifetime,
  });
}
