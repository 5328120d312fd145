// Serves the OpenAPI document without a token: GET /openapi.json, unless OPENAPI=off (decisions section 8).
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config.ts';
import { jsonErrors } from '../../server/errors.ts';
import { apiVersion } from './openapi.ts';
import { adminRoutes } from './routes.ts';

export async function publicDocumentEndpoint(app: FastifyInstance, { config }: { config: Config }): Promise<void> {
  if (!config.openapi) return;
  let text: Promise<string> | undefined;
  // made once, when the first request asks for it: any browser may ask, and the schemas take a while
  const document = () =>
    (text ??= import('./openapi-document.ts').then(({ openapiDocument }) =>
      JSON.stringify(openapiDocument(adminRoutes(), config, apiVersion)),
    ));
  app.get('/openapi.json', { errorHandler: jsonErrors, exposeHeadRoute: true }, async (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=300')
      .type('application/json; charset=utf-8')
      .send(await document()),
  );
}
