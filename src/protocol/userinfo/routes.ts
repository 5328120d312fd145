// Serves GET /user/info: the End-User's claims for an access token (OpenID Connect Core 5.3, RFC 6750).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  type Presented,
  presentedToken,
  type ProtectedResource,
  requireAccessToken,
} from '../../sender-constraint/protected-resource.ts';
import { noStore, resourceErrors } from '../../server/errors.ts';
import { withResourceMetadata } from '../../server/resource-challenge.ts';
import { addFormParser } from '../../server/form-body.ts';
import { singleValued } from '../../server/parameters.ts';
import { insufficientScope, invalidRequest, invalidToken, OAuthError } from '../../oauth/errors.ts';
import { plainClient, userinfoClaims } from '../../rules/claims/claims.ts';
import { isServiceScope, splitScope } from '../../oauth/scope.ts';
import type { Config } from '../../config.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { TokenService } from '../../tokens/token-service.ts';

interface UserinfoDependencies extends ProtectedResource {
  config: Config;
  clients: ClientCache;
  tokens: TokenService;
}

export async function userinfoEndpoint(app: FastifyInstance, options: UserinfoDependencies): Promise<void> {
  const { config, clients, tokens } = options;
  app.removeAllContentTypeParsers();
  await addFormParser(app);
  app.setErrorHandler(withResourceMetadata(resourceErrors, `${config.issuer}/user/info`, () => 'openid'));

  /** Sends the claims in the form that the client registered, not that of Accept (Core 5.3.2). */
  async function answer(request: FastifyRequest, reply: FastifyReply, presented: Presented): Promise<void> {
    const found = await requireAccessToken(options, request, reply, presented);
    const scopes = splitScope(found.scope);
    if (!found.user || found.subject === undefined || !scopes.includes('openid'))
      throw insufficientScope('the access token does not have the scope openid');
    // most clients have neither rules nor scopes of an operator: only for the others the cached client is read
    const isPlain = !found.hasClaimRules && scopes.every(isServiceScope);
    const settings = (isPlain ? undefined : await clients.find(found.clientId)) ?? plainClient;
    const granted = {
      user: found.user,
      scopes,
      requested: found.requested?.userinfo,
      registered: found.registeredScope,
    };
    const claims = { ...userinfoClaims(settings, granted), sub: found.subject };
    noStore(reply);
    if (!found.userinfoAsJwt) {
      reply.send(claims);
      return;
    }
    const client = await clients.find(found.clientId);
    if (!client) throw invalidToken('the client of the access token no longer exists');
    reply.type('application/jwt').send(await tokens.userinfo(client, claims));
  }

  app.get('/user/info', async (request, reply) => {
    await answer(request, reply, presentedToken(request));
    return reply;
  });

  // refuses POST before it reads the body
  const onRequest = async (): Promise<void> => {
    if (!config.userinfoPost)
      throw new OAuthError('invalid_request', 'this URL supports only GET', 405, { headers: { allow: 'GET' } });
  };
  app.post('/user/info', { onRequest }, async (request, reply) => {
    await answer(request, reply, postedToken(request));
    return reply;
  });
}

/** The token by header or by form field, not by both (RFC 6750 section 2). */
function postedToken(request: FastifyRequest): Presented {
  const field = singleValued(request.body)['access_token'];
  if (field === undefined) return presentedToken(request);
  if (request.headers.authorization !== undefined) throw invalidRequest('the access token was sent twice');
  return { token: field, scheme: 'Bearer' };
}
