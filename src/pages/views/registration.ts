// The pages on which an administrator decides about a registration that waits: what each shows, and examples.
import type { Judgement } from './console-clients.ts';
import { type AccountView, type FormView, type Examples, account, form } from './parts.ts';

/** A registration as an administrator decides about it: untrusted text, all of it. */
export interface RegistrationFacts {
  name: string;
  /** Hosts of the redirect URIs, or schemes of a native application's, with what is known of them here. */
  hosts: Judgement['hosts'];
  /** Enabled clients whose names could be taken for this one. */
  lookAlikes: Judgement['lookAlikes'];
  /** Resources that it claims and other clients hold. */
  heldResources: Judgement['heldResources'];
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

export interface RegistrationPages {
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
    problem?: 'changed' | 'held';
  };
  /** What was decided, and what happens next. */
  'registration-decided': { approved: boolean; name: string; reason?: string; nextUri: string; accountUri: string };
}

export const registrationExamples: Examples<RegistrationPages> = {
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
      lookAlikes: [],
      heldResources: [],
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
      hosts: [
        { host: 'harbour.example', clients: 0, local: false, fresh: true },
        { host: 'quay.example', since: new Date('2025-11-02T10:00:00Z'), clients: 3, local: false, fresh: true },
        { host: '127.0.0.1:8081', clients: 0, local: true, fresh: true },
      ],
      lookAlikes: [
        { name: 'Harbour', uri: '/admin/clients/harbour', same: true },
        { name: 'Harbours', uri: '/admin/clients/harbours', same: false },
      ],
      heldResources: [
        { uri: 'https://api.harbour.example/', holder: 'Harbour Desk', holderUri: '/admin/clients/desk' },
      ],
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
