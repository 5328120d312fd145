// Delivers an authorization response to the client by the browser: as parameters, always with iss (RFC 9207), or as one JWT (JARM).
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import { invalidRequest, type ResponseTarget } from '../../oauth/errors.ts';
import { withQuery } from '../../oauth/redirect-uri.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import { noStore } from '../../server/errors.ts';
import type { TokenService } from '../../tokens/token-service.ts';

export interface ResponseDependencies {
  config: Pick<Config, 'issuer'>;
  clients: ClientCache;
  tokens: TokenService;
  pages: PageResponses;
}

export function createAuthorizationResponse({ config, clients, tokens, pages }: ResponseDependencies) {
  /** Prepares the one parameter of a response as a JWT. @throws OAuthError if the key is gone that it must be encrypted to */
  async function prepareJwt(clientId: string) {
    const client = await clients.find(clientId);
    if (!client) throw invalidRequest('the client was deleted');
    const jwt = await tokens.authorizationResponse(client);
    return async (parameters: Record<string, string>) => ({ response: await jwt(parameters) });
  }

  function deliver(
    request: FastifyRequest,
    reply: FastifyReply,
    { redirectUri, delivery }: ResponseTarget,
    parameters: Record<string, string>,
  ): FastifyReply {
    const all = Object.entries(parameters);
    switch (delivery) {
      case 'form_post':
        return pages.send(request, reply, 'form-post', { action: redirectUri, parameters: all });
      case 'fragment':
        return noStore(reply).redirect(`${redirectUri}#${new URLSearchParams(all).toString()}`, 302);
      case 'query':
        return noStore(reply).redirect(withQuery(redirectUri, all), 302);
    }
  }

  /**
   * Prepares a response before its code or tokens are issued.
   * @returns sends the parameters
   * @throws OAuthError if the response cannot be encrypted for the client: then nothing is sent to it
   */
  return async (request: FastifyRequest, reply: FastifyReply, target: ResponseTarget) => {
    const asJwt = target.jwtAudience === undefined ? undefined : await prepareJwt(target.jwtAudience);
    return async (parameters: Record<string, string>): Promise<void> => {
      // state as received, and iss always (security R7)
      const all = {
        ...parameters,
        ...(target.state !== undefined && { state: target.state }),
        iss: config.issuer,
      };
      deliver(request, reply, target, asJwt ? await asJwt(all) : all);
    };
  };
}
