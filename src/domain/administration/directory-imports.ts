// Starts and approves imports of directories, a part of administration.ts.
import { conflict } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Connection } from '../../entities/connections.ts';
import type { Store } from '../../repositories/store.ts';

/** @throws OAuthError conflict if the connection imports no users */
function requireImport({ status, settings }: Connection): void {
  if (status !== 'enabled' || typeof settings['import'] !== 'number')
    throw conflict(refusal('connection.import-off', 'import'));
}

export const directoryImportChanges = (store: Store) => ({
  /** Makes an import due now. @param full whether it reads every user, and not only changed ones @throws OAuthError conflict */
  async requestImport(connection: Connection, full: boolean): Promise<void> {
    requireImport(connection);
    await store.directoryImports.request(connection.id, full);
  },
  /**
   * Lets an import run that waits for approval. It may disable as many users as the administrator saw, and no more (federation FR16).
   * @param seen the number that the administrator saw; conflict if a later run found another number
   * @returns the approved number
   * @throws OAuthError conflict
   */
  async approveImport(by: Actor, connection: Connection, seen?: number): Promise<number> {
    requireImport(connection);
    const { id } = connection;
    return store.transaction(async ({ directoryImports, auditEvents }) => {
      const approved = await directoryImports.approve(id, seen);
      if (approved === undefined) {
        const isHeld = (await directoryImports.find(id))?.state === 'held';
        throw conflict(refusal(isHeld ? 'connection.import-changed' : 'connection.import-not-held', 'import'));
      }
      const detail = { connection: id, disabled: approved };
      await auditEvents.insert({ ...by, type: 'import.approved', outcome: 'success', detail });
      return approved;
    });
  },
});
