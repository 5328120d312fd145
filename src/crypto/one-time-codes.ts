// Codes that change with the time (RFC 6238): six digits every thirty seconds, by HMAC-SHA-1, which is what every authenticator can do.
import { Secret, TOTP } from 'otpauth';

/** Seconds. */
const period = 30;
/** Steps before and after the present one that are taken, for clocks that are not exact (RFC 6238 5.2). */
const window = 1;

/** 160 random bits (RFC 4226 4, R6). */
export function newCodeSecret(): Buffer {
  return Buffer.from(new Secret({ size: 20 }).bytes);
}

const codesOf = (secret: Buffer, issuer?: string, label?: string) =>
  new TOTP({
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
    period,
    ...(issuer !== undefined && { issuer }),
    ...(label !== undefined && { label }),
  });

/** The secret as people type it, and as an authenticator reads it from a picture or a link. */
export function writtenSecret(secret: Buffer, issuer: string, label: string): { text: string; uri: string } {
  const codes = codesOf(secret, issuer, label);
  return { text: codes.secret.base32, uri: codes.toString() };
}

/**
 * The time step that a code is of; undefined for a code that is not good now.
 * @param now in milliseconds
 */
export function stepOfCode(secret: Buffer, code: string, now: number): number | undefined {
  const codes = codesOf(secret);
  const delta = codes.validate({ token: code, timestamp: now, window });
  return delta === null ? undefined : codes.counter({ timestamp: now }) + delta;
}

/** What somebody typed as a code: six digits, whatever stands between them and of whatever script; undefined when it cannot be one. */
export function readCode(typed: string): string | undefined {
  const digits = typed
    .normalize('NFKC')
    .replace(/\p{Nd}/gu, (digit) => String(digitValue(digit)))
    .replace(/[\s\-.\p{Cf}]/gu, '');
  return /^\d{6}$/.test(digits) ? digits : undefined;
}

/** Decimal digits stand in rows of ten, each of which begins where no digit is before it. */
function digitValue(digit: string): number {
  const point = digit.codePointAt(0)!;
  for (let value = 0; value < 10; value++) if (!/\p{Nd}/u.test(String.fromCodePoint(point - value - 1))) return value;
  return point % 10;
}
