// Gives example data of the registration pages.
import type { RegistrationPages } from '../../src/pages/views/registration.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { account, form } from './parts.ts';

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
      waitingAddresses: [],
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
      waitingAddresses: ['cursor://harbour/callback'],
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
