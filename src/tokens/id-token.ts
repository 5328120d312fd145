// ID Tokens (OpenID Connect Core 2): minted for an authorization, and read back as hints; signed UserInfo beside them.
import { hash } from 'node:crypto';
import { CompactSign, decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import type { IdTokenSigningAlgorithm } from '../oauth/client-metadata.ts';
import type { KeyAlgorithm, KeyRing } from './key-ring.ts';
import { keyAlgorithms } from './key-ring.ts';

export interface IdTokenContent {
  issuer: string;
  clientId: string;
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

/** What signs for a client; the key of HS256 is the client's secret. */
export type ResponseKey = { alg: KeyAlgorithm } | { alg: 'HS256'; secret: Buffer };

export async function mintIdToken(ring: KeyRing, key: ResponseKey, content: IdTokenContent): Promise<string> {
  const payload: JWTPayload = {
    ...content.claims,
    sid: content.sid,
    auth_time: Math.floor(content.authTime.getTime() / 1000),
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

/** A signed UserInfo response (Core 5.3.2). It has neither auth_time nor exp, so that it is never taken for an ID Token. */
export function mintUserinfo(ring: KeyRing, key: ResponseKey, issuer: string, clientId: string, claims: JWTPayload) {
  return signJwt(ring, key, 'JWT', { ...claims, iss: issuer, aud: clientId, iat: Math.floor(Date.now() / 1000) });
}

/** @param typ the explicit type, which keeps one kind of JWT from being taken for another (RFC 8725 section 3.11) */
export function signJwt(ring: KeyRing, key: ResponseKey, typ: string, payload: JWTPayload): Promise<string> {
  // what SignJWT does beside is to copy the claims
  const token = new CompactSign(Buffer.from(JSON.stringify(payload)));
  if (key.alg === 'HS256') return token.setProtectedHeader({ alg: 'HS256', typ }).sign(key.secret);
  const signing = ring.signingKey(key.alg);
  return token.setProtectedHeader({ alg: key.alg, kid: signing.kid, typ }).sign(signing.privateKey);
}

/**
 * Reads an ID Token that we issued, expired or not: a hint (Core 3.1.2.1, RP-Initiated Logout 2). Undefined for
 * anything else: another issuer's, another kind of JWT, a wrong signature (security R67).
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

/** What an ID Token says whatever its time, and whether its client could have signed it as well: the key of HS256 is the client's secret. */
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
    if (typeof aud !== 'string' || payload['auth_time'] === undefined || payload['events'] !== undefined)
      return undefined;
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

/** By how much two instances may differ in what they take for the time of the database, in seconds. */
const clockDifference = 2;

/** What a valid ID Token says. */
export interface IdTokenStatement {
  sub: string;
  clientId: string;
  sid: string;
  issuedAt: Date;
  expiresAt: Date;
  /** What only a signature of the service vouches for; undefined where the client could have signed, too (security R122). */
  vouched: { authTime: Date; nonce: string | undefined } | undefined;
}

/**
 * Verifies an ID Token with its time; undefined for one whose signature or time is wrong.
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
  // from now at the latest, and for no longer than the service would have made it (security R122)
  if (byClient && !(iat <= now + clockDifference && exp <= iat + (await lifetimeOf(payload.aud)))) return undefined;
  const time = (seconds: unknown) => new Date(Number(seconds) * 1000);
  return {
    sub: payload.sub,
    clientId: payload.aud,
    sid,
    issuedAt: time(iat),
    expiresAt: time(exp),
    vouched: byClient ? undefined : { authTime: time(payload['auth_time']), nonce: textOf(payload['nonce']) },
  };
}

/** True for a parseable signed JWT that says it is this issuer's; nothing is verified yet. */
export function isOwnJwt(issuer: string, token: string): boolean {
  if (!/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/.test(token)) return false;
  try {
    return typeof decodeProtectedHeader(token).alg === 'string' && decodeJwt(token).iss === issuer;
  } catch {
    return false;
  }
}

/** Left half of the hash of the signature's own algorithm (Core 3.1.3.6); Ed25519 hashes with SHA-512. */
function leftHalf(value: string, alg: IdTokenSigningAlgorithm): string {
  // by way of a text, as secrets are hashed
  const whole = hash(alg === 'EdDSA' ? 'sha512' : 'sha256', value, 'binary');
  return Buffer.from(whole.slice(0, whole.length / 2), 'latin1').toString('base64url');
}
