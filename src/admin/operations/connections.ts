// Declares the operations on connections and on the links of users to them. Only administrators may call them (federation FR18).
import { z } from 'zod';
import { connectionLinkView, connectionView } from '../../domain/administration/administrator-views.ts';
import { connectionAdministration } from '../../domain/administration/connections.ts';
import { jsonLimitsOf } from '../../entities/body-limits.ts';
import { type Connection, connections } from '../../entities/connections.ts';
import { changeShape, membersOf, newShape } from '../../entities/entity.ts';
import type { Config } from '../../config.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import { text } from '../../oauth/text.ts';
import { isSubject } from '../../rules/connections/connection-answer.ts';
import type { Store } from '../../repositories/store.ts';
import { issuerOfIdentity, profileOfConnection } from '../../domain/connections/kinds.ts';
import { samlAddresses } from '../../domain/connections/saml/saml.ts';
import { ruleOf } from '../../rules/connections/group-rules.ts';
import { operation } from './operation.ts';
import { facts, table } from './text-table.ts';

const path = '/admin/api/connections';
const section = { permission: 'connections', tag: 'connections' } as const;
/** Bytes of a request: the metadata of an identity provider is at most 256 KiB, and JSON and forms write some characters as several. */
export const settingsLimit = 640 * 1024;
const json = jsonLimitsOf(connections.members);
const byConnection = z.object({ id: text(40) });
const ofUser = z.object({ sub: text(255) });
const oneOfUser = z.object({ sub: text(255), connection: text(40) });

/** @throws OAuthError not_found */
export async function findConnection({ connections }: Pick<Store, 'connections'>, id: string): Promise<Connection> {
  const found = id.includes('\0') ? undefined : await connections.find(id);
  if (!found) throw notFound('there is no such connection');
  return found;
}

/** What a change does beside. */
const acts = {
  renew_key: z
    .boolean()
    .optional()
    .describe('Replaces the key of the connection: the provider must read the published key again.'),
  read_metadata: z
    .boolean()
    .optional()
    .describe('Reads the metadata of the identity provider now. The pinned keys stay until you accept new ones.'),
  accept_metadata: text(64)
    .optional()
    .describe('Accepts the metadata that the identity provider has published since, by the digest that was shown.'),
  end_sessions: z
    .boolean()
    .optional()
    .describe('With status disabled or link_only: ends all sessions that came from it.'),
};

/** The address that an administrator enters at the other side. */
function shownAddress({ kind, id }: Connection, { issuer }: Config): Record<string, string> {
  if (kind === 'ldap') return {};
  const { entityId, consumer } = samlAddresses(issuer, id);
  return kind === 'saml'
    ? { metadata_uri: entityId, acs_uri: consumer }
    : { redirect_uri: `${issuer}/connections/${id}/callback` };
}

/** Members that no option of a command sets. */
const withoutOption = ['id', 'kind', 'claim_rules', 'sync', 'mfa_values'];
function optionsOf(isNew: boolean): Record<string, string> {
  const options = membersOf(connections)
    .filter(([name, { fixed }]) => !withoutOption.includes(name) && (isNew || !fixed))
    .map(([name, { option = name.replaceAll('_', '-') }]) => [option, name] as const);
  // the name of a new user comes after the groups
  const isOfName = ([option]: readonly [string, string]) => option.startsWith('username-');
  return Object.fromEntries(
    options.flatMap((one) =>
      one[1] === 'default_groups' ? [one, ...options.filter(isOfName)] : isOfName(one) ? [] : [one],
    ),
  );
}

/** The sentence about the sessions that a change has ended. */
const endedText = (sessions: number, tokens: number): string =>
  `Ended sessions of browsers: ${sessions}, of applications with their tokens: ${tokens}.`;

/** Reads the group rules that an administrator types on the command line, one line each. */
const prepare = ({ group_rules: rules, ...given }: Record<string, unknown>) => ({
  ...given,
  ...(Array.isArray(rules) && { group_rules: rules.map((line) => ruleOf(String(line))) }),
});

export const listConnections = operation({
  method: 'GET',
  path,
  ...section,
  summary: 'Lists connections in the order of the sign-in page',
  answer: 'ConnectionList',
  handler: ({ store }) => store.connections.list(),
  view: (connections) => ({ connections: connections.map(connectionView) }),
  command: {
    name: 'connection list',
    text: (connections) =>
      table(
        ['ID', 'KIND', 'STATUS', 'NAME', 'DOMAINS'],
        connections.map((one) => [one.id, one.kind, one.status, one.displayName, one.domains.join(' ')]),
      ),
    json: (connections) => connections.map(connectionView),
  },
});

export const createConnection = operation({
  method: 'POST',
  path,
  ...section,
  summary: 'Creates a connection, disabled unless the status says otherwise',
  bodyLimit: settingsLimit,
  json,
  input: () => newShape(connections),
  status: 201,
  answer: 'Connection',
  handler: (context, { input, actor }) => connectionAdministration(context).create(actor, input),
  view: connectionView,
  command: {
    name: 'connection create',
    arguments: ['id', 'kind'],
    options: optionsOf(true),
    prepare,
    text: ({ id, kind, keyPublic }, { config: { issuer } }) =>
      kind === 'ldap'
        ? `Created the connection ${id}. Test it: bin/gatehouse connection test ${id}`
        : kind === 'saml'
          ? `Created the connection ${id}. Enter its metadata at the identity provider: ${issuer}/connections/${id}/saml/metadata`
          : `Created the connection ${id}. Enter this redirect URI at the provider: ${issuer}/connections/${id}/callback` +
            (keyPublic ? ` Its key is at ${issuer}/connections/${id}/jwks` : ''),
  },
});

export const showConnection = operation({
  method: 'GET',
  path: `${path}/:id`,
  ...section,
  summary: 'Shows a connection, without its secret',
  params: byConnection,
  answer: 'Connection',
  handler: ({ store }, { params: { id } }) => findConnection(store, id),
  view: connectionView,
  command: {
    name: 'connection show',
    text: (connection, { config }) =>
      facts({
        ...connectionView(connection),
        ...shownAddress(connection, config),
      }),
  },
});

export const changeConnection = operation({
  method: 'PATCH',
  path: `${path}/:id`,
  ...section,
  summary: 'Changes a connection; its id and its kind stay',
  bodyLimit: settingsLimit,
  json,
  params: byConnection,
  input: () => changeShape(connections).extend(acts),
  answer: 'Connection',
  handler: (context, { params: { id }, input, actor }) => connectionAdministration(context).change(actor, id, input),
  view: connectionView,
  command: {
    name: 'connection change',
    options: {
      ...optionsOf(false),
      ...Object.fromEntries(Object.keys(acts).map((act) => [act.replace('_', '-'), act])),
    },
    merged: ['settings'],
    prepare,
    text: ({ id, status }) =>
      `Changed the connection ${id}: it is ${status === 'link_only' ? 'for linking only' : status}.`,
  },
});

export const deleteConnection = operation({
  method: 'DELETE',
  path: `${path}/:id`,
  ...section,
  summary: 'Deletes a connection with its links, its memberships and the sessions that came from it',
  params: byConnection,
  answer: 'DeletedConnection',
  handler: (context, { params: { id }, actor }) => connectionAdministration(context).remove(actor, id),
  command: {
    name: 'connection delete',
    text: ({ people, sessions, tokens }, { params: { id } }) =>
      `Deleted the connection ${id}. ${people === 0 ? 'Every user has another way to sign in.' : `Users without another way to sign in: ${people}.`} ${endedText(sessions, tokens)}`,
    json: (ended, { params: { id } }) => ({ connection: id, ...ended }),
  },
});

const listLinks = operation({
  method: 'GET',
  path: '/admin/api/users/:sub/connections',
  permission: 'users',
  tag: 'users',
  summary: 'Lists the links of a user to connections',
  params: ofUser,
  answer: 'LinkList',
  async handler({ store }, { params: { sub } }) {
    if (sub.includes('\0')) return { links: [], breakGlass: false };
    const [links, breakGlass] = await Promise.all([store.linkedIdentities.ofUser(sub), store.breakGlass.has(sub)]);
    return { links, breakGlass };
  },
  view: ({ links, breakGlass }) => ({ links: links.map(connectionLinkView), break_glass: breakGlass }),
  command: {
    name: 'user links',
    text: ({ links }) =>
      table(
        ['CONNECTION', 'SUBJECT', 'HOW', 'SINCE'],
        links.map((link) => [link.connectionId, link.subject, link.how, link.createdAt.toISOString()]),
      ),
    json: ({ links }) => links.map(connectionLinkView),
  },
});

const linkUser = operation({
  method: 'POST',
  path: '/admin/api/users/:sub/connections',
  permission: 'users',
  tag: 'users',
  summary: 'Links an identity of a connection to a user, by its subject there',
  params: ofUser,
  input: () =>
    z.strictObject({
      connection: text(40),
      issuer: text(500).optional().describe('For a connection with several issuers: that of the identity.'),
      subject: z
        .string()
        .refine(isSubject)
        .describe('What the connection calls the user, byte for byte; never an address.'),
    }),
  async handler(
    { store, administration, connectionKinds },
    { params: { sub }, input: { connection: id, subject, issuer: named }, actor },
  ) {
    const connection = await findConnection(store, id);
    const profile = profileOfConnection(connectionKinds, connection);
    if (!profile && connectionKinds.get(connection.kind)) throw conflict(refusal('connection.settings', 'settings'));
    const issuer = issuerOfIdentity(connectionKinds, connection, named);
    if (issuer === undefined) throw invalidRequest(refusal('missing', 'issuer'));
    const key = { connectionId: id, issuer, subject };
    if (sub.includes('\0')) throw invalidRequest(refusal('unknown', 'sub'));
    await administration.linkIdentity(actor, sub, key);
  },
  command: {
    name: 'user link',
    arguments: ['connection', 'subject'],
    text: (_done, { input }) => `Linked the user to ${input.connection}.`,
    json: (_done, { params: { sub }, input }) => ({ sub, connection: input.connection }),
  },
});

export const unlinkUser = operation({
  method: 'DELETE',
  path: '/admin/api/users/:sub/connections/:connection',
  permission: 'users',
  tag: 'users',
  summary: 'Removes the link of a user to a connection, and ends the sessions that came from it',
  params: oneOfUser,
  handler: ({ administration }, { params: { sub, connection }, actor }) =>
    administration.unlinkIdentity(actor, sub, connection),
  answer: 'EndedAccess',
  command: {
    name: 'user unlink',
    text: ({ sessions, tokens }, { params: { connection } }) =>
      `Removed the link to ${connection}. ${endedText(sessions, tokens)}`,
    json: (ended, { params: { sub, connection } }) => ({ sub, connection, ...ended }),
  },
});

export const keepLink = operation({
  method: 'POST',
  path: '/admin/api/users/:sub/connections/:connection/keep',
  permission: 'users',
  tag: 'users',
  summary: 'Keeps a link that was made automatically, so that the user can become an administrator',
  params: oneOfUser,
  handler: ({ administration }, { params: { sub, connection }, actor }) =>
    administration.keepLink(actor, sub, connection),
  command: {
    name: 'user keep-link',
    text: (_done, { params: { connection } }) => `Kept the link to ${connection}.`,
    json: (_done, { params: { sub, connection } }) => ({ sub, connection }),
  },
});

export const markBreakGlass = operation({
  method: 'POST',
  path: '/admin/api/users/:sub/break-glass',
  permission: 'users',
  tag: 'users',
  summary:
    'Decides whether a user may sign in here although the domain of the address is enforced, as emergency access',
  params: ofUser,
  input: () => z.strictObject({ marked: z.boolean().describe('Whether the user may do so.') }),
  internalInput: z.object({ off: z.boolean().describe('Takes it away again.') }),
  handler: ({ administration }, { params: { sub }, input: { marked }, actor }) =>
    administration.setBreakGlass(actor, sub, marked),
  command: {
    name: 'user break-glass',
    options: { off: 'off' },
    prepare: ({ off }) => ({ marked: off !== true }),
    text: (_done, { input }) =>
      input.marked
        ? 'The user may sign in here at /login?local=1, even if the domain of the address is enforced.'
        : 'The user has no emergency access.',
    json: (_done, { params: { sub }, input }) => ({ sub, break_glass: input.marked }),
  },
});

export const connectionOperations = [
  listConnections,
  createConnection,
  showConnection,
  changeConnection,
  deleteConnection,
  listLinks,
  linkUser,
  unlinkUser,
  keepLink,
  markBreakGlass,
];
