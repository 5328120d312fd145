// The form in which an address is stored, as a table.
import { expect, test } from 'vitest';
import { domainLabel, storedAddress } from '../../src/rules/connections/mail-domain.ts';

test.each([
  ['Ada.L@Example.COM', 'Ada.L@example.com'],
  ['ada@MÜNCHEN.example', 'ada@xn--mnchen-3ya.example'],
  ['ada@xn--mnchen-3ya.example', 'ada@xn--mnchen-3ya.example'],
  ['jürgen@example.com', 'jürgen@example.com'],
  ['ada@ｅｘａｍｐｌｅ.com', 'ada@example.com'],
  ['root@localhost', 'root@localhost'],
  ['ada@example.com.', undefined],
  ['ada@example..com', undefined],
  ['ada@.example.com', undefined],
  ['ada@example．com', undefined],
  ['ada@example。com', undefined],
  ['ada@example｡com', undefined],
  ['ada@exam\u00adple.com', undefined],
  ['ada@exam\u200bple.com', undefined],
  ['a\u200dda@example.com', undefined],
  ['ada@example.com\u200e', undefined],
  ['ada@exam_ple.com/..', undefined],
  ['ada@example.a-', undefined],
  ['ada@münchen.-a', undefined],
  ['ada@example.--', undefined],
  ['ada@127.0.0.1', undefined],
  ['ada@0x7f.1', undefined],
  ['ada@[127.0.0.1]', undefined],
  ['"ada"@example.com', undefined],
  ['a@b@example.com', undefined],
  ['@example.com', undefined],
  ['ada@', undefined],
  [`ada@${'ü'.repeat(60)}.example`, undefined],
])('%j is stored as %j (security R158)', (typed, stored) => expect(storedAddress(typed)).toBe(stored));

test('a number is no domain of addresses (security R158)', () => {
  for (const domain of ['10.0.0.12', '0x7f.0x1', '1.2']) expect(domainLabel(domain)).toBeUndefined();
});
