// Lists states of the pages of second factors, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const [bareStep, step] = examples['login-second-factor'];
const [bare, full] = examples['account-authenticator'];
const [, list] = examples['account-second-factors'];

export const secondFactorStates: View[] = [
  { name: 'login-second-factor', data: { ...bareStep, methods: step.methods.slice(1) } },
  { name: 'login-second-factor', data: { ...bareStep, methods: step.methods.slice(0, 1) } },
  ...([...step.methods, 'tampered'] as const).map((problem): View => ({
    name: 'login-second-factor',
    data: { ...step, problem },
  })),
  ...(['code', 'expired', 'tampered'] as const).map((problem): View => ({
    name: 'account-authenticator',
    data: { ...bare, problem },
  })),
  { name: 'account-authenticator', data: { ...full, signIn: {} } },
  { name: 'account-second-factors', data: { ...list, done: 'removed' } },
  { name: 'account-second-factors', data: { ...list, factors: [] } },
  { name: 'login', data: { methods: [{ id: 'password', form: step.form }], destination: 'second-factors' } },
  { name: 'login', data: { methods: [{ id: 'password', form: step.form }], destination: 'authenticator' } },
];
