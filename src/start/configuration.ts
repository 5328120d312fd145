// Plans or applies the configuration files of CONFIG_FILE at the start, after the other instances that start now (federation 10).
import type { Logger } from 'pino';
import { applyConfig } from '../admin/operations/config/apply.ts';
import { readConfigFile } from '../admin/operations/config/config-file.ts';
import type { PlannedChange } from '../admin/operations/config/plan.ts';
import { stepsOf } from '../admin/operations/config/plan.ts';
import { secretReader } from '../admin/operations/config/secret-sources.ts';
import { UsageError } from '../command-line/command.ts';
import { configTexts } from '../command-line/config.ts';
import { contextOf } from '../command-line/operation-command.ts';
import { type Config, ConfigError } from '../config.ts';
import { underMigrationLock } from '../database/migrations.ts';
import type { ServiceDatabase } from '../database/service-database.ts';
import { createAdministration } from '../domain/administration/administration.ts';
import { declareSubscribers } from '../domain/events/subscribers.ts';
import { openEncryption } from '../domain/keys/encryption-at-rest.ts';
import { OAuthError } from '../oauth/errors.ts';
import type { Store } from '../repositories/store.ts';

interface Opened {
  config: Config;
  connection: Pick<ServiceDatabase, 'options' | 'secretKeys'>;
  store: Store;
  logger: Logger;
}

/** What a line of the log says of a change: no values. */
const named = (changes: readonly PlannedChange[]) => changes.map(({ act, section, key }) => `${act} ${section}.${key}`);

/** @returns counts what differs from the files @throws ConfigError with one sentence that names the file and the line */
export async function configureAtStart(opened: Opened): Promise<(() => Promise<number>) | undefined> {
  const { config, connection, store, logger } = opened;
  const { configFile: path, configApply: how } = config;
  if (path === undefined) return undefined;
  try {
    const texts = configTexts(path);
    const read = secretReader(path, config);
    await declareSubscribers(store);
    const encryption = await openEncryption(store, connection.secretKeys);
    const terminal = { stderr: { write: (line: string) => (logger.warn(line.trim()), true) } };
    const administration = createAdministration(store);
    const context = contextOf({ config, hasMailServer: true, store, ...encryption, administration }, terminal);
    const options = { prune: false, enable: false };
    const file = await readConfigFile(context, texts);
    await underMigrationLock(connection.options, async () => {
      if (how === 'plan') {
        const { steps, notes } = await stepsOf(context, file, read, options);
        const changes = named(steps.map(({ planned }) => planned));
        if (changes.length + notes.length > 0) logger.warn({ changes, notes }, 'the service differs from CONFIG_FILE');
        return;
      }
      const { changes, notes, warnings } = await applyConfig(context, { texts, read, ...options, makesSecrets: false });
      for (const warning of warnings) logger.warn(warning);
      logger.info({ changes: named(changes), notes }, 'CONFIG_FILE is applied');
    });
    return async () => {
      // also what others took over, what was disabled, and what the files no longer have
      const { steps } = await stepsOf(context, { ...file, adopt: true }, read, { prune: true, enable: true });
      return steps.length;
    };
  } catch (error) {
    if (error instanceof OAuthError)
      throw new ConfigError(`The setting CONFIG_FILE is wrong: ${error.description}.`, { cause: error });
    if (error instanceof UsageError)
      throw new ConfigError(`The setting CONFIG_FILE is wrong: ${error.message}`, { cause: error });
    throw error;
  }
}
