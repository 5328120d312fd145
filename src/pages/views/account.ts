// The pages of a person's own account: what each shows, and examples.
import type { ProfileFault, ProfileField } from '../../oauth/own-profile.ts';
import { type AccountView, type ClaimText, type FormView, type Examples, account, form } from './parts.ts';

/** What a page of the account says that was just done: keys of the catalogue under `account.done.`. */
export const accountNotices = [
  'withdrawn',
  'session-ended',
  'others-ended',
  'profile-saved',
  'password-changed',
] as const;
export type AccountNotice = (typeof accountNotices)[number];

/** What every page of the account shows besides its own. */
export interface AccountFrame {
  account: AccountView;
  accountUri: string;
  done?: AccountNotice;
}

/** A way to sign in: keys of the catalogue under `account.method.`, which says `.set` or `.unset` of each. */
export interface SignInMethod {
  method: 'password' | 'passkeys' | 'second-factors';
  /** The page on which it is set up. */
  uri: string;
  set: boolean;
  /** Of a second factor: how many are left. */
  recoveryCodes?: number;
}

/** A browser by what it calls itself: untrusted text. */
interface Device {
  browser?: string;
  system?: string;
}

export interface AccountPages {
  /** The page from which the others hang. */
  account: AccountFrame & {
    email: string | undefined;
    /** Mails a link to that address; absent where there is none, or it is confirmed. */
    verificationForm?: FormView;
    /** Those that are set up. */
    methods: SignInMethod['method'][];
    /** Where one is signed in: the last used, and how many more. */
    devices: Device[];
    moreDevices: number;
    /** Names of those with access, and how many more. */
    applications: string[];
    moreApplications: number;
    profileUri: string;
    securityUri: string;
    sessionsUri: string;
    applicationsUri: string;
    dataUri: string;
    logoutUri: string;
  };
  /** What is stored about the person, and the names of the applications with a grant that covers it. */
  'account-profile': AccountFrame & {
    profile: (ClaimText & { seenBy: string[] })[];
    /** Absent: people change nothing themselves. */
    editUri?: string;
  };
  /** Posts each field under its name. */
  'account-profile-edit': AccountFrame & {
    fields: {
      field: ProfileField;
      value: string;
      /** Those that may see it. */
      seenBy: string[];
      choices?: { value: string; label: string }[];
      fault?: ProfileFault;
    }[];
    /** In characters. */
    longest: number;
    form: FormView;
    profileUri: string;
    /** Somebody else changed the profile meanwhile. */
    problem?: 'changed';
  };
  /** The ways to sign in, each with its page. */
  'account-security': AccountFrame & { methods: SignInMethod[] };
  /** Where one is signed in, this browser first. */
  'account-sessions': AccountFrame & {
    sessions: (Device & {
      sid: string;
      signedInAt: Date;
      usedAt: Date;
      /** Names of those that take part. */
      applications: string[];
      current: boolean;
    })[];
    /** Posts `end` with the sid of the session to end. */
    form: FormView;
    /** Ends all sessions but this one. Absent: there is no other. */
    othersForm?: FormView;
    /** Ends all sessions, this one too. */
    allForm: FormView;
  };
  /** Applications with a remembered grant, and what they keep about the person. */
  'account-applications': AccountFrame & {
    grants: {
      clientId: string;
      name: string;
      scopes: string[];
      claims?: string[];
      since: Date;
      /** Each value as JSON, or for a long one its size in bytes. */
      settings: { key: string; value?: string; size: number }[];
    }[];
    /** Posts `withdraw` with the client_id of the grant to end. */
    form: FormView;
  };
  /** The form answers with a file; after a sign-in, if the last one is not recent. */
  'account-data': AccountFrame & {
    form: FormView;
    /** Absent: people do not delete their accounts themselves. */
    deleteUri?: string;
  };
  /** Posts `username`, which has to be the own. */
  'account-delete': AccountFrame & {
    username: string;
    /** Names of those that lose their access. */
    applications: string[];
    form: FormView;
    dataUri: string;
    fault?: 'name' | 'last-administrator';
  };
  /** There is no account any more. */
  'account-deleted': { frames?: string[] };
  /** A person changes the own password: posts `current_password` and `new_password`. */
  'account-password': {
    account: AccountView;
    /** For password managers, which keep it beside the password. */
    username: string;
    form: FormView;
    /** How many characters a new password has. */
    least: number;
    most: number;
    securityUri: string;
    /** What is wrong with each field: keys of the catalogue under `password.current.` and `password.new.`. */
    faults?: { current?: 'missing' | 'wrong'; password?: 'missing' | 'length' | 'common' | 'same' };
    /** Nothing was looked at; try again in a moment, with `throttled` after `wait` seconds. */
    pause?: 'busy' | 'throttled';
    wait?: number;
  };
}

const nobody = { account: { username: '' }, accountUri: '/account' };
const ada = { account, accountUri: '/account' };
const uris = {
  profileUri: '/account/profile',
  securityUri: '/account/security',
  sessionsUri: '/account/sessions',
  applicationsUri: '/account/applications',
  dataUri: '/account/data',
  logoutUri: '/logout',
};
const choices = [
  { value: 'de', label: 'Deutsch' },
  { value: 'en-GB', label: 'British English' },
  { value: 'ar', label: 'العربية' },
];

export const accountExamples: Examples<AccountPages> = {
  account: [
    {
      ...nobody,
      ...uris,
      email: undefined,
      methods: [],
      devices: [],
      moreDevices: 0,
      applications: [],
      moreApplications: 0,
    },
    {
      ...ada,
      ...uris,
      email: 'ada@example.org',
      verificationForm: form('/account/email/verification'),
      methods: ['password', 'second-factors'],
      devices: [{ browser: 'Firefox', system: 'Linux' }, { system: 'iPhone' }, {}],
      moreDevices: 2,
      applications: ['Harbour', 'Lighthouse', 'Pier'],
      moreApplications: 4,
    },
  ],
  'account-profile': [
    { ...nobody, profile: [] },
    {
      ...ada,
      profile: [
        { claim: 'name', value: 'Ada Lovelace', seenBy: ['Harbour', 'Lighthouse'] },
        { claim: 'email', value: 'ada@example.org', seenBy: ['Harbour'] },
        { claim: 'email_verified', value: 'true', flag: true, seenBy: ['Harbour'] },
        { claim: 'address', value: '12 St James’s Square\nLondon SW1Y 4JH', seenBy: [] },
        { claim: 'phone_number', value: '+44 20 7946 0958', seenBy: ['Harbour'] },
        { claim: 'phone_number_verified', value: 'false', flag: false, seenBy: [] },
        { claim: 'updated_at', value: '2026-03-14', day: new Date('2026-03-14T09:26:53Z'), seenBy: ['Harbour'] },
      ],
      editUri: '/account/profile/edit',
      done: 'profile-saved',
    },
  ],
  'account-profile-edit': [
    { ...nobody, fields: [], longest: 255, form: form('/account/profile/edit'), profileUri: '/account/profile' },
    {
      ...ada,
      fields: [
        { field: 'name', value: 'Ada Lovelace', seenBy: ['Harbour', 'Lighthouse'] },
        { field: 'given_name', value: 'Ada', seenBy: [] },
        { field: 'family_name', value: 'Lovelace', seenBy: [] },
        { field: 'middle_name', value: '', seenBy: [] },
        { field: 'nickname', value: '', seenBy: [] },
        { field: 'gender', value: '', seenBy: [] },
        { field: 'birthdate', value: '10 December', seenBy: [], fault: 'date' },
        { field: 'phone_number', value: '+44 20 7946 0958', seenBy: ['Harbour'] },
        { field: 'website', value: 'https://ada.example/', seenBy: [] },
        { field: 'profile', value: '', seenBy: [] },
        { field: 'picture', value: 'ada.png', seenBy: [], fault: 'url' },
        { field: 'street_address', value: '12 St James’s Square', seenBy: ['Harbour'] },
        { field: 'postal_code', value: 'SW1Y 4JH', seenBy: ['Harbour'] },
        { field: 'locality', value: 'London', seenBy: ['Harbour'] },
        { field: 'region', value: '', seenBy: ['Harbour'] },
        { field: 'country', value: 'United Kingdom', seenBy: ['Harbour'] },
        { field: 'locale', value: 'en-GB', seenBy: [], choices },
        { field: 'zoneinfo', value: 'Europe/London', seenBy: [] },
      ],
      longest: 255,
      form: form('/account/profile/edit'),
      profileUri: '/account/profile',
      problem: 'changed',
    },
  ],
  'account-security': [
    {
      ...nobody,
      methods: [
        { method: 'password', uri: '/account/password', set: false },
        { method: 'passkeys', uri: '/account/passkeys', set: false },
        { method: 'second-factors', uri: '/account/second-factors', set: false },
      ],
    },
    {
      ...ada,
      methods: [
        { method: 'password', uri: '/account/password', set: true },
        { method: 'passkeys', uri: '/account/passkeys', set: true },
        { method: 'second-factors', uri: '/account/second-factors', set: true, recoveryCodes: 9 },
      ],
      done: 'password-changed',
    },
  ],
  'account-sessions': [
    { ...nobody, sessions: [], form: form('/account/sessions'), allForm: form('/account/all-sessions') },
    {
      ...ada,
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
      form: form('/account/sessions'),
      othersForm: form('/account/other-sessions'),
      allForm: form('/account/all-sessions'),
      done: 'session-ended',
    },
  ],
  'account-applications': [
    { ...nobody, grants: [], form: form('/account') },
    {
      ...ada,
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
      form: form('/account'),
      done: 'withdrawn',
    },
  ],
  'account-data': [
    { ...nobody, form: form('/account/data') },
    { ...ada, form: form('/account/data'), deleteUri: '/account/delete' },
  ],
  'account-delete': [
    { ...nobody, username: '', applications: [], form: form('/account/delete'), dataUri: '/account/data' },
    {
      ...ada,
      username: 'ada',
      applications: ['Harbour', 'Lighthouse'],
      form: form('/account/delete'),
      dataUri: '/account/data',
      fault: 'name',
    },
  ],
  'account-deleted': [{}, { frames: ['https://lighthouse.example/logout?sid=1'] }],
  'account-password': [
    {
      account: { username: '' },
      username: '',
      form: form('/account/password'),
      least: 12,
      most: 128,
      securityUri: '/account/security',
    },
    {
      account,
      username: 'ada',
      form: form('/account/password'),
      least: 12,
      most: 128,
      securityUri: '/account/security',
      faults: { current: 'wrong', password: 'common' },
    },
  ],
};
