// POST /par: an authorization request that its client pushes ahead of the browser (RFC 9126).
import type { FastifyInstance } from 'fastify';
import { digest } from '../../crypto/secrets.ts';
import { requestParameters } from '../../http/authorization/effective-request.ts';
import { checkPushedRequest, newRequestUri } from '../../http/authorization/pushed-request.ts';
import { requestRules } from '../../http/authorization/rules.ts';
import { jsonErrors, noStore } from '../../http/errors.ts';
import { onlyForms } from '../../http/form-body.ts';
import { singleValued } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import { invalidRequest } from '../../oauth/errors.ts';

export async function pushedAuthorizationRequestEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
  const { config, store, tokens, authenticateClient } = options;
  const rules = requestRules(options);
  await onlyForms(app);
  app.setErrorHandler(jsonErrors);

  app.post('/par', async (request, reply) => {
    const client = await authenticateClient(request, { allowPublic: true });
    const sent = singleValued(request.body);
    if (sent['request_uri'] !== undefined) throw invalidRequest('request_uri must not be pushed');
    // the credentials are no part of the request
    const pushed = Object.fromEntries(
      ['request', ...requestParameters].flatMap((name) => (sent[name] === undefined ? [] : [[name, sent[name]]])),
    );
    const parameters = await checkPushedRequest({ ...pushed, client_id: client.clientId }, rules, tokens);
    const { requestUri, transaction } = newRequestUri();
    await store.authorizationRequests.push({
      idHash: digest('transaction', transaction),
      clientId: client.clientId,
      parameters,
      lifetime: config.lifetimes.pushedRequest,
      perClient: config.limits.pushedRequests,
    });
    request.log.info({ client_id: client.clientId }, 'authorization request pushed');
    noStore(reply).code(201);
    return { request_uri: requestUri, expires_in: config.lifetimes.pushedRequest };
  });
}
