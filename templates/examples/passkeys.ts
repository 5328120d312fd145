// Gives example data of the passkey page.
import type { PasskeyPages } from '../../src/pages/views/passkeys.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { account, form } from './parts.ts';

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
