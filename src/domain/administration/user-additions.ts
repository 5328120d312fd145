// Stores what an import adds to new users: authenticator apps, links to identities, and roles. A part of user-import.ts.
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Repositories } from '../../repositories/store.ts';
import type { UserAdditions } from '../../repositories/users/user-batches.ts';
import type { User } from '../../repositories/users/users.ts';

/** Another user has the identity. */
export class TakenIdentity extends Error {}

/**
 * In the transaction that created the users.
 * @returns the events
 * @throws TakenIdentity
 */
export async function addToUsers(
  repositories: Repositories,
  by: Actor,
  made: readonly { user: User; additions: UserAdditions }[],
): Promise<AuditEvent[]> {
  const { totpAuthenticators, linkedIdentities, clientRoles } = repositories;
  const events: AuditEvent[] = [];
  const holders = new Map<string, { clientId: string; role: string; subs: string[] }>();
  for (const { user, additions } of made) {
    const { sub, email } = user;
    await Promise.all(additions.authenticators.map((one) => totpAuthenticators.insert({ ...one, sub, lastStep: 0 })));
    const links = additions.links.map((key) => ({ ...key, sub, how: 'imported' as const, emailThen: email }));
    const stored = await Promise.all(links.map((link) => linkedIdentities.insert(link, false)));
    if (stored.includes(false)) throw new TakenIdentity('another user has the identity');
    for (const { connectionId: connection, how } of links)
      events.push({ ...by, type: 'identity.linked', outcome: 'success', sub, detail: { connection, how } });
    for (const { clientId, role } of additions.roles) {
      const key = JSON.stringify([clientId, role]);
      holders.set(key, { clientId, role, subs: [...(holders.get(key)?.subs ?? []), sub] });
    }
  }
  for (const { clientId, role, subs } of holders.values()) {
    await clientRoles.give(clientId, role, [], subs);
    events.push({ ...by, type: 'role.given', outcome: 'success', clientId, detail: { role, subs } });
  }
  return events;
}
