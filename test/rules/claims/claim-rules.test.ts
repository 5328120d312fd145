// The rules that make claims for a client, as a table of cases, and what the ID Token, UserInfo and introspection get.
import { describe, expect, test } from 'vitest';
import { type ClaimRule, claimRulesShape, ruledClaims } from '../../../src/rules/claims/claim-rules.ts';
import { idTokenClaims, introspectionClaims, userinfoClaims } from '../../../src/rules/claims/claims.ts';

const values: Record<string, unknown> = {
  groups: ['app-admin', 'app-reader', 'staff'],
  department: 'Harbour',
  floor: 3,
  active: false,
  email: 'ada@example.com',
};
const rule = (members: Partial<ClaimRule>): ClaimRule => ({
  claim: 'c',
  from: 'groups',
  into: ['userinfo'],
  ...members,
});
const made = (members: Partial<ClaimRule>) => ruledClaims([rule(members)], (from) => values[from], 'userinfo')['c'];

describe('one rule', () => {
  test.each<[Partial<ClaimRule>, unknown]>([
    [{}, ['app-admin', 'app-reader', 'staff']],
    [{ only: { prefix: 'app-' }, strip: 'app-' }, ['admin', 'reader']],
    [{ only: { one_of: ['staff', 'x'] } }, ['staff']],
    [{ only: { prefix: 'none' } }, undefined],
    [{ only: { prefix: 'none' }, default: ['guest'] }, ['guest']],
    [{ case: 'upper', as: 'joined' }, 'APP-ADMIN,APP-READER,STAFF'],
    [{ as: 'first' }, 'app-admin'],
    [{ map: { staff: 'employee', __proto__: 'x' } as never }, ['app-admin', 'app-reader', 'employee']],
    [{ only: { one_of: ['staff'] }, strip: 'staff' }, undefined],
    [{ from: 'department' }, 'Harbour'],
    [{ from: 'department', as: 'list', case: 'lower' }, ['harbour']],
    [{ from: 'floor' }, 3],
    [{ from: 'floor', only: { one_of: ['3'] } }, 3],
    [{ from: 'floor', map: { 3: 'third' } }, 'third'],
    [{ from: 'active' }, false],
    [{ from: 'missing' }, undefined],
    [{ from: 'missing', default: 'none' }, 'none'],
    [{ from: 'constant', value: true }, true],
    [{ into: ['id_token'] }, undefined],
  ])('%j makes %j (federation 7)', (members, claim) => expect(made(members)).toEqual(claim));

  test('a claim with a special name changes no prototype (federation FR41, F62)', () => {
    const claims = ruledClaims([rule({ claim: 'https://a.example/roles' })], (from) => values[from], 'userinfo');
    expect(Object.keys(claims)).toEqual(['https://a.example/roles']);
  });
});

describe('rules that are refused', () => {
  const refused = (...rules: unknown[]) => !claimRulesShape.safeParse(rules).success;
  test.each([
    'iss',
    'sub',
    'aud',
    'exp',
    'iat',
    'nbf',
    'jti',
    'nonce',
    'azp',
    'sid',
    'auth_time',
    'acr',
    'amr',
    'at_hash',
    'c_hash',
    'cnf',
    'act',
    'email_verified',
    'phone_number_verified',
    'active',
    'scope',
    'client_id',
    'SUB',
    'Acr',
    'sub\u200b',
    '__proto__',
    'constructor',
    'a b',
    '',
    'x'.repeat(256),
  ])('no rule makes %j (federation FR41, F62)', (claim) => expect(refused(rule({ claim }))).toBe(true));
  test.each<[string, unknown[]]>([
    ['the same claim twice in one place', [rule({}), rule({ from: 'roles' })]],
    ['51 rules', Array.from({ length: 51 }, (_, index) => rule({ claim: `c${index}` }))],
    ['a source with another form', [rule({ from: 'user.password' })]],
    ['the subject as a source', [rule({ from: 'sub' })]],
    ['a constant without a value', [rule({ from: 'constant' })]],
    ['a value without a constant', [rule({ value: 'x' })]],
    ['no place', [rule({ into: [] })]],
    ['a step that is not in the list', [{ ...rule({}), script: 'return 1' }]],
    ['a regular expression', [{ ...rule({}), only: { matches: '.*' } }]],
  ])('%s (federation 7, FR41)', (_what, rules) => expect(refused(...rules)).toBe(true));
  test('one claim can have a rule for each place (federation 7)', () =>
    expect(refused(rule({}), rule({ into: ['id_token'] }))).toBe(false));
});

describe('what a client gets', () => {
  const user = {
    sub: 'x',
    username: 'ada',
    email: 'ada@example.com',
    emailVerified: true,
    groups: ['staff'],
    claims: { department: 'Harbour' },
    updatedAt: new Date(0),
    roles: ['admin'],
  };
  const client = {
    ownScopes: { staff: { claims: ['department'], text: {} } },
    claimRules: [
      rule({ claim: 'email', from: 'department', into: ['userinfo'] }),
      rule({ claim: 'dept', from: 'department', into: ['id_token', 'introspection'] }),
      rule({ claim: 'r', from: 'roles', into: ['introspection'] }),
    ],
  };
  const granted = { user, scopes: ['openid', 'email', 'staff', 'roles'], requested: undefined, registered: undefined };

  test('an address that a rule makes is not marked as verified (federation FR41)', () =>
    expect(userinfoClaims(client, granted)).toEqual({ email: 'Harbour', department: 'Harbour', roles: ['admin'] }));
  test('the ID Token has roles and rules, and the rest only if it has all claims (federation 7)', () => {
    expect(idTokenClaims(client, granted, false).claims).toEqual({ roles: ['admin'], dept: 'Harbour' });
    expect(idTokenClaims(client, granted, true).claims).toMatchObject({ email_verified: true, department: 'Harbour' });
  });
  test('introspection by another client has no roles, by scope or by rule (federation FR41, F63)', () => {
    expect(introspectionClaims(client, granted, true)).toMatchObject({
      made: { roles: ['admin'], r: ['admin'], dept: 'Harbour' },
      released: { roles: ['admin'] },
    });
    const foreign = introspectionClaims(client, granted, false);
    expect(foreign.made).toEqual({ dept: 'Harbour' });
    expect(JSON.stringify(foreign)).not.toContain('admin');
  });
  test('groups beyond 6 KiB are left out of the ID Token, and UserInfo has them (federation F65)', () => {
    const many = { ...user, groups: Array.from({ length: 5000 }, (_, index) => `${index}`.padStart(200, 'g')) };
    const asked = { ...granted, user: many, scopes: ['openid', 'groups'] };
    const { claims, groupsOmitted } = idTokenClaims({ ownScopes: {}, claimRules: [] }, asked, true);
    expect({ groupsOmitted, claims }).toEqual({ groupsOmitted: true, claims: {} });
    expect((userinfoClaims(client, asked)['groups'] as string[]).length).toBe(5000);
  });
});
