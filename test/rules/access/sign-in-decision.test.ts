// Whether a user whose factors were verified is signed in, as a table.
import { expect, test } from 'vitest';
import { decideSignIn, type SignInFacts, type SignInRequest } from '../../../src/rules/access/sign-in-decision.ts';

/** An enabled user with a password and two sessions, in a browser where the user signed in before. */
const usual: SignInFacts = {
  enabled: true,
  passwordHash: 'hash',
  enrolled: false,
  knownBrowser: true,
  connections: ['honest'],
  sessions: ['newer', 'older'],
};
const byPassword: SignInRequest = {
  passwordHash: 'hash',
  amr: ['pwd'],
  connection: undefined,
  renews: undefined,
  maxSessions: 0,
};
const byPasskey = { ...byPassword, passwordHash: undefined, amr: ['swk', 'user', 'mfa'] };
const byConnection = { ...byPasskey, amr: ['fed'], connection: 'honest' };
const withBoth = { ...byPassword, amr: ['pwd', 'otp', 'mfa'] };
const signedIn = { notifies: false, ends: [] };
const refused = (refusal: string) => ({ refusal });

test.each<[string, Partial<SignInFacts>, SignInRequest, object]>([
  ['a user with the password is signed in', {}, byPassword, signedIn],
  ['a user with a passkey is signed in without the password', {}, byPasskey, signedIn],
  ['a disabled user is refused', { enabled: false }, byPassword, refused('user')],
  ['a password that changed meanwhile is refused', { passwordHash: 'other' }, byPassword, refused('password')],
  ['a password that was removed is refused', { passwordHash: undefined }, byPassword, refused('password')],
  ['a changed password does not concern a passkey', { passwordHash: 'other' }, byPasskey, signedIn],
  ['a user with a second factor is refused without it', { enrolled: true }, byPassword, refused('second-factor')],
  [
    'a user is signed in without it where the browser spares it',
    { enrolled: true, spares: true },
    { ...byPassword, sparing: true },
    signedIn,
  ],
  ['a browser spares nothing unasked', { enrolled: true, spares: true }, byPassword, refused('second-factor')],
  [
    'a browser spares nothing once the user has other factors, or power',
    { spares: false },
    { ...byPassword, sparing: true },
    refused('second-factor'),
  ],
  ['a user who showed the second factor is signed in', { enrolled: true }, withBoth, signedIn],
  ['a passkey is both factors', { enrolled: true }, byPasskey, signedIn],
  ['the user gets a mail about an unknown browser', { knownBrowser: false }, byPassword, { notifies: true, ends: [] }],
  ['an enabled connection that the user is linked to signs in (federation FR5)', {}, byConnection, signedIn],
  [
    'one that is disabled, or no longer linked, does not (federation FR5)',
    { connections: [] },
    byConnection,
    refused('connection'),
  ],
  ['a session less than the limit ends none', {}, { ...byPassword, maxSessions: 3 }, signedIn],
  ['the oldest session ends at the limit', {}, { ...byPassword, maxSessions: 2 }, { notifies: false, ends: ['older'] }],
  [
    'a limit of one keeps only the new session',
    {},
    { ...byPassword, maxSessions: 1 },
    { notifies: false, ends: ['newer', 'older'] },
  ],
  ['a renewed session ends no other', {}, { ...byPassword, renews: 'older', maxSessions: 1 }, signedIn],
  ['a session that is over is not renewed', {}, { ...byPassword, renews: 'ended' }, refused('session')],
])('%s (security R52, R54, R63, R127)', (_, facts, request, expected) => {
  expect(decideSignIn({ ...usual, ...facts }, request)).toEqual(expected);
});

test('a deleted user is refused (security R54)', () => {
  expect(decideSignIn(undefined, byPasskey)).toEqual({ refusal: 'user' });
});
