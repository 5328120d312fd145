// Serves every administrative operation below /admin/api, for programs and consoles (decisions section 8).
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { OAuthError } from '../../oauth/errors.ts';
import { noStore, resourceErrors } from '../../server/errors.ts';
import { withResourceMetadata } from '../../server/resource-challenge.ts';
import { onlyJson } from '../../server/form-body.ts';
import { clientAddress } from '../../server/network.ts';
import { readParameters } from '../../server/parameters.ts';
import { type AdministratorAccess, requireAdministrator } from '../access.ts';
import { allOperations } from '../operations/all.ts';
import {
  type Administrator,
  demandPermission,
  type Operation,
  type OperationContext,
  readBody,
  takesBody,
  type TextAnswer,
} from '../operations/operation.ts';
import { run } from '../operations/run.ts';
import { maxFileSize } from '../operations/transfer.ts';
import { settableMembers } from './body.ts';
import { apiVersion, openapiOperation } from './openapi.ts';

/** Every operation that is registered and documented as an admin route. */
export function adminRoutes(): Operation[] {
  const operations = allOperations();
  return [...operations, openapiOperation(operations)];
}

/** The header that every response of the admin routes has. */
export const adminVersionHeader = { 'api-version': apiVersion };

/** Milliseconds: enough for a file of the maximum size, or for a million users. */
const transferTimeout = 30 * 60_000;

export async function adminEndpoint(
  app: FastifyInstance,
  { operationContext: context, ...access }: AdministratorAccess & { operationContext: OperationContext },
): Promise<void> {
  const { config } = context;
  const routes = adminRoutes();
  const known = new Map(routes.map((route) => [`${route.method} ${config.basePath}${route.path}`, route]));
  const routeOf = (request: FastifyRequest) => known.get(`${request.method} ${request.routeOptions.url}`);
  onlyJson(app, (request) => routeOf(request)?.json);
  app.setErrorHandler(withResourceMetadata(resourceErrors, `${config.issuer}/admin/api`, () => 'admin'));
  const actors = new WeakMap<FastifyRequest, Administrator>();
  const actorOf = (request: FastifyRequest): Administrator => actors.get(request)!;

  // the hook covers every route that is registered here, whatever its path is (security R89)
  app.addHook('onRequest', async (request, reply) => {
    noStore(reply);
    const route = routeOf(request);
    // a route that is not in the list needs a recent sign-in
    const recent = route?.needsRecentSignIn ?? true;
    const actor = await requireAdministrator(request, reply, access, ['admin'], recent);
    actors.set(request, { actor, address: clientAddress(request), kind: 'administrator' });
    // before the body is read: a change compares it with what is stored
    if (route) demandPermission(route, actorOf(request));
  });
  const runRoute = (route: Operation, request: FastifyRequest, input: unknown) =>
    run(route, context, {
      params: route.params && readParameters(route.params, request.params),
      input,
      actor: actorOf(request),
    });
  /** What a change is about, as the service shows it now. */
  const shownBy = (route: Operation, request: FastifyRequest): (() => Promise<object>) | undefined => {
    if (route.method !== 'PATCH') return undefined;
    const show = routes.find(({ method, path }) => method === 'GET' && path === route.path);
    return async () => {
      if (route.shown) return (await route.shown(context, readParameters(route.params!, request.params))) ?? {};
      return show ? (show.view(await runRoute(show, request, {})) as object) : {};
    };
  };
  for (const route of routes.filter(({ media }) => !media)) {
    const schema = route.input?.(config);
    const read = async (request: FastifyRequest): Promise<unknown> => {
      if (!schema) return {};
      if (!takesBody(route)) return readParameters(schema, request.query);
      return readBody(schema, await settableMembers(route, schema, request.body, shownBy(route, request)));
    };
    app.route({
      method: route.method,
      url: route.path,
      ...(route.bodyLimit !== undefined && { bodyLimit: route.bodyLimit }),
      ...(route.timeout !== undefined && { handlerTimeout: route.timeout }),
      handler: async (request, reply) => {
        const result = await runRoute(route, request, await read(request));
        reply.code(route.status);
        return route.answer === undefined ? reply.send() : route.view(result);
      },
    });
  }
  await app.register(async (files) => {
    files.removeAllContentTypeParsers();
    const types = new Set(routes.flatMap(({ media }) => media?.body ?? []));
    for (const type of types)
      files.addContentTypeParser(type, { parseAs: 'buffer' }, (_request, content, done) => done(null, content));
    for (const route of routes.filter(({ media }) => media)) {
      files.route({
        method: route.method,
        url: route.path,
        bodyLimit: maxFileSize,
        handlerTimeout: transferTimeout,
        handler: async (request, reply) => {
          const file = { content: request.body ?? Buffer.alloc(0), type: request.headers['content-type'] ?? '' };
          if (route.media!.body.length > 0 && !route.media!.body.some((type) => file.type.startsWith(type)))
            throw new OAuthError('invalid_request', `the body must be ${route.media!.body.join(' or ')}`, 415);
          const query = readParameters(route.input!(config), request.query) as object;
          const answer = (await runRoute(
            route,
            request,
            route.media!.body.length > 0 ? { ...query, file } : query,
          )) as TextAnswer;
          return reply.type(`${answer.type}; charset=utf-8`).send(Readable.from(answer.text));
        },
      });
    }
  });
}
