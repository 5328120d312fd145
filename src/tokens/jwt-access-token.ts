// Mints JWT access tokens and reads those that come back (RFC 9068, security R138).
import { authTimeClaim } from '../oauth/acr.ts';
import { decodeProtectedHeader, errors, jwtVerify } from 'jose';
import type { Detail } from '../oauth/authorization-details.ts';
import { OAuthError } from '../oauth/errors.ts';
import type { ActingParty } from '../oauth/token-exchange.ts';
import type { Confirmation } from '../repositories/confirmation.ts';
import { type KeyAlgorithm, keyAlgorithms, type KeyRing } from './key-ring.ts';
import { signJwt } from './id-token.ts';

const typ = 'at+jwt';

/** Bytes: servers and proxies refuse requests with longer headers. */
const maxSize = 8192;

export interface JwtAccessToken {
  issuer: string;
  /** The URI of the resource. */
  audience: string;
  /** The user as the resource knows the user, or the client itself. */
  sub: string;
  clientId: string;
  scope: string | undefined;
  /** The client that acts for the user (RFC 8693 4.1). */
  act?: ActingParty | undefined;
  /** The authorization details for the resource. */
  details?: readonly Detail[] | undefined;
  /** The key that the token is bound to. */
  cnf: Confirmation | undefined;
  /** The digest under which the token is stored: its `jti`, by which it is found again. */
  hash: Buffer;
  issuedAt: Date;
  /** In seconds. */
  lifetime: number;
  /** Absent without a user. */
  authentication?: { authTime: Date; acr: string | undefined; amr: string[] };
  /** Claims of the user (RFC 9068 2.2.2, 2.2.3). */
  claims: Readonly<Record<string, unknown>>;
}

/** @throws OAuthError invalid_scope if the token is too long; the log names its largest claim */
export async function mintAccessToken(ring: KeyRing, alg: KeyAlgorithm, content: JwtAccessToken): Promise<string> {
  const { authentication } = content;
  const issuedAt = Math.floor(content.issuedAt.getTime() / 1000);
  const payload = {
    ...content.claims,
    iss: content.issuer,
    aud: content.audience,
    sub: content.sub,
    client_id: content.clientId,
    scope: content.scope,
    cnf: content.cnf,
    act: content.act,
    // RFC 9396 9.1
    authorization_details: content.details,
    jti: content.hash.toString('base64url'),
    iat: issuedAt,
    exp: issuedAt + content.lifetime,
    ...(authentication && {
      ...authTimeClaim(authentication.authTime),
      acr: authentication.acr,
      amr: authentication.amr,
    }),
  };
  const token = await signJwt(ring, { alg }, typ, payload);
  if (token.length > maxSize) throw tooLong(token.length, payload);
  return token;
}

function tooLong(size: number, payload: Readonly<Record<string, unknown>>): OAuthError {
  const sizes = Object.entries(payload).map(([claim, value]) => [claim, JSON.stringify(value ?? '').length] as const);
  const [claim, largest] = sizes.reduce((most, each) => (each[1] > most[1] ? each : most));
  return new OAuthError(
    'invalid_scope',
    `the access token for this resource would be longer than ${maxSize} bytes: request fewer scopes, such as none that releases groups`,
    400,
    { cause: new Error(`the access token has ${size} bytes, of which ${largest} are of the claim ${claim}`) },
  );
}

/** Whether a JWT says that it is an access token. Nothing is verified yet. */
export function isAccessToken(token: string): boolean {
  try {
    return decodeProtectedHeader(token).typ === typ;
  } catch {
    return false;
  }
}

/** The digest under which a JWT access token of this service is stored; undefined for any other text. Its row decides whether it is valid. */
export async function accessTokenHash(ring: KeyRing, issuer: string, token: string): Promise<Buffer | undefined> {
  try {
    const options = {
      issuer,
      typ,
      algorithms: [...keyAlgorithms],
      requiredClaims: ['jti', 'exp'],
      currentDate: new Date(0),
    };
    const { payload } = await jwtVerify(token, ring.verificationKey, options);
    const hash = Buffer.from(String(payload.jti), 'base64url');
    return hash.length === 32 ? hash : undefined;
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof SyntaxError || error instanceof TypeError)
      return undefined;
    throw error;
  }
}
