// What comes next for an authorization request, as a table: every rule of sign-in and consent on its own.
import { describe, expect, test } from 'vitest';
import { nextStep, type Situation } from '../../src/interaction/next-step.ts';

const start = new Date('2026-01-01T12:00:00Z');
const at = (seconds: number) => new Date(start.getTime() + seconds * 1000);
const redirectUri = 'https://rp.example.com/cb';

/** Signed in a minute ago, granted before, nothing special asked: a code is issued. */
const usual: Situation = {
  prompts: [],
  maxAge: undefined,
  expectedSubs: undefined,
  scope: ['openid', 'email'],
  claims: [],
  redirectUri,
  session: { sub: 'alice', authTime: at(-60), now: at(10), secondFactor: false },
  grant: { scope: ['openid', 'email', 'profile'], claims: [], redirectUris: [redirectUri] },
  acr: 'met',
  firstParty: false,
  selfRegistered: false,
  transaction: undefined,
};

const waiting = { createdAt: start, decision: undefined };
const allowed = { createdAt: start, decision: { allowed: true, sub: 'alice' } };
const denied = { createdAt: start, decision: { allowed: false, sub: 'alice' } };
const freshSession = { sub: 'alice', authTime: at(5), now: at(10), secondFactor: false };
const bothFactors = { ...freshSession, secondFactor: true };

const told = (code: string) => ({ step: 'error', code });
const issue = { step: 'issue', recordGrant: false };
const login = { step: 'login' };
const signUp = { step: 'sign-up' };
const stepUp = { step: 'second-factor' };
const consent = { step: 'consent' };

type Case = [what: string, change: Partial<Situation>, expected: object];
const run = (cases: Case[], clause: string) =>
  test.each(cases)(`%s (${clause})`, (_what, change, expected) => {
    expect(nextStep({ ...usual, ...change })).toMatchObject(expected);
  });

describe('sign-in', () => {
  run(
    [
      ['a passkey is demanded, and there is none yet', { acr: 'demanded', passkey: 'make' }, { step: 'passkey' }],
      [
        'a passkey is demanded, and none was used yet',
        { acr: 'demanded', passkey: 'use', transaction: waiting, session: bothFactors },
        stepUp,
      ],
      [
        'a passkey is demanded, silent',
        { acr: 'demanded', passkey: 'make', prompts: ['none'] },
        told('login_required'),
      ],
    ],
    'RFC 9470 5',
  );
  run(
    [
      ['an account is wanted, and nobody is signed in', { session: undefined, prompts: ['create'] }, signUp],
      [
        'an account is wanted, and somebody is signed in from before',
        { prompts: ['create'], transaction: waiting },
        signUp,
      ],
      [
        'an account is wanted, and somebody signed in for it',
        { prompts: ['create'], transaction: waiting, session: freshSession },
        issue,
      ],
    ],
    'Initiating User Registration 1.0, 4.1',
  );
  run(
    [
      ['a signed-in person with a grant is asked nothing', {}, issue],
      ['nobody is signed in', { session: undefined, grant: undefined }, login],
      ['nobody is signed in, silent', { session: undefined, prompts: ['none'] }, told('login_required')],
      ['silent, and nothing is to ask', { prompts: ['none'] }, issue],
    ],
    'OpenID Connect Core 3.1.2.1',
  );
  run(
    [
      ['prompt=login before any page', { prompts: ['login'] }, login],
      ['prompt=login, session from before the request', { prompts: ['login'], transaction: waiting }, login],
      [
        'prompt=login, session from after it',
        { prompts: ['login'], transaction: waiting, session: freshSession },
        issue,
      ],
      [
        'prompt=login, session of the very moment',
        { prompts: ['login'], transaction: waiting, session: { ...freshSession, authTime: start } },
        login,
      ],
      ['prompt=login is not met by a decision', { prompts: ['login'], transaction: allowed }, login],
      ['prompt=select_account before any page', { prompts: ['select_account'] }, login],
      [
        'prompt=select_account after a sign-in',
        { prompts: ['select_account'], transaction: waiting, session: freshSession },
        issue,
      ],
      ['max_age older than the sign-in', { maxAge: 71 }, issue],
      ['max_age equal to its age', { maxAge: 70 }, issue],
      ['max_age younger than it', { maxAge: 69 }, login],
      ['max_age=0', { maxAge: 0 }, login],
      ['max_age=0 after a sign-in', { maxAge: 0, transaction: waiting, session: freshSession }, issue],
      ['max_age, silent', { maxAge: 1, prompts: ['none'] }, told('login_required')],
      ['max_age is not met by a decision', { maxAge: 1, transaction: allowed }, login],
    ],
    'security R9',
  );
  run(
    [
      ['the hint names who is signed in', { expectedSubs: ['alice'] }, issue],
      ['the hint names somebody else', { expectedSubs: ['bob'] }, login],
      ['the hint names somebody else, silent', { expectedSubs: ['bob'], prompts: ['none'] }, told('login_required')],
      [
        'somebody else signed in for it',
        { expectedSubs: ['bob'], transaction: waiting, session: freshSession },
        told('login_required'),
      ],
      [
        'the hinted one signed in for it',
        { expectedSubs: ['alice'], transaction: waiting, session: freshSession },
        issue,
      ],
      ['a decision does not make up for it', { expectedSubs: ['bob'], transaction: allowed }, login],
      ['one of several is signed in', { expectedSubs: ['bob', 'alice'] }, issue],
      ['hint and claims agree on nobody', { expectedSubs: [], prompts: ['none'] }, told('login_required')],
    ],
    'security A6',
  );
  run(
    [
      ['a password alone is asked for a second factor', { acr: 'demanded' }, stepUp],
      ['not with prompt=none', { acr: 'demanded', prompts: ['none'] }, told('login_required')],
      ['by a page of the request too', { acr: 'demanded', transaction: waiting }, stepUp],
      ['right after the password', { acr: 'demanded', transaction: waiting, session: freshSession }, stepUp],
      ['two factors from before the request are asked again', { acr: 'demanded', session: bothFactors }, stepUp],
      [
        'two factors that do not reach it either end it',
        { acr: 'demanded', transaction: waiting, session: bothFactors },
        told('unmet_authentication_requirements'),
      ],
      ['nor does a decision make up for it', { acr: 'demanded', transaction: allowed }, stepUp],
      ['an older sign-in than max_age begins with the password', { acr: 'demanded', maxAge: 1 }, login],
      ['a wish is asked for as well', { acr: 'wished' }, stepUp],
      ['but keeps nobody out with prompt=none', { acr: 'wished', prompts: ['none'] }, issue],
      ['nor after two factors', { acr: 'wished', transaction: waiting, session: bothFactors }, issue],
    ],
    'OpenID Connect Core 5.5.1.1',
  );
});

describe('consent', () => {
  run(
    [
      ['no grant', { grant: undefined }, consent],
      ['a grant of less', { grant: { scope: ['openid'], claims: [], redirectUris: [redirectUri] } }, consent],
      [
        'a grant of less, silent',
        { prompts: ['none'], grant: { scope: ['openid'], claims: [], redirectUris: [] } },
        told('consent_required'),
      ],
      ['a claim beside the scopes', { claims: ['phone_number'] }, consent],
      ['a claim beside the scopes, silent', { claims: ['phone_number'], prompts: ['none'] }, told('consent_required')],
      [
        'a claim that was granted',
        { claims: ['phone_number'], grant: { ...usual.grant!, claims: ['phone_number'] } },
        issue,
      ],
      ['a claim of a scope that was granted', { claims: ['nickname'] }, { step: 'issue', recordGrant: true }],
      ['prompt=consent though granted', { prompts: ['consent'] }, consent],
      ['prompt=consent after yes', { prompts: ['consent'], transaction: allowed }, issue],
      [
        'prompt=login consent after a sign-in',
        { prompts: ['login', 'consent'], transaction: waiting, session: freshSession },
        consent,
      ],
      ['yes', { transaction: allowed }, issue],
      ['yes, but the grant was withdrawn meanwhile', { transaction: allowed, grant: undefined }, consent],
      ['no, without a grant', { transaction: denied, grant: undefined }, told('access_denied')],
      ['no, with a grant from before', { transaction: denied }, told('access_denied')],
      [
        "another person's yes",
        { grant: undefined, transaction: { ...allowed, decision: { allowed: true, sub: 'bob' } } },
        consent,
      ],
      ["another person's no", { transaction: { ...denied, decision: { allowed: false, sub: 'bob' } } }, issue],
      ['nobody signed in, after yes', { session: undefined, transaction: allowed }, login],
    ],
    'decisions section 3',
  );
  run(
    [
      [
        'a first-party client without a grant',
        { firstParty: true, grant: undefined },
        { step: 'issue', recordGrant: true },
      ],
      [
        'a first-party client, silent',
        { firstParty: true, grant: undefined, prompts: ['none'] },
        { step: 'issue', recordGrant: true },
      ],
      ['a first-party client with a grant', { firstParty: true }, issue],
      ['a first-party client, nobody signed in', { firstParty: true, session: undefined }, login],
      ['a first-party client with prompt=login', { firstParty: true, prompts: ['login'] }, login],
    ],
    'decisions section 3',
  );
  run(
    [
      ['a self-registered client at its granted address', { selfRegistered: true }, issue],
      [
        'a self-registered client at another address',
        { selfRegistered: true, redirectUri: 'https://rp.example.com/2' },
        consent,
      ],
      [
        'the same, silent',
        { selfRegistered: true, redirectUri: 'https://rp.example.com/2', prompts: ['none'] },
        told('consent_required'),
      ],
      ['a looked-at client at another address', { redirectUri: 'https://rp.example.com/2' }, issue],
    ],
    'security A25',
  );
});
