// Makes and verifies time-based codes (RFC 6238): six digits every thirty seconds, by HMAC-SHA-1, which every authenticator app supports.
import { Secret, TOTP } from 'otpauth';

/** Seconds. */
const period = 30;
/** Steps before and after the current one that are accepted, for inexact clocks (RFC 6238 5.2). */
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

/** Whether the codes of another program are those of this service. */
export const makesCodes = (algorithm = 'SHA1', digits = 6, seconds = period): boolean =>
  algorithm === 'SHA1' && digits === 6 && seconds === period;

/** Reads the written secret of another program: base32 of at least 80 bits, as apps have it; undefined if it is not. */
export function readCodeSecret(written: string): Buffer | undefined {
  const text = written.replace(/[\s=-]/g, '').toUpperCase();
  return /^[A-Z2-7]{16,208}$/.test(text) ? Buffer.from(Secret.fromBase32(text).bytes) : undefined;
}

/** The secret in base32. */
export const writtenCodeSecret = (secret: Buffer): string => codesOf(secret).secret.base32;

/** The secret as a user types it, and as an app reads it from a QR code or a link. */
export function writtenSecret(secret: Buffer, issuer: string, label: string): { text: string; uri: string } {
  const codes = codesOf(secret, issuer, label);
  return { text: codes.secret.base32, uri: codes.toString() };
}

/**
 * Returns the time step of a code; undefined for a code that is not valid now.
 * @param now in milliseconds
 */
export function stepOfCode(secret: Buffer, code: string, now: number): number | undefined {
  const codes = codesOf(secret);
  const delta = codes.validate({ token: code, timestamp: now, window });
  return delta === null ? undefined : codes.counter({ timestamp: now }) + delta;
}

/** Reads a typed code: six digits of any script, with any separators; undefined if the text cannot be a code. */
export function readCode(typed: string): string | undefined {
  const digits = typed
    .normalize('NFKC')
    .replace(/\p{Nd}/gu, (digit) => String(digitValue(digit)))
    .replace(/[\s\-.\p{Cf}]/gu, '');
  return /^\d{6}$/.test(digits) ? digits : undefined;
}

/** Unicode has decimal digits in rows of ten. */
function digitValue(digit: string): number {
  const point = digit.codePointAt(0)!;
  for (let value = 0; value < 10; value++) if (!/\p{Nd}/u.test(String.fromCodePoint(point - value - 1))) return value;
  return point % 10;
}
