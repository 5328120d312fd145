// POST /token: authenticates the client and hands the request to its grant type (RFC 6749 3.2).
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { jsonErrors, noStore } from '../../server/errors.ts';
import { onlyForms } from '../../server/form-body.ts';
import { readParameters, text } from '../../server/parameters.ts';
import { unauthorizedClient, unsupportedGrantType } from '../../oauth/errors.ts';
import type { GrantType } from './grant-type.ts';
import type { AuthenticateClient } from '../../client-authentication/client-authentication.ts';
import type { Metrics } from '../../server/metrics.ts';
import type { UsageCounters } from '../../domain/usage-counters.ts';

const shape = z.object({ grant_type: text(255) });

interface TokenDependencies {
  grantTypes: readonly GrantType[];
  authenticateClient: AuthenticateClient;
  metrics: Metrics;
  activity: UsageCounters;
}

export async function tokenEndpoint(
  app: FastifyInstance,
  { authenticateClient, grantTypes, metrics, activity }: TokenDependencies,
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
