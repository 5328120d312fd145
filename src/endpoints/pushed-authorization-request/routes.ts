// POST /par: an authorization request that its client pushes ahead of the browser (RFC 9126).
import type { FastifyInstance } from 'fastify';
import { createPendingRequests } from '../../http/authorization/pending.ts';
import { checkPushedRequest, newRequestUri } from '../../http/authorization/pushed-request.ts';
import { requestRules } from '../../http/authorization/rules.ts';
import { jsonErrors, noStore } from '../../http/errors.ts';
import { onlyForms } from '../../http/form-body.ts';
import { clientAddress, networkOf } from '../../http/network.ts';
import { singleValued } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import { isPublicClient } from '../../oauth/client-metadata.ts';
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';

export async function pushedAuthorizationRequestEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
  const { config, tokens, limits, authenticateClient } = options;
  const rules = requestRules(options);
  const pending = createPendingRequests(options);
  await onlyForms(app);
  app.setErrorHandler(jsonErrors);

  app.post('/par', async (request, reply) => {
    const client = await authenticateClient(request, { allowPublic: true });
    const sent = singleValued(request.body);
    if (sent['request_uri'] !== undefined) throw invalidRequest('request_uri must not be pushed');
    if (isPublicClient(client.metadata)) {
      const wait = await limits.consume('pushedPerNetwork', `${client.clientId} ${networkOf(clientAddress(request))}`);
      if (wait > 0) throw tooManyPushed(wait);
    }
    const parameters = await checkPushedRequest({ ...sent, client_id: client.clientId }, rules, tokens);
    const { requestUri, transaction } = newRequestUri();
    await pending.push(request, { transaction, client, parameters });
    request.log.info({ client_id: client.clientId }, 'authorization request pushed');
    noStore(reply).code(201);
    return { request_uri: requestUri, expires_in: config.lifetimes.pushedRequest };
  });
}

function tooManyPushed(wait: number): OAuthError {
  const description = `too many pushed requests of this client from this network: wait ${wait} seconds`;
  return new OAuthError('temporarily_unavailable', description, 429, { headers: { 'retry-after': String(wait) } });
}
