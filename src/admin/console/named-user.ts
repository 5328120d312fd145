// Finds the users whom a field of the console names: by sub, user name or address. A text that fits two of them is a fault of the field.
import { OAuthError } from '../../oauth/errors.ts';
import type { Store } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';

/** The user, or why there is none (security R153). */
export async function userNamed({ users }: Pick<Store, 'users'>, text: string): Promise<User | 'unknown' | 'several'> {
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
