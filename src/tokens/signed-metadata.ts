// Mints the metadata of the service as a JWT, which proves them to a reader that trusts the issuer's keys (RFC 8414 2.1).
import { signJwt } from './id-token.ts';
import type { KeyRing } from './key-ring.ts';

/** Seconds. */
const [hour, lifetime] = [3600, 24 * 3600];

/**
 * Prepares the JWT of a document.
 * @param document returns the same object until the document changes
 * @returns makes the JWT; the same one for an hour, or until another key signs or the document changes, so that all instances agree about it
 */
export function prepareSignedMetadata(
  ring: KeyRing,
  issuer: string,
  document: () => Readonly<Record<string, unknown>>,
) {
  let prepared: { kid: string; start: number; of: object; jwt: Promise<string> } | undefined;
  return (): Promise<string> => {
    const start = Math.floor(ring.now().getTime() / 1000 / hour) * hour;
    const { kid } = ring.signingKey('RS256');
    const of = document();
    if (prepared?.kid !== kid || prepared.start !== start || prepared.of !== of) {
      const jwt = signJwt(ring, { alg: 'RS256' }, 'oauth-metadata+jwt', {
        ...of,
        iss: issuer,
        iat: start,
        exp: start + lifetime,
      });
      prepared = { kid, start, of, jwt };
    }
    return prepared.jwt;
  };
}
