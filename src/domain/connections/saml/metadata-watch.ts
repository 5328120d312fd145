// Reads the metadata of connected identity providers again each day, and tells once what differs: an administrator decides about it (federation F44).
import { isDeepStrictEqual } from 'node:util';
import type { Connection } from '../../../entities/connections.ts';
import { OAuthError } from '../../../oauth/errors.ts';
import type { GuardedFetch } from '../../../outbound/guarded-fetch.ts';
import type { Repositories, Store } from '../../../repositories/store.ts';
import { fetchProvider, waitingProvider } from './provider-metadata.ts';
import type { PinnedProvider } from './settings.ts';

const day = 86_400_000; // milliseconds

/** Keeps what the identity provider publishes now. Nothing that is pinned changes. In a transaction. */
export async function notePublished(
  { connections, auditEvents }: Repositories,
  { id, settings }: Pick<Connection, 'id' | 'settings'>,
  published: PinnedProvider,
): Promise<void> {
  const before = await connections.lock(id);
  // an administrator has changed the settings meanwhile: the next reading decides
  if (!before || !isDeepStrictEqual(before.settings, settings)) return;
  const discovery = { ...published };
  await connections.setDiscovery(id, discovery, settings);
  if (isDeepStrictEqual(before.discovery, discovery) || !waitingProvider({ settings, discovery })) return;
  const detail = { connection: id };
  await auditEvents.insert({
    type: 'connection.metadata_changed',
    outcome: 'success',
    actor: `connection:${id}`,
    detail,
  });
}

export type SamlMetadataWatch = ReturnType<typeof createSamlMetadataWatch>;

export function createSamlMetadataWatch({
  store,
  fetchDocument,
  now,
  warn,
}: {
  store: Store;
  fetchDocument: GuardedFetch;
  now: () => Date;
  warn(id: string, error: unknown): void;
}) {
  /** When the last reading of each connection failed: this instance tries again after a day. */
  const failures = new Map<string, number>();
  const isDue = ({ id, kind, status, settings, discoveredAt }: Connection): boolean =>
    kind === 'saml' &&
    status !== 'disabled' &&
    typeof settings['metadata_uri'] === 'string' &&
    now().getTime() - Math.max(discoveredAt?.getTime() ?? 0, failures.get(id) ?? 0) >= day;

  return {
    /** Reads what is due. A provider that does not answer changes nothing: sign-ins go on with the pinned keys. */
    async readDue(isStopped: () => boolean): Promise<void> {
      for (const connection of (await store.connections.list()).filter(isDue)) {
        if (isStopped()) return;
        try {
          const published = await fetchProvider(fetchDocument, String(connection.settings['metadata_uri']));
          await store.transaction((repositories) => notePublished(repositories, connection, published));
        } catch (error) {
          if (!(error instanceof OAuthError)) throw error;
          failures.set(connection.id, now().getTime());
          warn(connection.id, error);
        }
      }
    },
  };
}
