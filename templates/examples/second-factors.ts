// Gives example data of the second-factor pages.
import { qrCode } from '../../src/pages/qr-code.ts';
import type { SecondFactorPages } from '../../src/pages/views/second-factors.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { client, account, form, languages } from './parts.ts';

const secret = 'JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP';
const uri = 'otpauth://totp/id.example:ada?issuer=id.example&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const codes = [...'ABCDEFGHJK'].map((letter) => `${letter}7QM-X3FH-${letter}2WK-NP9${letter}`);
const since = new Date('2026-03-14T09:26:53Z');

export const secondFactorExamples: Examples<SecondFactorPages> = {
  'login-second-factor': [
    {
      account: { username: '' },
      form: form('/login/second-factor'),
      methods: [],
      restartUri: '/login',
    },
    {
      client,
      account,
      languages: languages('/login/second-factor'),
      form: form('/login/second-factor'),
      methods: [
        { id: 'passkey', script: 'passkey.js', options: '{"challenge":"AAAA"}' },
        { id: 'authenticator', input: 'code' },
        { id: 'recovery-code', input: 'recovery', fallback: true },
      ],
      problem: { id: 'authenticator', input: 'code' },
      reference: '3f9c01ab',
      restartUri: '/login?transaction=request',
      spare: { days: 14, chosen: true },
    },
  ],
  'account-second-factors': [
    {
      account: { username: '' },
      factors: [],
      form: form('/account/second-factors'),
      pages: [{ kind: 'passkey', uri: '/account/passkeys', count: 0 }],
      add: [],
      securityUri: '/account/security',
    },
    {
      account,
      factors: [
        { id: 'one', kind: 'authenticator', name: 'My telephone', createdAt: since, usedAt: since },
        { id: 'two', kind: 'authenticator', name: '', createdAt: since },
      ],
      form: form('/account/second-factors'),
      pages: [{ kind: 'passkey', uri: '/account/passkeys', count: 2 }],
      recoveryCodes: { left: 9, all: 10, form: form('/account/recovery-codes') },
      add: [{ kind: 'authenticator', uri: '/account/authenticator' }],
      securityUri: '/account/security',
      done: 'added',
    },
  ],
  'account-authenticator': [
    {
      account: { username: '' },
      form: form('/account/authenticator'),
      secret,
      uri,
      get qr() {
        return qrCode(uri);
      },
      backUri: '/account/second-factors',
    },
    {
      account,
      form: form('/login/authenticator'),
      secret,
      uri,
      get qr() {
        return qrCode(uri);
      },
      name: 'My telephone',
      problem: 'code',
      signIn: { client },
      backUri: '/login?transaction=request',
    },
  ],
  'account-recovery-codes': [
    { account: { username: '' }, codes: [], issuer: '', continueUri: '/account' },
    { account, codes, issuer: 'https://id.example', continueUri: '/authorize?transaction=request' },
  ],
};
