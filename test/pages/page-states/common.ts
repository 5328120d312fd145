// Lists states of the pages of sign-in, sign-out, consent and registration, beside the examples.
import { clientAuthenticationMethods, namesOf } from '../../../src/oauth/registrable-values.ts';
import type { LoginProblem, Pages } from '../../../src/pages/views/index.ts';
import { examples } from '../../../templates/examples/index.ts';
import { translation, type View } from './state.ts';

const client = examples.continue[1].client;
const loginProblems: Record<LoginProblem | 'credentials' | 'passkey', true> = {
  credentials: true,
  missing: true,
  expired: true,
  tampered: true,
  busy: true,
  throttled: true,
  client: true,
  request: true,
  passkey: true,
  enforced: true,
  connection: true,
  untimed: true,
  cookies: true,
};
const errorKinds: Record<Pages['error']['kind'], true> = {
  'not-found': true,
  client: true,
  request: true,
  expired: true,
  answered: true,
  busy: true,
  'too-many': true,
  unavailable: true,
  server: true,
  tampered: true,
  'logout-hint': true,
  'logout-redirect': true,
  'logout-unnamed': true,
  navigation: true,
  'too-large': true,
  method: true,
  administrators: true,
  permission: true,
};
const scopes = [
  'openid',
  'profile',
  'email',
  'address',
  'phone',
  'scope',
  'groups',
  'offline_access',
  'admin',
  'metrics',
  'scim',
  'revoke.global',
  'urn:other',
];
const claims = Object.keys(translation('en')).flatMap((key) =>
  key.startsWith('claim.') ? [key.slice('claim.'.length)] : [],
);
const registration = examples['registration-review'][1];
export const signIn = { ...examples.login[1], problem: undefined, fields: undefined, reauthentication: undefined };

const methods = signIn.methods!.slice(0, 1);
const fields = ['username', 'password'];

export const commonStates: View[] = [
  { name: 'login', data: signIn },
  { name: 'login', data: { methods } },
  { name: 'login', data: { methods, problem: 'missing', fields } },
  ...Object.keys(loginProblems).flatMap((problem): View[] => [
    {
      name: 'login',
      data: { ...signIn, problem, fields: { credentials: ['password'], missing: ['password'] }[problem] },
    },
    // only the form itself can be wrong about a password
    ...(problem === 'credentials' ? [] : [{ name: 'login' as const, data: { problem } }]),
  ]),
  ...(['missing', 'tampered', 'throttled'] as const).map((problem): View => ({
    name: 'login-email-code',
    data: { ...examples['login-email-code'][1], problem },
  })),
  ...(Object.keys(errorKinds) as (keyof typeof errorKinds)[]).map((kind): View => ({
    name: 'error',
    data: { kind, reference: 'R-1' },
  })),
  { name: 'access-denied', data: { by: 'client', contacts: [], client, account: examples.consent[1].account } },
  ...(['network', 'connection'] as const).map((reason): View => ({
    name: 'access-denied',
    data: { ...examples['access-denied'][1], reason, contacts: [] },
  })),
  ...(['expired', 'tampered'] as const).flatMap((problem): View[] => [
    { name: 'consent', data: { ...examples.consent[1], problem } },
    { name: 'logout', data: { ...examples.logout[1], problem } },
  ]),
  {
    name: 'consent',
    data: {
      ...examples.consent[1],
      scopes: scopes.map((scope) => ({ scope, claims: claims.map((claim) => ({ claim, value: '1' })) })),
    },
  },
  {
    name: 'consent',
    data: { ...examples.consent[1], scopes: ['upstream_token', 'roles'].map((scope) => ({ scope, claims: [] })) },
  },
  { name: 'login', data: { methods, destination: 'registration' } },
  { name: 'login', data: { methods, destination: 'data' } },
  { name: 'login', data: { methods, destination: 'passkeys' } },
  ...(['missing', 'length', 'common', 'same'] as const).map((password): View => ({
    name: 'account-password',
    data: { ...examples['account-password'][0], faults: { current: 'missing', password } },
  })),
  ...(['busy', 'throttled'] as const).map((pause): View => ({
    name: 'account-password',
    data: { ...examples['account-password'][0], pause, wait: 90 },
  })),
  ...(['unknown', 'throttled', 'tampered'] as const).map((problem): View => ({
    name: 'registration-code',
    data: { ...examples['registration-code'][1], problem },
  })),
  ...[...namesOf(clientAuthenticationMethods), 'urn:other'].map((authenticationMethod): View => ({
    name: 'registration-review',
    data: {
      ...registration,
      authenticationMethod,
      grantTypes: ['authorization_code', 'implicit', 'refresh_token', 'client_credentials', 'urn:other'],
    },
  })),
  { name: 'registration-review', data: { ...registration, problem: 'held' } },
  { name: 'signed-out', data: { client, stayed: true, accountUri: '/account', problem: 'hint' } },
  { name: 'signed-out', data: { client, stayed: false, accountUri: '/account' } },
  { name: 'signed-out', data: { stayed: false, accountUri: '/account', continueUri: 'com.example.app:/bye' } },
];
