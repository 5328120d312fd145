// Verifies the name and the password of a user at the connected directories (federation 6).
import { randomBytes } from 'node:crypto';
import { associatedDataOf } from '../../../repositories/keys/sealed-values.ts';
import type { SecretBox } from '../../../crypto/secret-box.ts';
import { type BindResult, DirectoryUnavailable } from '../../../outbound/directory-address.ts';
import type { Directories } from '../../../outbound/directories.ts';
import type { Connection } from '../../../entities/connections.ts';
import type { Store } from '../../../repositories/store.ts';
import { createKeyedMutex } from '../../rate-limits/keyed-mutex.ts';
import type { Limits } from '../../rate-limits/rate-limits.ts';
import { createSlots, SlotsFull } from '../../rate-limits/slots.ts';
import type { VerifiedIdentity } from '../kind.ts';
import { addressIn, findEntry, identityOf, searchOf, subjectOf } from './entries.ts';
import { groupsOf } from './groups.ts';
import { settingsOf } from './settings.ts';

/** The reasons that Active Directory states only for the right password (federation 6). The page shows `login.problem.directory-{reason}`. */
const reasons: Readonly<Record<string, RightPassword>> = {
  '532': 'password-expired',
  '533': 'disabled',
  '701': 'account-expired',
  '773': 'password-change',
};
export type RightPassword = 'password-expired' | 'disabled' | 'account-expired' | 'password-change';

export type DirectoryAnswer =
  | { outcome: 'right'; connection: Connection; identity: VerifiedIdentity }
  /** The password is right, but the directory does not admit the user before the reason is resolved. */
  | { outcome: 'refused'; connection: Connection; reason: RightPassword }
  /**
   * The user is unknown, the password is wrong, or there were too many attempts. The page does not tell which.
   * @param connection for the audit trail: the directory that has the user and refused the password
   */
  | { outcome: 'wrong'; connection?: Connection }
  /** A directory gave no usable answer, and no other directory accepted the password. */
  | { outcome: 'unreachable'; connection: Connection };

/** The name and the password that a user typed, and the user's browser if it has a device cookie. */
export interface Typed {
  name: string;
  password: string;
  /** The digest of the device cookie. */
  browser: Buffer | undefined;
}

interface DirectorySignInOptions {
  store: Pick<Store, 'linkedIdentities' | 'knownBrowsers' | 'auditEvents'>;
  directories: Directories;
  secretBox: SecretBox;
  limits: Limits;
  /** Consecutive failures before an account's first pause; 0 for no limit. */
  freeFailures: number;
  now: () => Date;
  warn(connection: Connection, error: unknown): void;
}

/** The most milliseconds that a sign-in waits for one directory. */
const longestAnswer = 4_500;

export type DirectorySignIn = ReturnType<typeof createDirectorySignIn>;

export function createDirectorySignIn(options: DirectorySignInOptions) {
  const { store, directories, secretBox, limits, freeFailures, now, warn } = options;
  const slots = createSlots({ running: 8, waiting: 100 });
  // attempts for one user run one after another: each counts until it is verified, so many right passwords at once would exceed the limit
  const byUser = createKeyedMutex((error) => error instanceof DirectoryUnavailable);

  /**
   * Asks one directory after the other, until one accepts the password.
   * @param connections the enabled ones
   */
  return async (connections: readonly Connection[], typed: Typed): Promise<DirectoryAnswer> => {
    let answer: DirectoryAnswer = { outcome: 'wrong' };
    // a directory accepts any name with an empty password (RFC 4513 5.1.2, federation FR30)
    if (typed.password === '' || typed.password.includes('\0')) return answer;
    for (const connection of connections) {
      const said = await ask(connection, typed);
      if (said.outcome === 'right' || said.outcome === 'refused') return said;
      if (said.outcome === 'unreachable') answer = said;
      else if (said.connection && answer.outcome === 'wrong') answer = said;
    }
    return answer;
  };

  async function ask(connection: Connection, typed: Typed): Promise<DirectoryAnswer> {
    const work = slots.run(connection.id, () => verify(connection, typed));
    try {
      return await withinTime(work);
    } catch (error) {
      if (!(error instanceof DirectoryUnavailable) && !(error instanceof SlotsFull)) throw error;
      warn(connection, error);
      return { outcome: 'unreachable', connection };
    }
  }

  async function verify(connection: Connection, typed: Typed): Promise<DirectoryAnswer> {
    const settings = settingsOf(connection);
    const address = addressIn(settings, secretOf(connection));
    const { entry: found, ambiguous } = await directories.use(address, (directory) =>
      findEntry(directory, connection, typed.name),
    );
    if (ambiguous) await noteAmbiguous(connection);
    const subject = found && subjectOf(connection, found);
    if (!found || subject === undefined) return refuse();
    const key = await keyOf(connection, subject, typed.browser);
    const bound = await byUser.run(key, () => tryPassword(found.dn, key));
    if (bound === undefined) return refuse();
    if (!bound.accepted) {
      const reason = reasonOf(bound);
      return reason ? { outcome: 'refused', connection, reason } : { outcome: 'wrong', connection };
    }
    const identity = await directories.use(address, async (directory) => {
      // reads the entry again by its distinguished name: it may have changed since the search (federation F56)
      const search = searchOf(connection, { text: settings.user_filter });
      const again = await directory.search({ ...search, base: found.dn, scope: 'base', limit: 1 });
      if (again.length !== 1 || subjectOf(connection, again[0]!) !== subject) return undefined;
      const groups = await groupsOf(directory, settings, again[0]!, (error) => warn(connection, error));
      return identityOf(connection, again[0]!, subject, groups, now());
    });
    return identity ? { outcome: 'right', connection, identity } : { outcome: 'wrong' };

    /** Tries the password with a name that no entry has, so that an unknown user takes as long as a known one (security R60). */
    async function refuse(): Promise<DirectoryAnswer> {
      await directories.verify(address, `cn=${randomBytes(12).toString('hex')},${settings.base}`, typed.password);
      return { outcome: 'wrong' };
    }

    function reasonOf(result: BindResult): RightPassword | undefined {
      if (result.accepted || !result.code || settings.id_attribute !== 'objectGUID') return undefined;
      return reasons[result.code.toLowerCase()];
    }

    /** Undefined after too many attempts: strangers must not lock the user out of the directory (federation F54). */
    async function tryPassword(dn: string, counted: string): Promise<BindResult | undefined> {
      if (limits.blocked('directoryPasswords', counted) > 0) return undefined;
      if ((await limits.consume('directoryPasswords', counted, settings.limit)) > 0) return undefined;
      try {
        const result = await directories.verify(address, dn, typed.password);
        // the right password does not count, even if the user must change it first: the service must accept the new one afterwards
        if (result.accepted || reasonOf(result)) await limits.refund('directoryPasswords', counted);
        return result;
      } catch (error) {
        // a failure of the directory does not count against the user (federation FR33)
        if (error instanceof DirectoryUnavailable) await limits.refund('directoryPasswords', counted);
        throw error;
      }
    }
  }

  /** The key of the limit. A browser in which the user has signed in has its own limit: attempts of strangers do not count against it. */
  async function keyOf({ id }: Connection, subject: string, browser: Buffer | undefined): Promise<string> {
    const link = browser && (await store.linkedIdentities.find({ connectionId: id, issuer: id, subject }));
    const knows = link && (await store.knownBrowsers.knows(browser, link.sub, freeFailures));
    return `${id} ${knows ? `browser of ${link.sub}` : subject}`;
  }

  /** Tells administrators that a name is ambiguous. A stranger can repeat it, so each connection records one event a minute. */
  async function noteAmbiguous({ id }: Connection): Promise<void> {
    if (limits.blocked('ambiguousNames', id) > 0 || (await limits.consume('ambiguousNames', id)) > 0) return;
    await store.auditEvents.insert({
      type: 'identity.refused',
      outcome: 'failure',
      actor: `connection:${id}`,
      detail: { connection: id, reason: 'many' },
    });
  }

  function secretOf({ id, secretEncrypted }: Connection): string {
    if (!secretEncrypted) throw new DirectoryUnavailable('credentials', 'the service account has no password');
    return secretBox.open(secretEncrypted, associatedDataOf('connections.secret_encrypted', id)).toString();
  }
}

/** Stops waiting, but not the work: the work holds its slot until its own time limits end it. */
async function withinTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new DirectoryUnavailable('connection', 'the directory was too slow')),
      longestAnswer,
    );
  });
  work.catch(() => undefined);
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
