// The admin routes under /admin/api: users, clients, sessions, keys, audit, for programs and consoles (decisions section 8).
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { requireAdministrator } from '../access.ts';
import { bearerErrors, noStore } from '../../server/errors.ts';
import { onlyJson } from '../../server/form-body.ts';
import { clientAddress } from '../../server/network.ts';
import { readParameters } from '../../server/parameters.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import { clientRoutes } from './clients.ts';
import { apiVersion, openapiRoute } from './openapi.ts';
import { grantRoutes } from './grants.ts';
import { groupRoutes } from './groups.ts';
import { operationRoutes } from './operations.ts';
import { type AdminRoute, readBody, type TextAnswer, type AdminApiDependencies } from './route.ts';
import { largestFile, transferRoutes } from './transfer.ts';
import { userRoutes } from './users.ts';
import type { Actor } from '../../repositories/audit/actor.ts';

const described: AdminRoute[] = [
  ...clientRoutes,
  ...userRoutes,
  ...transferRoutes,
  ...groupRoutes,
  ...grantRoutes,
  ...operationRoutes,
];

/** Every admin route, as registered and as documented. */
export const adminRoutes: readonly AdminRoute[] = [...described, openapiRoute(described)];

/** Names the version of the admin routes in every response below them. */
export const adminVersionHeader = { 'api-version': apiVersion };

/** Milliseconds: a file of the largest size, or a million users. */
const longestTransfer = 30 * 60_000;

export async function adminEndpoint(app: FastifyInstance, options: AdminApiDependencies): Promise<void> {
  const { store, config } = options;
  // named one by one: what stands in no list needs a fresh sign-in
  const harmless = new Set(
    adminRoutes.filter((route) => !route.dangerous).map(({ method, path }) => `${method} ${config.basePath}${path}`),
  );
  onlyJson(app);
  app.setErrorHandler(bearerErrors);
  const actors = new WeakMap<FastifyRequest, Actor>();
  const administration = createAdministration(store);

  // of every route that is registered here, whatever its address looks like (security R89)
  app.addHook('onRequest', async (request, reply) => {
    noStore(reply);
    const fresh = !harmless.has(`${request.method} ${request.routeOptions.url}`);
    const actor = await requireAdministrator(request, options, ['admin'], fresh);
    actors.set(request, { actor, address: clientAddress(request) });
  });
  const handle = (route: AdminRoute, request: FastifyRequest, body: unknown) =>
    route.handle(
      { ...options, administration },
      {
        params: route.params && readParameters(route.params, request.params),
        query: route.query && readParameters(route.query, request.query),
        body,
        by: actors.get(request)!,
      },
    );
  for (const route of adminRoutes.filter(({ media }) => !media)) {
    const body = route.body?.(config);
    app.route({
      method: route.method,
      url: route.path,
      handler: async (request, reply) => {
        const answer = await handle(route, request, body && readBody(body, request.body));
        reply.code(route.status);
        return route.answer === undefined ? reply.send() : answer;
      },
    });
  }
  await app.register(async (files) => {
    files.removeAllContentTypeParsers();
    const types = new Set(adminRoutes.flatMap(({ media }) => media?.body ?? []));
    for (const type of types)
      files.addContentTypeParser(type, { parseAs: 'buffer' }, (_request, content, done) => done(null, content));
    for (const route of adminRoutes.filter(({ media }) => media)) {
      files.route({
        method: route.method,
        url: route.path,
        bodyLimit: largestFile,
        handlerTimeout: longestTransfer,
        handler: async (request, reply: FastifyReply) => {
          const body = { content: request.body ?? Buffer.alloc(0), type: request.headers['content-type'] ?? '' };
          if (route.media!.body.length > 0 && !route.media!.body.some((type) => body.type.startsWith(type)))
            throw new OAuthError('invalid_request', `the body must be ${route.media!.body.join(' or ')}`, 415);
          const answer = (await handle(route, request, body)) as TextAnswer;
          return reply.type(`${answer.type}; charset=utf-8`).send(Readable.from(answer.text));
        },
      });
    }
  });
}
