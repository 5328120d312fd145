// Turns what the database refused about a user's name or address into a refusal that names the member.
import { isCheckViolation, isUniqueViolation } from '../../database/database.ts';
import { conflict, invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Store } from '../../repositories/store.ts';

/** @throws OAuthError for a text that is taken or looks like a sub (security R153); any other error as it is */
export async function refuseTaken(
  { users }: Pick<Store, 'users'>,
  error: unknown,
  texts: { username?: string | undefined; email?: string | null | undefined },
  sub?: string,
): Promise<never> {
  if (isCheckViolation(error, 'users_name_is_no_sub')) throw invalidRequest(refusal('like-sub', 'username'));
  if (!isUniqueViolation(error)) throw error;
  for (const member of ['username', 'email'] as const) {
    const text = texts[member];
    if (text && (await users.isTaken(text, sub))) throw conflict(refusal('in-use', member));
  }
  throw conflict('the user name or email is already in use');
}
