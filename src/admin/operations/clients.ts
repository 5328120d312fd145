// Declares the operations on clients: list, create, show, change, disable, delete, renew secrets.
import { refusal, rule } from '../../oauth/refusals.ts';
import { z } from 'zod';
import { randomId } from '../../crypto/secrets.ts';
import { isTakenKey } from '../../database/database.ts';
import { registrableApiScopes } from '../../domain/resources/api-scopes.ts';
import { clientView } from '../../domain/administration/administrator-views.ts';
import { pageOf, pageShape, readCursor } from '../../domain/administration/paging.ts';
import { jsonLimitsOf } from '../../entities/body-limits.ts';
import { clientChangeShape, clientSettings, settingsIn } from '../../entities/client-settings.ts';
import {
  type ClientMetadata,
  clientMetadataShape,
  parseClientMetadata,
  registrableFields,
} from '../../oauth/client-metadata.ts';
import { conflict, notFound } from '../../oauth/errors.ts';
import { splitScope } from '../../oauth/scope.ts';
import { text } from '../../oauth/text.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Store } from '../../repositories/store.ts';
import { samlEntityId, samlPaths } from '../../rules/saml/addresses.ts';
import {
  clientSecrets,
  namedCredentials,
  renewedSecrets,
  type ShownCredentials,
} from '../../tokens/client-credentials.ts';
import { findKind } from './client-kinds/kinds.ts';
import { clientSettingCommands } from './client-settings.ts';
import { documentedChangeShape } from './client-members.ts';
import { makeClient, reviseClient, type Revised } from './client-revisions.ts';
import { changeOptions, createOptions } from './client-options.ts';
import { byId, operation, type OperationCommand } from './operation.ts';
import { newClientShape } from './new-client-shape.ts';
import { describedBySaml } from './saml-metadata.ts';
import { facts, table } from './text-table.ts';

const section = { permission: 'clients', tag: 'clients' } as const;
export const path = '/admin/api/clients';
const json = jsonLimitsOf(clientSettings);

/** @throws OAuthError not_found */
export async function findClient({ clients }: Pick<Store, 'clients'>, clientId: string): Promise<Client> {
  const client = await clients.find(clientId);
  if (!client) throw notFound(`there is no client ${clientId}`);
  return client;
}

const listClients = operation({
  method: 'GET',
  path,
  ...section,
  summary:
    'Lists clients, newest first; with waiting=true those that are pending approval, with q those that match a search',
  input: () =>
    pageShape.extend({
      status: z.enum(['enabled', 'disabled'], rule('status')).optional().describe('Only clients with this status.'),
      waiting: z
        .enum(['true', 'false'], rule('boolean'))
        .optional()
        .describe('Only clients that are pending approval.'),
      self_registered: z
        .enum(['true', 'false'], rule('boolean'))
        .optional()
        .describe('Only clients that registered themselves, or only others.'),
      q: text(200)
        .optional()
        .describe('Words that begin a word of the name, the client_id, a redirect host or a parent domain of it.'),
    }),
  answer: 'ClientPage',
  async handler({ store }, { input: { limit, cursor, status, waiting, self_registered: itself, q: search } }) {
    const selfRegistered = itself === undefined ? undefined : itself === 'true';
    const filter = { status, waiting: waiting === 'true', selfRegistered, search };
    return { limit, clients: await store.clients.list(filter, { limit, after: readCursor(cursor) }) };
  },
  view: ({ limit, clients }) =>
    pageOf('clients', clients, limit, clientView, (client) => ({ at: client.createdAt, id: client.clientId })),
  command: {
    name: 'client list',
    summary: 'Lists the newest clients, those that are pending approval, or those that match a search',
    options: { status: 'status', waiting: 'waiting', search: 'q', limit: 'limit' },
    text: ({ clients }) =>
      table(
        ['CLIENT_ID', 'STATUS', 'WAITS', 'NAME', 'REDIRECT_URI'],
        clients.map((client) => [
          client.clientId,
          client.status,
          waits(client),
          client.metadata.client_name ?? '',
          client.metadata.redirect_uris[0] ?? '',
        ]),
      ),
    json: ({ clients }) => clients.map(clientView),
  },
});

/** The pending decision of an administrator, or the pending step of the client. */
function waits(client: Client): string {
  if (client.pendingMetadata) return 'changes';
  if (client.selfRegistered && client.status === 'disabled' && !client.approvedBy) return 'approval';
  return client.uncollected ? 'collection' : '';
}

export const createClient = operation({
  method: 'POST',
  path,
  ...section,
  summary: 'Creates a client, enabled by default, and shows its secrets once',
  input: newClientShape,
  json,
  documentedInput: z.strictObject({ ...clientMetadataShape.shape, ...newClientShape().shape }),
  internalInput: z.object({
    verbose: z.boolean().describe('Prints every credential, also those that few clients use.'),
  }),
  status: 201,
  answer: 'NewClient',
  async handler(context, { input, actor }) {
    const kind = findKind(input.kind);
    const given: Record<string, unknown> = {
      ...kind?.metadata,
      ...input,
      ...kind?.derived?.(settingsIn(input), context.config),
    };
    const apiScopes = await registrableApiScopes(context.store, given['scope'], { admin: true });
    const isSaml = kind?.stored === 'saml';
    const { development } = settingsIn(input);
    const options = { admin: true, development, apiScopes, withoutGrants: isSaml };
    const metadata = parseClientMetadata(given, options, context.config);
    const id = input.client_id ?? randomId();
    const described = isSaml ? await describedBySaml(context, input) : {};
    const settings = { ...settingsIn({ ...described, ...input }), status: input.status };
    return makeClient(context, actor, id, metadata, settings, kind, input).catch((error: unknown) => {
      throw isTakenKey(error, 'clients_pkey') ? conflict(refusal('client.taken', 'client_id')) : error;
    });
  },
  view: ({ client, shown }) => ({ ...clientView(client), ...namedCredentials(client, shown) }),
  command: {
    name: 'client create',
    summary:
      'Creates an enabled client and prints its credentials; with --grant-type client_credentials --scope admin it can call the admin routes',
    required: ['client_name'],
    options: createOptions,
    forms: { jwks: 'json-file', client_secret: 'text-file', saml_metadata: 'text-file' },
    prepare: (given) => ({
      redirect_uris: [],
      ...(given['kind'] === undefined && {
        grant_types: given['redirect_uris'] ? ['authorization_code', 'refresh_token'] : ['client_credentials'],
      }),
      ...given,
    }),
    text: ({ client, shown }, { config, input: { verbose } }) => {
      const printed = verbose ? shown : usualCredentials(client, shown);
      const hasSecret = Object.values(printed).some((secret) => secret !== undefined);
      const once = hasSecret ? '. A secret is shown only once' : '';
      const head = `Created and enabled the client ${client.metadata.client_name}${once}:\n${linesOf(client, printed)}`;
      if (client.kind === 'saml') return `${head}\n\n${identityProvider(config.issuer)}`;
      const more = client.kind === 'oauth' && !verbose;
      const rest = `If it needs its shared secret or its registration access token: bin/gatehouse client new-secret ${client.clientId} --secret NAME`;
      // a sign-in leaves out the other scopes without an error
      const { scope = '' } = client.metadata;
      const scopes = client.kind === 'oauth' && scope !== '' ? `\nScopes: ${scope}` : '';
      return `${head}\n\nIssuer: ${config.issuer}${scopes}${more ? `\n${rest}` : ''}`;
    },
  },
});

/** The values that a SAML application asks for. Its metadata contain the others. */
const identityProvider = (issuer: string): string =>
  [
    'The application needs these values:',
    `  ${'metadata'.padEnd(26)}${issuer}${samlPaths.metadata}`,
    `  ${'entity ID'.padEnd(26)}${samlEntityId(issuer)}`,
    `  ${'sign-on URL'.padEnd(26)}${issuer}${samlPaths.signOn}`,
    'The certificate is in the metadata, and saml-keys list --json prints it.',
  ].join('\n');

/** What nearly every client of its kind needs. Only application servers sign their end-session requests with the shared secret. */
const usualCredentials = (
  { metadata }: Client,
  { clientSecret, sharedSecret }: ShownCredentials,
): Partial<ShownCredentials> => ({ clientSecret, ...(metadata.uma_profile && { sharedSecret }) });

const linesOf = (client: Client, shown: Partial<ShownCredentials>): string =>
  Object.entries({ client_id: client.clientId, ...namedCredentials(client, shown) })
    .flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(26)}${value}`]))
    .join('\n');

export const showClient = operation({
  method: 'GET',
  path: `${path}/:id`,
  ...section,
  summary: 'Shows a client',
  params: byId,
  answer: 'Client',
  handler: ({ store }, { params: { id } }) => findClient(store, id),
  view: clientView,
  command: {
    name: 'client show',
    summary: 'Shows a client with its pending change',
    text: (client) => facts(clientView(client)),
  },
});

const changeCommand: OperationCommand<{ id: string }, z.infer<typeof clientChangeShape>, Revised> = {
  name: 'client change',
  options: changeOptions(Object.keys(documentedChangeShape.shape)),
  forms: { jwks: 'json-file', claim_rules: 'json', localized: 'json' },
  text: ({ client, newSecret }) =>
    `Changed the client ${client.clientId}.${newSecret === undefined ? '' : `\n${linesOf(client, { clientSecret: newSecret })}`}`,
};

export const changeClient = operation({
  method: 'PATCH',
  path: `${path}/:id`,
  ...section,
  summary: 'Changes the given members of a client and no others; null removes a member',
  params: byId,
  input: () => clientChangeShape,
  json,
  documentedInput: documentedChangeShape,
  answer: 'ChangedClient',
  async handler(context, { params: { id }, input, actor }) {
    const fields = Object.entries(input).filter(([member]) => registrableFields.includes(member));
    const apiScopes = await registrableApiScopes(context.store, input['scope'], { admin: true });
    // null removes a member, as in RFC 7396
    const metadataOf = (client: Client): ClientMetadata =>
      parseClientMetadata(
        Object.fromEntries(
          Object.entries({ ...client.metadata, ...Object.fromEntries(fields) }).filter(([, value]) => value !== null),
        ),
        {
          admin: true,
          development: settingsIn(input).development ?? client.development,
          apiScopes: [...splitScope(client.metadata.scope), ...apiScopes],
          withoutGrants: client.kind === 'saml',
        },
        context.config,
      );
    // a client that is no longer one of development must not keep its addresses
    const isRevised = fields.length > 0 || settingsIn(input).development === false;
    const revised = await reviseClient(context, actor, id, isRevised ? metadataOf : undefined, (client) => {
      const { status, version } = input;
      if (status === 'enabled' && client.status === 'disabled' && version === undefined)
        throw conflict('to enable a client, send the version that you reviewed as version');
      return { ...settingsIn(input), status, version };
    });
    const groups = settingsIn(input).access_groups ?? [];
    if (groups.length === 0) return revised;
    return { ...revised, missingGroups: await context.store.doctorView.missingGroups(groups) };
  },
  view: ({ client, newSecret }) => ({ ...clientView(client), client_secret: newSecret }),
  command: [changeCommand, ...clientSettingCommands],
});

export const disableClient = operation({
  method: 'POST',
  path: `${path}/:id/disable`,
  ...section,
  summary: 'Disables a client and ends all its sessions and tokens',
  params: byId,
  answer: 'Client',
  async handler({ administration, clients }, { params: { id }, actor }) {
    const disabled = await administration.disableClient(actor, id);
    clients.forget(id);
    return disabled;
  },
  view: ({ client }) => clientView(client),
  command: {
    name: 'client disable',
    text: ({ client, changed }) =>
      changed
        ? `Disabled the client ${client.clientId}; all its sessions and tokens have ended.`
        : `The client ${client.clientId} is already disabled: nothing changed.`,
  },
});

export const deleteClient = operation({
  method: 'DELETE',
  path: `${path}/:id`,
  ...section,
  summary: 'Deletes a client and everything that was issued to it',
  params: byId,
  async handler({ administration, clients }, { params: { id }, actor }) {
    await administration.deleteClient(actor, id);
    clients.forget(id);
  },
  command: {
    name: 'client delete',
    text: (_, { params: { id } }) => `Deleted the client ${id} with all its sessions and tokens.`,
    json: (_, { params: { id } }) => ({ client_id: id }),
  },
});

export const renewSecrets = operation({
  method: 'POST',
  path: `${path}/:id/secrets`,
  ...section,
  summary: 'Renews the secrets of a client and shows the new ones once; the old ones stop working immediately',
  params: byId,
  input: () =>
    z.strictObject({
      secrets: z
        .array(z.enum(clientSecrets, rule('only')))
        .min(1)
        .max(clientSecrets.length)
        .optional()
        .describe('Only these secrets; by default, all secrets of the client.'),
    }),
  internalInput: z.object({ version: z.int() }),
  answer: 'NewSecrets',
  async handler({ administration, clients, secretBox }, { params: { id }, input: { secrets, version }, actor }) {
    let shown: Partial<ShownCredentials> = {};
    const renew = (current: Client) => {
      const renewed = renewedSecrets(secretBox, current, secrets);
      shown = renewed.shown;
      return renewed.credentials;
    };
    const client = await administration.renewSecrets(actor, id, renew, version);
    clients.forget(id);
    return { client, shown };
  },
  view: ({ client, shown }) => ({
    client_id: client.clientId,
    version: client.version,
    ...namedCredentials(client, shown),
  }),
  command: {
    name: 'client new-secret',
    options: { secret: 'secrets' },
    text: ({ client, shown }) =>
      `Renewed the secrets of the client ${client.clientId}. They are shown only once; the old ones no longer work:\n${linesOf(client, shown)}`,
  },
});

export const clientOperations = [
  listClients,
  createClient,
  showClient,
  changeClient,
  disableClient,
  deleteClient,
  renewSecrets,
];
