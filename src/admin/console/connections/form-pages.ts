// Shows and reads the forms that create and change a connection to a provider or to a directory.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../../config.ts';
import type { ConnectionVariant } from '../../../domain/connections/kind.ts';
import { type ConnectionKinds, variantOfConnection } from '../../../domain/connections/kinds.ts';
import { type Connection, connectionId, connections } from '../../../entities/connections.ts';
import { type Input, view } from '../../../entities/entity.ts';
import { ruleListsOf } from '../../../entities/form.ts';
import { notFound } from '../../../oauth/errors.ts';
import type { Refusal } from '../../../oauth/refusals.ts';
import type { ConnectionPages } from '../../../pages/views/connections.ts';
import { changeConnection, createConnection, listConnections } from '../../operations/connections.ts';
import { testNewDirectory } from '../../operations/directories.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { inputOf, namesOf, type Typed, typedIn, typedOf } from '../form.ts';
import { refusedView } from '../refused.ts';
import type { RuleOwner } from '../rule-pages.ts';
import { submittedForms } from '../submitted-form.ts';
import { doneWith } from './confirmation-routes.ts';
import { connectionFields, formOfType, proposedBy } from './form.ts';
import { shownAddresses } from './saml-view.ts';
import { type ConnectionType, directoryType, testedMembers, typeOf } from './types.ts';

export interface ConnectionFormDependencies {
  config: Config;
  console: Console;
  connectionKinds: ConnectionKinds;
}

/** The lists of rules of a connection, on its page and on their own. */
export function ruleOwnerOf(connection: Connection): RuleOwner {
  const { id, kind, displayName } = connection;
  const order: readonly string[] = (kind === 'ldap' ? directoryType : typeOf(connection))?.order ?? [];
  const values = view(connections, connection);
  // rules that the API made for a provider without groups are shown, too
  const lists = Object.entries(ruleListsOf(connections.members)).filter(
    ([name]) => order.includes(name) || (values[name] as unknown[]).length > 0,
  );
  return {
    path: `${connectionsPath}/${id}`,
    name: displayName,
    trail: [
      { uri: connectionsPath, words: 'console.connections.title' },
      { uri: pathOf(connection), name: displayName },
    ],
    words: kind === 'ldap' ? 'console.directory' : 'console.connection',
    general: 'console.connection',
    values,
    lists: Object.fromEntries(lists),
  };
}

type DirectoryTest = ConnectionPages['console-connection-form']['test'];
const isDirectory = ({ kind }: ConnectionType) => kind === 'ldap';

export const connectionsPath = '/admin/connections';
export const newPathOf = ({ name }: ConnectionType) => `${connectionsPath}/new/${name}`;
/** The page of a connection. */
export const pathOf = ({ id, kind }: Pick<Connection, 'id' | 'kind'>) =>
  `${connectionsPath}/${id}${kind === 'ldap' ? '/directory' : ''}`;

export function connectionForms({ config, console, connectionKinds }: ConnectionFormDependencies) {
  const submitted = submittedForms(console);

  /** @throws OAuthError not_found for a connection of a version with other presets */
  function variantOf({ kind, preset }: ConnectionType): ConnectionVariant {
    const variant = variantOfConnection(connectionKinds, { kind, preset });
    if (!variant) throw notFound('there is no such form');
    return variant;
  }

  async function show(
    admin: AdminSession,
    type: ConnectionType,
    of?: Connection,
    typed?: Typed,
    { refused, test }: { refused?: Refusal; test?: DirectoryTest } = {},
  ): Promise<FastifyReply> {
    const variant = variantOf(type);
    const values = of && view(connections, of);
    const form = formOfType(type, variant, values);
    const taken = values || typed ? [] : (await admin.run(listConnections, {})).map(({ id }) => id);
    const filled = { ...typedOf(form, values ?? proposedBy(type, variant, taken)), ...typed };
    const sent = admin.form(of ? `${pathOf(of)}/edit` : newPathOf(type));
    const id = of?.id ?? connectionId.safeParse(filled['id']).data ?? 'ID';
    return admin.send(
      'console-connection-form',
      {
        type: type.name,
        fields: connectionFields(type, form, filled, of?.secretSince !== undefined),
        // the form is for the version that its page showed
        form: of ? { ...sent, hidden: { ...sent.hidden, version: String(of.version) } } : sent,
        ...addressesOf(type, id),
        ...(of && { of: { name: of.displayName, uri: pathOf(of) } }),
        ...(isDirectory(type) && !of && { tested: testedMembers }),
        ...(test && { test }),
        ...(refused && { refused: refusedView(refused, namesOf(form)) }),
      },
      { section: 'connections', status: refused ? 400 : 200 },
    );
  }

  /** What the administrator enters at the other side. */
  function addressesOf({ kind }: ConnectionType, id: string) {
    if (kind === 'ldap') return {};
    if (kind === 'saml') return { samlAddresses: shownAddresses(config.issuer, id) };
    return { redirectUri: `${config.issuer}/connections/${id}/callback` };
  }

  return {
    show,
    async create(request: FastifyRequest, reply: FastifyReply, type: ConnectionType): Promise<FastifyReply> {
      const sent = await submitted(request, reply, newPathOf(type), createConnection);
      if (!sent) return reply;
      const { admin, body } = sent;
      const { kind, preset } = type;
      const form = formOfType(type, variantOf(type));
      const typed = typedIn(form, body);
      const input = { ...inputOf(form, typed), kind, ...(preset && { preset }) };
      if (body['act'] === 'test' && isDirectory(type)) {
        const { settings, secret = '' } = input as { settings?: Input; secret?: string };
        const tested = await admin.perform(testNewDirectory, {}, { settings: settings ?? {}, secret });
        if ('refused' in tested) return show(admin, type, undefined, typed, { refused: tested.refused });
        return show(admin, type, undefined, typed, { test: tested.done });
      }
      const made = await admin.perform(createConnection, {}, input);
      if ('refused' in made) return show(admin, type, undefined, typed, made);
      return doneWith(admin, made.done, pathOf(made.done), 'connection-made');
    },
    /** @param find finds the connection and the type of its form @throws OAuthError not_found */
    async change(
      request: FastifyRequest,
      reply: FastifyReply,
      page: string,
      find: (admin: AdminSession) => Promise<{ of: Connection; type: ConnectionType }>,
    ): Promise<FastifyReply> {
      const sent = await submitted(request, reply, `${page}/edit`, changeConnection);
      if (!sent) return reply;
      const { admin, body } = sent;
      const { of, type } = await find(admin);
      const form = formOfType(type, variantOf(type), view(connections, of));
      const typed = typedIn(form, body);
      const input = { ...inputOf(form, typed), version: Number(body['version']) };
      const changed = await admin.perform(changeConnection, { id: of.id }, input);
      if ('refused' in changed) return show(admin, type, of, typed, changed);
      return doneWith(admin, changed.done, page, 'connection-changed');
    },
  };
}
