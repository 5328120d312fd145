// Handles the refusals of operations that a page expects: a missing object, or a conflict with the present state.
import { OAuthError } from '../oauth/errors.ts';

/** For `catch`: false when the object does not exist any more, as after the wanted operation. Throws any other error. */
export function unlessGone(error: unknown): false {
  if (!(error instanceof OAuthError) || error.code !== 'not_found') throw error;
  return false;
}

/** The result of an operation, or `conflict` when the present state forbids it. */
export async function unlessConflict<T>(operation: Promise<T>): Promise<{ done: T } | 'conflict'> {
  try {
    return { done: await operation };
  } catch (error) {
    if (error instanceof OAuthError && error.status === 409) return 'conflict';
    throw error;
  }
}
