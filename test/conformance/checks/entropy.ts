// Measures the entropy of a code or a token, as the suite does.
import { expect } from 'vitest';

/** Shannon's entropy per character times the length, in bits. */
export function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let perCharacter = 0;
  for (const count of counts.values()) perCharacter -= (count / text.length) * Math.log2(count / text.length);
  return perCharacter * text.length;
}

export function checkEntropy(what: string, text: string, { minimumBytes = 0 } = {}): void {
  expect(entropy(text), `entropy of the ${what} in bits`).toBeGreaterThan(96);
  expect(Buffer.byteLength(text), `length of the ${what}`).toBeGreaterThanOrEqual(minimumBytes);
}
