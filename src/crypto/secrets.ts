// Makes random secrets and their digests, and compares them.
import { hash, randomFillSync, timingSafeEqual } from 'node:crypto';

/** Unused random bytes: a call costs more than the bytes, so one call makes those of many secrets. */
const supply = Buffer.alloc(4096);
let given = supply.length;

/** Takes bytes from the supply, and overwrites them there. */
function randomText(length: number): string {
  if (given + length > supply.length) {
    randomFillSync(supply);
    given = 0;
  }
  const text = supply.toString('base64url', given, given + length);
  supply.fill(0, given, (given += length));
  return text;
}

/** 256 random bits in base64url: tokens, client secrets, shared secrets, browser ids (security R40). */
export function randomSecret(): string {
  return randomText(32);
}

/** 128 random bits in base64url: public identifiers. None begins with a hyphen, which a command line would take for an option. */
export function randomId(): string {
  const id = randomText(16);
  return id.startsWith('-') ? randomId() : id;
}

/**
 * SHA-256 of a 256-bit random secret, separated by purpose, so that a value of one kind never matches another (security R18, R26, R28).
 * It protects only secrets that cannot be guessed; passwords go through password-hashing.ts.
 */
export function digest(purpose: string, secret: string): Buffer {
  return sha256(`${purpose}\0${secret}`);
}

/** Compares in constant time, texts of different lengths too. */
export function equalSecrets(a: string, b: string): boolean {
  return timingSafeEqual(sha256(a), sha256(b));
}

/** Converts from a text digest: a buffer from OpenSSL has its own memory, which costs twice as much as the hash. */
function sha256(text: string): Buffer {
  return Buffer.from(hash('sha256', text, 'binary'), 'latin1');
}

/** Compares two digests in constant time. */
export function equalDigests(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
