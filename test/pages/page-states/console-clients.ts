// Lists states of the console's client pages, beside the examples.
import { clientGroups, typedOfKind } from '../../../src/admin/console/clients/fields.ts';
import { web } from '../../../src/admin/operations/client-kinds/web.ts';
import { consoleReviews } from '../../../templates/examples/console-clients.ts';
import { examples } from '../../../templates/examples/index.ts';
import { ownRefusals, refusedCodes, refusedParams, type View } from './state.ts';

const [emptyList, list] = examples['console-clients'];
const client = examples['console-client'][1];
const registrations = examples['console-registrations'][1];
const edit = examples['console-client-edit'][1];
const secrets = { ...examples['console-client-secrets'][1], shown: undefined, form: edit.form };
const end = examples['console-client-end'][1];

/** The fields that have no sentences of their own. */
const own = new Set(ownRefusals('console.field').map(({ field }) => field));
const fieldNames = clientGroups({}, {})
  .flatMap(({ fields }) => fields.map(({ name }) => name))
  .filter((name) => !own.has(name));
/** Each sentence at a field; the form of a client with a document has no other fault at the same time. */
const codes = refusedCodes.filter((code) => !code.startsWith('document'));
/** The sentences that one form shows, so that it does not weigh more than a form with a few faults. */
const together = 6;
const faultsTogether = Array.from({ length: Math.ceil(codes.length / together) }, (_none, form) =>
  Object.fromEntries(
    codes
      .slice(form * together, (form + 1) * together)
      .map((code, index) => [fieldNames[index]!, { code, params: refusedParams }]),
  ),
);

export const consoleClientStates: View[] = [
  {
    name: 'console-client-secrets',
    data: { ...secrets, problem: undefined, secrets: ['client_secret'], ofSite: true },
  },
  ...[...faultsTogether, ...ownRefusals('console.field').map(({ field, code }) => ({ [field!]: { code } }))].map(
    (faults): View => ({
      name: 'console-client-edit',
      data: { ...edit, changed: undefined, groups: clientGroups(typedOfKind(web), faults) } as never,
    }),
  ),
  {
    name: 'console-client-edit',
    data: { ...edit, groups: clientGroups({}, { client_name: { code: 'document.members' } }) },
  },
  { name: 'console-clients', data: { ...list, pending: { count: 3, more: false } } },
  { name: 'console-clients', data: { ...emptyList, filtered: true } },
  { name: 'console-clients', data: { ...list, clients: [{ ...list.clients[0]!, kind: 'saml' }] } },
  ...[
    'client-saved',
    'client-approved',
    'client-enabled',
    'client-refused',
    'client-disabled',
    'client-deleted',
    'client-made-before',
    'look-alike-dismissed',
    'look-alike-changed',
  ].map((done): View => ({
    name: 'console-clients',
    data: { ...emptyList, done },
  })),
  ...(['nothing', 'reason'] as const).map((problem): View => ({
    name: 'console-registrations',
    data: { ...registrations, report: undefined, problem },
  })),
  { name: 'console-registrations', data: { ...registrations, report: undefined } },
  { name: 'console-registrations', data: { ...registrations, report: undefined, problem: 'reason', entry: 'c-4f82' } },
  { name: 'console-client', data: { ...client, problem: 'reason' } },
  { name: 'console-client', data: { ...client, access: [] } },
  { name: 'console-client', data: { ...client, connect: { ...client.connect, saml: undefined } } },
  {
    name: 'console-client',
    data: {
      ...client,
      connect: { ...client.connect, saml: undefined, certificate: { ...client.connect.certificate!, state: 'ended' } },
    },
  },
  ...(['enabled', 'disabled', 'registration', 'refused', 'collection'] as const).map((state): View => ({
    name: 'console-client',
    data: { ...client, state, review: undefined },
  })),
  ...consoleReviews.slice(1).map((review): View => ({ name: 'console-client', data: { ...client, review } })),
  ...(['initial_access_token', 'automatic'] as const).map((approvedBy): View => ({
    name: 'console-client',
    data: {
      ...client,
      approvedBy,
      selfRegistered: false,
      logouts: (['refused', 'given_up'] as const).map((status) => ({ ...client.logouts[1]!, status })),
    },
  })),
  { name: 'console-client-edit', data: { ...edit, changed: false } },
  {
    name: 'console-client-edit',
    data: { ...edit, changed: false, waits: false, groups: clientGroups(typedOfKind(web), {}) },
  },
  ...(['nothing', 'changed'] as const).map((problem): View => ({
    name: 'console-client-secrets',
    data: { ...secrets, problem },
  })),
  { name: 'console-client-secrets', data: { ...examples['console-client-secrets'][1], problem: undefined } },
  { name: 'console-client-end', data: { ...end, operation: 'disable', problem: undefined, typed: undefined } },
  { name: 'console-client-end', data: { ...end, users: { count: 12, more: false } } },
];
