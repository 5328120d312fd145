// Serves the issuer of users of the domains that an operator names: GET /.well-known/webfinger (RFC 7033, OpenID Connect Discovery 2).
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { notFound } from '../../oauth/errors.ts';
import { resourceDescriptor } from '../../oauth/webfinger.ts';
import { jsonErrors } from '../../server/errors.ts';
import { readParameters } from '../../server/parameters.ts';

export const webfingerPath = '/.well-known/webfinger';

// two values of `resource` arrive joined by a space
const parameters = z.object({ resource: z.string().max(2048).regex(/^\S+$/) });
const relations = z.union([z.array(z.string()), z.string().transform((one) => [one])]).catch([]);

export async function webfingerEndpoint(
  app: FastifyInstance,
  { config: { issuer, webfingerDomains: domains } }: { config: Pick<Config, 'issuer' | 'webfingerDomains'> },
): Promise<void> {
  app.get(webfingerPath, { errorHandler: jsonErrors, exposeHeadRoute: true }, async (request, reply) => {
    // `rel` alone may be repeated (RFC 7033 4.3)
    const { rel, ...query } = request.query as Record<string, unknown>;
    const { resource } = readParameters(parameters, query);
    const document = resourceDescriptor({ issuer, domains }, resource, relations.parse(rel));
    if (!document) throw notFound('the resource is of no domain that this service signs users in for');
    return reply
      .header('cache-control', 'public, max-age=300')
      .type('application/jrd+json; charset=utf-8')
      .send(JSON.stringify(document));
  });
}
