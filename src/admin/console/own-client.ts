// Keeps the console's own client, by which administrators sign in to the console as to any application.
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { isUniqueViolation } from '../../database/database.ts';
import type { Administration } from '../../domain/administration/administration.ts';
import type { AppearanceService } from '../../domain/appearance/appearance.ts';
import { parseClientMetadata } from '../../oauth/client-metadata.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import { consoleClientId } from '../../rules/clients/console-client.ts';
import { newCredentials } from '../../tokens/client-credentials.ts';

export const consoleCallback = '/admin/callback';
export const consoleScope = 'openid admin';

interface OwnClientDependencies {
  config: Config;
  clients: ClientCache;
  secretBox: SecretBox;
  appearance: Pick<AppearanceService, 'current'>;
}

/** Creates the console's client, or restores its metadata: the base address may have changed, or an operator changed the row by SQL. */
export function createOwnClient(
  { config: { issuer, unencrypted }, clients, secretBox, appearance }: OwnClientDependencies,
  administration: Administration,
): () => Promise<void> {
  return async () => {
    const known = await clients.find(consoleClientId);
    const by = { actor: 'service' };
    const uris = [issuer + consoleCallback];
    const parsed = parseClientMetadata(
      {
        client_name: `${appearance.current().brand.productName ?? 'Gatehouse'} console`,
        // the same as instances of the previous version use, which refuse http on localhost for a web client
        application_type: new URL(issuer).protocol === 'http:' ? 'native' : 'web',
        redirect_uris: unencrypted ? [`http://127.0.0.1${consoleCallback}`] : uris,
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        scope: consoleScope,
      },
      // the redirect URI is the service's own, so the rules for registered ones do not apply
      { admin: true },
      { issuer },
    );
    // with ALLOW_HTTP no rule allows it
    const metadata = { ...parsed, redirect_uris: uris };
    if (!known) {
      const { stored } = newCredentials(secretBox, consoleClientId, metadata);
      const client = { clientId: consoleClientId, metadata, status: 'enabled', approvedBy: 'administrator' } as const;
      await administration.createClient(by, { ...client, firstParty: true, ...stored }).catch((error: unknown) => {
        // a concurrent request has created the client
        if (!isUniqueViolation(error)) throw error;
      });
    } else if (!isDeepStrictEqual(JSON.parse(JSON.stringify(metadata)), known.metadata)) {
      await administration.changeClient(by, consoleClientId, () => ({ metadata }));
    } else return;
    clients.forget(consoleClientId);
  };
}
