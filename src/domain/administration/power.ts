// Decides whether a user may get power: as an administrator, or in a guarded group (security R165).
import { conflict, OAuthError } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import { isUnasked } from '../../repositories/connections/linked-identities.ts';
import type { Repositories } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';

/**
 * In a transaction that holds the user's row: no link that was made without a person becomes a way to power, and a user who lost such a link is
 * not left without a way in.
 * @param member what gives the power
 * @throws OAuthError conflict
 */
export async function requireDecidedLinks(
  repositories: Repositories,
  { sub, username, passwordHash }: User,
  member: string,
): Promise<void> {
  const { linkedIdentities, passkeys, mailedLinks } = repositories;
  const links = await linkedIdentities.ofUser(sub);
  const undecided = links.filter(isUnasked).map(({ connectionId }) => connectionId);
  if (undecided.length > 0)
    throw conflict(refusal('links.undecided', member, { user: username, connections: undecided.join(', ') }));
  const hasWayIn = links.length > 0 || passwordHash !== undefined || (await passkeys.list(sub)).length > 0;
  if (hasWayIn || !(await linkedIdentities.hasRemoved(sub)) || (await mailedLinks.hasRecovery(sub))) return;
  throw conflict(refusal('links.no-way-in', member, { user: username }));
}

/** For an import, which refuses a row and no more. */
export async function unlessUndecided(check: Promise<void>): Promise<{ refused?: 'undecided-links' | 'no-way-in' }> {
  try {
    await check;
    return {};
  } catch (error) {
    const code = error instanceof OAuthError ? error.refusal?.code : undefined;
    if (code === 'links.undecided') return { refused: 'undecided-links' };
    if (code === 'links.no-way-in') return { refused: 'no-way-in' };
    throw error;
  }
}

/**
 * In a transaction that holds the users' rows: before they join a group, which gives power if it is guarded.
 * @param group.member of the request, which brings the users into the group
 * @throws OAuthError conflict
 */
export async function requireDecidedMembers(
  repositories: Repositories,
  { name, member }: { name: string; member: string },
  subs: readonly string[],
  guarded: readonly string[],
): Promise<void> {
  for (const sub of guarded.includes(name) ? subs : []) {
    const user = await repositories.users.find(sub);
    if (user && givesPower(user, { groups: [name] }, guarded)) await requireDecidedLinks(repositories, user, member);
  }
}

/** The members of the change that give power: the role of an administrator, or a guarded group. */
export const givesPower = (
  before: Pick<User, 'admin' | 'groups'>,
  change: { admin?: boolean | undefined; groups?: readonly string[] | undefined },
  guarded: readonly string[],
): boolean =>
  (change.admin === true && !before.admin) ||
  (change.groups ?? []).some((group) => guarded.includes(group) && !before.groups.includes(group));
