// Verifies the signed requests of backchannel authentication (OpenID Connect CIBA Core 7.1.1, FAPI-CIBA 5.2.2) with the client's own keys.
import { decodeProtectedHeader, type JWTPayload } from 'jose';
import { backchannelSigningAlgorithms } from '../oauth/backchannel-metadata.ts';
import type { ClientMetadata } from '../oauth/client-metadata.ts';
import type { ClientKeys } from './client-keys.ts';
import { namesAreUnique, verifyWithKeys } from './client-signature.ts';

/** The request is refused. The message is for the client. */
export class BackchannelRequestRefused extends Error {}

const grammar = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const tolerance = 30; // seconds by which clocks may differ
const maxAge = 3600; // seconds

/**
 * Reads a signed request.
 * @param useOnce marks the id of a request as used; false if it was used before
 * @throws BackchannelRequestRefused
 */
export async function readBackchannelRequest(
  sent: string,
  { clientId, metadata }: { clientId: string; metadata: ClientMetadata },
  {
    issuer,
    clientKeys,
    now,
    useOnce,
  }: { issuer: string; clientKeys: ClientKeys; now: Date; useOnce: (jti: string, expiresAt: Date) => Promise<boolean> },
): Promise<JWTPayload> {
  const refuse: (message: string, cause?: unknown) => never = (message, cause) => {
    throw new BackchannelRequestRefused(message, { cause });
  };
  if (!grammar.test(sent)) refuse('the request is not a signed JWT');
  let payload: JWTPayload;
  try {
    const { alg, typ, crit, jku, jwk, x5u } = decodeProtectedHeader(sent);
    if (crit || jku || jwk || x5u) refuse('the header of the signed request contains a member that is not allowed');
    if (!namesAreUnique(sent)) refuse('the signed request contains a repeated member');
    if (typ !== undefined && !/^((application\/)?oauth-authz-req\+jwt|JWT)$/i.test(typ))
      refuse('typ of the signed request must be oauth-authz-req+jwt');
    const registered = metadata.backchannel_authentication_request_signing_alg;
    const algorithms = backchannelSigningAlgorithms.filter((known) => known === (registered ?? known));
    if (!algorithms.some((known) => known === alg))
      refuse(`the request must be signed with ${algorithms.join(' or ')}`);
    payload = await verifyWithKeys(sent, (fresh) => clientKeys(metadata, fresh), {
      algorithms,
      issuer: clientId,
      audience: issuer,
      requiredClaims: ['iss', 'aud', 'exp', 'iat', 'nbf', 'jti'],
      clockTolerance: tolerance,
      currentDate: now,
    });
  } catch (error) {
    if (error instanceof BackchannelRequestRefused) throw error;
    // a client's key or request can cause any error in the cryptography
    return refuse('the signed request cannot be verified: check its signature, aud, iss and times', error);
  }
  const { sub, exp = 0, iat = 0, nbf = 0, jti } = payload;
  const seconds = now.getTime() / 1000;
  // a client assertion is no request (security R138)
  if (sub === clientId) refuse('a client assertion is not a signed request');
  if (iat > seconds + tolerance) refuse('iat of the signed request is in the future');
  if (nbf < seconds - maxAge - tolerance) refuse('nbf of the signed request is over an hour ago');
  if (exp > nbf + maxAge) refuse('exp of the signed request is over an hour after nbf');
  if (typeof jti !== 'string' || jti === '' || jti.length > 256)
    return refuse('jti of the signed request must be text of at most 256 characters');
  if (!(await useOnce(jti, new Date((exp + tolerance) * 1000)))) refuse('the signed request was used before');
  return payload;
}
