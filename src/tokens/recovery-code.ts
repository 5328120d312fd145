// Makes and reads recovery codes: 80 random bits that a user keeps on paper, and that replace another second factor once.
import { randomInt } from 'node:crypto';
import { digest } from '../crypto/secrets.ts';

// without I, O, 0 and 1, which users confuse
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const length = 16;

/** How many codes a user gets. */
export const recoveryCodeCount = 10;

/** Makes a code in the form that users see: four groups of four characters. */
export function newRecoveryCode(): string {
  return written(Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join(''));
}

/** Normalises a typed code, ignoring case, spaces and punctuation; undefined when it is malformed. */
export function readRecoveryCode(typed: string): string | undefined {
  const characters = typed.replace(/[^A-Za-z0-9]/g, '').toUpperCase();
  return characters.length === length && [...characters].every((character) => alphabet.includes(character))
    ? written(characters)
    : undefined;
}

/** The value stored for a user's code. */
export function recoveryCodeHash(sub: string, code: string): Buffer {
  return digest('recovery code', `${sub} ${code}`);
}

function written(characters: string): string {
  return characters.match(/.{4}/g)!.join('-');
}
