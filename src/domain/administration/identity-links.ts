// Links identities of connections to users, keeps and removes the links, and marks the users who may sign in here in an emergency.
import { conflict, notFound } from '../../oauth/errors.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { EndedAccess } from '../../repositories/connections/connections.ts';
import { isUnasked, type LinkedIdentity } from '../../repositories/connections/linked-identities.ts';
import type { Repositories, Store } from '../../repositories/store.ts';

export function identityLinkChanges(store: Store) {
  const found = <T>(thing: T | undefined, what: string): T => {
    if (thing === undefined) throw notFound(`there is no such ${what}`);
    return thing;
  };

  /** In a transaction that holds the user's row: removes a link with the sessions, tokens and memberships that came by it (security R159). */
  async function removeLink(repositories: Repositories, by: Actor, sub: string, id: string): Promise<EndedAccess> {
    found(await repositories.linkedIdentities.remove(id, sub), 'link');
    const ended = await repositories.connections.endSessions(id, sub);
    await repositories.memberships.set(sub, id, [], []);
    await repositories.auditEvents.insert({
      ...by,
      type: 'identity.unlinked',
      outcome: 'success',
      sub,
      detail: { connection: id, ...ended },
    });
    return ended;
  }

  return {
    /** Links an identity to a user, also to one with a role or a guarded group. @throws OAuthError not_found, conflict */
    linkIdentity: (
      by: Actor,
      sub: string,
      { connectionId, issuer, subject }: Pick<LinkedIdentity, 'connectionId' | 'issuer' | 'subject'>,
    ): Promise<void> =>
      store.transaction(async (repositories) => {
        await repositories.linkedIdentities.claim({ connectionId, issuer, subject });
        found(await repositories.users.lock(sub), 'user');
        const link = { connectionId, issuer, subject, sub, how: 'administrator', emailThen: undefined } as const;
        if (!(await repositories.linkedIdentities.insert(link, false)))
          throw conflict('this identity is linked already, or the user has another link to this connection');
        const detail = { connection: connectionId, how: 'administrator' };
        await repositories.auditEvents.insert({ ...by, type: 'identity.linked', outcome: 'success', sub, detail });
      }),
    /** Keeps a link that was made automatically, so that the user can become an administrator or join a guarded group (security R165). @throws OAuthError not_found */
    keepLink: (by: Actor, sub: string, connection: string): Promise<void> =>
      store.transaction(async (repositories) => {
        found(sub.includes('\0') ? undefined : await repositories.users.lock(sub), 'user');
        const links = await repositories.linkedIdentities.ofUser(sub);
        const link = found(
          links.find((one) => one.connectionId === connection),
          'link',
        );
        if (!isUnasked(link)) return;
        await repositories.linkedIdentities.keep(connection, sub);
        const detail = { connection, how: 'administrator' };
        await repositories.auditEvents.insert({ ...by, type: 'identity.linked', outcome: 'success', sub, detail });
      }),
    /** Decides whether a user may sign in here although the domain of the address is enforced (federation FR14). @throws OAuthError not_found */
    setBreakGlass: (by: Actor, sub: string, marked: boolean): Promise<void> =>
      store.transaction(async (repositories) => {
        const { passwordHash } = found(sub.includes('\0') ? undefined : await repositories.users.lock(sub), 'user');
        if (marked && passwordHash === undefined && (await repositories.passkeys.list(sub)).length === 0)
          throw conflict('this user has no password and no passkey here, so emergency access would be of no use');
        if (!(await repositories.breakGlass.set(sub, marked))) return;
        const detail = { members: ['break_glass'], break_glass_before: !marked, break_glass: marked };
        await repositories.auditEvents.insert({ ...by, type: 'user.changed', outcome: 'success', sub, detail });
      }),
    /**
     * Removes the link of a user to a connection, with the sessions that came by it (federation FR8).
     * @param keepWayIn refuses to remove the last way to sign in
     * @throws OAuthError not_found, conflict
     */
    unlinkIdentity: (by: Actor, sub: string, id: string, keepWayIn = false): Promise<EndedAccess> =>
      store.transaction(async (repositories) => {
        const { passwordHash } = found(await repositories.users.lock(sub), 'user');
        if (keepWayIn && passwordHash === undefined && (await repositories.passkeys.list(sub)).length === 0) {
          const others = (await repositories.linkedIdentities.ofUser(sub)).filter(
            ({ connectionId }) => connectionId !== id,
          );
          const open = (await repositories.connections.list()).filter(({ status }) => status === 'enabled');
          if (!others.some(({ connectionId }) => open.some((one) => one.id === connectionId)))
            throw conflict('this link is the only way to sign in to this account');
        }
        return removeLink(repositories, by, sub, id);
      }),
  };
}
