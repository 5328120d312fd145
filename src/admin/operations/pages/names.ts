// Finds the users whom a field names, and the names of users and clients in audit events, for pages of the console.
import type { Permission } from '../../../entities/permission.ts';
import { OAuthError } from '../../../oauth/errors.ts';
import type { Store } from '../../../repositories/store.ts';
import type { User } from '../../../repositories/users/users.ts';
import { pageOperation } from '../operation.ts';

/** Whom an event names. */
export interface Involved {
  actor?: string | undefined;
  sub?: string | undefined;
  clientId?: string | undefined;
}
export type Names = readonly { id: string; kind: 'user' | 'client'; name: string }[];

/** The names of all users and clients of these events that exist. */
export async function namesIn(
  { auditSearch }: Pick<Store, 'auditSearch'>,
  events: readonly Involved[],
): Promise<Names> {
  const all = (ids: (string | undefined)[]) => [...new Set(ids)].filter((id) => id !== undefined);
  const subs = all(events.flatMap(({ sub, actor }) => [sub, actor]));
  const clientIds = all(events.flatMap(({ clientId, actor }) => [clientId, actor]));
  return subs.length + clientIds.length === 0 ? [] : auditSearch.names(subs, clientIds);
}

/** The user whom a text names by sub, user name or address, or why there is none: a text that fits two users is a fault of the field (security R153). */
export async function findNamed({ users }: Pick<Store, 'users'>, text: string): Promise<User | 'unknown' | 'several'> {
  if (text.includes('\0')) return 'unknown';
  const search = await unlessSeveral(users.findNamed(text));
  return 'several' in search ? 'several' : (search.found ?? 'unknown');
}

/** What a search found, or the text that fits several users. */
export async function unlessSeveral<T>(search: Promise<T>): Promise<{ found: T } | { several: string }> {
  try {
    return { found: await search };
  } catch (error) {
    const { refusal } = error instanceof OAuthError ? error : {};
    if (refusal?.code === 'several-users') return { several: refusal.value ?? '' };
    throw error;
  }
}

/** Finds the user whom a filter of a section names. */
export const userNamed = (section: Permission) =>
  pageOperation(section, 'read', ({ store }, text: string) => findNamed(store, text));
