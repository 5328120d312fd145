// Makes and reads verification codes, user codes and the codes of a sign-in by email: eight letters that a user reads on one screen and types on another (RFC 8628 6.1).
import { randomInt } from 'node:crypto';
import type { SecretBox } from '../crypto/secret-box.ts';

// no vowels and no Y, so that no code spells a word: 20 letters, 34 bits in total
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ';
const length = 8;

/** Makes a code in the form that users see: four letters, a hyphen, four letters. */
export function newVerificationCode(): string {
  const letters = Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
  return written(letters);
}

/** Normalises a typed code, ignoring case, spaces and punctuation; undefined when it is malformed. */
export function readVerificationCode(typed: string): string | undefined {
  const letters = typed.replace(/[^A-Za-z0-9]/g, '').toUpperCase();
  return letters.length === length && [...letters].every((letter) => alphabet.includes(letter))
    ? written(letters)
    : undefined;
}

/** A verification code names a registration, a user code names the request of a device. */
export type CodePurpose = 'verification code' | 'user code';

/** The value stored for a code: a keyed hash, since an attacker could try out so few bits. The key may change while the code is valid. */
export function verificationCodeHash(secretBox: SecretBox, purpose: CodePurpose, code: string): Buffer {
  return Buffer.from(secretBox.mac(purpose, code), 'base64url');
}

/** The values that may be stored for a typed code: one for each key. */
export function verificationCodeHashes(secretBox: SecretBox, purpose: CodePurpose, code: string): Buffer[] {
  return secretBox.macs(purpose, code).map((mac) => Buffer.from(mac, 'base64url'));
}

/** The values that may be stored for the code of a sign-in by email: one for each key, that of the first key first. @param id of the stored code */
export function signInCodeHashes(secretBox: SecretBox, id: string, code: string): Buffer[] {
  return secretBox.macs('sign-in code', id, code).map((mac) => Buffer.from(mac, 'base64url'));
}

function written(letters: string): string {
  return `${letters.slice(0, length / 2)}-${letters.slice(length / 2)}`;
}
