// The pages of a person's own account: what each shows, and examples.
import { type AccountView, type ClaimText, type FormView, type Examples, account, form } from './parts.ts';

export interface AccountPages {
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
    secondFactors: { enrolled: boolean; recoveryCodes: number; uri: string };
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
}

export const accountExamples: Examples<AccountPages> = {
  account: [
    {
      account: { username: '' },
      profile: [],
      grants: [],
      sessions: [],
      secondFactors: { enrolled: false, recoveryCodes: 0, uri: '/account/second-factors' },
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
      secondFactors: { enrolled: true, recoveryCodes: 9, uri: '/account/second-factors' },
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
};
