// Reads limit and cursor of a list, and makes its pages.
import { z } from 'zod';
import { invalidRequest } from '../../oauth/errors.ts';
import { maxPageSize, rule } from '../../oauth/refusals.ts';
import type { UserOrder, UserPlace } from '../../repositories/users/user-search.ts';

const outOfRange = rule('page-size');

export const pageShape = z.object({
  limit: z
    .string()
    .regex(/^\d{1,4}$/, outOfRange)
    .transform(Number)
    .pipe(z.int().min(1, outOfRange).max(maxPageSize, outOfRange))
    .default(50)
    .describe('The maximum number of items.'),
  cursor: z.string().max(2000).optional().describe('The next_cursor of the page before.'),
});

const notOfAPage = () => invalidRequest('the parameter cursor is not valid: use the next_cursor of a page');

/**
 * @param isId whether a text has the form of the list's ids
 * @throws OAuthError invalid_request for a cursor that no page returned
 */
export function readCursor(
  cursor: string | undefined,
  isId: (id: string) => boolean = (id) => !id.includes('\0'),
): { at: Date; id: string } | undefined {
  if (cursor === undefined) return undefined;
  const [at, id] = Buffer.from(cursor, 'base64url').toString().split('\n');
  const date = new Date(at ?? '');
  if (
    id === undefined ||
    Number.isNaN(date.getTime()) ||
    date.getUTCFullYear() < 1 ||
    date.getUTCFullYear() > 9999 ||
    !isId(id)
  )
    throw notOfAPage();
  return { at: date, id };
}

/** For lists whose items have numbers. */
export const isNumber = (id: string): boolean => /^\d{1,18}$/.test(id);

export function cursorOf(item: { at: Date; id: string }): string {
  return Buffer.from(`${item.at.toISOString()}\n${item.id}`).toString('base64url');
}

/** Reads the cursor of a list that is ordered by a text, such as a name. @throws OAuthError invalid_request */
export function readTextCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  if (text === '' || text.includes('\0') || !text.isWellFormed() || textCursorOf(text) !== cursor) throw notOfAPage();
  return text;
}

export const textCursorOf = (text: string): string => Buffer.from(text).toString('base64url');

/** Reads the cursor of a list of users in one of its orders. @throws OAuthError invalid_request */
export function readUserCursor(order: UserOrder, cursor: string | undefined): UserPlace | undefined {
  if (order === 'newest') return readCursor(cursor);
  const place = readTextCursor(cursor);
  if (place === undefined) return undefined;
  const end = place.indexOf('\n');
  if (end < 0) throw notOfAPage();
  return { sub: place.slice(0, end), key: place.slice(end + 1) };
}

export const userCursorOf = (place: UserPlace): string =>
  'key' in place ? textCursorOf(`${place.sub}\n${place.key}`) : cursorOf(place);

/** Makes one page: its items, and the cursor of the next page if this one is full. */
export function pageOf<T>(
  name: string,
  items: readonly T[],
  limit: number,
  view: (item: T) => unknown,
  key: (item: T) => { at: Date; id: string },
): Record<string, unknown> {
  const page: Record<string, unknown> = { [name]: items.map(view) };
  const last = items.at(-1);
  if (last !== undefined && items.length === limit) page['next_cursor'] = cursorOf(key(last));
  return page;
}
