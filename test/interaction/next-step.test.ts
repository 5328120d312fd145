// What comes next for an authorization request, as a table: every rule of sign-in and consent on its own.
import { describe, expect, test } from 'vitest';
import { type Asked, decide, type Facts } from '../../src/interaction/next-step.ts';

const start = new Date('2026-01-01T12:00:00Z');
const at = (seconds: number) => new Date(start.getTime() + seconds * 1000);
const redirectUri = 'https://rp.example.com/cb';

function session(authTime: Date, ...shown: string[]): NonNullable<Facts['session']> {
  const user = { sub: 'alice', admin: false, groups: ['staff'] };
  return { user, authTime, now: at(10), amr: ['pwd', ...shown], enrolled: false };
}

/** Signed in a minute ago, granted before, nothing special asked: a code is issued. */
const usual: Facts & Asked = {
  prompts: [],
  maxAge: undefined,
  expectedSubs: undefined,
  scope: ['openid', 'email'],
  claims: [],
  redirectUri,
  session: session(at(-60)),
  grant: { scope: ['openid', 'email', 'profile'], claims: [], redirectUris: [redirectUri] },
  acr: { values: [], essential: false },
  client: { firstParty: false, selfRegistered: false, requiredAcr: undefined },
  secondFactor: { of: 'off', groups: [] },
  passkeys: 'unavailable',
  transaction: undefined,
};

const waiting = { createdAt: start, decision: undefined };
const allowed = { createdAt: start, decision: { allowed: true, sub: 'alice' } };
const denied = { createdAt: start, decision: { allowed: false, sub: 'alice' } };
const freshSession = session(at(5));
const bothFactors = session(at(5), 'otp', 'mfa');
const enrolled = { ...session(at(-60)), enrolled: true };
const demanded = { acr: { values: ['urn:gatehouse:acr:mfa'], essential: true } };
const voluntary = { acr: { values: ['urn:gatehouse:acr:mfa'], essential: false } };
/** A level that two factors do not reach without a passkey. */
const passkeyDemanded = { acr: { values: ['phr'], essential: true } };
const firstParty = { client: { ...usual.client, firstParty: true } };
const selfRegistered = { client: { ...usual.client, selfRegistered: true } };

const told = (code: string) => ({ step: 'error', code });
const issue = { step: 'issue', recordGrant: false };
const login = { step: 'login' };
const signUp = { step: 'sign-up' };
const stepUp = { step: 'second-factor' };
const consent = { step: 'consent' };

type Case = [what: string, change: Partial<Facts & Asked>, expected: object];
const run = (cases: Case[], clause: string) =>
  test.each(cases)(`%s (${clause})`, (_what, change, expected) => {
    const all = { ...usual, ...change };
    expect(decide(all, all)).toMatchObject(expected);
  });

describe('sign-in', () => {
  run(
    [
      ['a passkey is demanded, and there is none yet', { ...passkeyDemanded, passkeys: 'none' }, { step: 'passkey' }],
      [
        'a passkey is demanded, and none was used yet',
        { ...passkeyDemanded, passkeys: 'some', transaction: waiting, session: bothFactors },
        stepUp,
      ],
      [
        'a passkey is demanded, silent',
        { ...passkeyDemanded, passkeys: 'none', prompts: ['none'] },
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
      ['a password alone is asked for a second factor', { ...demanded }, stepUp],
      ['not with prompt=none', { ...demanded, prompts: ['none'] }, told('login_required')],
      ['by a page of the request too', { ...demanded, transaction: waiting }, stepUp],
      ['right after the password', { ...demanded, transaction: waiting, session: freshSession }, stepUp],
      ['two factors from before the request are asked again', { ...passkeyDemanded, session: bothFactors }, stepUp],
      [
        'two factors that do not reach it either end it',
        { ...passkeyDemanded, transaction: waiting, session: bothFactors },
        told('unmet_authentication_requirements'),
      ],
      ['nor does a decision make up for it', { ...demanded, transaction: allowed }, stepUp],
      ['an older sign-in than max_age begins with the password', { ...demanded, maxAge: 1 }, login],
      ['a voluntary level is asked for as well', { ...voluntary, session: enrolled }, stepUp],
      ['but not of a user without a second factor', { ...voluntary }, issue],
      ['but keeps nobody out with prompt=none', { ...voluntary, session: enrolled, prompts: ['none'] }, issue],
      [
        'nor after two factors',
        {
          acr: { values: ['phr'], essential: false },
          transaction: waiting,
          session: { ...bothFactors, enrolled: true },
        },
        issue,
      ],
    ],
    'OpenID Connect Core 5.5.1.1',
  );
  run(
    [
      ['the client demands two factors', { client: { ...usual.client, requiredAcr: 'urn:gatehouse:acr:mfa' } }, stepUp],
      ['the service demands two factors of everybody', { secondFactor: { of: 'everyone', groups: [] } }, stepUp],
      ['of the members of a group', { secondFactor: { of: 'off', groups: ['staff'] } }, stepUp],
      ['but not of the members of another one', { secondFactor: { of: 'off', groups: ['guests'] } }, issue],
      ['nor of a user who is no administrator', { secondFactor: { of: 'administrators', groups: [] } }, issue],
      [
        'and is content with two factors',
        { secondFactor: { of: 'everyone', groups: [] }, session: bothFactors },
        issue,
      ],
      [
        'a session from long ago makes no passkey',
        { ...passkeyDemanded, passkeys: 'none', session: session(at(-3600)) },
        stepUp,
      ],
      [
        'nor does one by the password alone where a second factor was set up',
        { ...passkeyDemanded, passkeys: 'none', session: enrolled },
        stepUp,
      ],
    ],
    'security R127, R91',
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
        { ...firstParty, grant: undefined },
        { step: 'issue', recordGrant: true },
      ],
      [
        'a first-party client, silent',
        { ...firstParty, grant: undefined, prompts: ['none'] },
        { step: 'issue', recordGrant: true },
      ],
      ['a first-party client with a grant', { ...firstParty }, issue],
      ['a first-party client, nobody signed in', { ...firstParty, session: undefined }, login],
      ['a first-party client with prompt=login', { ...firstParty, prompts: ['login'] }, login],
    ],
    'decisions section 3',
  );
  run(
    [
      ['a self-registered client at its granted address', { ...selfRegistered }, issue],
      [
        'a self-registered client at another address',
        { ...selfRegistered, redirectUri: 'https://rp.example.com/2' },
        consent,
      ],
      [
        'the same, silent',
        { ...selfRegistered, redirectUri: 'https://rp.example.com/2', prompts: ['none'] },
        told('consent_required'),
      ],
      ['a looked-at client at another address', { redirectUri: 'https://rp.example.com/2' }, issue],
    ],
    'security A25',
  );
});
