// Deletes the accounts of users whom a SCIM source deleted long ago (federation 8).
import type { Store } from '../../repositories/store.ts';

/** Days for which the account of a deleted user is kept. */
const keptDays = 30;

/** Deletes some of them. An administrator who enabled one of them again keeps it. */
export async function deleteGoneUsers(store: Store): Promise<void> {
  await store.transaction(async ({ expired, scimUsers, users, auditEvents }) => {
    if (!(await expired.claim())) return;
    for (const sub of await scimUsers.due(keptDays)) {
      const user = await users.lock(sub);
      if (!user || user.admin || user.status === 'enabled') continue;
      await users.delete(sub);
      const detail = { admin: false };
      await auditEvents.insert({ type: 'user.deleted', outcome: 'success', actor: 'schedule', sub, detail });
    }
  });
}
