// Serves POST /revoke: a client revokes a token of its own (RFC 7009).
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { noStore, oauthErrors } from '../../server/errors.ts';
import { onlyForms } from '../../server/form-body.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { unauthorizedClient } from '../../oauth/errors.ts';
import type { Revocable } from '../../repositories/tokens/revocation.ts';
import { isAccessToken } from '../../tokens/jwt-access-token.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import { opaqueTokenHash, opaqueTokenKind } from '../../tokens/opaque-token.ts';
import type { Store } from '../../repositories/store.ts';
import type { AuthenticateClient } from '../../client-authentication/client-authentication.ts';
import type { AuditTrail } from '../../server/audit.ts';

const shape = z.object({ token: text(8192), token_type_hint: text(255).optional() });
const revocable: readonly string[] = [
  'access_token',
  'refresh_token',
  'authorization_code',
  'client_session_handle',
] satisfies Revocable[];

interface RevocationDependencies {
  config: Pick<Config, 'issuer'>;
  store: Pick<Store, 'revocation'>;
  tokens: Pick<TokenService, 'accessTokenHash'>;
  authenticateClient: AuthenticateClient;
  audit: AuditTrail;
}

export async function revocationEndpoint(
  app: FastifyInstance,
  { config, store, tokens, authenticateClient, audit }: RevocationDependencies,
): Promise<void> {
  await onlyForms(app);
  app.setErrorHandler(oauthErrors(config.issuer));

  app.post('/revoke', async (request, reply) => {
    const client = await authenticateClient(request, { allowPublic: true, disabledStatus: 403 });
    // the token's prefix tells its kind: the hint is not needed (RFC 7009 section 2.1)
    const { token } = readParameters(shape, request.body);
    const jwtHash = isAccessToken(token) ? await tokens.accessTokenHash(token) : undefined;
    const kind = jwtHash ? 'access_token' : opaqueTokenKind(token);
    if (kind !== undefined && revocable.includes(kind)) {
      const hash = jwtHash ?? opaqueTokenHash(kind, token)!;
      const result = await store.revocation.revoke(kind as Revocable, hash, client.clientId);
      if (result.outcome === 'foreign') throw unauthorizedClient('the token was issued to another client');
      if (result.outcome === 'revoked') {
        await audit(request, {
          type: 'token.revoked',
          outcome: 'success',
          actor: client.clientId,
          clientId: client.clientId,
          sub: result.sub,
          detail: { kind },
        });
      }
    }
    return noStore(reply).code(200).send();
  });
}
