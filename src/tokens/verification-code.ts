// Verification codes: eight letters that a person reads from one screen and types on another (RFC 8628 6.1).
import { randomInt } from 'node:crypto';
import type { SecretBox } from '../crypto/secret-box.ts';

// no vowels, so that no word comes of it, and no Y: 20 letters, 34 bits in all
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ';
const length = 8;

/** A new code as people see it: four letters, a hyphen, four letters. */
export function newVerificationCode(): string {
  const letters = Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
  return written(letters);
}

/** What somebody typed as the code that it stands for: whatever the case, the spaces and the punctuation; undefined when it cannot be one. */
export function readVerificationCode(typed: string): string | undefined {
  const letters = typed.replace(/[^A-Za-z0-9]/g, '').toUpperCase();
  return letters.length === length && [...letters].every((letter) => alphabet.includes(letter))
    ? written(letters)
    : undefined;
}

/** What is stored of a code: keyed, since so few bits can be tried out. Its key may change while the code is good. */
export function verificationCodeHash(secretBox: SecretBox, code: string): Buffer {
  return Buffer.from(secretBox.mac('verification code', code), 'base64url');
}

/** What may be stored of a code that was typed. */
export function verificationCodeHashes(secretBox: SecretBox, code: string): Buffer[] {
  return secretBox.macs('verification code', code).map((mac) => Buffer.from(mac, 'base64url'));
}

function written(letters: string): string {
  return `${letters.slice(0, length / 2)}-${letters.slice(length / 2)}`;
}
