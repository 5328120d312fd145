// The password meter never praises a password that is refused, and rates a better password higher.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { isCommonPassword } from '../../src/crypto/common-passwords.ts';
import { builtInTemplates } from '../../src/pages/renderer.ts';

const script = readFileSync(join(builtInTemplates, 'password-meter.js'), 'utf8');

/** Returns the rating of a password by the page's script, from 1 (easy to guess) to 4; the document has only what the script reads. */
function levelOf(password: string, names = 'ada Ada Lovelace'): number {
  const attributes: Record<string, string> = { 'data-least': '12', 'data-names': names };
  const bar = { value: 0 };
  const text = { textContent: '' };
  let typed: (() => void) | undefined;
  const field = { value: '', addEventListener: (_type: string, listener: () => void) => (typed = listener) };
  const meter = {
    hidden: true,
    getAttribute: (name: string) => attributes[name] ?? name,
    setAttribute: () => undefined,
    querySelector: (selector: string) => (selector === 'progress' ? bar : text),
  };
  const byId: Record<string, unknown> = { strength: meter, password: field };
  runInNewContext(script, { document: { getElementById: (id: string) => byId[id] } });
  field.value = password;
  typed!();
  expect(meter.hidden).toBe(password === '');
  return bar.value;
}

test.each([
  'passwordpassword',
  'P@ssw0rd1234',
  'qwertyuiop12',
  'aaaaaaaaaaaaaaaa',
  '123456789012345',
  'iloveyou2024!',
  'AdaLovelace1815',
  'Summer2026!!',
  'abcdefghijklmnop',
  'abcabcabcabcabc',
  'dragonmonkey12',
  'ada',
])('the meter calls %j easy to guess, and the service refuses it or it is too short (security R59)', (password) => {
  expect(isCommonPassword(password, ['ada', 'ada lovelace', 'lovelace']) || password.length < 12).toBe(true);
  expect(levelOf(password)).toBe(1);
});

test.each([
  ['three umbrellas under a lighthouse', 4],
  ['correct horse battery staple', 3],
  ['x9 y8 z7 w6 v5 u4', 3],
  ['k7Qm2vXr9TzLp4', 3],
])('the meter calls %j hard to guess (pages, account)', (password, least) => {
  expect(isCommonPassword(password)).toBe(false);
  expect(levelOf(password)).toBeGreaterThanOrEqual(least);
});

test('one more word never lowers the rating of a password (pages, account)', () => {
  let last = 0;
  for (const password of ['umbrella', 'umbrella fence', 'umbrella fence quartz', 'umbrella fence quartz pelican']) {
    const level = levelOf(password);
    expect(level).toBeGreaterThanOrEqual(last);
    last = level;
  }
  expect(levelOf('')).toBe(1);
});
