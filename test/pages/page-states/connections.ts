// Lists states of the pages about sign-in by a connection, beside the examples.
import { connectionFields, formOfType, proposedBy } from '../../../src/admin/console/connections/form.ts';
import {
  type ConnectionType,
  connectionTypes,
  directoryType,
  testedMembers,
} from '../../../src/admin/console/connections/types.ts';
import { typedOf } from '../../../src/admin/console/form.ts';
import { connectionProblems } from '../../../src/pages/views/connections.ts';
import { directoryCheckProblems } from '../../../src/pages/views/directories.ts';
import type { Pages } from '../../../src/pages/views/index.ts';
import { examples } from '../../../templates/examples/index.ts';
import { settingsVariant } from '../../helpers/connection-variants.ts';
import { ownRefusals, type View } from './state.ts';

const problem = examples['connection-problem'][0];
const form = examples['console-connection-form'][1];
const newForm = examples['console-connection-form'][0];
/** The form of a type as the console makes it. @param id of a connection that the form changes */
function formData(type: ConnectionType, id?: string): Pages['console-connection-form'] {
  const variant = settingsVariant(type);
  const values = { ...proposedBy(type, variant, []), ...(id !== undefined && { id }) };
  const members = formOfType(type, variant, id === undefined ? undefined : values);
  const { redirectUri, ...data } = newForm;
  const isDirectory = type === directoryType;
  return {
    ...data,
    ...(!isDirectory && type.kind !== 'saml' && redirectUri !== undefined && { redirectUri }),
    ...(type.kind === 'saml' && { samlAddresses }),
    type: type.name,
    ...(isDirectory && id === undefined && { tested: testedMembers }),
    fields: connectionFields(type, members, typedOf(members, values), id !== undefined),
    ...(id !== undefined && { of: { name: 'Company', uri: `/admin/connections/${id}/directory` } }),
  };
}
const samlAddresses = {
  metadata: 'https://id.example.com/connections/ID/saml/metadata',
  acs: 'https://id.example.com/connections/ID/saml/acs',
  logout: 'https://id.example.com/connections/ID/saml/logout',
};
const certificate = { fingerprint: 'A0:B1:C2:D3'.repeat(8), notAfter: new Date('2036-03-14T09:26:53Z') };
const bare = { ...examples['console-connection'][0] };
delete bare.redirectUri;
delete bare.logoutUris;
const acceptForm = { action: '/admin/connections/corporate/metadata', hidden: { csrf: 'x' } };
/** The page of a connection by SAML, whose identity provider has published another key. */
const samlPage: Pages['console-connection'] = {
  ...bare,
  connection: { ...bare.connection, kind: 'saml', clientId: '' },
  saml: { addresses: samlAddresses, certificates: [certificate], ownEnds: certificate.notAfter, readForm: acceptForm },
  published: {
    entityId: 'https://login.example.com',
    ssoUri: 'https://login.example.com/sso',
    sloUri: 'https://login.example.com/slo',
    certificates: [{ ...certificate, isNew: true }],
    form: acceptForm,
  },
};
const changedDirectory = formData(directoryType, 'company');
const login = { ...examples.login[1] };
delete login.client;
const security = examples['account-security'][1];
const own = { ...examples['account-connections'][1] };
delete own.waiting;

export const connectionStates: View[] = [
  { name: 'login-connect', data: { ...examples['login-connect'][0], untimed: true } },
  {
    name: 'account-connections',
    data: { ...own, account: { ...own.account, passwordless: true }, problem: 'only-way' },
  },
  ...(['added', 'removed', 'needed'] as const).map((done): View => ({
    name: 'account-second-factors',
    data: { ...examples['account-second-factors'][0], done },
  })),
  ...connectionProblems.map((one): View => ({ name: 'connection-problem', data: { ...problem, problem: one } })),
  ...connectionProblems.map((one): View => ({
    name: 'connection-problem',
    data: { ...problem, problem: one, name: 'Corporate' },
  })),
  ...connectionProblems.map((one): View => ({ name: 'account-connections', data: { ...own, problem: one } })),
  ...[undefined, ...directoryCheckProblems].map((problem): View => ({
    name: 'console-connection-form',
    data: { ...formData(directoryType), test: { problem, users: 1 } },
  })),
  // the form of a type with the field, which most have
  ...ownRefusals('console.connection').map((refused): View => {
    const types = connectionTypes.filter((type) => formData(type).fields.some(({ name }) => name === refused.field));
    return { name: 'console-connection-form', data: { ...formData(types[0]!), refused } };
  }),
  ...ownRefusals('console.directory').map((refused): View => {
    const isNew = refused.field === 'id';
    return {
      name: 'console-connection-form',
      data: { ...(isNew ? formData(directoryType) : changedDirectory), refused },
    };
  }),
  { name: 'console-connection-form', data: formData(directoryType) },
  { name: 'console-connection-form', data: changedDirectory },
  ...(
    [
      { member: 'version', code: 'connection.version', whole: true },
      { member: 'mfa_values', code: 'invalid', whole: false },
      { field: 'status', member: 'status', code: 'invalid', whole: false },
      { field: 'enforced', member: 'enforced', code: 'invalid', whole: false },
    ] as const
  ).map((refused): View => ({ name: 'console-connection-form', data: { ...form, refused } })),
  // each type has words of its own, and fields that no other has
  ...connectionTypes.map((type): View => ({ name: 'console-connection-form', data: formData(type) })),
  { name: 'login', data: { ...login, destination: 'connect' } },
  { name: 'login', data: { ...login, destination: 'connections' } },
  ...[true, false].map((set): View => ({
    name: 'account-security',
    data: { ...security, methods: [...security.methods, { method: 'connections', uri: '/account/connections', set }] },
  })),
  { name: 'login-name', data: { ...examples['login-name'][1], fault: 'unusable' } },
  { name: 'login-name', data: { ...examples['login-name'][1], fault: 'throttled' } },
  ...(['enforced', 'connection'] as const).map((one): View => ({
    name: 'login',
    data: { ...login, methods: [], fields: [], connection: 'Corporate', problem: one },
  })),
  {
    name: 'login',
    data: {
      ...login,
      methods: [{ id: 'name', form: { action: '/login/user', hidden: {} } }],
      problem: 'missing',
      fields: ['username'],
    },
  },
  { name: 'console-user-connections', data: { ...examples['console-user-connections'][1], done: 'user-link-removed' } },
  { name: 'account-connections', data: { ...examples['account-connections'][0], done: 'connection-linked' } },
  { name: 'account-connections', data: { ...examples['account-connections'][0], done: 'connection-removed' } },
  { name: 'console-connections', data: { ...examples['console-connections'][0], done: 'connection-deleted' } },
  { name: 'console-connection', data: samlPage },
  ...['accepted', 'moved', 'read', 'unread'].map((one): View => ({
    name: 'console-connection',
    data: { ...samlPage, done: `metadata-${one}` },
  })),
  { name: 'console-connection', data: { ...examples['console-connection'][0], done: 'connection-made' } },
  { name: 'console-connection', data: { ...examples['console-connection'][0], done: 'connection-changed' } },
  { name: 'console-connection', data: { ...examples['console-connection'][0], done: 'confirmations-taken-back' } },
];
