// Collects what an importer moves, checks it by the rules of this service, and writes it as files: what does not fit is in the report.
import { createWriteStream, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { once } from 'node:events';
import { loginKey } from '../../rules/users/login-key.ts';
import { UsageError } from '../command.ts';
import { ofTheFile } from '../file.ts';
import { configTexts, type ConfigSection } from './config-texts.ts';
import {
  clientEntry,
  connectionEntry,
  type Entry,
  type GivenClient,
  type GivenConnection,
  groupEntry,
} from './entries.ts';
import { createReport, type Report } from './report.ts';
import { createUserLines, type FoundUser, type UserOptions } from './users.ts';

export type { FoundUser };

export interface MoveOptions extends UserOptions {
  /** A folder that is empty, or does not exist. */
  output: string;
}

export interface MoveCounts {
  users: number;
  clients: number;
  connections: number;
  groups: number;
  notes: number;
}

/** What importers call: each method checks, and writes or reports. */
export interface Move extends Pick<Report, 'note' | 'section'> {
  group(name: string, description?: string): boolean;
  client(id: string, given: GivenClient): boolean;
  connection(id: string, given: GivenConnection): boolean;
  user(found: FoundUser): Promise<void>;
  /** A reference to a new file with the secret, for an entry. */
  secret(name: string, value: string): { file: string };
}

const names = { users: 'users.jsonl', report: 'report.md', secrets: 'secrets' } as const;

/** Makes the folder, and its files, which only the owner reads. @throws UsageError */
function openFolder({ output }: MoveOptions) {
  try {
    mkdirSync(output, { recursive: true, mode: 0o700 });
    if (readdirSync(output).length > 0)
      throw new UsageError(`The folder ${output} is not empty: name another one by --output.`);
    mkdirSync(join(output, names.secrets), { mode: 0o700 });
  } catch (error) {
    throw ofTheFile(error, output);
  }
  const open = (name: string) => createWriteStream(join(output, name), { flags: 'wx', mode: 0o600 });
  return { users: open(names.users), report: open(names.report) };
}

/**
 * Runs the work of an importer with a new folder.
 * @param source.name of the set of files, `keycloak-staff`
 * @throws UsageError if the folder is not empty
 */
export async function writeMove(
  options: MoveOptions,
  source: { title: string; name: string; moveTo(move: Move): Promise<void> },
): Promise<MoveCounts> {
  const files = openFolder(options);
  const report = createReport(files.report);
  files.report.write(`# Migration from ${source.title}\n`);
  const entries: Record<ConfigSection, Map<string, Entry>> = {
    clients: new Map(),
    connections: new Map(),
    groups: new Map(),
  };
  /** The names of the files of secrets, and how many files of each name there are. */
  const secrets = new Map<string, number>();
  let users = 0;
  const clientKeys = new Set<string>();
  const lineOf = createUserLines(report, options, {
    isClient: (key) => clientKeys.has(key),
    hasConnection: (id) => entries.connections.has(id),
    hasRole: (id, role) => Object.hasOwn((entries.clients.get(id)?.['roles'] ?? {}) as Entry, role),
  });

  function add(section: ConfigSection, noun: string, id: string, entry: Entry | undefined): boolean {
    if (!entry) return false;
    if (entries[section].has(id)) report.note(`${noun} ${id}`, 'Another one has this name. This one is left out.');
    else entries[section].set(id, entry);
    if (section === 'clients') clientKeys.add(loginKey(id));
    return entries[section].get(id) === entry;
  }

  const move: Move = {
    section: report.section,
    note: report.note,
    group: (name, description) => add('groups', 'group', name, groupEntry(report, name, description)),
    client: (id, given) => add('clients', 'client', id, clientEntry(report, id, given)),
    connection: (id, given) => add('connections', 'connection', id, connectionEntry(report, id, given)),
    secret(name, value) {
      const safe = name.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 100);
      let file = safe;
      // some file systems take two names for one that differ in case
      for (let taken; (taken = secrets.get(file.toLowerCase())) !== undefined;) {
        secrets.set(file.toLowerCase(), taken + 1);
        file = `${safe}-${taken + 1}`;
      }
      secrets.set(file.toLowerCase(), 1);
      writeFileSync(join(options.output, names.secrets, file), value, { flag: 'wx', mode: 0o600 });
      return { file: `${names.secrets}/${file}` };
    },
    async user(found) {
      const line = lineOf(found);
      if (!line) return;
      users++;
      const written = [files.users.write(`${JSON.stringify(line)}\n`), !files.report.writableNeedDrain];
      if (!written[0]) await once(files.users, 'drain');
      if (!written[1]) await once(files.report, 'drain');
    },
  };

  try {
    await source.moveTo(move);
    const texts = await configTexts(source.name, entries, report);
    const counts = {
      users,
      ...mapped(entries, (section) => section.size),
      notes: report.notes,
    };
    report.section('Numbers');
    files.report.write(
      Object.entries(counts)
        .map(([name, count]) => `- ${name}: ${count}\n`)
        .join(''),
    );
    for (const { name, text } of texts) writeFileSync(join(options.output, name), text, { flag: 'wx', mode: 0o600 });
    await Promise.all(Object.values(files).map((file) => finished(file.end())));
    return counts;
  } catch (error) {
    for (const file of Object.values(files)) file.destroy();
    for (const name of readdirSync(options.output))
      rmSync(join(options.output, name), { recursive: true, force: true });
    throw ofTheFile(error, options.output);
  }
}

const mapped = (entries: Record<ConfigSection, Map<string, Entry>>, of: (section: Map<string, Entry>) => number) => ({
  clients: of(entries.clients),
  connections: of(entries.connections),
  groups: of(entries.groups),
});
