// Refuses changes by a registration token of a client that configuration files keep (federation 10).
import { isDeepStrictEqual } from 'node:util';
import { OAuthError } from '../../oauth/errors.ts';
import type { Client, ClientChange } from '../../repositories/clients/clients.ts';
import type { Repositories } from '../../repositories/store.ts';

/**
 * Only its files change what the client is. It can still read its registration, renew its credentials and withdraw what waits.
 * @param change undefined for the deletion
 * @throws OAuthError kept_by_file (RFC 7592 2.2, 2.3)
 */
export async function refuseOfKept(
  { keptObjects }: Pick<Repositories, 'keptObjects'>,
  client: Client,
  change: ClientChange | undefined,
): Promise<void> {
  if (change && !changesMetadata(client, change)) return;
  const kept = await keptObjects.find('clients', client.clientId);
  // one that was deleted without its files, and made anew, has another time
  if (kept?.madeAt !== client.createdAt.toISOString()) return;
  throw new OAuthError(
    'kept_by_file',
    'an administrator manages this client with configuration files: ask the administrator for the change',
    403,
  );
}

const changesMetadata = (client: Client, { metadata, pendingMetadata }: ClientChange): boolean =>
  (metadata !== undefined && !isDeepStrictEqual(metadata, client.metadata)) ||
  (pendingMetadata !== undefined &&
    pendingMetadata !== null &&
    !isDeepStrictEqual(pendingMetadata, client.pendingMetadata));
