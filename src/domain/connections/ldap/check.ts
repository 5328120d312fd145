// Tests a connection to a directory, and names the first problem.
import { associatedDataOf } from '../../../repositories/keys/sealed-values.ts';
import type { SecretBox } from '../../../crypto/secret-box.ts';
import {
  type DirectoryConnection,
  type DirectoryFailure,
  DirectoryUnavailable,
} from '../../../outbound/directory-address.ts';
import type { Directories } from '../../../outbound/directories.ts';
import type { Connection } from '../../../entities/connections.ts';
import { addressIn, findEntry, type ReadConnection, searchOf, subjectOf } from './entries.ts';
import { mappedGroups } from '../../../rules/connections/connection-answer.ts';
import { groupsOf, seesGroups } from './groups.ts';
import { type LdapSettings, settingsOf } from './settings.ts';

/** The problems of a connection, each with its sentence for commands and the API. The console shows `console.directory.check.{problem}`. */
export const checkProblems = {
  secret: 'the service account has no password: set the secret',
  'not-allowed': 'the directory is not in CONNECTIONS_ALLOW: an operator must name its host and port there',
  unreachable: 'the directory cannot be reached: there is no answer from this host and port',
  certificate:
    'the certificate of the directory is not accepted: it has another name, has expired, or is from an authority that the setting ca does not contain; or StartTLS was refused',
  credentials: 'the directory refuses the service account: its name or its password is wrong',
  base: 'the base DN was not found, or the service account cannot read it',
  'no-users': 'no entry below the base DN matches the user filter',
  'no-id': 'the user entries have no permanent ID attribute, or the service account cannot read it',
  'no-login': 'the user entries have none of the login_attributes',
  'group-base': 'the base DN for groups was not found, or the service account cannot read it',
  'no-groups': 'no entry below the base DN for groups matches the group filter',
  'no-members':
    'no group has the attribute that names its members: member_attribute and group_filter do not match, or the service account cannot read the attribute',
  'no-user': 'no user, or more than one user, has this name',
} as const;
export type CheckProblem = keyof typeof checkProblems;

export interface CheckResult {
  problem: CheckProblem | undefined;
  /** The number of users that the test read. */
  users: number;
  /** The groups of the named user, as the group rules get them; undefined if the directory did not say. */
  groups?: string[] | undefined;
  /** The distinguished names of these groups. */
  dns?: string[] | undefined;
  /** The groups of this service that the rules of the connection give the user. */
  given?: string[] | undefined;
}

/** The problem for each failure of a directory that gives no usable answer. */
const problemOf: Record<DirectoryFailure, CheckProblem> = {
  address: 'not-allowed',
  connection: 'unreachable',
  tls: 'certificate',
  credentials: 'credentials',
  search: 'base',
  limit: 'base',
};

/** The number of users that the test reads. */
const looked = 20;

/** A step of the test failed. */
class Wrong extends Error {
  readonly problem: CheckProblem;
  constructor(problem: CheckProblem, cause?: unknown) {
    super(problem, { cause });
    this.problem = problem;
  }
}

/** @param name the name of a user whose groups the test reads, too */
export async function checkDirectory(
  connection: Connection,
  { directories, secretBox }: { directories: Directories; secretBox: SecretBox },
  name?: string,
): Promise<CheckResult> {
  const { id, secretEncrypted } = connection;
  if (!secretEncrypted) return { problem: 'secret', users: 0 };
  const password = secretBox.open(secretEncrypted, associatedDataOf('connections.secret_encrypted', id)).toString();
  const result = await checkSettings(connection, password, directories, name);
  const { groups, dns } = result;
  const mapped = groups && mappedGroups(connection.groupRules, groups, dns);
  return { ...result, given: mapped && [...new Set([...mapped, ...connection.defaultGroups])] };
}

/** Tests settings with a password that need not be stored. */
export async function checkSettings(
  connection: ReadConnection,
  password: string,
  directories: Directories,
  name?: string,
): Promise<CheckResult> {
  const settings = settingsOf(connection);
  try {
    return await directories.use(addressIn(settings, password), async (directory) => {
      const users = await look(directory, connection);
      if (name === undefined) return { problem: undefined, users };
      const { entry } = await findEntry(directory, connection, name);
      if (!entry) throw new Wrong('no-user');
      const groups = await groupsOf(directory, settings, entry, () => undefined);
      return { problem: undefined, users, groups: groups?.names, dns: groups?.dns };
    });
  } catch (error) {
    if (error instanceof Wrong) return { problem: error.problem, users: 0 };
    if (!(error instanceof DirectoryUnavailable)) throw error;
    return { problem: problemOf[error.failure], users: 0 };
  }
}

async function look(directory: DirectoryConnection, connection: ReadConnection): Promise<number> {
  const settings = settingsOf(connection);
  await requireEntry(directory, settings.base, 'base');
  const search = searchOf(connection, { text: settings.user_filter });
  let entries = 0;
  for await (const page of directory.pages(search, looked)) {
    for (const entry of page) {
      if (subjectOf(connection, entry) === undefined) throw new Wrong('no-id');
      if (!settings.login_attributes.some((name) => entry.attributes.has(name.toLowerCase())))
        throw new Wrong('no-login');
    }
    entries += page.length;
    if (entries > 0) break;
  }
  if (entries === 0) throw new Wrong('no-users');
  if (settings.group_base !== undefined) await lookForGroups(directory, settings, settings.group_base);
  return entries;
}

async function lookForGroups(directory: DirectoryConnection, settings: LdapSettings, base: string): Promise<void> {
  await requireEntry(directory, base, 'group-base');
  const search = { base, filter: { text: settings.group_filter }, attributes: ['cn'] };
  let some = false;
  for await (const page of directory.pages(search, looked)) if ((some = page.length > 0)) break;
  if (!some) throw new Wrong('no-groups');
  if (!(await seesGroups(directory, settings))) throw new Wrong('no-members');
}

async function requireEntry(directory: DirectoryConnection, base: string, problem: CheckProblem): Promise<void> {
  const search = { base, scope: 'base' as const, filter: { text: '(objectClass=*)' }, attributes: ['objectClass'] };
  const found = await directory.search({ ...search, limit: 1 }).catch((error: unknown) => {
    if (!(error instanceof DirectoryUnavailable) || !['search', 'limit'].includes(error.failure)) throw error;
    throw new Wrong(problem, error);
  });
  if (found.length === 0) throw new Wrong(problem);
}
