// Lists states of the account's passkey page, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const [none, most] = examples['account-passkeys'];
const { account, passkeys, signInUri, renameForm, removeForm, securityUri } = most;
const closed = { account, passkeys, signInUri, renameForm, removeForm, securityUri };

export const passkeyStates: View[] = [
  { name: 'account-passkeys', data: { ...most, done: undefined, client: examples.continue[1].client } as never },
  ...(['added', 'renamed', 'removed'] as const).map((done): View => ({
    name: 'account-passkeys',
    data: { ...most, done },
  })),
  ...(['refused', 'known', 'expired', 'last'] as const).map((problem): View => ({
    name: 'account-passkeys',
    data: { ...closed, add: most.add!, problem },
  })),
  ...(['stale', 'full', 'address', 'http'] as const).map((reason): View => ({
    name: 'account-passkeys',
    data: { ...closed, closed: reason },
  })),
  { name: 'account-passkeys', data: { ...none, add: most.add! } },
  { name: 'account-passkeys', data: { ...none, closed: undefined, first: true, add: most.add! } as never },
];
