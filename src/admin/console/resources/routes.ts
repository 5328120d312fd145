// Serves the console's pages about resources: the list, one resource, and the forms that create, change and delete one.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { cursorOf, readCursor } from '../../../domain/administration/paging.ts';
import { displayName } from '../../../oauth/client-metadata.ts';
import type { ConsoleResourcesPages, TypedResource } from '../../../pages/views/console-resources.ts';
import type { Resource } from '../../../entities/resources.ts';
import type { Store } from '../../../repositories/store.ts';
import { singleValued } from '../../../server/parameters.ts';
import { clientPath, resourcePath } from '../../client-review.ts';
import { type OperationContext, run } from '../../operations/operation.ts';
import {
  changeResource,
  createResource,
  deleteResource,
  findResource,
  metadataOf,
} from '../../operations/resources.ts';
import { perform } from '../../perform.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { isTypedName } from '../typed-name.ts';
import { emptyForm, formOf, inputOf, typedIn } from './form.ts';

type FormPage = ConsoleResourcesPages['console-resource-form'];

/** The words of the form for a refused member, or for another refusal. */
const problems: Record<string, NonNullable<FormPage['problem']>> = {
  conflict: 'taken',
  own: 'own',
  resource: 'resource',
  name: 'name',
  client_id: 'client',
  scopes: 'scopes',
  access_token_lifetime: 'lifetime',
  token_claims: 'claims',
};
const pageSize = 50;
const path = '/admin/resources';
const newPath = `${path}/new`;

interface ConsoleResourcesDependencies {
  store: Store;
  console: Console;
  operationContext: OperationContext;
}

export async function consoleResourcesEndpoint(
  app: FastifyInstance,
  { store, console, operationContext }: ConsoleResourcesDependencies,
): Promise<void> {
  const find = (request: FastifyRequest) =>
    findResource(operationContext, (request.params as { resource: string }).resource);

  /** Reads a form; undefined after an answer was sent. */
  async function submitted(request: FastifyRequest, reply: FastifyReply, action: string) {
    const body = singleValued(request.body);
    const admin = await console.submitted(request, reply, { csrf: body['csrf'], action, back: action, fresh: true });
    return admin && { admin, body };
  }

  console.page(app, path, async (admin, request) => {
    const { cursor } = singleValued(request.query);
    const resources = await store.resources.list({ limit: pageSize, after: readCursor(cursor) });
    const last = resources.length === pageSize ? resources.at(-1) : undefined;
    return admin.send(
      'console-resources',
      {
        resources: resources.map(({ id, name, resource, scopes }) => ({
          ...{ name, resource },
          scopes: Object.keys(scopes),
          uri: resourcePath(id),
        })),
        newUri: newPath,
        ...(cursor && { first: path }),
        ...(last && { next: `${path}?cursor=${cursorOf({ at: last.createdAt, id: last.id })}` }),
      },
      { section: 'resources' },
    );
  });

  const showForm = (admin: AdminSession, typed: TypedResource, of?: Resource, problem?: FormPage['problem']) =>
    admin.send(
      'console-resource-form',
      {
        typed,
        form: admin.form(of ? `${resourcePath(of.id)}/edit` : newPath),
        ...(of && { of: { name: of.name, resource: of.resource, uri: resourcePath(of.id) } }),
        ...(problem && { problem }),
      },
      { section: 'resources', status: problem ? 400 : 200 },
    );

  console.page(app, newPath, (admin) => showForm(admin, emptyForm));

  app.post(newPath, async (request, reply) => {
    const sent = await submitted(request, reply, newPath);
    if (!sent) return reply;
    const { admin, body } = sent;
    const typed = typedIn(body);
    const input = { ...inputOf(typed), resource: typed.resource.trim(), name: typed.name };
    const made = await perform(createResource, operationContext, { params: {}, input, actor: admin.by });
    if ('refused' in made) return showForm(admin, typed, undefined, problems[made.refused]);
    return admin.done(resourcePath(made.done.id), 'resource-made');
  });

  console.page(app, `${path}/:resource`, async (admin, request) => {
    const found = await find(request);
    const { id, clientId, clients, accessTokenLifetime, scopes, ...resource } = found;
    const { uri, document } = metadataOf(operationContext.config.issuer, found);
    const server = clientId === undefined ? undefined : await store.clients.find(clientId);
    return admin.send(
      'console-resource',
      {
        resource: {
          ...{ name: resource.name, resource: resource.resource, createdAt: resource.createdAt },
          registered: resource.registered,
          ...(resource.accessTokenFormat === 'jwt' && { jwtAlg: resource.accessTokenSigningAlg }),
          open: clients === 'approved',
          binding: resource.binding,
          scopes: Object.entries(scopes).map(([value, description]) => ({ value, description })),
          ...(accessTokenLifetime !== undefined && { accessTokenLifetime }),
          ...(resource.requiredAcr !== undefined && { requiredAcr: resource.requiredAcr }),
          tokenClaims: resource.tokenClaims,
          public: resource.public,
        },
        ...(uri !== undefined && { metadata: { uri, document: JSON.stringify(document, null, 2) } }),
        ...(server && {
          server: { name: displayName(server.clientId, server.metadata), uri: clientPath(server.clientId) },
        }),
        editUri: `${resourcePath(id)}/edit`,
        deleteUri: `${resourcePath(id)}/delete`,
      },
      { section: 'resources' },
    );
  });

  console.page(app, `${path}/:resource/edit`, async (admin, request) => {
    const resource = await find(request);
    return showForm(admin, formOf(resource), resource);
  });

  app.post(`${path}/:resource/edit`, async (request, reply) => {
    const resource = await find(request);
    const sent = await submitted(request, reply, `${resourcePath(resource.id)}/edit`);
    if (!sent) return reply;
    const { admin, body } = sent;
    const typed = typedIn(body);
    const params = { resource: resource.id };
    const changed = await perform(changeResource, operationContext, { params, input: inputOf(typed), actor: admin.by });
    if ('refused' in changed) return showForm(admin, typed, resource, problems[changed.refused]);
    return admin.done(resourcePath(resource.id), 'resource-changed');
  });

  const showDeletion = (admin: AdminSession, { id, name, resource }: Resource, typed?: string) =>
    admin.send(
      'console-resource-delete',
      {
        ...{ name, resource },
        resourceUri: resourcePath(id),
        form: admin.form(`${resourcePath(id)}/delete`),
        ...(typed !== undefined && { typed: typed.slice(0, 255), problem: 'typed' as const }),
      },
      { section: 'resources', status: typed === undefined ? 200 : 400 },
    );

  console.page(app, `${path}/:resource/delete`, async (admin, request) => showDeletion(admin, await find(request)));

  app.post(`${path}/:resource/delete`, async (request, reply) => {
    const resource = await find(request);
    const sent = await submitted(request, reply, `${resourcePath(resource.id)}/delete`);
    if (!sent) return reply;
    const { admin, body } = sent;
    if (!isTypedName(body['typed'], resource.name)) return showDeletion(admin, resource, body['typed'] ?? '');
    await run(deleteResource, operationContext, { params: { resource: resource.id }, input: {}, actor: admin.by });
    return admin.done(path, 'resource-deleted');
  });
}
