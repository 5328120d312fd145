// What a page makes of an act that was refused: somebody else was quicker, or what there is stands against it.
import { OAuthError } from '../oauth/errors.ts';

/** For `catch`, where what is over already is what was wanted: false, and other errors go on. */
export function unlessGone(error: unknown): false {
  if (!(error instanceof OAuthError) || error.code !== 'not_found') throw error;
  return false;
}

/** What an act returns, or that what it wants is in conflict with what there is. */
export async function unlessConflict<T>(act: Promise<T>): Promise<{ done: T } | 'conflict'> {
  try {
    return { done: await act };
  } catch (error) {
    if (error instanceof OAuthError && error.status === 409) return 'conflict';
    throw error;
  }
}
