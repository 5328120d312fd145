// Checks that docs/security.md is current, and that each requirement has a file that implements it and a test that shows it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { evidence, gaps, securityPage } from '../scripts/security.ts';
import { attacksIn, citationsIn, testsIn } from '../scripts/security/citations.ts';
import {
  attackCases,
  faults,
  federationCases,
  federationRequirements,
  protocolCases,
  requirements,
} from '../scripts/security/requirements.ts';

const found = evidence();
const missing = gaps(found);

test('docs/security.md equals what scripts/security.ts makes of code and tests', () => {
  expect(readFileSync(join(import.meta.dirname, '../docs/security.md'), 'utf8')).toBe(securityPage(found));
});

test('every requirement has a file that implements it and a test that shows it', () => {
  expect(missing['requirements without a place']).toEqual([]);
  expect(missing['requirements without a test']).toEqual([]);
});

test('every attack case has a test that performs it, and every fault a test or a program that causes it', () => {
  expect(missing['attack cases without a test']).toEqual([]);
  expect(missing['faults without a test']).toEqual([]);
});

test('code and tests cite no unknown requirement, case or fault, and register no case twice', () => {
  expect(missing['cited but unknown']).toEqual([]);
  expect(missing['attack cases told twice']).toEqual([]);
});

test('the lists have every requirement, case and fault of the rules', () => {
  const numbers = Object.values(requirements).flatMap((group) => Object.keys(group).map(Number));
  expect(numbers.slice(0, 127)).toEqual(Array.from({ length: 127 }, (_, index) => index + 1));
  // those of the protocols beyond OpenID Connect, as each is built
  expect(numbers.slice(127, 144)).toEqual([
    133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 148, 151, 152,
  ]);
  // those found by the second attack, as each is mended
  expect(numbers.slice(144).filter((number) => number < 153 || number > 166)).toEqual([]);
  expect(new Set(attackCases).size).toBe(88);
  expect(Object.keys(faults)).toHaveLength(21);
});

test('citations are found in comments, in titles within groups, in titles with values, and in attack cases', () => {
  expect(citationsIn('// once (security R15)\n/* (RFC 7009, security R1, F2) */ // R7, (security, R8)')).toEqual([
    'R15',
    'R1',
    'F2',
  ]);
  expect(citationsIn('-- unlinked (federation 4, FR8); (security R85, federation FR42), FR9')).toEqual([
    'FR8',
    'R85',
    'FR42',
  ]);
  const source = `
    describe('a code', () => {
      test.each(['x'])('with %s is refused (RFC 6749 5.2, security R5)', () => {});
      test(\`of \${kind} (security F1)\`, () => {});
      test('speaks of R9', () => {});
      test('of groups (security F2, federation FR15, F22)', () => {});
    });
    attack({ id: 'A12', name: 'Twice', request: 'x', answer: 'y', source: 'z', requirements: ['R4'] }, () => {});`;
  expect(testsIn('x.test.ts', source)).toEqual([
    { title: 'a code: with … is refused', keys: ['R5'] },
    { title: 'a code: of …', keys: ['F1'] },
    { title: 'a code: of groups', keys: ['F2', 'FR15', 'federation F22'] },
  ]);
  expect(attacksIn('x.test.ts', source)).toEqual([
    { id: 'A12', name: 'Twice', request: 'x', answer: 'y', source: 'z', requirements: ['R4'] },
  ]);
  expect(() => attacksIn('x.test.ts', 'attack({ id: `A${n}` }, run);')).toThrow('plain literals');
});

test('a requirement, case or fault without a citation is missing', () => {
  const none = gaps({ rows: new Map(), attacks: [] });
  const all = [...Object.values(requirements), federationRequirements].flatMap((group) => Object.keys(group)).length;
  expect(none['requirements without a place']).toHaveLength(all);
  expect(none['requirements without a test']).toHaveLength(all);
  expect(none['attack cases without a test']).toHaveLength(
    [...attackCases, ...protocolCases, ...federationCases].length,
  );
  expect(none['faults without a test']).toHaveLength(21);
});
