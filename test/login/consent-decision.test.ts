// What a decision on the consent page changes, as a table.
import { expect, test } from 'vitest';
import { decideConsent } from '../../src/login/consent/store-consent.ts';

const allowed = { allowed: true, sub: 'alice' };
const denied = { allowed: false, sub: 'alice' };
const undecided = { decision: undefined };

test.each([
  ['the user allows the request', undecided, allowed, 'grant'],
  ['the user denies the request', undecided, denied, 'deny'],
  ['the user allowed it before, in another tab', { decision: allowed }, denied, 'ignore'],
  ['the user denied it before, in another tab', { decision: denied }, allowed, 'ignore'],
  ['the user sends the form twice', { decision: allowed }, allowed, 'ignore'],
  ['another user decided before', { decision: { allowed: true, sub: 'bob' } }, denied, 'deny'],
  ['another user denied it before', { decision: { allowed: false, sub: 'bob' } }, allowed, 'grant'],
  ['the request was answered before', undefined, allowed, 'ignore'],
])('%s (security R11)', (_, stored, decision, expected) => {
  expect(decideConsent(stored, decision)).toBe(expected);
});
