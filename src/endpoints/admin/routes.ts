// The admin routes under /admin/api: users, clients, sessions, keys, audit, for programs and consoles (decisions section 8).
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireAdministrator } from '../../http/admin-access.ts';
import { bearerErrors, noStore } from '../../http/errors.ts';
import { onlyJson } from '../../http/form-body.ts';
import { clientAddress } from '../../http/network.ts';
import { readParameters } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import { type Actor, createAdministration } from '../../repositories/administration.ts';
import { clientRoutes } from './clients.ts';
import { apiVersion, openapiRoute } from './openapi.ts';
import { grantRoutes } from './grants.ts';
import { operationRoutes } from './operations.ts';
import { type AdminRoute, readBody } from './route.ts';
import { userRoutes } from './users.ts';

const described: AdminRoute[] = [...clientRoutes, ...userRoutes, ...grantRoutes, ...operationRoutes];

/** Every admin route, as registered and as documented. */
export const adminRoutes: readonly AdminRoute[] = [...described, openapiRoute(described)];

/** Names the version of the admin routes: a header of every answer below them. */
export const adminVersionHeader = { 'api-version': apiVersion };

/** Whether an address is below the admin routes, also where no route is. */
export const isAdminAddress = (url: string, basePath: string): boolean => url.startsWith(`${basePath}/admin/api/`);

/** Names the version in every answer that a hook of the application sees. */
export function nameAdminVersion(app: FastifyInstance, basePath: string): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (isAdminAddress(request.url, basePath)) reply.headers(adminVersionHeader);
    done();
  });
}

export async function adminEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
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
    const actor = await requireAdministrator(request, store, ['admin'], fresh);
    actors.set(request, { actor, address: clientAddress(request) });
  });
  for (const route of adminRoutes) {
    const body = route.body?.(config);
    app.route({
      method: route.method,
      url: route.path,
      handler: async (request, reply) => {
        const answer = await route.handle(
          { ...options, administration },
          {
            params: route.params && readParameters(route.params, request.params),
            query: route.query && readParameters(route.query, request.query),
            body: body && readBody(body, request.body),
            by: actors.get(request)!,
          },
        );
        reply.code(route.status);
        return route.answer === undefined ? reply.send() : answer;
      },
    });
  }
}
