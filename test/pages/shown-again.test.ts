// What a page shows is sealed so that its language menu can show it again: with its times, for an hour, unless it is large.
import { afterEach, expect, test, vi } from 'vitest';
import { createSecretBox } from '../../src/crypto/secret-box.ts';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { createShownPages } from '../../src/pages/shown-again.ts';

const box = createSecretBox([parseSecretKey(Buffer.alloc(32, 7).toString('base64url'))]);
const shownPages = createShownPages(box);
const page = {
  name: 'account-recovery-codes' as const,
  data: {
    codes: ['canary-code'],
    at: new Date('2026-03-14T09:26:53Z'),
    parts: [{ at: new Date(0) }],
    frames: undefined,
  },
  status: 200,
};
afterEach(() => vi.useRealTimers());

test('a sealed page opens as it was, times included, and its text is not in what the browser gets (pages, languages)', () => {
  const sealed = shownPages.seal(page)!;
  expect(sealed + Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('canary');
  expect(shownPages.open(sealed)).toEqual({ ...page, data: { ...page.data, frames: undefined } });
});

test('a sealed page opens for an hour, by the same key and for this purpose alone (pages, languages)', () => {
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now });
  const sealed = shownPages.seal(page)!;
  vi.setSystemTime(now + 3_600_000);
  expect(shownPages.open(sealed)).toBeDefined();
  vi.setSystemTime(now + 3_600_001);
  expect(shownPages.open(sealed)).toBeUndefined();
  vi.setSystemTime(now);
  const foreign = createShownPages(createSecretBox([parseSecretKey(Buffer.alloc(32, 8).toString('base64url'))]));
  expect(foreign.open(sealed)).toBeUndefined();
  const other = box.seal(JSON.stringify({ ...page, at: now }), 'clients.secret_encrypted').toString('base64url');
  for (const text of [other, '', '!', sealed.slice(1)]) expect(shownPages.open(text)).toBeUndefined();
});

test('a page that no form could send is not sealed (pages, languages)', () => {
  expect(shownPages.seal({ ...page, data: { text: 'x'.repeat(50_000) } })).toBeUndefined();
});
