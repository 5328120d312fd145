// The grant type client_credentials (RFC 6749 4.4): a token of the client itself.
import { z } from 'zod';
import { readParameters, text } from '../../../server/parameters.ts';
import { audienceOf, scopeFor } from '../../../sender-constraint/audience.ts';
import { clientDisabled, invalidScope } from '../../../oauth/errors.ts';
import { isScope, registrableScopes, splitScope } from '../../../oauth/scope.ts';
import { newOpaqueToken } from '../../../tokens/opaque-token.ts';
import type { GrantType, TokenResponse } from '../grant-type.ts';
import type { Config } from '../../../config.ts';
import type { Store } from '../../../repositories/store.ts';
import type { TokenService } from '../../../tokens/token-service.ts';

const shape = z.object({ scope: text(1024).optional(), resource: text(2000).optional() });

interface ClientCredentialsGrantDependencies {
  config: Config;
  store: Store;
  tokens: TokenService;
}

export function clientCredentialsGrant({ config, store, tokens }: ClientCredentialsGrantDependencies): GrantType {
  return {
    name: 'client_credentials',
    allowsPublic: false,
    async handle(request, client) {
      const { scope, resource } = readParameters(shape, request.body);
      if (scope !== undefined && !isScope(scope)) throw invalidScope('scope must be a list of scope values');
      // what registrants may have speaks of an End-User, and there is none
      const registered = splitScope(client.metadata.scope).filter((value) => !registrableScopes.includes(value));
      const asked = scope === undefined ? registered : splitScope(scope);
      if (!asked.every((value) => registered.includes(value)))
        throw invalidScope('scope exceeds what the client may have without an End-User');
      const audience = resource === undefined ? undefined : await audienceOf(store, config.issuer, resource);
      const granted = scopeFor(audience, asked, scope !== undefined).join(' ');
      const accessToken = newOpaqueToken('access_token');
      const lifetime = tokens.lifetimes(client).accessToken;
      const stored = await store.accessTokens.insertForClient({
        tokenHash: accessToken.hash,
        clientId: client.clientId,
        scope: granted,
        lifetime,
        audience,
      });
      if (!stored) throw clientDisabled();
      request.log.info({ client_id: client.clientId, grant_type: 'client_credentials' }, 'tokens issued');
      const response: TokenResponse = { access_token: accessToken.token, token_type: 'Bearer', expires_in: lifetime };
      if (granted !== '') response.scope = granted;
      return response;
    },
  };
}
