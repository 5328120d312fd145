// Lists states of the account's pages, beside the examples.
import { accountNotices, type AccountPages } from '../../../src/pages/views/account.ts';
import { examples } from '../../../templates/examples/index.ts';
import type { AccountView } from '../../../src/pages/views/parts.ts';
import type { PageName } from '../../../src/pages/views/index.ts';
import type { ProfileFault } from '../../../src/rules/users/own-profile.ts';
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

const authenticator = examples['account-authenticator'][0];
/** The pages inside the account, as a user without a password sees them. */
const passwordless = (Object.keys(examples) as PageName[]).flatMap((name) =>
  examples[name].flatMap((data): View[] => {
    if (!name.startsWith('account') || !('account' in data)) return [];
    return [{ name, data: { ...data, account: { ...(data.account as AccountView), passwordless: true } } } as View];
  }),
);

export const accountStates: View[] = [
  ...passwordless,
  {
    name: 'account-authenticator',
    data: { ...authenticator, account: { ...authenticator.account, passwordless: true }, signIn: {} },
  },
  { name: 'login', data: { methods: signIn.methods!.slice(0, 1), destination: 'deletion' } },
  { name: 'login', data: { methods: signIn.methods!.slice(0, 1), destination: 'password' } },
  { name: 'login', data: { methods: signIn.methods!.slice(0, 1), destination: 'requests' } },
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
