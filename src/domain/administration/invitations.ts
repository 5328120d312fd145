// Invites users who cannot sign in yet, and revokes invitations, a part of administration.ts.
import { randomBytes } from 'node:crypto';
import type { Config } from '../../config.ts';
import { conflict, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';
import { newOpaqueToken } from '../../tokens/opaque-token.ts';

/** How the user gets the invitation: by mail, or by a link that an administrator hands over; its lifetime in seconds. */
export type InvitationDelivery = 'mail' | { tokenHash: Buffer; lifetime: number };

/** A new invitation: by mail if mail is configured and the user has an address; else with the `uri` of its link, which is shown once. */
export function newInvitation(
  { issuer, smtpUrl, lifetimes }: Config,
  email: string | undefined,
): { delivery: InvitationDelivery; uri: string | undefined } {
  if (smtpUrl !== undefined && email !== undefined) return { delivery: 'mail', uri: undefined };
  const { token, hash } = newOpaqueToken('mailed_link');
  return {
    delivery: { tokenHash: hash, lifetime: lifetimes.invitation },
    uri: `${issuer}/invitation?token=${token}`,
  };
}

/** Whether an invitation can be given to a user, or used by the user: one who can sign in needs none, and one with a second factor must show it. */
export async function isInvitable(
  { secondFactors }: Pick<Repositories, 'secondFactors'>,
  user: User,
): Promise<boolean> {
  if (user.status !== 'enabled' || user.passwordHash !== undefined) return false;
  return (await secondFactors.mfaStatus(user.sub))?.enrolled === false;
}

/**
 * Invites a user, in the transaction that holds the user's row. Older invitations end.
 * @returns when the link expires; undefined for a mail, whose link is made when it is sent
 * @throws OAuthError conflict
 */
export async function invite(
  repositories: Repositories,
  by: Actor,
  user: User,
  delivery: InvitationDelivery,
): Promise<Date | undefined> {
  const { auditEvents, mailedLinks, mails, passkeys } = repositories;
  const { sub, email } = user;
  if (user.status !== 'enabled') throw conflict(refusal('user.disabled', 'sub'));
  if (!(await isInvitable(repositories, user))) throw conflict(refusal('user.invitable', 'sub'));
  await mailedLinks.endInvitations(sub);
  // stored now, so that opening the link stores nothing
  await passkeys.userHandle(sub, randomBytes(64));
  let expiresAt: Date | undefined;
  if (delivery === 'mail') {
    if (email === undefined) throw conflict(refusal('user.address', 'sub'));
    await mails.insert({ name: 'invitation', sub, recipient: email, locale: by.languages });
  } else {
    const none = { email: undefined, replaces: undefined };
    expiresAt = await mailedLinks.insert({ ...none, ...delivery, purpose: 'invitation', sub });
  }
  const detail = { by_mail: delivery === 'mail' };
  await auditEvents.insert({ ...by, type: 'user.invited', outcome: 'success', sub, detail });
  return expiresAt;
}

export function invitationChanges(store: Store) {
  const lock = async ({ users }: Repositories, sub: string): Promise<User> => {
    const user = await users.lock(sub);
    if (!user) throw notFound('there is no such user');
    return user;
  };
  return {
    /** Invites a user, also again. Returns and throws as invite(), and OAuthError not_found. */
    inviteUser: (by: Actor, sub: string, delivery: InvitationDelivery): Promise<Date | undefined> =>
      store.transaction(async (repositories) => invite(repositories, by, await lock(repositories, sub), delivery)),
    /** @returns false if there was no invitation to revoke @throws OAuthError not_found */
    revokeInvitation: (by: Actor, sub: string): Promise<boolean> =>
      store.transaction(async (repositories) => {
        await lock(repositories, sub);
        const revoked = await repositories.mailedLinks.endInvitations(sub);
        if (revoked)
          await repositories.auditEvents.insert({ ...by, type: 'user.invitation_revoked', outcome: 'success', sub });
        return revoked;
      }),
  };
}
