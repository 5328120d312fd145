// Lists states of the pages that mailed links open, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const forgotten = examples['password-forgotten'][0];
const reset = examples['password-reset'][1];
const email = examples['account-email'][1];
const owned = {
  account: email.account,
  email: 'ada@example.org',
  verified: true,
  owner: 'Corporate',
  profileUri: '/account/profile',
};
const signUp = examples['sign-up'][0];
const complete = examples['sign-up-complete'][0];
const invitation = examples['invitation'];

export const mailStates: View[] = [
  { name: 'password-forgotten', data: { ...forgotten, sent: true } },
  { name: 'password-forgotten', data: { ...forgotten, problem: 'tampered' } },
  { name: 'password-forgotten', data: { ...forgotten, problem: 'throttled', wait: 90 } },
  ...(['missing', 'length'] as const).map((fault): View => ({ name: 'password-reset', data: { ...reset, fault } })),
  ...(['tampered', 'busy'] as const).map((problem): View => ({
    name: 'password-reset',
    data: { ...examples['password-reset'][0], problem },
  })),
  { name: 'link-gone', data: { kind: 'address', uri: '/account' } },
  { name: 'link-gone', data: { kind: 'invitation', uri: '/login' } },
  { name: 'link-gone', data: { kind: 'sign-up-link', uri: '/login' } },
  { name: 'address-confirm', data: { ...examples['address-confirm'][0], taken: true } },
  { name: 'address-stop', data: { ...examples['address-stop'][1], form: undefined } as never },
  { name: 'account-email', data: { ...email, verified: true, fault: 'same' } },
  { name: 'account-email', data: { ...email, verified: true, fault: 'enforced' } },
  { name: 'account-email', data: owned },
  { name: 'account-email', data: { ...examples['account-email'][0], sent: 'ada@example.com' } },
  { name: 'account-email', data: { ...examples['account-email'][0], problem: 'throttled', wait: 90 } },
  { name: 'sign-up', data: { ...signUp, sent: true } },
  { name: 'sign-up', data: { ...signUp, fault: 'invalid' } },
  { name: 'sign-up', data: { ...signUp, problem: 'throttled', wait: 90 } },
  ...(['missing', 'invalid'] as const).map((username): View => ({
    name: 'sign-up-complete',
    data: { ...complete, faults: { username, password: 'missing' } },
  })),
  { name: 'sign-up-complete', data: { ...complete, problem: 'busy' } },
  ...(['tampered', 'busy', 'expired', 'passkey'] as const).map((problem): View => ({
    name: 'invitation',
    data: { ...invitation[1], fault: undefined, problem },
  })),
  { name: 'invitation', data: { ...invitation[0], fault: 'missing' } },
  { name: 'login', data: { methods: [{ id: 'password', form: signUp.form }], destination: 'email' } },
];
