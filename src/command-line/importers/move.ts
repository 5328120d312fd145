// Collects what an importer moves, checks it by the rules of this service, and writes it as files: what does not fit is in the report.
import { createWriteStream, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { once } from 'node:events';
import { storedHash } from '../../crypto/hash-forms.ts';
import { makesCodes, readCodeSecret } from '../../crypto/one-time-codes.ts';
import { writeYaml } from '../../rules/files/yaml-text.ts';
import { importReasons } from '../../rules/users/import-reasons.ts';
import { loginKey } from '../../rules/users/login-key.ts';
import { isProblem, readUserRecord, type UserRecord } from '../../rules/users/user-record.ts';
import { UsageError } from '../command.ts';
import { ofTheFile } from '../file.ts';
import { clientEntry, connectionEntry, groupEntry, type Entry, type GivenClient } from './entries.ts';
import { createReport, quoted, type Report } from './report.ts';
import { SeenKeys } from './seen-keys.ts';

export interface MoveOptions {
  /** A folder that is empty, or does not exist. */
  output: string;
  /** Whether users keep their ids, which applications know. */
  keepSubs: boolean;
  /** Whether administrators stay administrators. */
  admins: boolean;
}

/** A user as an importer found it; the password hash may have any form. */
export type FoundUser = Omit<UserRecord, 'password_hash'> & { password_hash?: unknown };

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
  connection(id: string, given: Entry): boolean;
  user(found: FoundUser): Promise<void>;
  /** A reference to a new file with the secret, for an entry. */
  secret(name: string, value: string): { file: string };
}

type Section = 'clients' | 'connections' | 'groups';

/** The most bytes of a line that the import reads. */
const maxLine = 64 * 1024;
/** The most bytes of a configuration file. */
const maxConfig = 1024 * 1024;
const names = { config: 'gatehouse.yaml', users: 'users.jsonl', report: 'report.md', secrets: 'secrets' } as const;

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
  files.report.write(`# Moving in from ${source.title}\n`);
  const entries: Record<Section, Map<string, Entry>> = {
    clients: new Map(),
    connections: new Map(),
    groups: new Map(),
  };
  const seen = new SeenKeys();
  const secrets = new Set<string>();
  let users = 0;

  function add(section: Section, noun: string, id: string, entry: Entry | undefined): boolean {
    if (!entry) return false;
    if (entries[section].has(id)) report.note(`${noun} ${id}`, 'Another one has this name. This one is left out.');
    else entries[section].set(id, entry);
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
      for (let number = 2; secrets.has(file); number++) file = `${safe}-${number}`;
      secrets.add(file);
      writeFileSync(join(options.output, names.secrets, file), value, { flag: 'wx', mode: 0o600 });
      return { file: `${names.secrets}/${file}` };
    },
    async user(found) {
      const record = checkedUser(found);
      if (!record) return;
      users++;
      const written = [files.users.write(`${JSON.stringify(record)}\n`), !files.report.writableNeedDrain];
      if (!written[0]) await once(files.users, 'drain');
      if (!written[1]) await once(files.report, 'drain');
    },
  };

  /** The line of a user, without what this service refuses; undefined if nothing is left. */
  function checkedUser({ sub, admin, password_hash: given, totp = [], links = [], roles = {}, ...rest }: FoundUser) {
    const about = `user ${rest.username}`;
    const note = (said: string) => report.note(about, said);
    const hash = given === undefined ? undefined : storedHash(given);
    if (given !== undefined && hash === undefined)
      note('The password hash is of an unknown kind, or is too costly. The user needs a link for a new password.');
    const codes = totp.filter(({ secret, algorithm, digits, period }) => {
      const fits = makesCodes(algorithm, digits, period) && readCodeSecret(secret) !== undefined;
      if (!fits)
        note('An authenticator app is left out: the service makes codes of six digits, every 30 seconds, by SHA-1.');
      return fits;
    });
    const kept = links.filter(({ connection }) => {
      const isKnown = entries.connections.has(connection);
      if (!isKnown) note(`The link to ${quoted(connection)} is left out: this connection is not moved.`);
      return isKnown;
    });
    const held = Object.entries(roles)
      .map(([id, ofClient]): [string, string[]] => {
        const known = entries.clients.get(id)?.['roles'];
        return [
          id,
          ofClient.filter((role) => typeof known === 'object' && known !== null && Object.hasOwn(known, role)),
        ];
      })
      .filter(([, ofClient]) => ofClient.length > 0);
    if (admin && !options.admins) note('The user is an administrator there, and none here without --with-admins.');
    let line: Record<string, unknown> = {
      ...(sub !== undefined && options.keepSubs && { sub }),
      ...rest,
      ...(admin && options.admins && { admin }),
      ...(hash !== undefined && { password_hash: hash }),
      ...(codes.length > 0 && { totp: codes }),
      ...(kept.length > 0 && { links: kept }),
      ...(held.length > 0 && { roles: Object.fromEntries(held) }),
    };
    for (let read = readUserRecord(line); isProblem(read); read = readUserRecord(line)) {
      const [member = ''] = read.column.split('.');
      const isVital = member === 'username' || member === 'sub' || !Object.hasOwn(line, member);
      note(`${quoted(read.column)} ${importReasons[read.reason]}. ${isVital ? 'The user' : 'This'} is left out.`);
      if (isVital) return undefined;
      line = Object.fromEntries(Object.entries(line).filter(([name]) => name !== member));
    }
    return withOwnKeys(line, note);
  }

  /** No two users have one name or address, whatever its case (security R153). */
  function withOwnKeys(line: Record<string, unknown>, note: (said: string) => void) {
    const [name, address] = [line['username'], line['email']].map((text) =>
      typeof text === 'string' ? loginKey(text) : undefined,
    );
    if (seen.has(name!)) {
      note('Another user has this name, perhaps in another case, or as an address. The user is left out.');
      return undefined;
    }
    if (address !== undefined && address !== name && seen.has(address)) {
      note(`The address ${quoted(String(line['email']))} belongs to another user. It is left out.`);
      delete line['email'];
      delete line['email_verified'];
    } else if (address !== undefined) seen.add(address);
    seen.add(name!);
    if (Buffer.byteLength(JSON.stringify(line)) >= maxLine) {
      note('The line of the user has more than 64 KiB. The user is left out.');
      return undefined;
    }
    return line;
  }

  try {
    await source.moveTo(move);
    const config = await configFile(source.name, entries);
    if (Buffer.byteLength(config) > maxConfig)
      report.note(
        'file gatehouse.yaml',
        'It has more than 1 MiB. Divide its entries between several files of one folder.',
      );
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
    writeFileSync(join(options.output, names.config), config, { flag: 'wx', mode: 0o600 });
    await Promise.all(Object.values(files).map((file) => finished(file.end())));
    return counts;
  } catch (error) {
    for (const file of Object.values(files)) file.destroy();
    for (const name of Object.values(names)) rmSync(join(options.output, name), { recursive: true, force: true });
    throw ofTheFile(error, options.output);
  }
}

const mapped = (entries: Record<Section, Map<string, Entry>>, of: (section: Map<string, Entry>) => number) => ({
  clients: of(entries.clients),
  connections: of(entries.connections),
  groups: of(entries.groups),
});

/** Each section as a mapping by ids, in their order. */
function configFile(name: string, entries: Record<Section, Map<string, Entry>>): Promise<string> {
  const sections = Object.entries(entries)
    .filter(([, section]) => section.size > 0)
    .map(([section, all]): [string, unknown] => [section, new Map([...all].sort(([a], [b]) => (a < b ? -1 : 1)))]);
  return writeYaml(new Map([['apiVersion', 'gatehouse/v1'], ['name', name], ...sections] as [string, unknown][]));
}
