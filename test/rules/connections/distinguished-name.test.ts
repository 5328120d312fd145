// Compares the names of entries (RFC 4514) by a table of cases.
import { describe, expect, test } from 'vitest';
import { directoryId } from '../../../src/rules/connections/directory-id.ts';
import { isHeld } from '../../../src/rules/connections/import-rules.ts';
import { isWithin, keyOfName, ownValue, readName } from '../../../src/rules/connections/distinguished-name.ts';

describe('a distinguished name', () => {
  test.each([
    ['cn=Staff,ou=groups,dc=example', 'CN=staff, OU=Groups ,DC=EXAMPLE'],
    ['cn=A\\2C B,dc=example', 'cn=A\\, B,dc=example'],
    ['cn=Lu\\C4\\8Di\\C4\\87,dc=example', 'cn=Lučić,dc=example'],
    ['ou=a+cn=b,dc=example', 'cn=b+ou=a,dc=example'],
    ['1.2.3=x,dc=example', '1.2.3=X,dc=example'],
  ])('%s is the same as %s (RFC 4514 2, RFC 4517 4.2.15)', (one, other) => {
    expect(keyOfName(readName(one)!)).toBe(keyOfName(readName(other)!));
  });

  test.each([
    ['cn=a,cn=b', 'cn=a\\,cn\\=b'],
    ['cn=a,dc=b', 'cn=a+dc=b'],
    ['cn=a"b', 'cn=a\\22b,cn=c'],
  ])('%s is another one than %s', (one, other) => {
    expect(keyOfName(readName(one)!)).not.toBe(keyOfName(readName(other)!));
  });

  test.each([
    '',
    'Staff',
    'cn',
    'cn=',
    '=x',
    'cn=a,',
    'cn="a,b",dc=c',
    'cn=a\\',
    'c n=a',
    '\0',
    'cn=\\00',
    'x'.repeat(5000),
  ])('%j is none (federation F57)', (text) => {
    expect(readName(text)).toBeUndefined();
  });

  test('is within a base by whole parts only (keycloak#41842, federation F57)', () => {
    const base = readName('ou=groups,dc=example,dc=com')!;
    expect(isWithin(readName('cn=Staff,OU=groups,dc=example,DC=com')!, base)).toBe(true);
    expect(isWithin(base, base)).toBe(true);
    for (const outside of [
      'cn=Staff,ou=other,dc=example,dc=com',
      'cn=x,ou=mygroups,dc=example,dc=com',
      'dc=example,dc=com',
      'cn=a\\,ou=groups\\,dc=example\\,dc=com',
    ])
      expect(isWithin(readName(outside)!, base)).toBe(false);
    expect(ownValue(readName('cn=A\\, B,dc=example')!)).toBe('A, B');
  });
});

test('objectGUID is written as Active Directory shows it (MS-DTYP 2.3.4.2)', () => {
  const bytes = Buffer.from('04030201060508070910111213141516', 'hex');
  expect(directoryId(bytes)).toBe('01020304-0506-0708-0910-111213141516');
  expect(directoryId(bytes.subarray(1))).toBeUndefined();
});

describe('an import that would disable users (federation FR16)', () => {
  test.each([
    [5, 5, undefined, false],
    [6, 6, undefined, true],
    [6, 60, undefined, false],
    [7, 60, undefined, true],
    [100, 1000, undefined, false],
    [101, 1000, undefined, true],
    [101, 1000, 101, false],
    [102, 1000, 101, true],
    [0, 0, undefined, false],
  ])('%d of %d, with %s approved: held %s', (disabling, enabled, approved, held) => {
    expect(isHeld(disabling, enabled, approved)).toBe(held);
  });
});
