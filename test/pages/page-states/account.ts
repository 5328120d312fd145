// Lists states of the account's pages, beside the examples.
import { accountNotices, type AccountPages } from '../../../src/pages/views/account.ts';
import { examples } from '../../../templates/examples/index.ts';
import type { ProfileFault } from '../../../src/oauth/own-profile.ts';
import { signIn } from './common.ts';
import type { View } from './state.ts';

const edit = examples['account-profile-edit'][1];
const faults: Record<ProfileFault, true> = {
  text: true,
  long: true,
  url: true,
  date: true,
  phone: true,
  language: true,
  zone: true,
};

export const accountStates: View[] = [
  { name: 'login', data: { methods: signIn.methods!.slice(0, 1), destination: 'deletion' } },
  { name: 'login', data: { methods: signIn.methods!.slice(0, 1), destination: 'password' } },
  { name: 'account-delete', data: { ...examples['account-delete'][1], fault: 'last-administrator' } },
  ...accountNotices.map((done): View => ({
    name: 'account-security',
    data: { ...examples['account-security'][1], done },
  })),
  ...(Object.keys(faults) as ProfileFault[]).map((fault): View => {
    const fields: AccountPages['account-profile-edit']['fields'] = edit.fields.map((field) => ({ ...field, fault }));
    const data = { ...edit, problem: undefined };
    return { name: 'account-profile-edit', data: { ...data, fields } };
  }),
];
