// Encrypted values and keyed digests depend on their bytes, associated data and keys.
import { describe, expect, test } from 'vitest';
import { createSecretBox } from '../../src/crypto/secret-box.ts';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';

const newKey = () => parseSecretKey(randomSecret());
const row = 'clients.shared_secret_encrypted.x';

describe('an encrypted value', () => {
  const [first, second] = [newKey(), newKey()];
  const box = createSecretBox([first, second]);
  const sealed = box.seal('a secret', row);

  test.each([
    ['another row', (value: Buffer) => box.open(value, 'clients.shared_secret_encrypted.y')],
    ['another column', (value: Buffer) => box.open(value, 'clients.client_secret_encrypted.x')],
    ['another table', (value: Buffer) => box.open(value, 'signing_keys.shared_secret_encrypted.x')],
    ['another key', (value: Buffer) => createSecretBox([newKey()]).open(value, row)],
    [
      'the id of another key',
      (value: Buffer) =>
        box.open(
          Buffer.concat([box.seal('', row).subarray(0, 1), Buffer.from(second.id, 'hex'), value.subarray(9)]),
          row,
        ),
    ],
    ['no last byte', (value: Buffer) => box.open(value.subarray(0, -1), row)],
    ['no bytes', () => box.open(Buffer.alloc(0), row)],
  ])('does not decrypt with %s (security R29)', (_what, open) => {
    expect(box.open(sealed, row).toString()).toBe('a secret');
    expect(() => open(sealed)).toThrow();
  });

  test('is encrypted with the first key of the list, decrypted with all keys, and names its key (decisions section 8)', () => {
    expect(sealed.toString('hex', 1, 9)).toBe(first.id);
    expect(createSecretBox([second, first]).open(sealed, row).toString()).toBe('a secret');
    expect(createSecretBox([second, first]).seal('a secret', row).toString('hex', 1, 9)).toBe(second.id);
    expect(() => createSecretBox([second]).open(sealed, row)).toThrow('not encrypted with a key of SECRET_KEY');
  });
});

test('a digest is computed with the first key and recognized with all keys (decisions section 8)', () => {
  const [first, second] = [newKey(), newKey()];
  const before = createSecretBox([first, second]);
  const after = createSecretBox([second, first]);
  expect(after.macs('form', 'a', 'b')).toEqual([after.mac('form', 'a', 'b'), before.mac('form', 'a', 'b')]);
  expect(before.mac('form', 'a', 'b')).not.toBe(before.mac('form', 'ab', ''));
  expect(createSecretBox([second]).macs('form', 'a', 'b')).not.toContain(before.mac('form', 'a', 'b'));
});

test('the keys that are derived from a key of SECRET_KEY do not change between versions (security R29)', () => {
  const key = parseSecretKey('AAcOFRwjKjE4P0ZNVFtiaXB3foWMk5qhqK-2vcTL0tk');
  const stored = Buffer.from(
    '03fb116f002224b1354e2a3399789e94084124e3ce821041bd7757fcf7b66d6e8b904ee9f756fe64542248fb50',
    'hex',
  );
  expect(key.id).toBe('fb116f002224b135');
  expect(createSecretBox([key]).open(stored, row).toString()).toBe('a secret');
  // computed by the version before data keys
  expect(createSecretBox([key]).mac('form', 'a', 'b')).toBe('16qoIAwcnBsB67IoW7YBIdZrqFuxxYfR5c3piOtlwbg');
});
