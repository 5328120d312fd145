// Defines the commands about backups: one says what a dump needs, and one records that a backup was made.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { harmless } from '../admin/operations/text-table.ts';
import type { Config } from '../config.ts';
import { parseSecretKey } from '../crypto/secret-key.ts';
import { compareMigrations } from '../database/migrations.ts';
import { keptSecretKeys } from '../database/secret-key-file.ts';
import { emptiedAfterRestore, truncation } from '../repositories/retention/after-restore.ts';
import { by, type Command, type Output, parse, UsageError, withDatabase } from './command.ts';
import { isDataFolder, readDataFolder } from './data-folder.ts';
import { type DumpFacts, readDump } from './dump.ts';

export const backupCommands: Record<string, Command> = {
  'backup check': {
    usage: 'DUMP|FOLDER',
    summary:
      'Says which keys of SECRET_KEY a dump of pg_dump needs, whether they are set here, and which tables are emptied after it is restored. It does not open the database of the service. Of a copy of DATA_DIR it starts the database on a copy of its own, and looks whether its key fits. It exits with 1 if a key is missing, or if another version made the dump.',
    async run(config, args) {
      const [file = ''] = parse(args, {}, ['DUMP|FOLDER']).positionals;
      if (!isDataFolder(file)) return checked(await readDump(file), givenKeys(config));
      const copy = await readDataFolder(file);
      return checked(copy, copy.kept ? idsOf(copy.kept) : givenKeys(config), copy.kept && `${file}/secret-key`);
    },
  },
  'backup note': {
    usage: '[DUMP|FOLDER] [--made-at TIME]',
    summary:
      'Records that a backup was made, so that `doctor` and the console know it. A dump, or a copy of DATA_DIR, is read first.',
    options: [['--made-at TIME', 'When it was made; the time of the dump or the copy, or now, if missing.']],
    async run(config, args, terminal) {
      const { values, positionals } = parse(args, { 'made-at': { type: 'string' } }, ['[DUMP|FOLDER]']);
      const dump = positionals[0] === undefined ? undefined : await readBackup(positionals[0]);
      const madeAt = timeOf(values['made-at']) ?? dump?.madeAt ?? new Date();
      if (madeAt.getTime() > Date.now() + 60_000) throw new UsageError('--made-at must not be in the future.');
      const detail = {
        made_at: madeAt.toISOString(),
        ...(dump && { size: dump.size, secret_key_ids: dump.keyIds }),
      };
      await withDatabase(config, terminal, ({ store }) =>
        store.auditEvents.insert({ type: 'backup.noted', outcome: 'success', ...by, detail }),
      );
      return { json: detail, text: `Recorded a backup of ${detail.made_at}.` };
    },
  },
};

const readBackup = (file: string): Promise<DumpFacts> => (isDataFolder(file) ? readDataFolder(file) : readDump(file));

function timeOf(typed: string | undefined): Date | undefined {
  if (typed === undefined) return undefined;
  const time = new Date(typed);
  if (Number.isNaN(time.getTime())) throw new UsageError('--made-at must be a time such as 2026-01-31T12:00:00Z.');
  return time;
}

/** The ids of the keys that are set here; undefined where none is known. */
function givenKeys({ secretKeys, databaseUrl, dataDir }: Config): string[] | undefined {
  const isKept = databaseUrl === undefined && existsSync(join(dataDir, 'secret-key'));
  const keys = secretKeys ?? (isKept ? keptSecretKeys(dataDir, false) : undefined);
  return keys && idsOf(keys);
}

const idsOf = (keys: readonly string[]): string[] => keys.map((key) => parseSecretKey(key).id);

/** @param place of the keys, if they are not those of this shell */
async function checked(dump: DumpFacts, given: readonly string[] | undefined, place?: string): Promise<Output> {
  const { pending, unknown } = await compareMigrations(dump.migrations);
  const missing = dump.keyIds.filter((id) => !(given ?? []).includes(id));
  const has = (id: string) =>
    given === undefined
      ? 'no SECRET_KEY is set here'
      : given.includes(id)
        ? place === undefined
          ? 'set here'
          : `in ${place}`
        : `not in ${place ?? 'the SECRET_KEY of this shell'}`;
  const lines = [
    `Issuer   ${dump.issuer ?? 'unknown: no service has started on it'}`,
    `Version  ${dump.version ?? 'unknown'}${versionText(pending, unknown)}`,
    ...(dump.keyIds.length === 0 ? ['Keys     none: it has no encrypted value'] : []),
    ...dump.keyIds.map((id, index) => `${index === 0 ? 'Keys     ' : '         '}${id} (${has(id)})`),
    '',
    'After the restore, and before the service starts on it, empty what was used or revoked since:',
    `  ${truncation};`,
    'Users then sign in again, and directories need new SCIM tokens. Passwords, second factors, secrets of clients, keys and rights are as old as the dump: docs/operator.md says what to do about each table.',
  ];
  return {
    text: lines.map(harmless).join('\n'),
    json: {
      secret_key_ids: dump.keyIds,
      missing,
      issuer: dump.issuer,
      version: dump.version,
      pending_migrations: pending,
      unknown_migrations: unknown,
      truncate: emptiedAfterRestore,
    },
    code: missing.length > 0 || unknown.length > 0 ? 1 : 0,
  };
}

function versionText(pending: readonly string[], unknown: readonly string[]): string {
  if (unknown.length > 0)
    return `, newer than this one: it has ${unknown.at(-1)}, so restore it with the newer version`;
  return pending.length > 0 ? `; the start applies ${pending.length} migrations` : ', with the schema of this one';
}
