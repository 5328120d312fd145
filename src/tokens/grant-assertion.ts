// Verifies the assertion of a trusted issuer about a user (RFC 7523 3, security R138, R146).
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose';
import { FetchRefused } from '../outbound/guarded-fetch.ts';
import { namesAreUnique, type ReadJwks, verifyWithKeys } from './client-signature.ts';

/** The assertion is refused. The message is for the log. */
export class GrantAssertionRefused extends Error {}

export interface GrantAssertion {
  issuer: string;
  subject: string;
  jti: string;
  expiresAt: Date;
  /** The address, if the issuer says that it is confirmed. */
  email: string | undefined;
  claims: JWTPayload;
}

export interface ExpectedAssertion {
  issuer: string;
  /** The names of this service, of which an assertion has one. */
  audiences: readonly string[];
  algorithms: readonly string[];
  /** In seconds. */
  maxLifetime: number;
  /** The one type that is read; undefined for a JWT without a type of its own. */
  typ: string | undefined;
  now: Date;
}

const maxLength = 16_384;
const tolerance = 30; // seconds by which clocks may differ
const compact = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** The issuer that an assertion names. Nothing is verified yet. */
export function issuerOf(assertion: string): string | undefined {
  if (!compact.test(assertion) || assertion.length > maxLength) return undefined;
  try {
    return decodeJwt(assertion).iss;
  } catch {
    return undefined;
  }
}

/** @throws GrantAssertionRefused, FetchRefused */
export async function verifyGrantAssertion(
  assertion: string,
  jwks: ReadJwks,
  expected: ExpectedAssertion,
): Promise<GrantAssertion> {
  try {
    const header = decodeProtectedHeader(assertion);
    if (header.crit || header.jku || header.jwk || header.x5u || header.x5c)
      throw new GrantAssertionRefused('its header has a member that is not allowed');
    const typ = plainType(header.typ);
    // a token of another kind is signed by the same keys
    if (typ !== expected.typ) throw new GrantAssertionRefused('its type is that of another kind of token');
    if (!namesAreUnique(assertion)) throw new GrantAssertionRefused('a member is there twice');
    const claims = await verifyWithKeys(assertion, jwks, {
      algorithms: [...expected.algorithms],
      issuer: expected.issuer,
      clockTolerance: tolerance,
      currentDate: expected.now,
      requiredClaims: ['sub', 'aud', 'exp', 'iat', 'jti'],
    });
    return { ...checkedClaims(claims, expected), claims };
  } catch (error) {
    if (error instanceof GrantAssertionRefused || error instanceof FetchRefused) throw error;
    // the parser's message quotes the assertion (security R99)
    if (error instanceof SyntaxError) throw new GrantAssertionRefused('it is not JSON');
    // the assertion and the keys of the issuer can cause any error in the cryptography
    throw new GrantAssertionRefused(error instanceof Error ? error.message : 'not verifiable', { cause: error });
  }
}

/** A media type may have its prefix, and is compared without case (RFC 7515 4.1.9). */
const plainType = (typ: string | undefined): string | undefined => {
  const plain = typ?.toLowerCase().replace(/^application\//, '');
  return plain === 'jwt' ? undefined : plain;
};

function checkedClaims(
  { iss, sub, aud, exp, iat, jti, ...others }: JWTPayload,
  { audiences, maxLifetime, now }: ExpectedAssertion,
): Omit<GrantAssertion, 'claims'> {
  if (typeof sub !== 'string' || sub === '' || sub.length > 255)
    throw new GrantAssertionRefused('sub is no text of 1 to 255 characters');
  if (typeof jti !== 'string' || jti === '' || jti.length > 512) throw new GrantAssertionRefused('jti is missing');
  // for one reader: a second one could present it again
  if (typeof aud !== 'string' || !audiences.includes(aud))
    throw new GrantAssertionRefused('aud is not this service alone');
  const seconds = now.getTime() / 1000;
  if (iat! > seconds + tolerance) throw new GrantAssertionRefused('iat is in the future');
  if (exp! - iat! > maxLifetime || exp! > seconds + maxLifetime + tolerance)
    throw new GrantAssertionRefused('it is valid for longer than the issuer may say');
  const { email, email_verified: verified } = others;
  return {
    issuer: iss!,
    subject: sub,
    jti,
    expiresAt: new Date(exp! * 1000),
    email: typeof email === 'string' && verified === true ? email : undefined,
  };
}
