// The rules for attributes: their names, and the values that each type takes.
import { describe, expect, test } from 'vitest';
import {
  type Attribute,
  attributeFault,
  attributeOfText,
  isAttributeName,
} from '../../../src/rules/claims/attributes.ts';
import { mayMakeClaim, reservedClaims } from '../../../src/rules/claims/reserved-claims.ts';

const of = (members: Partial<Attribute>): Attribute => ({
  name: 'x',
  type: 'string',
  label: {},
  choices: undefined,
  max: undefined,
  person: 'none',
  unique: false,
  ...members,
});

describe('names', () => {
  test.each(['department', 'cost_center2', 'a'])('an attribute can be called %s (federation 7)', (name) =>
    expect(isAttributeName(name)).toBe(true),
  );
  test.each([
    'sub',
    'email',
    'email_verified',
    'name',
    'groups',
    'roles',
    'acr',
    'updated_at',
    'address',
    'SUB',
    'sub\u200b',
    '__proto__',
    'constructor',
    '',
    '9a',
    'a-b',
    'a b',
    'ä',
    'x'.repeat(51),
  ])('no attribute can be called %j (federation F62)', (name) => expect(isAttributeName(name)).toBe(false));
  test.each([...reservedClaims, 'SUB', 'Email_Verified', '__proto__', 'toString', 'a b', 'sub\u200b', '', 'a"b'])(
    'no attribute, scope or rule makes the claim %j (federation FR41, F62)',
    (name) => expect(mayMakeClaim(name)).toBe(false),
  );
});

describe('values', () => {
  test.each([
    [{}, 'Harbour', undefined],
    [{}, 5, 'type'],
    [{}, '', 'text'],
    [{}, 'a\u0000b', 'text'],
    [{}, 'x'.repeat(1001), 'long'],
    [{ max: 3 }, 'four', 'long'],
    [{ choices: ['a', 'b'] }, 'c', 'choice'],
    [{ type: 'number' }, 3.5, undefined],
    [{ type: 'number' }, '3', 'type'],
    [{ type: 'number', max: 3 }, 4, 'large'],
    [{ type: 'number' }, Infinity, 'type'],
    [{ type: 'boolean' }, false, undefined],
    [{ type: 'boolean' }, 'false', 'type'],
    [{ type: 'date' }, '2024-02-29', undefined],
    [{ type: 'date' }, '2023-02-29', 'date'],
    [{ type: 'date' }, 20240229, 'date'],
    [{ type: 'string_list' }, ['a', 'b'], undefined],
    [{ type: 'string_list', max: 1 }, ['a', 'b'], 'many'],
    [{ type: 'string_list' }, ['a', { sub: 'root' }], 'type'],
    [{ type: 'string_list' }, 'a', 'type'],
    [{}, { sub: 'root' }, 'type'],
  ] as const)('an attribute %j with the value %j has the fault %s (federation 7)', (members, value, fault) =>
    expect(attributeFault(of(members as Partial<Attribute>), value)).toBe(fault),
  );
  test('an attribute that is not defined takes no value (federation 7)', () =>
    expect(attributeFault(undefined, 'x')).toBe('unknown'));

  test.each([
    ['number', ' 42 ', 42],
    ['number', '4e2', '4e2'],
    ['boolean', 'Yes', true],
    ['boolean', '0', false],
    ['string_list', 'a\r\n b \n\na', ['a', 'b']],
    ['date', '', undefined],
    ['string', ' x ', 'x'],
  ] as const)('a form or a table says %s by the text %j (federation 7)', (type, text, value) =>
    expect(attributeOfText(type, text)).toEqual(value),
  );
});
