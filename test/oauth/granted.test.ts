// What is granted is compared with what is asked for, member by member.
import { expect, test } from 'vitest';
import { covers, type Granted, isNothing, lacking, nothing, unite } from '../../src/oauth/granted.ts';

const held: Granted = {
  scope: ['openid', 'email'],
  claims: ['birthdate'],
  resources: { notes: ['read', 'write'] },
  details: [{ type: 'payment', amount: '5' }],
};

test.each<[string, Partial<Granted>, Partial<Granted>]>([
  ['nothing', {}, {}],
  ['a part of each member', { scope: ['email'], claims: ['birthdate'], resources: { notes: ['read'] } }, {}],
  ['another scope', { scope: ['openid', 'phone'] }, { scope: ['phone'] }],
  ['a claim of a granted scope', { claims: ['email_verified'] }, {}],
  ['another claim', { claims: ['birthdate', 'nickname'] }, { claims: ['nickname'] }],
  ['another value of a resource', { resources: { notes: ['read', 'share'] } }, { resources: { notes: ['share'] } }],
  ['another resource', { resources: { mail: ['read'] } }, { resources: { mail: ['read'] } }],
  ['the same details in another order of members', { details: [{ amount: '5', type: 'payment' }] }, {}],
  ['other details', { details: [{ type: 'payment', amount: '6' }] }, { details: [{ type: 'payment', amount: '6' }] }],
])('of a request for %s lacks what was not granted (OpenID Connect Core 3.1.2.4)', (_what, asked, lacked) => {
  const whole = { ...nothing, ...asked };
  expect(lacking(held, whole)).toEqual({ ...nothing, ...lacked });
  expect(covers(held, whole)).toBe(isNothing({ ...nothing, ...lacked }));
});

test('two grants together cover what each of them covers, and nothing else (OpenID Connect Core 3.1.2.4)', () => {
  const added: Granted = {
    scope: ['phone', 'openid'],
    claims: ['nickname'],
    resources: { notes: ['share'], mail: ['read'] },
    details: [{ type: 'payment', amount: '5' }, { type: 'account' }],
  };
  const both = unite(held, added);
  expect(both).toEqual({
    scope: ['openid', 'email', 'phone'],
    claims: ['birthdate', 'nickname'],
    resources: { notes: ['read', 'write', 'share'], mail: ['read'] },
    details: [{ type: 'payment', amount: '5' }, { type: 'account' }],
  });
  expect(covers(both, held) && covers(both, added)).toBe(true);
  expect(unite(nothing, nothing)).toEqual(nothing);
});
