// The policy decides the next step of an authorization request: a table with a case for each rule of sign-in and consent.
import { describe, expect, test } from 'vitest';
import { type Asked, decide, type Facts } from '../../src/interaction/next-step.ts';

const start = new Date('2026-01-01T12:00:00Z');
const at = (seconds: number) => new Date(start.getTime() + seconds * 1000);
const redirectUri = 'https://rp.example.com/cb';

function session(authTime: Date, ...methods: string[]): NonNullable<Facts['session']> {
  const user = { sub: 'alice', admin: false, groups: ['staff'] };
  return { user, authTime, now: at(10), amr: ['pwd', ...methods], enrolled: false };
}

/** The user signed in a minute ago and has granted the scopes, and the request has no conditions: a code is issued. */
const ordinary: Facts & Asked = {
  prompts: [],
  maxAge: undefined,
  expectedSubs: undefined,
  scope: ['openid', 'email'],
  resources: {},
  resourceAcrs: [],
  claims: [],
  redirectUri,
  session: session(at(-60)),
  grant: { scope: ['openid', 'email', 'profile'], claims: [], redirectUris: [redirectUri], resources: {} },
  acr: { values: [], essential: false },
  client: { firstParty: false, selfRegistered: false, requiredAcr: undefined },
  access: 'yes',
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
const essentialAcr = { acr: { values: ['urn:gatehouse:acr:mfa'], essential: true } };
const voluntaryAcr = { acr: { values: ['urn:gatehouse:acr:mfa'], essential: false } };
/** An acr that two factors do not satisfy without a passkey. */
const passkeyRequired = { acr: { values: ['phr'], essential: true } };
const firstParty = { client: { ...ordinary.client, firstParty: true } };
const selfRegistered = { client: { ...ordinary.client, selfRegistered: true } };

const errorStep = (code: string) => ({ step: 'error', code });
const issue = { step: 'issue', recordGrant: false };
const login = { step: 'login' };
const chooser = { step: 'select-account' };
const signUp = { step: 'sign-up' };
const stepUp = { step: 'second-factor' };
const consent = { step: 'consent' };

type Case = [what: string, change: Partial<Facts & Asked>, expected: object];
const run = (cases: Case[], clause: string) =>
  test.each(cases)(`%s (${clause})`, (_what, change, expected) => {
    const all = { ...ordinary, ...change };
    expect(decide(all, all)).toMatchObject(expected);
  });

describe('sign-in', () => {
  run(
    [
      [
        'a required passkey that the user does not have is created',
        { ...passkeyRequired, passkeys: 'none' },
        { step: 'passkey' },
      ],
      [
        'a required passkey that has not been used is requested',
        { ...passkeyRequired, passkeys: 'some', transaction: waiting, session: bothFactors },
        stepUp,
      ],
      [
        'a required passkey is login_required with prompt=none',
        { ...passkeyRequired, passkeys: 'none', prompts: ['none'] },
        errorStep('login_required'),
      ],
    ],
    'RFC 9470 5',
  );
  run(
    [
      ['prompt=create shows sign-up to a signed-out user', { session: undefined, prompts: ['create'] }, signUp],
      [
        'prompt=create shows sign-up to a user who signed in before the request',
        { prompts: ['create'], transaction: waiting },
        signUp,
      ],
      [
        'prompt=create continues after a sign-in for the request',
        { prompts: ['create'], transaction: waiting, session: freshSession },
        issue,
      ],
    ],
    'Initiating User Registration 1.0, 4.1',
  );
  run(
    [
      ['a signed-in user with a grant sees no page', {}, issue],
      ['a signed-out user signs in', { session: undefined, grant: undefined }, login],
      [
        'prompt=none for a signed-out user is login_required',
        { session: undefined, prompts: ['none'] },
        errorStep('login_required'),
      ],
      ['prompt=none is satisfied if no page is needed', { prompts: ['none'] }, issue],
    ],
    'OpenID Connect Core 3.1.2.1',
  );
  run(
    [
      ['prompt=login asks for a sign-in before any page', { prompts: ['login'] }, login],
      [
        'prompt=login is not satisfied by a session from before the request',
        { prompts: ['login'], transaction: waiting },
        login,
      ],
      [
        'prompt=login is satisfied by a session from after the request',
        { prompts: ['login'], transaction: waiting, session: freshSession },
        issue,
      ],
      [
        'prompt=login is not satisfied by a session of the same moment',
        { prompts: ['login'], transaction: waiting, session: { ...freshSession, authTime: start } },
        login,
      ],
      ['prompt=login is not satisfied by a decision', { prompts: ['login'], transaction: allowed }, login],
      ['prompt=select_account lets the user choose before any page', { prompts: ['select_account'] }, chooser],
      [
        'prompt=select_account lets a signed-out user choose, too',
        { prompts: ['select_account'], session: undefined, grant: undefined },
        chooser,
      ],
      [
        'prompt=select_account comes before prompt=login, max_age and another expected user',
        { prompts: ['login', 'select_account'], maxAge: 0, expectedSubs: ['other'] },
        chooser,
      ],
      [
        'prompt=select_account is not satisfied by a session from before the request',
        { prompts: ['select_account'], transaction: waiting },
        chooser,
      ],
      [
        'prompt=select_account is not satisfied by a decision',
        { prompts: ['select_account'], transaction: allowed },
        chooser,
      ],
      [
        'prompt=select_account is satisfied by a sign-in',
        { prompts: ['select_account'], transaction: waiting, session: freshSession },
        issue,
      ],
      ['a max_age above the age of the sign-in is satisfied', { maxAge: 71 }, issue],
      ['a max_age equal to the age of the sign-in is satisfied', { maxAge: 70 }, issue],
      ['a max_age below the age of the sign-in asks for a sign-in', { maxAge: 69 }, login],
      ['max_age=0 asks for a sign-in', { maxAge: 0 }, login],
      [
        'max_age=0 is satisfied by a sign-in for the request',
        { maxAge: 0, transaction: waiting, session: freshSession },
        issue,
      ],
      [
        'an exceeded max_age is login_required with prompt=none',
        { maxAge: 1, prompts: ['none'] },
        errorStep('login_required'),
      ],
      ['max_age is not satisfied by a decision', { maxAge: 1, transaction: allowed }, login],
    ],
    'security R9',
  );
  run(
    [
      ['a hint that names the signed-in user is satisfied', { expectedSubs: ['alice'] }, issue],
      ['a hint that names another user asks for a sign-in', { expectedSubs: ['bob'] }, login],
      [
        'a hint that names another user is login_required with prompt=none',
        { expectedSubs: ['bob'], prompts: ['none'] },
        errorStep('login_required'),
      ],
      [
        'a sign-in of another user than the hint names is login_required',
        { expectedSubs: ['bob'], transaction: waiting, session: freshSession },
        errorStep('login_required'),
      ],
      [
        'a sign-in of the user whom the hint names is accepted',
        { expectedSubs: ['alice'], transaction: waiting, session: freshSession },
        issue,
      ],
      [
        'a decision does not replace the sign-in of the user whom the hint names',
        { expectedSubs: ['bob'], transaction: allowed },
        login,
      ],
      ['a claims parameter with several subjects accepts one of them', { expectedSubs: ['bob', 'alice'] }, issue],
      [
        'a hint and a claims parameter with no common subject are login_required with prompt=none',
        { expectedSubs: [], prompts: ['none'] },
        errorStep('login_required'),
      ],
    ],
    'security A6',
  );
  run(
    [
      ['an essential acr asks a user with the password only for a second factor', { ...essentialAcr }, stepUp],
      [
        'an essential acr is login_required with prompt=none',
        { ...essentialAcr, prompts: ['none'] },
        errorStep('login_required'),
      ],
      [
        'an essential acr asks for a second factor on a page of the request, too',
        { ...essentialAcr, transaction: waiting },
        stepUp,
      ],
      [
        'an essential acr asks for a second factor right after the password',
        { ...essentialAcr, transaction: waiting, session: freshSession },
        stepUp,
      ],
      ['two factors from before the request are requested again', { ...passkeyRequired, session: bothFactors }, stepUp],
      [
        'two factors that still do not satisfy the acr are unmet_authentication_requirements',
        { ...passkeyRequired, transaction: waiting, session: bothFactors },
        errorStep('unmet_authentication_requirements'),
      ],
      ['a decision does not replace the second factor', { ...essentialAcr, transaction: allowed }, stepUp],
      ['a sign-in over max_age begins with the password', { ...essentialAcr, maxAge: 1 }, login],
      ['a voluntary acr asks an enrolled user for a second factor', { ...voluntaryAcr, session: enrolled }, stepUp],
      ['a voluntary acr does not ask a user without a second factor', { ...voluntaryAcr }, issue],
      ['a voluntary acr is ignored with prompt=none', { ...voluntaryAcr, session: enrolled, prompts: ['none'] }, issue],
      [
        'a voluntary acr is ignored after two factors',
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
      [
        'a client can require two factors',
        { client: { ...ordinary.client, requiredAcr: 'urn:gatehouse:acr:mfa' } },
        stepUp,
      ],
      ['a resource can require two factors', { resourceAcrs: ['urn:gatehouse:acr:mfa'] }, stepUp],
      [
        'a resource that requires two factors is satisfied by them',
        { resourceAcrs: ['urn:gatehouse:acr:mfa'], session: bothFactors },
        issue,
      ],
      ['the service can require two factors of every user', { secondFactor: { of: 'everyone', groups: [] } }, stepUp],
      [
        'the service can require two factors of the members of a group',
        { secondFactor: { of: 'off', groups: ['staff'] } },
        stepUp,
      ],
      [
        'the requirement for a group does not apply to members of another group',
        { secondFactor: { of: 'off', groups: ['guests'] } },
        issue,
      ],
      [
        'the requirement for administrators does not apply to other users',
        { secondFactor: { of: 'administrators', groups: [] } },
        issue,
      ],
      [
        'a requirement for two factors is satisfied by two factors',
        { secondFactor: { of: 'everyone', groups: [] }, session: bothFactors },
        issue,
      ],
      [
        'a browser spares what the service requires of every user',
        { secondFactor: { of: 'everyone', groups: [] }, session: { ...enrolled, spared: true } },
        issue,
      ],
      [
        'it spares nothing that a client requires',
        {
          client: { ...ordinary.client, requiredAcr: 'urn:gatehouse:acr:mfa' },
          session: { ...enrolled, spared: true },
        },
        stepUp,
      ],
      ['it spares nothing that a request demands', { ...essentialAcr, session: { ...enrolled, spared: true } }, stepUp],
      [
        'it spares nothing once the user has no second factor',
        { secondFactor: { of: 'everyone', groups: [] }, session: { ...enrolled, enrolled: false, spared: true } },
        stepUp,
      ],
      [
        'it spares nothing that is required of the members of a group',
        { secondFactor: { of: 'everyone', groups: ['staff'] }, session: { ...enrolled, spared: true } },
        stepUp,
      ],
      [
        'a session with an old sign-in cannot create a passkey',
        { ...passkeyRequired, passkeys: 'none', session: session(at(-3600)) },
        stepUp,
      ],
      [
        'a session with the password only cannot create a passkey if the user has a second factor',
        { ...passkeyRequired, passkeys: 'none', session: enrolled },
        stepUp,
      ],
    ],
    'security R127, R91',
  );
});

describe('consent', () => {
  run(
    [
      ['a user without a grant is asked for consent', { grant: undefined }, consent],
      [
        'a user who has not granted the scope of a resource is asked for consent',
        {
          resources: { notes: ['read'] },
          grant: { ...ordinary.grant!, resources: { mail: ['read'], notes: ['write'] } },
        },
        consent,
      ],
      [
        'a user who has granted the scope of the resource is not asked again',
        { resources: { notes: ['read'] }, grant: { ...ordinary.grant!, resources: { notes: ['read', 'write'] } } },
        issue,
      ],
      [
        'a user with a narrower grant is asked for consent',
        { grant: { scope: ['openid'], claims: [], redirectUris: [redirectUri], resources: {} } },
        consent,
      ],
      [
        'a narrower grant is consent_required with prompt=none',
        { prompts: ['none'], grant: { scope: ['openid'], claims: [], redirectUris: [], resources: {} } },
        errorStep('consent_required'),
      ],
      ['a claim beside the scopes needs consent', { claims: ['phone_number'] }, consent],
      [
        'a claim beside the scopes is consent_required with prompt=none',
        { claims: ['phone_number'], prompts: ['none'] },
        errorStep('consent_required'),
      ],
      [
        'a claim in the grant needs no consent',
        { claims: ['phone_number'], grant: { ...ordinary.grant!, claims: ['phone_number'] } },
        issue,
      ],
      [
        'a claim of a granted scope is added to the grant without consent',
        { claims: ['nickname'] },
        { step: 'issue', recordGrant: true },
      ],
      ['prompt=consent asks for consent in spite of a grant', { prompts: ['consent'] }, consent],
      ['prompt=consent is satisfied when the user allows', { prompts: ['consent'], transaction: allowed }, issue],
      [
        'prompt=login consent asks for consent after the sign-in',
        { prompts: ['login', 'consent'], transaction: waiting, session: freshSession },
        consent,
      ],
      ['a user who allows continues to the client', { transaction: allowed }, issue],
      [
        'a user who allows is asked again if the grant was withdrawn meanwhile',
        { transaction: allowed, grant: undefined },
        consent,
      ],
      [
        'a denial without a grant is access_denied',
        { transaction: denied, grant: undefined },
        errorStep('access_denied'),
      ],
      ['a denial with an earlier grant is access_denied', { transaction: denied }, errorStep('access_denied')],
      [
        "another user's consent does not count",
        { grant: undefined, transaction: { ...allowed, decision: { allowed: true, sub: 'bob' } } },
        consent,
      ],
      [
        "another user's denial does not count",
        { transaction: { ...denied, decision: { allowed: false, sub: 'bob' } } },
        issue,
      ],
      ['a user who is signed out after consent signs in again', { session: undefined, transaction: allowed }, login],
    ],
    'decisions section 3',
  );
  run(
    [
      [
        'a first-party client needs no grant',
        { ...firstParty, grant: undefined },
        { step: 'issue', recordGrant: true },
      ],
      [
        'a first-party client needs no grant with prompt=none',
        { ...firstParty, grant: undefined, prompts: ['none'] },
        { step: 'issue', recordGrant: true },
      ],
      ['a first-party client with a grant gets a code', { ...firstParty }, issue],
      ['a signed-out user signs in for a first-party client', { ...firstParty, session: undefined }, login],
      ['prompt=login of a first-party client asks for a sign-in', { ...firstParty, prompts: ['login'] }, login],
    ],
    'decisions section 3',
  );
  run(
    [
      ['a self-registered client needs no consent at the granted redirect URI', { ...selfRegistered }, issue],
      [
        'a self-registered client needs consent at another redirect URI',
        { ...selfRegistered, redirectUri: 'https://rp.example.com/2' },
        consent,
      ],
      [
        'a self-registered client at another redirect URI is consent_required with prompt=none',
        { ...selfRegistered, redirectUri: 'https://rp.example.com/2', prompts: ['none'] },
        errorStep('consent_required'),
      ],
      [
        'an approved client needs no consent at another redirect URI',
        { redirectUri: 'https://rp.example.com/2' },
        issue,
      ],
    ],
    'security A25',
  );
});
