// Serves POST /par, which stores an authorization request that a client pushes before the browser arrives (RFC 9126).
import type { FastifyInstance } from 'fastify';
import { noStore, oauthErrors } from '../../server/errors.ts';
import { onlyForms } from '../../server/form-body.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import { singleValued } from '../../server/parameters.ts';
import { invalidDpopProof, invalidRequest, OAuthError, proofReused } from '../../oauth/errors.ts';
import type { Config } from '../../config.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import type { AuthenticateClient } from '../../client-authentication/client-authentication.ts';
import type { Dpop } from '../../sender-constraint/dpop.ts';
import type { AuditTrail } from '../../server/audit.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import { checkPushedRequest, newRequestUri } from './pushed-request.ts';
import { verificationContext, type VerificationDependencies } from './verification-context.ts';
import { createStoredRequests, type StoredRequestsDependencies } from '../../interaction/stored-requests.ts';

type PushedAuthorizationRequestDependencies = VerificationDependencies &
  StoredRequestsDependencies & {
    config: Config;
    tokens: TokenService;
    authenticateClient: AuthenticateClient;
    dpop: Dpop;
    audit: AuditTrail;
    limits: Limits;
  };

export async function pushedAuthorizationRequestEndpoint(
  app: FastifyInstance,
  options: PushedAuthorizationRequestDependencies,
): Promise<void> {
  const { config, tokens, limits, authenticateClient, dpop, audit } = options;
  const context = verificationContext(options);
  const stored = createStoredRequests(options);
  await onlyForms(app);
  app.setErrorHandler(oauthErrors(config.issuer));

  app.post('/par', async (request, reply) => {
    const client = await authenticateClient(request, { allowPublic: true });
    const sent = singleValued(request.body);
    if (sent['request_uri'] !== undefined) throw invalidRequest('request_uri must not be pushed');
    if (client.rules.isPublic) {
      const wait = await limits.consume('pushedPerNetwork', `${client.clientId} ${networkOf(clientAddress(request))}`);
      if (wait > 0) throw tooManyPushed(wait);
    }
    const proof = await dpop.read(request, { asksNonce: client.metadata.dpop_nonce ?? false });
    const parameters = await checkPushedRequest({ ...sent, client_id: client.clientId }, context, tokens);
    if (proof) {
      // a proof binds the code like dpop_jkt (RFC 9449 10.1)
      const { jkt } = proof.binding;
      if ((parameters['dpop_jkt'] ?? jkt) !== jkt)
        throw invalidDpopProof('dpop_jkt names another key than that of the DPoP proof');
      parameters['dpop_jkt'] = jkt;
    }
    const { requestUri, transaction } = newRequestUri();
    const lifetime = Math.min(config.lifetimes.pushedRequest, client.rules.requestSeconds);
    if ((await stored.push(request, { transaction, client, parameters, proof, lifetime })) === 'replayed') {
      const { clientId } = client;
      await audit(request, { type: 'dpop.replayed', outcome: 'failure', actor: clientId, clientId });
      throw proofReused();
    }
    dpop.renewNonce(proof, reply);
    request.log.info({ client_id: client.clientId }, 'authorization request pushed');
    noStore(reply).code(201);
    return { request_uri: requestUri, expires_in: lifetime };
  });
}

function tooManyPushed(wait: number): OAuthError {
  const description = `too many pushed requests of this client from this network: wait ${wait} seconds`;
  return new OAuthError('temporarily_unavailable', description, 429, { headers: { 'retry-after': String(wait) } });
}
