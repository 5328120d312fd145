// Verifies the signed request of the non-standard end-session endpoint (decisions section 6, security R70, R71, R72).
import { decodeProtectedHeader, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { FetchRefused } from '../outbound/guarded-fetch.ts';
import { namesAreUnique, verifyWithKeys } from './client-signature.ts';

/** The request is refused. The message is for the log. */
export class EndSessionRefused extends Error {}

/** The signature is valid, but a claim is not. The message is for the client, which signed it. */
export class EndSessionFault extends EndSessionRefused {}

export interface EndSessionRequest {
  clientId: string;
  jti: string;
  expiresAt: Date;
  redirectUri: string;
  state: string | undefined;
  sid: string | undefined;
  sub: string | undefined;
  /** The whole single sign-on session, for first-party clients. */
  all: boolean;
}

const grammar = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const maxLifetime = 300; // seconds from iat to exp
const maxAge = 60; // seconds by which iat may differ from now

/** The client that a request names. Nothing is verified yet. */
export function endSessionIssuer(request: string): string | undefined {
  if (!grammar.test(request)) return undefined;
  try {
    const payload = JSON.parse(Buffer.from(request.split('.')[1]!, 'base64url').toString()) as { iss?: unknown };
    return typeof payload?.iss === 'string' ? payload.iss : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Verifies an end-session request of a client. The caller marks its `jti` as used.
 * @param keys the client's shared secret as UTF-8, and its registered key set, if it has one
 * @throws EndSessionFault once the signature is verified, EndSessionRefused before
 */
export async function verifyEndSessionRequest(
  request: string,
  clientId: string,
  issuer: string,
  keys: { sharedSecret: Buffer; jwks: (() => Promise<JSONWebKeySet>) | undefined },
  currentDate: Date,
): Promise<EndSessionRequest> {
  const payload = await verifySignature(request, clientId, issuer, keys, currentDate);
  const now = currentDate.getTime() / 1000;
  const { exp, iat, jti } = payload;
  if (typeof payload.aud !== 'string') throw new EndSessionFault('aud must be one value, as text');
  if (Math.abs(now - iat!) > maxAge) throw new EndSessionFault(`iat must be within ${maxAge} s of the current time`);
  if (exp! - iat! > maxLifetime || exp! <= iat!)
    throw new EndSessionFault(`exp must be later than iat, by at most ${maxLifetime} s`);
  if (typeof jti !== 'string' || jti === '' || jti.length > 512)
    throw new EndSessionFault('jti must be a text of 1 to 512 characters');
  const text = (name: string): string | undefined => {
    const value = payload[name];
    if (value === undefined) return undefined;
    if (typeof value !== 'string' || value.length > 2048 || value.includes('\0') || !value.isWellFormed()) {
      throw new EndSessionFault(`${name} must be well-formed text of at most 2048 characters`);
    }
    return value;
  };
  const redirectUri = text('redirect_uri');
  if (redirectUri === undefined) throw new EndSessionFault('redirect_uri is missing');
  if (payload['all'] !== undefined && typeof payload['all'] !== 'boolean')
    throw new EndSessionFault('all must be true or false');
  return {
    clientId,
    jti,
    // the jti is stored until the request can no longer be accepted
    expiresAt: new Date((Math.max(exp!, iat! + maxAge) + maxAge) * 1000),
    redirectUri,
    state: text('state'),
    sid: text('sid'),
    sub: text('sub'),
    all: payload['all'] === true,
  };
}

async function verifySignature(
  request: string,
  clientId: string,
  issuer: string,
  keys: { sharedSecret: Buffer; jwks: (() => Promise<JSONWebKeySet>) | undefined },
  currentDate: Date,
): Promise<JWTPayload> {
  if (!grammar.test(request)) throw new EndSessionRefused('not a signed JWT');
  const options = { issuer: clientId, audience: issuer, requiredClaims: ['iat', 'exp', 'jti'], currentDate };
  try {
    const header = decodeProtectedHeader(request);
    if (header.crit || header.jku || header.jwk || header.x5u || header.x5c)
      throw new EndSessionRefused('a header member that is not allowed');
    if (!namesAreUnique(request)) throw new EndSessionRefused('a member is there twice');
    if (header.alg !== 'HS256' && !keys.jwks) throw new EndSessionRefused('the client has no registered keys');
    const { payload } =
      header.alg === 'HS256'
        ? await jwtVerify(request, keys.sharedSecret, { ...options, algorithms: ['HS256'] })
        : {
            payload: await verifyWithKeys(request, keys.jwks!, {
              ...options,
              algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
            }),
          };
    if (header.typ !== undefined && String(header.typ).toLowerCase() !== 'end-session+jwt')
      throw new EndSessionFault('the header typ must be end-session+jwt, or be left out');
    return payload;
  } catch (error) {
    if (error instanceof EndSessionRefused || error instanceof FetchRefused) throw error;
    // jose checks the claims after it has verified the signature
    if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired)
      throw new EndSessionFault(claimFault(error, issuer), { cause: error });
    // a client's key or token can cause any error in the cryptography
    throw new EndSessionRefused(error instanceof Error ? error.message : 'not verifiable', { cause: error });
  }
}

function claimFault({ claim, reason }: errors.JWTClaimValidationFailed | errors.JWTExpired, issuer: string): string {
  if (reason === 'missing') return `${claim} is missing`;
  if (claim === 'aud') return `aud must be ${issuer}`;
  if (claim === 'exp' && reason === 'check_failed') return 'exp has passed';
  return `${claim} is not valid`;
}
