// The data that each page shows: the contract between the endpoints and the templates, and an example of each.
//
// Every path here (`action`, `switchAccountUri`, `accountUri`, `logoutUri`) begins with "/" and hangs below the base
// address: the renderer puts the base address's own path before it.

/** The client as a person sees it: everything here is untrusted text or a URL that registration has validated. */
export interface ClientView {
  clientId: string;
  /** The client_name, or the client_id when it registered none. */
  name: string;
  logoUri?: string;
  policyUri?: string;
  tosUri?: string;
  /** The client_uri that it registered: where a person finds the application again. */
  homeUri?: string;
  /** Host of the redirect URI in use, e.g. "shop.example". */
  host: string;
  /** True when no administrator has looked at this registration (REGISTRATION_APPROVAL=automatic). */
  selfRegistered: boolean;
}

/** A claim as a person reads it: its text, and its day if it is one. Untrusted text. */
export interface ClaimText {
  claim: string;
  /** Empty where there is no value. */
  value: string;
  day?: Date;
}

export interface AccountView {
  username: string;
  /** The display name, when one is known. */
  name?: string;
}

/** Hidden fields that every form carries: the pending authorization request (if any) and the anti-forgery token. */
export interface FormView {
  /** Path and query that the form posts to, e.g. "/login". */
  action: string;
  /** Name/value pairs of hidden inputs; always holds `csrf`, and `transaction` where a request is pending. */
  hidden: Record<string, string>;
}

/** A registration as an administrator decides about it: untrusted text, all of it. */
export interface RegistrationFacts {
  name: string;
  /** Hosts of the redirect URIs, or schemes of a native application's. */
  hosts: string[];
  redirectUris: string[];
  responseTypes: string[];
  grantTypes: string[];
  scopes: string[];
  /** The token_endpoint_auth_method. */
  authenticationMethod: string;
  /** Type, algorithm and name of each registered key. */
  keys: string[];
  umaProfile: boolean;
  contacts: string[];
  uris: { member: 'client_uri' | 'policy_uri' | 'tos_uri' | 'logo_uri' | 'jwks_uri'; uri: string }[];
  registeredAt: Date;
  /** Where it came from, if known. */
  address?: string;
  /** Every member of the effective metadata. */
  members: { member: string; value: string }[];
}

/** Why the sign-in page shows a message; each is a key of the message catalogue under `login.problem.`. */
export type LoginProblem =
  | 'credentials' // wrong user name or password: both read the same
  | 'missing' // a field was left empty
  | 'expired' // the form or the request behind it is too old
  | 'tampered' // the anti-forgery token or the origin did not match
  | 'busy' // too many sign-ins at once: try again in a moment
  | 'throttled' // too many tries from this network
  | 'client' // unknown or disabled client, or wrong redirect_uri: not the person's fault, no form
  | 'request' // the application sent a faulty request: not the person's fault, no form
  | 'cookies'; // the browser did not send the cookie that binds the request: cookies must be allowed

export interface Pages {
  /** Sign-in. `form` absent: signing in could not help, so none is offered. */
  login: {
    client?: ClientView;
    form?: FormView;
    /** What the person typed before, or login_hint. */
    username?: string;
    problem?: LoginProblem;
    /** With `throttled`: seconds until the next try. */
    wait?: number;
    /** Fields that the problem is about: each gets its own sentence (`login.field.username`, `login.field.password`). */
    fields?: ('username' | 'password')[];
    /** Set when a person is signed in already and is asked again (prompt=login, max_age). */
    reauthentication?: AccountView;
    /** Without a client: the page that the person goes on to, if it is not the account page. */
    destination?: 'registration' | 'data';
    /** Where a password can be reset: a path of the service or an https address. Absent: no link is shown. */
    forgottenPasswordUri?: string;
    /** A short reference for the operator's log. */
    reference?: string;
  };
  consent: {
    client: ClientView;
    account: AccountView;
    form: FormView;
    /** Where to switch the account: a path that signs in as somebody else and returns here. */
    switchAccountUri: string;
    /** What is asked for, one entry a scope, with the values that would be released (name of the claim, its text, and its day if it is one). */
    scopes: { scope: string; claims: ClaimText[] }[];
    /** Single claims beside those of the scopes, each with its text, which is empty where there is no value yet. */
    claims?: ClaimText[];
    problem?: 'expired' | 'tampered';
  };
  /** "Continue to CLIENT as USER", one protected button (the /authenticate short form). */
  continue: { client: ClientView; account: AccountView; form: FormView };
  /** Sign-out question. */
  logout: { client?: ClientView; account: AccountView; form: FormView; problem?: 'expired' | 'tampered' };
  /** After sign-out; `stayed` when the person chose to stay signed in. */
  'signed-out': {
    client?: ClientView;
    stayed: boolean;
    problem?: 'hint' | 'redirect';
    accountUri: string;
    /** Applications to go back to, with the client_uri of each. */
    applications?: { name: string; uri: string }[];
    /** Front-channel logout: addresses to load in hidden frames; the policy's `frame-src` has to name their origins. */
    frames?: string[];
    /** The validated post-logout redirect URI, `state` included: the page goes on to it once the frames have loaded. */
    continueUri?: string;
  };
  /** Something is wrong that no form could mend. `kind` is a key under `error.kind.` of the catalogue. */
  error: {
    kind:
      | 'not-found'
      | 'client'
      | 'request'
      | 'expired'
      | 'answered'
      | 'busy'
      | 'too-many'
      | 'unavailable'
      | 'server'
      | 'tampered'
      | 'logout-hint'
      | 'logout-redirect'
      | 'navigation'
      | 'too-large'
      | 'method'
      | 'administrators';
    reference: string;
    client?: ClientView;
  };
  /** The provider's page for a person whom an application did not admit. */
  'access-denied': { client?: ClientView; account?: AccountView };
  /** Response mode form_post: submits itself by script, with a button for browsers without. */
  'form-post': { action: string; parameters: [string, string][]; client?: ClientView };
  account: {
    account: AccountView;
    /** What is stored about the person, and the names of the applications with a grant that covers it. */
    profile: (ClaimText & { seenBy: string[] })[];
    /** Applications with a remembered grant, and what they keep about the person. */
    grants: {
      clientId: string;
      name: string;
      scopes: string[];
      claims?: string[];
      since: Date;
      /** Each value as JSON, or for a long one its size in bytes. */
      settings: { key: string; value?: string; size: number }[];
    }[];
    /** Where one is signed in, this browser first. */
    sessions: {
      sid: string;
      browser?: string;
      system?: string;
      signedInAt: Date;
      usedAt: Date;
      /** Names of those that take part. */
      applications: string[];
      current: boolean;
    }[];
    /** Where the password is changed. */
    passwordUri: string;
    logoutUri: string;
    /** Posts `withdraw` with the client_id of the grant to end. */
    form: FormView;
    /** Posts `end` with the sid of the session to end. */
    sessionForm: FormView;
    /** Ends all sessions but this one. Absent: there is no other. */
    otherSessionsForm?: FormView;
    /** Answers with a file; after a sign-in, if the last one is not recent. */
    dataForm: FormView;
    problem?: 'expired' | 'tampered';
    /** What the person has just done here. */
    done?: 'withdrawn';
  };
  /** A person changes the own password: posts `current_password` and `new_password`. */
  'account-password': {
    account: AccountView;
    /** For password managers, which keep it beside the password. */
    username: string;
    form: FormView;
    /** How many characters a new password has. */
    least: number;
    most: number;
    accountUri: string;
    /** What is wrong with each field: keys of the catalogue under `password.current.` and `password.new.`. */
    faults?: { current?: 'missing' | 'wrong'; password?: 'missing' | 'length' | 'common' | 'same' };
    /** Nothing was looked at; try again in a moment, with `throttled` after `wait` seconds. */
    pause?: 'busy' | 'throttled';
    wait?: number;
  };
  /** An administrator enters the verification code of a registration that waits. */
  'registration-code': {
    account: AccountView;
    /** Where the code is sent, by GET: looking changes nothing. */
    action: string;
    typed?: string;
    problem?: 'unknown' | 'throttled' | 'tampered';
    /** With `throttled`: seconds until the next try. */
    wait?: number;
  };
  /** What registers, and the decision about it. */
  'registration-review': RegistrationFacts & {
    account: AccountView;
    /** To be compared with the one that the application shows. */
    verificationCode: string;
    form: FormView;
    problem?: 'changed';
  };
  /** What was decided, and what happens next. */
  'registration-decided': { approved: boolean; name: string; reason?: string; nextUri: string; accountUri: string };
}

export type PageName = keyof Pages;

/** What every page gets besides its own data. */
export interface PageContext {
  /** BCP 47 tag of the language shown. */
  locale: string;
  /** Path prefix of the base address, without a trailing slash: "" or "/idp". */
  basePath: string;
}

const client: ClientView = {
  clientId: 'harbour',
  name: 'Harbour',
  logoUri: 'https://harbour.example/logo.png',
  policyUri: 'https://harbour.example/privacy',
  tosUri: 'https://harbour.example/terms',
  homeUri: 'https://harbour.example/',
  host: 'harbour.example',
  selfRegistered: true,
};
const bareClient: ClientView = { clientId: 'c-1', name: '', host: '', selfRegistered: false };
const account: AccountView = { username: 'ada', name: 'Ada Lovelace' };
const form = (action: string): FormView => ({ action, hidden: { csrf: 'token', transaction: 'request' } });

/**
 * For each page the least and the most that it can be given. The renderer rehearses them when it starts, so that a
 * template which fails does so before anybody meets it.
 */
export const examples: { [N in PageName]: [least: Pages[N], most: Pages[N]] } = {
  login: [
    {},
    {
      client,
      form: form('/login'),
      username: 'ada',
      problem: 'credentials',
      fields: ['username', 'password'],
      reauthentication: account,
      forgottenPasswordUri: '/password',
      reference: '7F3K-9QXD',
    },
  ],
  consent: [
    { client: bareClient, account: { username: '' }, form: form('/consent'), switchAccountUri: '/login', scopes: [] },
    {
      client,
      account,
      form: form('/consent'),
      switchAccountUri: '/login?switch=1',
      scopes: [
        { scope: 'openid', claims: [] },
        {
          scope: 'profile',
          claims: [
            { claim: 'name', value: 'Ada Lovelace' },
            { claim: 'birthdate', value: '1815-12-10' },
            { claim: 'zoneinfo', value: 'Europe/London' },
            { claim: 'updated_at', value: '2026-03-14', day: new Date('2026-03-14T09:26:53Z') },
          ],
        },
        { scope: 'email', claims: [{ claim: 'email', value: 'ada@example.org' }] },
        { scope: 'phone', claims: [] },
        { scope: 'offline_access', claims: [] },
      ],
      claims: [
        { claim: 'nickname', value: 'ada' },
        { claim: 'picture', value: '' },
      ],
      problem: 'expired',
    },
  ],
  continue: [
    { client: bareClient, account: { username: '' }, form: form('/authenticate') },
    { client, account, form: form('/authenticate') },
  ],
  logout: [
    { account: { username: '' }, form: form('/logout') },
    { client, account, form: form('/logout'), problem: 'tampered' },
  ],
  'signed-out': [
    { stayed: false, accountUri: '/account' },
    {
      client,
      stayed: false,
      problem: 'redirect',
      accountUri: '/account',
      applications: [{ name: 'Lighthouse', uri: 'https://lighthouse.example/' }],
      frames: ['https://lighthouse.example/logout?sid=1'],
      continueUri: 'https://harbour.example/bye?state=1',
    },
  ],
  error: [
    { kind: 'server', reference: '' },
    { kind: 'request', reference: '7F3K-9QXD', client },
  ],
  'access-denied': [{}, { client, account }],
  'form-post': [
    { action: 'https://harbour.example/callback', parameters: [] },
    {
      action: 'https://harbour.example/callback?tenant=1',
      parameters: [
        ['code', 'c0de'],
        ['state', 'st4te'],
        ['iss', 'https://id.example'],
      ],
      client,
    },
  ],
  account: [
    {
      account: { username: '' },
      profile: [],
      grants: [],
      sessions: [],
      passwordUri: '/account/password',
      logoutUri: '/logout',
      form: form('/account'),
      sessionForm: form('/account/sessions'),
      dataForm: form('/account/data'),
    },
    {
      account,
      profile: [
        { claim: 'name', value: 'Ada Lovelace', seenBy: ['Harbour', 'Lighthouse'] },
        { claim: 'email', value: 'ada@example.org', seenBy: ['Harbour'] },
        { claim: 'email_verified', value: 'true', seenBy: ['Harbour'] },
        { claim: 'address', value: '12 St James’s Square\nLondon SW1Y 4JH', seenBy: [] },
        { claim: 'phone_number', value: '+44 20 7946 0958', seenBy: ['Harbour'] },
        { claim: 'phone_number_verified', value: 'false', seenBy: [] },
        { claim: 'updated_at', value: '2026-03-14', day: new Date('2026-03-14T09:26:53Z'), seenBy: ['Harbour'] },
      ],
      grants: [
        {
          clientId: 'harbour',
          name: 'Harbour',
          scopes: ['openid', 'profile', 'email'],
          claims: ['phone_number'],
          since: new Date('2026-03-14T09:26:53Z'),
          settings: [
            { key: 'theme', value: '"dark"', size: 6 },
            { key: 'layout', size: 20_480 },
          ],
        },
        {
          clientId: 'lighthouse',
          name: 'Lighthouse',
          scopes: ['openid', 'offline_access'],
          since: new Date('2026-02-01T18:00:00Z'),
          settings: [],
        },
      ],
      sessions: [
        {
          sid: 'session-1',
          browser: 'Firefox',
          system: 'Linux',
          signedInAt: new Date('2026-03-14T09:26:53Z'),
          usedAt: new Date('2026-03-14T10:01:00Z'),
          applications: ['Harbour', 'Lighthouse'],
          current: true,
        },
        {
          sid: 'session-2',
          system: 'iPhone',
          signedInAt: new Date('2026-03-02T07:30:00Z'),
          usedAt: new Date('2026-03-13T21:45:00Z'),
          applications: [],
          current: false,
        },
        {
          sid: 'session-3',
          signedInAt: new Date('2026-02-27T12:00:00Z'),
          usedAt: new Date('2026-03-01T08:15:00Z'),
          applications: ['Harbour'],
          current: false,
        },
      ],
      passwordUri: '/account/password',
      logoutUri: '/logout',
      form: form('/account'),
      sessionForm: form('/account/sessions'),
      otherSessionsForm: form('/account/other-sessions'),
      dataForm: form('/account/data'),
      done: 'withdrawn',
    },
  ],
  'account-password': [
    {
      account: { username: '' },
      username: '',
      form: form('/account/password'),
      least: 12,
      most: 128,
      accountUri: '/account',
    },
    {
      account,
      username: 'ada',
      form: form('/account/password'),
      least: 12,
      most: 128,
      accountUri: '/account',
      faults: { current: 'wrong', password: 'common' },
    },
  ],
  'registration-code': [
    { account: { username: '' }, action: '/admin/registration' },
    { account, action: '/admin/registration', typed: 'BCDF-GHJK', problem: 'unknown' },
  ],
  'registration-review': [
    {
      account: { username: '' },
      verificationCode: 'BCDF-GHJK',
      form: form('/admin/registration'),
      name: '',
      hosts: [],
      redirectUris: [],
      responseTypes: [],
      grantTypes: ['client_credentials'],
      scopes: [],
      authenticationMethod: 'client_secret_basic',
      keys: [],
      umaProfile: false,
      contacts: [],
      uris: [],
      registeredAt: new Date('2026-03-14T09:26:53Z'),
      members: [],
    },
    {
      account,
      verificationCode: 'BCDF-GHJK',
      form: form('/admin/registration'),
      name: 'Harbour',
      hosts: ['harbour.example', '127.0.0.1:8081'],
      redirectUris: ['https://harbour.example/callback', 'http://127.0.0.1:8081/callback'],
      responseTypes: ['code', 'id_token token'],
      grantTypes: ['authorization_code', 'implicit', 'refresh_token'],
      scopes: ['openid', 'profile', 'email', 'scope', 'offline_access'],
      authenticationMethod: 'private_key_jwt',
      keys: ['OKP EdDSA key-1', 'RSA'],
      umaProfile: true,
      contacts: ['ops@harbour.example', 'Harbour desk'],
      uris: [
        { member: 'client_uri', uri: 'https://harbour.example/' },
        { member: 'policy_uri', uri: 'https://harbour.example/privacy' },
        { member: 'tos_uri', uri: 'https://harbour.example/terms' },
        { member: 'logo_uri', uri: 'https://harbour.example/logo.png' },
        { member: 'jwks_uri', uri: 'https://harbour.example/jwks' },
      ],
      registeredAt: new Date('2026-03-14T09:26:53Z'),
      address: '203.0.113.7',
      members: [
        { member: 'client_name', value: 'Harbour' },
        { member: 'redirect_uris', value: '["https://harbour.example/callback","http://127.0.0.1:8081/callback"]' },
        { member: 'require_pkce', value: 'false' },
      ],
      problem: 'changed',
    },
  ],
  'registration-decided': [
    { approved: true, name: '', nextUri: '/admin/registration', accountUri: '/account' },
    {
      approved: false,
      name: 'Harbour',
      reason: 'Nobody here knows this application.',
      nextUri: '/admin/registration',
      accountUri: '/account',
    },
  ],
};
