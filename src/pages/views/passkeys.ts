// The page of a person's passkeys, and what the pages show that ask for one: contracts, and examples.
import { type AccountView, type ClientView, type Examples, type FormView, account, form } from './parts.ts';

/** A ceremony of the browser (Web Authentication): its script posts what comes of it as `credential`. */
export interface PasskeyView {
  form: FormView;
  /** What the browser is asked, as JSON. */
  options: string;
}

export interface PasskeyPages {
  /** One's passkeys: add one, call one otherwise, remove one. */
  'account-passkeys': {
    /** That demands one, and is gone on to then. */
    client?: ClientView;
    account: AccountView;
    passkeys: {
      id: string;
      /** Empty for none. */
      name: string;
      madeAt: Date;
      usedAt?: Date;
      /** Kept on several devices. */
      synced: boolean;
    }[];
    /** Set where one that is added changes the sign-in by password: from then on it asks for a second factor, too. */
    first?: boolean;
    /** Absent where none can be added now. */
    add?: PasskeyView;
    /** Why none can be added: the sign-in is too long ago, there are enough, or the address of the service allows none. */
    closed?: 'stale' | 'full' | 'address';
    /** Where to sign in again. */
    signInUri: string;
    /** Posts `passkey`, the id, and `name`. */
    renameForm: FormView;
    /** Posts `passkey`, the id; after a sign-in, if the last one is not recent. */
    removeForm: FormView;
    securityUri: string;
    /** `refused`: what the browser sent is no passkey for here; `last`: nothing else lets the person in. */
    problem?: 'refused' | 'known' | 'expired' | 'last';
    /** What the person has just done here. */
    done?: 'added' | 'renamed' | 'removed';
  };
}

export const passkeyExample: PasskeyView = { form: form('/login/passkey'), options: '{"challenge":"AAAA"}' };

const path = '/account/passkeys';
const forms = { renameForm: form(`${path}/rename`), removeForm: form(`${path}/remove`) };
const uris = { signInUri: '/login?destination=passkeys', securityUri: '/account/security' };

export const passkeyExamples: Examples<PasskeyPages> = {
  'account-passkeys': [
    { account: { username: '' }, passkeys: [], closed: 'stale', ...forms, ...uris },
    {
      account,
      passkeys: [
        {
          id: '3',
          name: 'Bitwarden',
          madeAt: new Date('2026-03-14T09:26:53Z'),
          usedAt: new Date('2026-03-14T10:01:00Z'),
          synced: true,
        },
        { id: '2', name: 'Key on my key ring', madeAt: new Date('2026-02-01T18:00:00Z'), synced: false },
        { id: '1', name: '', madeAt: new Date('2025-12-24T20:15:00Z'), synced: false },
      ],
      add: { form: form(path), options: '{"challenge":"AAAA"}' },
      ...forms,
      ...uris,
      done: 'added',
    },
  ],
};
