// Mints ID Tokens (OpenID Connect Core 2) and signed UserInfo responses, and verifies ID Tokens that clients send back.
import { hash } from 'node:crypto';
import { CompactSign, decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { authTimeClaim } from '../oauth/acr.ts';
import type { IdTokenSigningAlgorithm } from '../oauth/client-metadata.ts';
import { type KeyAlgorithm, keyAlgorithms, type KeyRing } from './key-ring.ts';

export interface IdTokenContent {
  issuer: string;
  clientId: string;
  /** `jti`, which names the client session to the service alone. */
  id: string;
  sub: string;
  sid: string;
  authTime: Date;
  amr: string[];
  acr: string | undefined;
  nonce?: string | undefined;
  accessToken?: string | undefined;
  code?: string | undefined;
  /** Seconds since the epoch. */
  issuedAt: number;
  /** In seconds. */
  lifetime: number;
  claims: Record<string, unknown>;
}

/** The key that signs for a client; with HS256 it is the client's secret. */
export type ResponseKey = { alg: KeyAlgorithm } | { alg: 'HS256'; secret: Buffer };

export async function mintIdToken(ring: KeyRing, key: ResponseKey, content: IdTokenContent): Promise<string> {
  const payload: JWTPayload = {
    ...content.claims,
    jti: content.id,
    sid: content.sid,
    ...authTimeClaim(content.authTime),
    amr: content.amr,
    acr: content.acr,
    azp: content.clientId,
    iss: content.issuer,
    sub: content.sub,
    aud: content.clientId,
    iat: content.issuedAt,
    exp: content.issuedAt + content.lifetime,
  };
  if (content.nonce !== undefined) payload['nonce'] = content.nonce;
  if (content.accessToken !== undefined) payload['at_hash'] = leftHalf(content.accessToken, key.alg);
  if (content.code !== undefined) payload['c_hash'] = leftHalf(content.code, key.alg);
  return signJwt(ring, key, 'JWT', payload);
}

/** A signed UserInfo response (Core 5.3.2). It has neither azp nor exp, so that no client mistakes it for an ID Token. */
export function mintUserinfo(ring: KeyRing, key: ResponseKey, issuer: string, clientId: string, claims: JWTPayload) {
  return signJwt(ring, key, 'JWT', { ...claims, iss: issuer, aud: clientId, iat: Math.floor(Date.now() / 1000) });
}

/** @param typ the explicit type, which prevents the confusion of one kind of JWT with another (RFC 8725 section 3.11) */
export function signJwt(ring: KeyRing, key: ResponseKey, typ: string, payload: JWTPayload): Promise<string> {
  // SignJWT would only copy the claims in addition
  const token = new CompactSign(Buffer.from(JSON.stringify(payload)));
  if (key.alg === 'HS256') return token.setProtectedHeader({ alg: 'HS256', typ }).sign(key.secret);
  const signing = ring.signingKey(key.alg);
  return token.setProtectedHeader({ alg: key.alg, kid: signing.kid, typ }).sign(signing.privateKey);
}

/**
 * Reads an ID Token that we issued, expired or not, as a hint (Core 3.1.2.1, RP-Initiated Logout 2). Undefined for the token of
 * another issuer, another kind of JWT, or a wrong signature (security R67).
 */
export async function readIdTokenHint(
  ring: KeyRing,
  issuer: string,
  hint: string,
  secretOf: (clientId: string) => Promise<Buffer | undefined>,
): Promise<{ sub: string; clientId: string; sid: string | undefined } | undefined> {
  const payload = (await verified(ring, issuer, hint, secretOf))?.payload;
  return payload && { sub: payload.sub, clientId: payload.aud, sid: textOf(payload['sid']) };
}

/** Verifies an ID Token except for its times. `byClient`: the client could have signed it as well, since the key of HS256 is its secret. */
async function verified(
  ring: KeyRing,
  issuer: string,
  hint: string,
  secretOf: (clientId: string) => Promise<Buffer | undefined>,
): Promise<{ payload: JWTPayload & { sub: string; aud: string }; byClient: boolean } | undefined> {
  if (!/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/.test(hint) || hint.length > 8192) return undefined;
  try {
    const header = decodeProtectedHeader(hint);
    if (header.typ !== undefined && header.typ !== 'JWT') return undefined;
    const options = { issuer, requiredClaims: ['sub', 'aud', 'exp', 'iat'], currentDate: new Date(0) };
    const { payload } =
      header.alg === 'HS256'
        ? await verifyWithSecret(hint, options, secretOf)
        : await jwtVerify(hint, ring.verificationKey, { ...options, algorithms: [...keyAlgorithms] });
    const { sub, aud } = payload;
    // logout tokens and access tokens have other members
    if (typeof aud !== 'string' || payload['azp'] !== aud || payload['events'] !== undefined) return undefined;
    return { payload: { ...payload, sub: sub!, aud }, byClient: header.alg === 'HS256' };
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof SyntaxError || error instanceof TypeError)
      return undefined;
    throw error;
  }
}

async function verifyWithSecret(
  hint: string,
  options: { issuer: string; requiredClaims: string[]; currentDate: Date },
  secretOf: (clientId: string) => Promise<Buffer | undefined>,
) {
  const audience = JSON.parse(Buffer.from(hint.split('.')[1]!, 'base64url').toString())?.aud as unknown;
  const secret = typeof audience === 'string' ? await secretOf(audience) : undefined;
  if (!secret) throw new errors.JWSSignatureVerificationFailed();
  return jwtVerify(hint, secret, { ...options, algorithms: ['HS256'] });
}

const textOf = (claim: unknown): string | undefined => (typeof claim === 'string' ? claim : undefined);

/** Seconds by which two instances may differ in their estimate of the database's time. */
const clockDifference = 2;

/** The statement of a valid ID Token. */
export interface IdTokenStatement {
  /** `jti`; undefined in a token of an earlier version. */
  id: string | undefined;
  sub: string;
  clientId: string;
  sid: string;
  issuedAt: Date;
  expiresAt: Date;
  /** Claims that only the service's own signature proves; undefined where the client could have signed as well (security R122). */
  vouched: { authTime: Date; nonce: string | undefined; acr: string | undefined } | undefined;
}

/**
 * Verifies an ID Token and its times; undefined if the signature or a time is wrong.
 * @param lifetimeOf the lifetime of a client's ID Tokens, in seconds
 */
export async function verifyIdToken(
  ring: KeyRing,
  issuer: string,
  token: string,
  secretOf: (clientId: string) => Promise<Buffer | undefined>,
  lifetimeOf: (clientId: string) => Promise<number>,
): Promise<IdTokenStatement | undefined> {
  const known = await verified(ring, issuer, token, secretOf);
  const sid = textOf(known?.payload['sid']);
  if (!known || !sid) return undefined;
  const { payload, byClient } = known;
  const [iat, exp, now] = [Number(payload.iat), Number(payload.exp), ring.now().getTime() / 1000];
  if (!(exp > now)) return undefined;
  // it must not start in the future, nor last longer than the service would allow (security R122)
  if (byClient && !(iat <= now + clockDifference && exp <= iat + (await lifetimeOf(payload.aud)))) return undefined;
  const time = (seconds: unknown) => new Date(Number(seconds) * 1000);
  return {
    id: textOf(payload.jti),
    sub: payload.sub,
    clientId: payload.aud,
    sid,
    issuedAt: time(iat),
    expiresAt: time(exp),
    vouched: byClient
      ? undefined
      : { authTime: time(payload['auth_time'] ?? 0), nonce: textOf(payload['nonce']), acr: textOf(payload['acr']) },
  };
}

/** Whether a text is a signed JWT that names this issuer. Nothing is verified yet. */
export function isOwnJwt(issuer: string, token: string): boolean {
  if (!/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/.test(token)) return false;
  try {
    return typeof decodeProtectedHeader(token).alg === 'string' && decodeJwt(token).iss === issuer;
  } catch {
    return false;
  }
}

/** The left half of a hash with the signature algorithm's own function (Core 3.1.3.6), which is SHA-512 for Ed25519. */
function leftHalf(value: string, alg: IdTokenSigningAlgorithm): string {
  // a binary string, as for the hashes of secrets
  const whole = hash(alg === 'EdDSA' ? 'sha512' : 'sha256', value, 'binary');
  return Buffer.from(whole.slice(0, whole.length / 2), 'latin1').toString('base64url');
}
