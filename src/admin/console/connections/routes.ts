// Serves the console's pages about connections: the list, one connection, and the forms that create, change and delete one.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { profileOfConnection } from '../../../domain/connections/kinds.ts';
import type { Connection } from '../../../entities/connections.ts';
import {
  changeConnection,
  createConnection,
  deleteConnection,
  listConnections,
  settingsLimit,
  showConnection,
} from '../../operations/connections.ts';
import { markOf } from '../../../pages/connection-mark.ts';
import { connectionUses, withoutOtherWay } from '../../operations/pages/connections.ts';
import type { AdminSession } from '../admin-session.ts';
import { ruleLists, rulePages } from '../rule-pages.ts';
import { submittedForms } from '../submitted-form.ts';
import { isTypedName } from '../typed-name.ts';
import { notFound } from '../../../oauth/errors.ts';
import { confirmationsOf } from './confirmation-routes.ts';
import {
  type ConnectionFormDependencies,
  connectionForms,
  connectionsPath,
  newPathOf,
  pathOf,
  ruleOwnerOf,
} from './form-pages.ts';
import { metadataPathOf, samlViews } from './saml-view.ts';
import { connectionTypes, directoryType, findType, typeOf } from './types.ts';

const path = connectionsPath;
const newPath = `${path}/new`;

export async function consoleConnectionsEndpoint(
  app: FastifyInstance,
  dependencies: ConnectionFormDependencies,
): Promise<void> {
  const { config, console, connectionKinds } = dependencies;
  const forms = connectionForms(dependencies);
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
    const uses = await admin.run(
      connectionUses,
      connections.map(({ id }) => id),
    );
    return admin.send(
      'console-connections',
      {
        connections: connections.map((connection) => {
          const usedAt = uses.get(connection.id);
          return {
            ...markOf(connection),
            id: connection.id,
            name: connection.displayName,
            kind: connection.kind,
            status: connection.status,
            ...(usedAt && { usedAt }),
            uri: `${path}/${connection.id}`,
          };
        }),
        newUri: newPath,
        newDirectoryUri: newPathOf(directoryType),
      },
      { section: 'connections' },
    );
  };
  console.page(app, path, showList, { needs: listConnections });

  const types = [...connectionTypes, directoryType].map((type) => ({ name: type.name, uri: newPathOf(type) }));
  console.page(app, newPath, (admin) => admin.send('console-connection-types', { types }, { section: 'connections' }), {
    needs: createConnection,
  });

  const typeIn = (request: FastifyRequest) => found(findType((request.params as { type: string }).type));

  console.page(app, `${newPath}/:type`, (admin, request) => forms.show(admin, typeIn(request)), {
    needs: createConnection,
  });
  app.post(`${newPath}/:type`, { bodyLimit: settingsLimit }, async (request, reply) =>
    forms.create(request, reply, typeIn(request)),
  );

  const showOne = async (admin: AdminSession, request: FastifyRequest) => {
    const connection = await find(admin, request);
    if (connection.kind === 'ldap') return admin.reply.redirect(config.basePath + pathOf(connection), 303);
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
        ...(connection.kind !== 'saml' && { redirectUri: redirectUriOf(connection.id) }),
        ...(connection.kind !== 'saml' &&
          typeOf(connection)?.order.includes('logout') && { logoutUris: logoutUrisOf(connection.id) }),
        ...(connection.kind !== 'saml' && connection.keyPublic && { keyUri: addressOf(connection.id, 'jwks') }),
        ...samlViews(admin, connection, config.issuer),
        ...(await confirmationsOf(admin, connection)),
        rules: ruleLists(admin, ruleOwnerOf(connection)),
        editUri: `${pathOf(connection)}/edit`,
        deleteUri: `${pathOf(connection)}/delete`,
      },
      { section: 'connections' },
    );
  };
  console.page(app, `${path}/:id`, showOne, { needs: showConnection });
  rulePages(app, console, {
    path: `${path}/:id`,
    section: 'connections',
    needs: changeConnection,
    find,
    ownerOf: ruleOwnerOf,
    change: (admin, { id, version }, members) => admin.perform(changeConnection, { id }, { ...members, version }),
  });

  const withType = (of: Connection) => ({ of, type: found(typeOf(of)) });
  const showEdit = async (admin: AdminSession, request: FastifyRequest) => {
    const connection = await find(admin, request);
    if (connection.kind === 'ldap') return admin.reply.redirect(`${config.basePath}${pathOf(connection)}/edit`, 303);
    const { of, type } = withType(connection);
    return forms.show(admin, type, of);
  };
  console.page(app, `${path}/:id/edit`, showEdit, { needs: changeConnection });

  app.post(`${path}/:id/edit`, { bodyLimit: settingsLimit }, async (request, reply) =>
    forms.change(request, reply, `${path}/${idOf(request)}`, async (admin) => withType(await find(admin, request))),
  );

  app.post(metadataPathOf(':id'), async (request, reply) => {
    const id = idOf(request);
    const sent = await submitted(request, reply, metadataPathOf(id), changeConnection);
    if (!sent) return reply;
    const { admin, body } = sent;
    const { digest } = body;
    const act = digest === undefined ? { read_metadata: true } : { accept_metadata: digest };
    const changed = await admin.perform(changeConnection, { id }, act);
    // what was published has changed since the page was shown: the page shows what is published now
    const [done, refused] = digest === undefined ? ['read', 'unread'] : ['accepted', 'moved'];
    return admin.done(`${path}/${id}`, `metadata-${'refused' in changed ? refused : done}`);
  });

  const showDeletion = async (admin: AdminSession, { id, displayName }: Connection, typed?: string) =>
    admin.send(
      'console-connection-delete',
      {
        id,
        name: displayName,
        uri: `${path}/${id}`,
        people: await admin.run(withoutOtherWay, id),
        form: admin.form(`${path}/${id}/delete`),
        ...(typed !== undefined && { typed: typed.slice(0, 255), problem: 'typed' as const }),
      },
      { section: 'connections', status: typed === undefined ? 200 : 400 },
    );

  console.page(app, `${path}/:id/delete`, async (admin, request) => showDeletion(admin, await find(admin, request)), {
    needs: deleteConnection,
  });

  app.post(`${path}/:id/delete`, async (request, reply) => {
    const id = idOf(request);
    const sent = await submitted(request, reply, `${path}/${id}/delete`, deleteConnection);
    if (!sent) return reply;
    const { admin, body } = sent;
    const connection = await find(admin, request);
    if (!isTypedName(body['typed'], id)) return showDeletion(admin, connection, body['typed'] ?? '');
    await admin.run(deleteConnection, { id });
    return admin.done(path, 'connection-deleted');
  });
}

/** @throws OAuthError not_found */
function found<T>(thing: T | undefined): T {
  if (thing === undefined) throw notFound('there is no such form');
  return thing;
}
