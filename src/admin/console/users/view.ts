// Prepares users for the console's pages: the line of a list, the addresses of one user, and the filter.
import type { UserLine } from '../../../pages/views/console-users.ts';
import type { UserFilter } from '../../../repositories/users/user-search.ts';
import type { User } from '../../../repositories/users/users.ts';
import { ownImage } from '../../../rules/images/address.ts';

export const listPath = '/admin/users';

export const pathOf = ({ sub }: Pick<User, 'sub'>): string => `${listPath}/${encodeURIComponent(sub)}`;

export function lineOf(user: User, usedAt?: Date): UserLine {
  const { name } = user.claims;
  const picture = ownImage(user.claims['picture']);
  return {
    sub: user.sub,
    ...(picture !== undefined && { picture }),
    ...(usedAt && { usedAt }),
    username: user.username,
    ...(user.email !== undefined && { email: user.email }),
    ...(typeof name === 'string' && { name }),
    disabled: user.status === 'disabled',
    admin: user.admin,
    groups: user.groups,
    createdAt: user.createdAt,
    uri: pathOf(user),
  };
}

/** The text of a filter, cut to the maximum length of a name. */
const short = (text: string | undefined) => text?.replaceAll('\0', '').slice(0, 255) || undefined;

/** Reads the filter of the list from an address or a form; unknown values are ignored. */
export function readFilter(given: Record<string, string>): UserFilter {
  return {
    words: short(given['q']),
    group: short(given['group']),
    status: (['enabled', 'disabled'] as const).find((known) => known === given['status']),
    admin: given['admin'] === 'true',
  };
}

export const shownFilter = ({ words, group, status, admin = false }: UserFilter) => ({
  ...(words && { q: words }),
  ...(group && { group }),
  ...(status && { status }),
  admin,
});

/** The filter as parameters of an address. */
export function queryOfFilter(filter: UserFilter): Record<string, string> {
  const { admin, ...texts } = shownFilter(filter);
  return { ...texts, ...(admin && { admin: 'true' }) };
}
