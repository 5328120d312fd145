// Reads the users of a directory for an import, before the import changes anything: the present, the disabled and the changed users (federation 6).
import type { DirectoryConnection, DirectoryEntry, DirectoryFilter } from '../../../outbound/directory-address.ts';
import type { Connection } from '../../../entities/connections.ts';
import { type LdapSettings, settingsOf } from './settings.ts';
import { identityOf, isDisabled, searchOf, subjectOf } from './entries.ts';
import { readAllGroups } from './groups.ts';
import type { VerifiedIdentity } from '../kind.ts';

/** The directory answered, but the run must change nothing. */
export class ImportRefused extends Error {
  readonly problem: 'nothing' | 'twice' | 'many';
  constructor(problem: ImportRefused['problem'], message: string) {
    super(message);
    this.problem = problem;
  }
}

export interface DirectoryContents {
  /** All users of the directory, by subject, and whether each is enabled there. */
  present: ReadonlyMap<string, boolean>;
  /** The enabled users whose entry was read. */
  identities: readonly VerifiedIdentity[];
  /** The position up to which changes were read; undefined if the directory has none. */
  mark: string | undefined;
}

/** The most users of a directory. */
const maxUsers = 200_000;
/** The number of users after which the run extends its lease while it reads their groups. */
const step = 20;
/** Seconds by which the clocks of the servers of a directory may differ. */
const overlap = 300;

/**
 * @param since the position up to which the last import read changes; undefined to read everything
 * @param now the time that decides whether an account has expired
 * @param alive called for each page; throws if the run is no longer this instance's
 * @throws DirectoryUnavailable, ImportRefused: then the users are unknown, and the import changes nothing (federation FR15)
 */
export async function readDirectory(
  directory: DirectoryConnection,
  connection: Connection,
  since: string | undefined,
  alive: () => Promise<void>,
  now: Date,
): Promise<DirectoryContents> {
  const settings = settingsOf(connection);
  const start = await positionOf(directory, settings);
  const from = since !== undefined && start?.server === serverOf(since) ? changesSince(settings, since) : undefined;
  // a changed group can change the groups of any user
  const full = from === undefined || (await groupsChanged(directory, settings, from));
  const present = new Map<string, boolean>();
  const changed: { entry: DirectoryEntry; subject: string }[] = [];
  let newest = start?.at;

  const users: DirectoryFilter = { text: settings.user_filter };
  const search = searchOf(connection, users, ['modifyTimestamp']);
  const few = {
    ...search,
    attributes: ['objectClass', settings.id_attribute, 'userAccountControl', 'accountExpires', 'modifyTimestamp'],
  };
  for await (const page of directory.pages(full ? search : few, settings.page_size)) {
    for (const entry of page) {
      const subject = subjectOf(connection, entry);
      if (subject === undefined) continue;
      if (present.has(subject)) throw new ImportRefused('twice', 'two entries have the same id');
      present.set(subject, !isDisabled(entry, now));
      if (full) changed.push({ entry, subject });
      const at = entry.attributes.get('modifytimestamp')?.[0];
      if (start?.server === '' && at !== undefined && (newest === undefined || at > newest)) newest = at;
    }
    if (present.size > maxUsers) throw new ImportRefused('many', `there are more than ${maxUsers} users`);
    await alive();
  }
  if (present.size === 0) throw new ImportRefused('nothing', 'no entry matches the filter for users');
  if (!full)
    for await (const page of directory.pages({ ...search, filter: { all: [users, from!] } }, settings.page_size)) {
      for (const entry of page) {
        const subject = subjectOf(connection, entry);
        if (subject !== undefined) changed.push({ entry, subject });
      }
      await alive();
    }
  const groupsOf = changed.length === 0 ? undefined : await readAllGroups(directory, settings, alive);
  const identities: VerifiedIdentity[] = [];
  for (const { entry, subject } of changed) {
    if (present.get(subject) !== true) continue;
    identities.push(identityOf(connection, entry, subject, await groupsOf!(entry), undefined));
    // with memberOf, the groups of each user can need searches of their own
    if (identities.length % step === 0) await alive();
  }
  return { present, identities, mark: start && newest !== undefined ? `${start.server} ${newest}` : undefined };
}

interface Position {
  /** The server that counts the changes; empty if the directory tells changes by their time. */
  server: string;
  at: string | undefined;
}

const serverOf = (mark: string): string => mark.split(' ')[0]!;

/** The present position of the directory. Each server of Active Directory numbers its changes itself (MS-ADTS 3.1.1.1.9). */
async function positionOf(directory: DirectoryConnection, settings: LdapSettings): Promise<Position | undefined> {
  if (settings.id_attribute !== 'objectGUID') return { server: '', at: undefined };
  const attributes = ['highestCommittedUSN', 'dsServiceName'];
  const root = { base: '', scope: 'base' as const, filter: { text: '(objectClass=*)' }, attributes, limit: 1 };
  const [entry] = await directory.search(root);
  const at = entry?.attributes.get('highestcommittedusn')?.[0];
  const name = entry?.attributes.get('dsservicename')?.[0];
  if (at === undefined || name === undefined || !/^\d{1,19}$/.test(at)) return undefined;
  return { server: Buffer.from(name).toString('base64url'), at };
}

/** The filter for entries that may have changed since a position; undefined if the position cannot be read. */
function changesSince({ id_attribute: id }: LdapSettings, mark: string): DirectoryFilter | undefined {
  const at = mark.split(' ')[1] ?? '';
  if (id === 'objectGUID')
    return /^\d{1,19}$/.test(at) ? { attribute: 'uSNChanged', least: String(BigInt(at) + 1n) } : undefined;
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.\d+)?Z$/.exec(at) ?? [];
  if (year === undefined) return undefined;
  const time = Date.UTC(+year, +month! - 1, +day!, +hour!, +minute!, +second!) - overlap * 1000;
  const text = new Date(time).toISOString().replace(/\D/g, '').slice(0, 14);
  return { attribute: 'modifyTimestamp', least: `${text}Z` };
}

async function groupsChanged(
  directory: DirectoryConnection,
  { group_base: base, group_filter: text }: LdapSettings,
  since: DirectoryFilter,
): Promise<boolean> {
  if (base === undefined) return false;
  try {
    const found = await directory.search({ base, filter: { all: [{ text }, since] }, attributes: ['cn'], limit: 1 });
    return found.length > 0;
  } catch (error) {
    if ((error as { failure?: unknown }).failure === 'limit') return true;
    throw error;
  }
}
