// Checks that the time to clean a name for a mail does not grow with the square of its length.
import { expect, test } from 'vitest';
import { nameInMail, usernameInMail } from '../../src/pages/markup.ts';

/** How often a function calls the matcher of regular expressions, by the characters that it gives it. */
function searched(work: () => unknown): number {
  const longest = { text: 0 };
  const exec = RegExp.prototype[Symbol.search];
  RegExp.prototype[Symbol.search] = function search(text: string) {
    longest.text = Math.max(longest.text, text.length);
    return exec.call(this, text);
  };
  try {
    work();
  } finally {
    RegExp.prototype[Symbol.search] = exec;
  }
  return longest.text;
}

test.each(['a', 'a.', 'a@', '1.', 'http', 'xn--', '\u200ca'])(
  'an endless name of %j is cut before addresses are looked for, and shown short (security R166)',
  (unit) => {
    const name = `Ada ${unit.repeat(100_000)}`;
    expect(searched(() => nameInMail(name))).toBeLessThanOrEqual(500);
    expect(searched(() => usernameInMail(name, [], true))).toBeLessThanOrEqual(500);
    expect(nameInMail(name)).toMatch(/^Ada/);
    expect([...nameInMail(name)].length).toBeLessThanOrEqual(60);
  },
);
