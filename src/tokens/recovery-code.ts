// Recovery codes: 80 random bits that a person keeps on paper, good once in the place of another second factor.
import { randomInt } from 'node:crypto';
import { digest } from '../crypto/secrets.ts';

// neither I nor O, neither 0 nor 1
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const length = 16;

/** How many a person gets. */
export const recoveryCodeCount = 10;

/** A new code as people see it: four groups of four. */
export function newRecoveryCode(): string {
  return written(Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join(''));
}

/** What somebody typed as the code that it stands for: whatever the case, the spaces and the punctuation; undefined when it cannot be one. */
export function readRecoveryCode(typed: string): string | undefined {
  const characters = typed.replace(/[^A-Za-z0-9]/g, '').toUpperCase();
  return characters.length === length && [...characters].every((character) => alphabet.includes(character))
    ? written(characters)
    : undefined;
}

/** What is stored of a person's code. */
export function recoveryCodeHash(sub: string, code: string): Buffer {
  return digest('recovery code', `${sub} ${code}`);
}

function written(characters: string): string {
  return characters.match(/.{4}/g)!.join('-');
}
