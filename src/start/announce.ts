// Announces an instance at its start: it stores what commands need of it, and refuses while the database serves another BASE_URL.
import { randomUUID } from 'node:crypto';
import { type Config, ConfigError, storedForCommands } from '../config.ts';
import { installedVersion } from '../config/version.ts';
import { parseSecretKey } from '../crypto/secret-key.ts';
import { placeOf } from '../domain/instances/instance-place.ts';
import { underMigrationLock } from '../database/migrations.ts';
import type { ServiceDatabase } from '../database/service-database.ts';
import { instanceTimeout } from '../repositories/instances/instances.ts';
import type { Store } from '../repositories/store.ts';

interface Opened {
  config: Config;
  connection: Pick<ServiceDatabase, 'options' | 'secretKeys' | 'aloneSince'>;
  store: Store;
}

/**
 * Instances that start at the same time come here one after the other, so all that run have one BASE_URL.
 * @returns the id of the instance, whose row the heartbeat keeps alive
 * @throws ConfigError if another instance runs under another BASE_URL (delivery D1)
 */
export async function announce({ config, connection, store }: Opened): Promise<string> {
  const id = randomUUID();
  const { issuer } = config;
  const { id: secretKeyId } = parseSecretKey(connection.secretKeys[0]!);
  await underMigrationLock(connection.options, async () => {
    if (connection.aloneSince) await store.instances.removeSeenBefore(connection.aloneSince);
    const [running, service] = await Promise.all([store.instances.running(), store.serviceSettings.read()]);
    // an instance of an older version has the address of the last start, as far as this one can tell
    const issuers = running.flatMap((instance) => instance.issuer ?? service?.settings['BASE_URL'] ?? []);
    const other = issuers.find((each) => each !== issuer);
    if (other !== undefined)
      throw new ConfigError(
        `Gatehouse runs at ${other} on this database, and this start has the address ${issuer}. Stop it first (one that was killed counts for ${instanceTimeout} seconds), or give this one a database of its own: DATABASE_URL or DATA_DIR.`,
      );
    await store.serviceSettings.write({ settings: storedForCommands(config), version: installedVersion() });
    await store.instances.heartbeat(id, secretKeyId, placeOf(config));
  });
  return id;
}
