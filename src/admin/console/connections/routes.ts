// Serves the console's pages about connections: the list, one connection, and the forms that create, change and delete one.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Config } from '../../../config.ts';
import { type ConnectionKinds, profileOfConnection, variantOfConnection } from '../../../domain/connections/kinds.ts';
import type { TypedConnection } from '../../../pages/views/connections.ts';
import type { FormView } from '../../../pages/views/index.ts';
import type { Connection } from '../../../repositories/connections/connections.ts';
import {
  changeConnection,
  createConnection,
  deleteConnection,
  listConnections,
  showConnection,
} from '../../operations/connections.ts';
import { withoutOtherWay } from '../../operations/pages/connections.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { submittedForms } from '../submitted-form.ts';
import { refusedView } from '../refused.ts';
import { isTypedName } from '../typed-name.ts';
import { notFound } from '../../../oauth/errors.ts';
import type { Refusal } from '../../../oauth/refusals.ts';
import { confirmationsOf, doneWith } from './confirmation-routes.ts';
import { directoryPath } from './directory-routes.ts';
import { emptyForm, formOf, inputOf, typedIn } from './form.ts';
import { type ConnectionType, connectionTypes, fieldsOf, findType, typeOf } from './types.ts';

const path = '/admin/connections';
const newPath = `${path}/new`;
const newPathOf = ({ name }: ConnectionType) => `${newPath}/${name}`;
const pathOf = (id: string) => `${path}/${id}`;

interface ConsoleConnectionsDependencies {
  config: Config;
  console: Console;
  connectionKinds: ConnectionKinds;
}

export async function consoleConnectionsEndpoint(
  app: FastifyInstance,
  { config, console, connectionKinds }: ConsoleConnectionsDependencies,
): Promise<void> {
  const idOf = (request: FastifyRequest) => (request.params as { id: string }).id;
  const find = (admin: AdminSession, request: FastifyRequest) => admin.run(showConnection, { id: idOf(request) });
  /** Where its identities come from; several tenants have none in common. */
  const issuerOf = (connection: Connection): string => profileOfConnection(connectionKinds, connection)?.issuer ?? '';
  const addressOf = (id: string, name: string) => `${config.issuer}/connections/${id}/${name}`;
  const redirectUriOf = (id: string) => addressOf(id, 'callback');
  const logoutUrisOf = (id: string) => ({
    backchannel: addressOf(id, 'backchannel-logout'),
    frontchannel: addressOf(id, 'frontchannel-logout'),
    'signed-out': addressOf(id, 'signed-out'),
  });

  const submitted = submittedForms(console);

  const showList = async (admin: AdminSession) => {
    const connections = await admin.run(listConnections, {});
    return admin.send(
      'console-connections',
      {
        connections: connections.map(({ id, displayName, kind, status }) => ({
          id,
          name: displayName,
          kind,
          status,
          uri: pathOf(id),
        })),
        newUri: newPath,
        newDirectoryUri: `${newPath}/directory`,
      },
      { section: 'connections' },
    );
  };
  console.page(app, path, showList, { needs: listConnections });

  const showForm = (
    admin: AdminSession,
    type: ConnectionType,
    typed: TypedConnection,
    of?: Connection,
    refusal?: Refusal,
  ) => {
    const fields = fieldsOf(type, of === undefined);
    const names = fields.map(({ name }) => name);
    return admin.send(
      'console-connection-form',
      {
        type: type.name,
        fields,
        typed,
        redirectUri: redirectUriOf(of?.id ?? (/^[a-z][a-z0-9-]{1,39}$/.test(typed['id'] ?? '') ? typed['id']! : 'ID')),
        form: withVersion(admin.form(of ? `${pathOf(of.id)}/edit` : newPathOf(type)), of?.version),
        ...(of && {
          of: {
            id: of.id,
            name: of.displayName,
            uri: pathOf(of.id),
            ...(of.secretSince && { secretSince: of.secretSince }),
          },
        }),
        ...(refusal && { refused: refusedView(refusal, names) }),
      },
      { section: 'connections', status: refusal ? 400 : 200 },
    );
  };

  const types = connectionTypes.map((type) => ({ name: type.name, uri: newPathOf(type) }));
  console.page(app, newPath, (admin) => admin.send('console-connection-types', { types }, { section: 'connections' }), {
    needs: createConnection,
  });

  const typeIn = (request: FastifyRequest) => found(findType((request.params as { type: string }).type));

  const showNew = (admin: AdminSession, request: FastifyRequest) => {
    const type = typeIn(request);
    const { kind, preset } = type;
    const variant = variantOfConnection(connectionKinds, { kind, preset });
    return showForm(admin, type, emptyForm(type, variant?.members));
  };
  console.page(app, `${newPath}/:type`, showNew, { needs: createConnection });

  app.post(`${newPath}/:type`, async (request, reply) => {
    const type = typeIn(request);
    const sent = await submitted(request, reply, newPathOf(type), createConnection);
    if (!sent) return reply;
    const { admin, body } = sent;
    const typed = typedIn(type, body);
    const { kind, preset } = type;
    const input = { ...inputOf(type, typed), id: typed['id']!.trim(), kind, ...(preset && { preset }) } as never;
    const made = await admin.perform(createConnection, {}, input);
    if ('refused' in made) return showForm(admin, type, typed, undefined, made.refused);
    return doneWith(admin, made.done, pathOf(made.done.id), 'connection-made');
  });

  const showOne = async (admin: AdminSession, request: FastifyRequest) => {
    const connection = await find(admin, request);
    if (connection.kind === 'ldap') return admin.reply.redirect(config.basePath + directoryPath(connection.id), 303);
    const { settings } = connection;
    const text = (name: string) => (typeof settings[name] === 'string' ? settings[name] : '');
    return admin.send(
      'console-connection',
      {
        connection: {
          id: connection.id,
          name: connection.displayName,
          kind: connection.kind,
          status: connection.status,
          issuer: issuerOf(connection),
          clientId: text('client_id'),
          createdAt: connection.createdAt,
          ...(connection.preset !== undefined && { preset: connection.preset }),
          linking: connection.linking,
          provisioning: connection.provisioning,
          trustMfa: connection.trustMfa,
          authoritativeDomains: connection.authoritativeDomains,
          domains: connection.domains,
          subdomains: connection.subdomains,
          enforced: connection.enforced,
          hidden: connection.hidden,
          ...(connection.secretSince && { secretSince: connection.secretSince }),
          ...(connection.discoveredAt && { discoveredAt: connection.discoveredAt }),
        },
        redirectUri: redirectUriOf(connection.id),
        ...(typeOf(connection)?.signsOut && {
          logoutUris: logoutUrisOf(connection.id),
        }),
        ...(connection.keyPublic && { keyUri: addressOf(connection.id, 'jwks') }),
        ...(await confirmationsOf(admin, connection)),
        editUri: `${pathOf(connection.id)}/edit`,
        deleteUri: `${pathOf(connection.id)}/delete`,
      },
      { section: 'connections' },
    );
  };
  console.page(app, `${path}/:id`, showOne, { needs: showConnection });

  const showEdit = async (admin: AdminSession, request: FastifyRequest) => {
    const connection = await find(admin, request);
    if (connection.kind === 'ldap')
      return admin.reply.redirect(`${config.basePath}${directoryPath(connection.id)}/edit`, 303);
    const type = found(typeOf(connection));
    return showForm(admin, type, formOf(type, connection), connection);
  };
  console.page(app, `${path}/:id/edit`, showEdit, { needs: changeConnection });

  app.post(`${path}/:id/edit`, async (request, reply) => {
    const id = idOf(request);
    const sent = await submitted(request, reply, `${pathOf(id)}/edit`, changeConnection);
    if (!sent) return reply;
    const { admin, body } = sent;
    const connection = await find(admin, request);
    const type = found(typeOf(connection));
    const typed = typedIn(type, { ...body, id });
    const input = { ...inputOf(type, typed), version: Number(body['version']) } as never;
    const changed = await admin.perform(changeConnection, { id }, input);
    if ('refused' in changed) return showForm(admin, type, typed, connection, changed.refused);
    return doneWith(admin, changed.done, pathOf(id), 'connection-changed');
  });

  const showDeletion = async (admin: AdminSession, { id, displayName }: Connection, typed?: string) =>
    admin.send(
      'console-connection-delete',
      {
        id,
        name: displayName,
        uri: pathOf(id),
        people: await admin.run(withoutOtherWay, id),
        form: admin.form(`${pathOf(id)}/delete`),
        ...(typed !== undefined && { typed: typed.slice(0, 255), problem: 'typed' as const }),
      },
      { section: 'connections', status: typed === undefined ? 200 : 400 },
    );

  console.page(app, `${path}/:id/delete`, async (admin, request) => showDeletion(admin, await find(admin, request)), {
    needs: deleteConnection,
  });

  app.post(`${path}/:id/delete`, async (request, reply) => {
    const id = idOf(request);
    const sent = await submitted(request, reply, `${pathOf(id)}/delete`, deleteConnection);
    if (!sent) return reply;
    const { admin, body } = sent;
    const connection = await find(admin, request);
    if (!isTypedName(body['typed'], id)) return showDeletion(admin, connection, body['typed'] ?? '');
    await admin.run(deleteConnection, { id });
    return admin.done(path, 'connection-deleted');
  });
}

/** The form is for the version that its page showed. */
const withVersion = (form: FormView, version: number | undefined): FormView =>
  version === undefined ? form : { ...form, hidden: { ...form.hidden, version: String(version) } };

/** @throws OAuthError not_found */
function found<T>(thing: T | undefined): T {
  if (thing === undefined) throw notFound('there is no such form');
  return thing;
}
