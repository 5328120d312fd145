// Gives example data of the mails.
import type { MailName } from '../../src/pages/views/mail.ts';
import type { Examples, MailContent } from '../../src/pages/views/parts.ts';

const link = 'https://id.example/password/reset?token=ghml_example';
const at = new Date('2026-03-14T09:26:53Z');

export const mailExamples: Examples<Record<MailName, MailContent>> = {
  'verify-address': [{ link }, { link, values: { username: 'ada', address: 'ada@example.org' }, lifetime: 86_400 }],
  'address-change-ordered': [{ link }, { values: { username: 'ada' }, facts: { at, address: '203.0.113.7' }, link }],
  'address-changed': [{}, { values: { username: 'ada', address: 'ada@example.com' } }],
  'reset-password': [{ link }, { link, values: { username: 'ada' }, lifetime: 1800 }],
  'password-changed': [{}, { values: { username: 'ada' }, facts: { at, address: '203.0.113.7' }, link }],
  'second-factor-changed': [{}, { values: { username: 'ada' }, facts: { at, address: '203.0.113.7' }, link }],
  'identity-unlinked': [{}, { values: { username: 'ada' }, facts: { at }, link }],
  'identity-linked': [{}, { values: { username: 'ada' }, facts: { at, address: '203.0.113.7' }, link }],
  'new-sign-in': [
    {},
    {
      values: { username: 'ada' },
      facts: { browser: 'Firefox', system: 'Linux', at, address: '203.0.113.7' },
      link,
    },
  ],
  'second-step-failed': [
    {},
    {
      values: { username: 'ada' },
      facts: { browser: 'Firefox', system: 'Linux', at, address: '203.0.113.7' },
      link,
    },
  ],
  'approval-requested': [{ link }, { values: { username: 'ada', client: 'Harbour' }, link }],
  'sign-in-code': [
    { code: 'BCDF-GHJK', lifetime: 600 },
    {
      values: { username: 'ada' },
      facts: { browser: 'Firefox', system: 'Linux', at, address: '203.0.113.7' },
      code: 'BCDF-GHJK',
      lifetime: 600,
    },
  ],
  'sign-up': [{ link }, { link, lifetime: 86_400 }],
  invitation: [{ link }, { link, values: { username: 'ada', issuer: 'https://id.example' }, lifetime: 604_800 }],
  'sign-in-elsewhere': [{ link }, { values: { connection: 'Corporate' }, link }],
  'address-held': [{}, { values: { address: 'ada@example.com' } }],
  'sign-up-known': [{ link }, { values: { username: 'ada' }, link }],
  'registration-waiting': [
    { link, facts: { names: [] } },
    { link, facts: { names: ['Harbour', 'Lighthouse'] } },
  ],
  'registration-approved': [{}, { values: { client: 'Harbour' } }],
  'registration-refused': [
    {},
    { values: { client: 'Harbour' }, facts: { reason: 'Nobody here knows this application.' } },
  ],
  'webhook-disabled': [{ link }, { values: { webhook: 'Directory sync' }, link }],
  'provisioning-failing': [{ link }, { values: { client: 'Harbour' }, link }],
  test: [{}, {}],
};
