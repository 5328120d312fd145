// Makes the statement that lists clients by any combination of filters.
import { composedStatement } from '../../database/database.ts';
import type { Statement } from '../../database/statement.ts';

/** Lists the clients that meet all of these conditions. */
export interface ClientFilter {
  status?: 'disabled' | 'enabled' | undefined;
  /** Only registrations and changes that wait for a decision. */
  waiting?: boolean | undefined;
  selfRegistered?: boolean | undefined;
  /** Prefixes of words of the name, the id, redirect hosts or domains above them. All must match. */
  search?: string | undefined;
  /** Whether the list begins with the oldest client, and not with the newest. */
  oldestFirst?: boolean;
}

export interface Page {
  limit: number;
  /** The cursor of the previous page. */
  after: { at: Date; id: string } | undefined;
}

/** Only a registration waits: a client that an administrator created as disabled does not. */
export const registrationWaits = `(self_registered AND status = 'disabled' AND approved_by IS NULL AND refused_at IS NULL)`;
export const needsDecision = `(${registrationWaits} OR pending_metadata IS NOT NULL)`;

/** Makes the statement for these filters, so that each combination is planned with its own indexes. */
export function clientListing(filter: ClientFilter, page: Page): { statement: Statement; values: unknown[] } {
  const values: unknown[] = [page.limit];
  const value = (given: unknown) => `$${values.push(given)}`;
  const { status, waiting, selfRegistered, after, oldestFirst = false } = { ...filter, ...page };
  const words = searchWords(filter.search ?? '');
  const conditions: string[] = [];
  if (status !== undefined) conditions.push(`status = ${value(status)}`);
  if (waiting === true) conditions.push(needsDecision);
  if (selfRegistered !== undefined) conditions.push(selfRegistered ? 'self_registered' : 'NOT self_registered');
  if (words.length > 0) {
    // the database folds the words, as it folds the searched text
    const query = `string_agg('''' || replace(replace(left(login_key(word), 200), '\\', '\\\\'), '''', '''''') || ''':*', ' & ')`;
    conditions.push(
      `client_search_terms(client_id, metadata) @@ (SELECT (${query})::tsquery FROM unnest(${value(words)}::text[]) AS word)`,
    );
  }
  const [next, order] = oldestFirst ? ['>', 'ASC'] : ['<', 'DESC'];
  if (after) conditions.push(`(created_at, client_id) ${next} (${value(after.at)}, ${value(after.id)})`);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const text = `SELECT * FROM clients ${where} ORDER BY created_at ${order}, client_id ${order} LIMIT $1`;
  return { statement: composedStatement('clients.list', text), values };
}

/** The words of a search. An address is reduced to its host. */
function searchWords(search: string): string[] {
  return search
    .split(/\s+/)
    .map((word) => word.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').split(/[/?#]/)[0]!)
    .filter((word) => word !== '')
    .slice(0, 8);
}
