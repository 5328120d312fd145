// Generates what an attacker writes where a value is expected: text of every kind, bytes of every encoding, JSON of every shape.
import fc from 'fast-check';

/** Part of all markup that is sent: it must never come back unescaped in a page. */
export const markup = '<f1zz';

const dictionary = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\r\nSet-Cookie: fuzz=1',
  '\n',
  '\t',
  '\ud800',
  'x\udfff',
  '\ufffd',
  '\ufeff',
  '\u202e',
  '\u2028',

  '\u{1f469}\u200d\u{1f680}',
  '\ufb01',
  '\u0130',
  'e\u0301',
  '%',
  '%zz',
  '%00',
  '%ff',
  '%c0%af',
  '%2e%2e%2f',
  '+',
  '&',
  '=',
  ';',
  ',',
  '-1',
  '0',
  '1',
  '1e309',
  '0x10',
  '1.5',
  'NaN',
  'Infinity',
  '2147483648',
  '9223372036854775808',
  '1e1000',
  '08',
  'null',
  'true',
  '[]',
  '{}',
  '{"$ne":1}',
  '{"a":',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  'length',
  `' OR 1=1 --`,
  `"; DROP TABLE users; --`,
  '$1',
  '%s%n',
  '\\',
  '{{7*7}}',
  '<%= 1 %>',
  '${7*7}',
  '#{7}',

  `${markup} x="`,
  `"><script>${markup}>`,
  `'>${markup} onload=1>`,
  `javascript:${markup}`,
  '//evil.example',
  'https://evil.example/',

  '../../etc/passwd',
  '/',
  '.',
  '..',
  'me',
  'http://127.0.0.1:1/',
  'https://[::1]/',
  'urn:x',
  'x:',
  'none',
  'openid openid',

  'eyJhbGciOiJub25lIn0.e30.',
  'e30.e30.e30',
  '..',
  'eyJhbGciOiJIUzI1NiIsImNyaXQiOlsiYiJdfQ.e30.AA',
  'e30.bnVsbA.AA',

  `ghat_${'A'.repeat(49)}`,
  'Bearer ',
  'Basic ',
  'A'.repeat(43),
  '=?utf-8?q?x?=',
  '1970-01-01',
  '99999-01-01T00:00:00Z',
];

/** Text of all planes, lone surrogates included, and known troublesome strings. */
export const text: fc.Arbitrary<string> = fc.oneof(
  // characters that a database refuses, or silently changes
  { weight: 2, arbitrary: fc.constantFrom('\0', 'a\0b', '\ud800', 'x\udfff') },
  { weight: 6, arbitrary: fc.constantFrom(...dictionary) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.array(fc.nat(0xffff), { maxLength: 20 }).map((units) => String.fromCharCode(...units)) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom(...dictionary), fc.constantFrom(...dictionary)).map(([a, b]) => a + b),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom('a', '\u00e9', '\u{1f6a2}', '"', ' ', '%', '\0'),
        fc.constantFrom(101, 256, 300, 2049, 7000, 17_000),
      )
      .map(([unit, times]) => unit.repeat(times)),
  },
);

/** The encodings of text as bytes of a query or a form. */
export type Encoding = 'percent' | 'plain' | 'latin1';
export const encoding: fc.Arbitrary<Encoding> = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Encoding>('percent') },
  { weight: 1, arbitrary: fc.constantFrom<Encoding>('plain', 'latin1') },
);

/** UTF-8 as a string of bytes; a lone surrogate as the three bytes that a careless program writes for it. */
export function bytesOf(value: string): string {
  return [...value]
    .map((character) => {
      const point = character.codePointAt(0)!;
      if (point < 0xd800 || point > 0xdfff) return Buffer.from(character).toString('latin1');
      return String.fromCharCode(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63));
    })
    .join('');
}

export function encode(value: string, how: Encoding): string {
  const bytes = how === 'latin1' ? Buffer.from(value, 'latin1').toString('latin1') : bytesOf(value);
  if (how !== 'percent') return bytes;
  return bytes.replace(/[^A-Za-z0-9._~-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** Any value that JSON can hold. */
export const json: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: text },
  {
    weight: 2,
    arbitrary: fc.constantFrom(null, true, false, 0, -1, 1.5, 2 ** 31, 2 ** 53, 1e300, [], {}, [null], [[]], ''),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.array(text, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.dictionary(text, text, { maxKeys: 4 }) },
);

/** Bodies that are almost JSON: too deep, too wide, doubled, cut off, in another encoding. */
export const jsonText: fc.Arbitrary<string> = fc.oneof(
  json.map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '',
    ' ',
    '{',
    '"',
    '\ufeff{}',
    '{"a":1,"a":2}',
    '{"__proto__":{"admin":true}}',
    '{"constructor":{"prototype":{"x":1}}}',
    '{"a":1e400}',
    '{"a":12345678901234567890}',
    '{"a":"\\u0000"}',
    '{"a":"\\ud800"}',
    '{"\\u0000":1}',
    `${'{"a":'.repeat(17)}1${'}'.repeat(17)}`,
    '['.repeat(30_000),
    `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
    `{${Array.from({ length: 300 }, (_, index) => `"k${index}":1`).join()}}`,
    `{"a":"${'x'.repeat(70_000)}"}`,
    '{"a":1}garbage',
    "{'a':1}",
    '{"a":NaN}',
  ),
);
