// Imports the users of a directory: makes, changes, disables and enables their accounts (federation 6).
import { createHash, randomUUID } from 'node:crypto';
import { associatedDataOf } from '../../../repositories/keys/sealed-values.ts';
import type { SecretBox } from '../../../crypto/secret-box.ts';
import { isHeld } from '../../../rules/connections/import-rules.ts';
import { DirectoryUnavailable } from '../../../outbound/directory-address.ts';
import type { Directories } from '../../../outbound/directories.ts';
import { userEvent } from '../../../repositories/audit/audit-diff.ts';
import type { Connection } from '../../../entities/connections.ts';
import type {
  DirectoryImport,
  ImportCounts,
  ImportResult,
  SeenEntry,
} from '../../../repositories/connections/directory-imports.ts';
import type { Store } from '../../../repositories/store.ts';
import type { VerifiedIdentity } from '../kind.ts';
import type { LinkIdentity } from '../link-identity.ts';
import { addressIn } from './entries.ts';
import { type DirectoryContents, ImportRefused, readDirectory } from './read-directory.ts';
import { settingsOf } from './settings.ts';

/** Milliseconds between two imports that read everything: a day. */
const fullInterval = 24 * 3_600_000;
/** The number of users after which a run extends its lease. */
const step = 50;

/** Another instance has taken over the run, or this one stops. */
class RunEnded extends Error {}

export interface DirectoryImportOptions {
  store: Store;
  directories: Directories;
  secretBox: SecretBox;
  linkIdentity: LinkIdentity;
  now: () => Date;
  warn(id: string, error: unknown): void;
}

export type DirectoryImports = ReturnType<typeof createDirectoryImports>;

export function createDirectoryImports(options: DirectoryImportOptions) {
  const { store, directories, secretBox, linkIdentity, now, warn } = options;

  return {
    /** Runs every import that is due, one after the other. */
    async runDue(isStopping: () => boolean): Promise<void> {
      while (!isStopping()) {
        const holder = randomUUID();
        const due = await store.directoryImports.claim(holder);
        if (!due) return;
        await run(due, holder, isStopping);
      }
    },
  };

  async function run(due: DirectoryImport, holder: string, isStopping: () => boolean): Promise<void> {
    const id = due.connectionId;
    const alive = async () => {
      if (isStopping() || !(await store.directoryImports.extend(id, holder))) throw new RunEnded();
    };
    try {
      const result = await perform(due, alive);
      if (!(await store.directoryImports.finish(id, holder, result))) return;
      if (result.state === 'held' && due.state !== 'held') await record('import.held', id, { ...result.counts });
      if (result.state === 'failed' && (due.state !== 'failed' || due.problem !== result.problem))
        await record('import.failed', id, { reason: result.problem });
    } catch (error) {
      // another instance starts the run again
      await store.directoryImports.release(id, holder);
      if (!(error instanceof RunEnded)) throw error;
    }
  }

  async function record(
    type: 'import.held' | 'import.failed',
    id: string,
    detail: Record<string, string | number | undefined>,
  ): Promise<void> {
    await store.auditEvents.insert({
      type,
      outcome: 'failure',
      actor: 'schedule',
      detail: { connection: id, ...detail },
    });
  }

  /** Reads everything first: a search that fails changes nothing. */
  async function perform(due: DirectoryImport, alive: () => Promise<void>): Promise<ImportResult> {
    const id = due.connectionId;
    const connection = await store.connections.find(id);
    if (!connection) throw new RunEnded();
    const isDaily = !due.fullAt || now().getTime() - due.fullAt.getTime() >= fullInterval || due.state !== 'done';
    try {
      const contents = await directories.use(addressIn(settingsOf(connection), secretOf(connection)), (directory) =>
        readDirectory(directory, connection, isDaily ? undefined : due.mark, alive, now()),
      );
      return await apply(connection, contents, isDaily, due.approved, alive);
    } catch (error) {
      const problem =
        error instanceof ImportRefused
          ? error.problem
          : error instanceof DirectoryUnavailable
            ? error.failure
            : undefined;
      if (problem === undefined) throw error;
      warn(id, error);
      return { state: 'failed', problem, counts: {}, full: false };
    }
  }

  async function apply(
    connection: Connection,
    { present, identities, mark }: DirectoryContents,
    isDaily: boolean,
    approved: number | undefined,
    alive: () => Promise<void>,
  ): Promise<ImportResult> {
    const { id } = connection;
    const [linked, seen] = await Promise.all([store.directoryImports.linked(id), store.directoryImports.seen(id)]);
    const enabled = linked.filter((one) => one.enabled);
    // if an earlier run found a user gone, the administrator's later decision about the user stays
    const leaving = enabled.filter(
      ({ subject }) => present.get(subject) !== true && (seen.get(subject)?.present ?? true),
    );
    const counts: ImportCounts = {
      found: present.size,
      created: 0,
      changed: 0,
      disabled: 0,
      enabled: 0,
      skipped: 0,
      kept: 0,
    };
    if (isHeld(leaving.length, enabled.length, approved))
      return { state: 'held', counts: { found: present.size, disabled: leaving.length }, full: false };
    const known = new Set(linked.map(({ subject }) => subject));
    let done = 0;
    for (const identity of identities) {
      if (done++ % step === 0) await alive();
      await takeOver(connection, identity, { before: seen.get(identity.subject), known, isDaily, counts });
    }
    for (const { subject, sub } of leaving) {
      if (done++ % step === 0) await alive();
      await leave(connection, subject, sub, counts);
    }
    return { state: 'done', counts, mark, full: isDaily };
  }

  /** Links, makes, enables or changes one user by the routine that links identities. */
  async function takeOver(
    connection: Connection,
    identity: VerifiedIdentity,
    run: { before: SeenEntry | undefined; known: ReadonlySet<string>; isDaily: boolean; counts: ImportCounts },
  ): Promise<void> {
    const { id } = connection;
    const { before, known, isDaily, counts } = run;
    const digest = digestOf(connection, identity);
    const isSame = before?.present && before.digest.equals(digest);
    if (isSame && !isDaily) return;
    if (before?.disabled) await enable(connection, identity, counts);
    const outcome = await linkIdentity(id, identity, { purpose: 'sign-in', imported: true, by: {} });
    const isTaken = outcome.outcome === 'sign-in';
    if (!isTaken) counts.skipped++;
    else if (!known.has(identity.subject)) counts.created++;
    else if (!isSame) counts.changed++;
    // the next daily import tries an entry again that no user took
    const entry = { digest: isTaken ? digest : Buffer.alloc(0), present: true, disabled: false };
    await store.directoryImports.note(id, identity.subject, entry);
  }

  /** Enables a user whom an import disabled. A user whom an administrator disabled stays disabled, also if the import did so before. */
  async function enable({ id }: Connection, { subject }: VerifiedIdentity, counts: ImportCounts): Promise<void> {
    const isEnabled = await store.transaction(async ({ linkedIdentities, users, auditEvents, directoryImports }) => {
      const link = await linkedIdentities.find({ connectionId: id, issuer: id, subject });
      const user = link && (await users.lock(link.sub));
      const isOurs = user?.status === 'disabled' && (await directoryImports.isDisabled(id, subject));
      if (isOurs) {
        const after = (await users.update(user.sub, { status: 'enabled' }))!;
        await auditEvents.insert({ ...userEvent(user, after)!, outcome: 'success', actor: `connection:${id}` });
      }
      await directoryImports.note(id, subject, { digest: Buffer.alloc(0), present: true, disabled: false });
      return isOurs;
    });
    if (isEnabled) counts.enabled++;
  }

  /**
   * Disables a user who is gone, and ends all sessions and tokens (security R54, federation FR37). An administrator stays enabled, and loses only
   * the sessions that came by this connection.
   */
  async function leave({ id }: Connection, subject: string, sub: string, counts: ImportCounts): Promise<void> {
    const left = await store.transaction(async ({ users, connections, auditEvents, directoryImports }) => {
      const user = await users.lock(sub);
      const isEnabled = user?.status === 'enabled';
      if (isEnabled && user.admin) await connections.endSessions(id, sub);
      else if (isEnabled) {
        const after = (await users.update(sub, { status: 'disabled' }))!;
        await users.endSessions(sub);
        await auditEvents.insert({ ...userEvent(user, after)!, outcome: 'success', actor: `connection:${id}` });
      }
      const isDisabled = isEnabled && !user.admin;
      await directoryImports.note(id, subject, { digest: Buffer.alloc(0), present: false, disabled: isDisabled });
      return isDisabled ? 'disabled' : isEnabled ? 'kept' : undefined;
    });
    if (left) counts[left]++;
  }

  function secretOf({ id, secretEncrypted }: Connection): string {
    if (!secretEncrypted) throw new DirectoryUnavailable('credentials', 'the service account has no password');
    return secretBox.open(secretEncrypted, associatedDataOf('connections.secret_encrypted', id)).toString();
  }
}

/** The digest of the settings and of the claims that the import stores. */
const digestOf = ({ version }: Connection, { claims, address }: VerifiedIdentity): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([version, claims, address]))
    .digest();
