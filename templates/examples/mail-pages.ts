// Gives example data of the pages around mailed links.
import type { MailPages } from '../../src/pages/views/mail-pages.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { client, account, form, languages } from './parts.ts';

export const mailPageExamples: Examples<MailPages> = {
  'password-forgotten': [
    { form: form('/password/forgotten'), lifetime: 1800, loginUri: '/login' },
    { form: form('/password/forgotten'), typed: 'ada', problem: 'missing', lifetime: 1800, loginUri: '/login' },
  ],
  'password-reset': [
    { username: '', form: form('/password/reset'), least: 12, most: 128 },
    { username: 'ada', form: form('/password/reset'), least: 12, most: 128, fault: 'common' },
  ],
  'account-email': [
    { account: { username: '' }, verified: false, form: form('/account/email'), profileUri: '/account/profile' },
    {
      account,
      email: 'ada@example.org',
      verified: false,
      form: form('/account/email'),
      verificationForm: form('/account/email/verification'),
      typed: 'ada',
      fault: 'invalid',
      profileUri: '/account/profile',
    },
  ],
  'address-confirm': [
    { username: '', address: '', accountUri: '/account' },
    { username: 'ada', address: 'ada@example.org', form: form('/account/email/confirm'), accountUri: '/account' },
  ],
  'address-stop': [
    { username: '', nothing: true, passwordUri: '/password/forgotten', accountUri: '/account' },
    {
      username: 'ada',
      form: form('/account/email/stop'),
      passwordUri: '/password/forgotten',
      accountUri: '/account',
    },
  ],
  'sign-up': [
    { form: form('/sign-up'), lifetime: 86_400, domains: [], loginUri: '/login' },
    {
      client,
      form: form('/sign-up'),
      typed: 'ada@example.net',
      fault: 'domain',
      lifetime: 86_400,
      domains: ['example.org', 'example.com'],
      loginUri: '/login',
    },
  ],
  'sign-up-complete': [
    {
      address: '',
      form: form('/sign-up/complete'),
      maxNameLength: 64,
      least: 12,
      most: 128,
      asksName: false,
      offersPasskey: false,
    },
    {
      client,
      address: 'ada@example.org',
      username: 'ada',
      form: form('/sign-up/complete'),
      maxNameLength: 64,
      least: 12,
      most: 128,
      name: 'Ada Lovelace',
      asksName: true,
      offersPasskey: true,
      faults: { username: 'taken', name: 'text', password: 'common' },
    },
  ],
  'sign-up-passkey': [
    {
      account: { username: 'ada' },
      passkey: { form: form('/sign-up/complete'), options: '{"challenge":"AAAA"}' },
      passwordUri: '/sign-up/complete?token=x',
    },
    {
      client,
      account,
      passkey: { form: form('/sign-up/complete'), options: '{"challenge":"AAAA"}' },
      passwordUri: '/sign-up/complete?token=x',
      problem: 'passkey',
    },
  ],
  invitation: [
    { account: { username: '' }, form: form('/invitation'), least: 12, most: 128 },
    {
      client,
      account,
      address: 'ada@example.org',
      languages: languages('/invitation?token=x'),
      form: form('/invitation'),
      passkey: { form: form('/invitation'), options: '{"challenge":"AAAA"}' },
      name: 'Ada Lovelace',
      nameFault: 'long',
      least: 12,
      most: 128,
      fault: 'common',
    },
  ],
  'link-gone': [
    { kind: 'password', uri: '/password/forgotten' },
    { kind: 'sign-up', uri: '/sign-up' },
  ],
};
