// The hidden id of a row is another text each time, and only a key of SECRET_KEY reads it.
import { expect, test } from 'vitest';
import { createSecretBox } from '../../src/crypto/secret-box.ts';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';

const [first, second, third] = [randomSecret(), randomSecret(), randomSecret()].map(parseSecretKey);

test('a hidden id is hidden under the first key, read under every key of the list, and under no other (decisions section 8)', () => {
  const before = createSecretBox([first!, second!]).ids;
  const after = createSecretBox([second!, first!]).ids;
  for (const id of ['1', '4294967296', String(2 ** 48 - 1)]) {
    const texts = [before.hide(id), before.hide(id), after.hide(id)];
    expect(new Set(texts).size).toBe(3);
    for (const text of texts) {
      expect([before.read(text), after.read(text)]).toEqual([id, id]);
      expect(createSecretBox([third!]).ids.read(text)).toBeUndefined();
    }
  }
});

test('any other text hides no id (decisions section 8)', () => {
  const { ids } = createSecretBox([first!]);
  const text = ids.hide('7');
  const changed = (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
  for (const other of ['', changed, text.slice(1), `${text}=`, 'é'.repeat(22), ' '.repeat(22)])
    expect(ids.read(other), other).toBeUndefined();
});
