// The pages of second factors, in the account and within a sign-in: what each shows, and examples.
import type { SecondFactor } from '../../repositories/second-factors/second-factors.ts';
import { qrCode, type QrCode } from '../qr-code.ts';
import { type AccountView, type ClientView, type Examples, type FormView, account, client, form } from './parts.ts';
import { passkeyExample, type PasskeyView } from './passkeys.ts';

export interface SecondFactorPages {
  /** After the password: posts `code` or `recovery_code`. */
  'login-second-factor': {
    client?: ClientView;
    account: AccountView;
    form: FormView;
    /** What the person can show beside a passkey. */
    methods: { authenticator: boolean; recovery: boolean };
    /** What was wrong; of the two codes it is the field's name. */
    problem?: 'code' | 'recovery' | 'passkey' | 'tampered' | undefined;
    /** Absent: the person has none. */
    passkey?: PasskeyView;
    /** Begins the sign-in anew, as somebody else. */
    restartUri: string;
  };
  /** What is asked for after one's password; posts `remove` with the id of the factor that goes. */
  'account-second-factors': {
    account: AccountView;
    factors: { id: string; kind: SecondFactor['kind']; name: string; createdAt: Date; usedAt?: Date }[];
    form: FormView;
    /** How many there are beside: they have a page of their own. */
    passkeys: number;
    /** How many are left. Absent: there is no second factor that they could stand for. */
    recoveryCodes?: { left: number; all: number; form: FormView };
    /** Absent: there are too many by now. */
    addAuthenticatorUri?: string;
    securityUri: string;
    done?: 'added' | 'removed';
  };
  /** Sets up an authenticator; posts `code` and `name`. */
  'account-authenticator': {
    account: AccountView;
    form: FormView;
    /** In groups of four. */
    secret: string;
    /** What an app on the same device opens. */
    uri: string;
    qr: QrCode;
    /** What was typed. */
    name?: string;
    problem?: 'code' | 'expired' | 'tampered';
    /** In the course of a sign-in, which goes on after it, perhaps to a client. */
    signIn?: { client?: ClientView };
    /** The way back. */
    backUri: string;
  };
  /** Shows recovery codes, which are not seen again. */
  'account-recovery-codes': {
    account: AccountView;
    codes: string[];
    /** Of the account they are for: for the file that can be kept. */
    issuer: string;
    continueUri: string;
  };
}

const secret = 'JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP';
const uri = 'otpauth://totp/id.example:ada?issuer=id.example&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const codes = [...'ABCDEFGHJK'].map((letter) => `${letter}7QM-X3FH-${letter}2WK-NP9${letter}`);
const since = new Date('2026-03-14T09:26:53Z');

export const secondFactorExamples: Examples<SecondFactorPages> = {
  'login-second-factor': [
    {
      account: { username: '' },
      form: form('/login/second-factor'),
      methods: { authenticator: false, recovery: false },
      restartUri: '/login',
    },
    {
      client,
      account,
      form: form('/login/second-factor'),
      methods: { authenticator: true, recovery: true },
      passkey: passkeyExample,
      problem: 'code',
      restartUri: '/login?transaction=request',
    },
  ],
  'account-second-factors': [
    {
      account: { username: '' },
      factors: [],
      form: form('/account/second-factors'),
      passkeys: 0,
      securityUri: '/account/security',
    },
    {
      account,
      factors: [
        { id: 'one', kind: 'authenticator', name: 'My telephone', createdAt: since, usedAt: since },
        { id: 'two', kind: 'authenticator', name: '', createdAt: since },
      ],
      form: form('/account/second-factors'),
      passkeys: 2,
      recoveryCodes: { left: 9, all: 10, form: form('/account/recovery-codes') },
      addAuthenticatorUri: '/account/authenticator',
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
