// POST /token: authenticates the client and hands the request to its grant type (RFC 6749 3.2).
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { jsonErrors, noStore } from '../../http/errors.ts';
import { onlyForms } from '../../http/form-body.ts';
import { readParameters, text } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import { unauthorizedClient, unsupportedGrantType } from '../../oauth/errors.ts';
import type { GrantType } from './grant-type.ts';

const shape = z.object({ grant_type: text(255) });

export async function tokenEndpoint(
  app: FastifyInstance,
  { authenticateClient, grantTypes, metrics, activity }: ServerOptions & { grantTypes: readonly GrantType[] },
): Promise<void> {
  const byName = new Map(grantTypes.map((grantType) => [grantType.name, grantType]));
  await onlyForms(app);
  app.setErrorHandler(jsonErrors);

  app.post('/token', async (request, reply) => {
    const { grant_type: name } = readParameters(shape, request.body);
    const grantType = byName.get(name);
    const client = await authenticateClient(request, { allowPublic: grantType?.allowsPublic ?? true });
    if (!grantType) throw unsupportedGrantType('this grant_type is not supported');
    if (!client.metadata.grant_types.some((registered) => registered === name)) {
      throw unauthorizedClient('the client is not registered for this grant_type');
    }
    const response = await grantType.handle(request, client);
    metrics.granted(name);
    activity.granted();
    noStore(reply);
    return response;
  });
}
