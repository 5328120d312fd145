// Searches the audit trail, newest first, by any combination of its columns. One search reads a bounded number of events.
import { composedStatement, type Sql, statement } from '../../database/database.ts';
import type { AuditEvent, AuditEventType } from './audit-events.ts';
import { type EventRow, toEvent } from './event-row.ts';

export interface AuditSearch {
  type?: AuditEventType | undefined;
  outcome?: 'success' | 'failure' | undefined;
  actor?: string | undefined;
  clientId?: string | undefined;
  sub?: string | undefined;
  /** The name that the detail has for a group, before or after the event; always with a type. */
  group?: string | undefined;
  /** A complete IP address. */
  address?: string | undefined;
  /** Inclusive. */
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
}

export interface StoredEvent extends AuditEvent {
  id: string;
  at: Date;
}

export interface Found {
  events: StoredEvent[];
  /** The event after which the next page begins; undefined after the last page. */
  next: { id: string; at: Date } | undefined;
  /** Whether the page is neither full nor the last: the search stopped at `next`, after the most events that it may read. */
  cut: boolean;
}

/** The most events of the best index that one search reads. */
export const maxScanned = 20_000;

type Row = EventRow<AuditEventType>;

/** The columns of a search, the most selective first. The index of the first one given leads the search. */
const facts = [
  ['address', 'address = $::inet'],
  ['sub', 'sub = $'],
  ['actor', 'actor = $'],
  ['clientId', 'client_id = $'],
  ['type', 'type = $'],
  ['group', `$ IN (detail ->> 'group', detail ->> 'group_before')`],
  ['outcome', 'outcome = $'],
] as const;

/** Constants, so that the planner can use the index of failures. No value of a request is in the text (security R125). */
const outcomes = { success: `outcome = 'success'`, failure: `outcome = 'failure'` };

const find = statement(
  'audit_search.find',
  `SELECT id::text, at, type, outcome, actor, client_id, sub, host(address) AS address, detail FROM audit_events WHERE id = $1`,
);

/** The events whose page, or whose answer to the client, names a reference. */
export const referredTypes = ['user.sign_in_failed', 'consent.denied', 'access.refused'] as const;
// the newest ones of a day, as the details of other refusals are stored
const findReferred = statement(
  'audit_search.find_referred',
  `SELECT event.id::text, event.at, event.type, outcome, actor, client_id, sub, host(address) AS address, detail
     FROM unnest($2::text[]) AS one (type), LATERAL (
       SELECT * FROM audit_events WHERE type = one.type AND at > now() - interval '1 day' ORDER BY at DESC, id DESC LIMIT ${maxScanned}) AS event
    WHERE detail ->> 'reference' = $1 ORDER BY event.at DESC LIMIT 1`,
);

// no id belongs to both kinds, but two rows may have the same name
const names = statement(
  'audit_search.names',
  `SELECT sub AS id, 'user' AS kind, username AS name FROM users WHERE sub = ANY ($1)
   UNION ALL
   SELECT client_id, 'client', coalesce(metadata ->> 'client_name', client_id) FROM clients WHERE client_id = ANY ($2)`,
);

/** Makes the statements for these columns, so that each combination is planned with the index of the leading one. */
function statementsFor(search: AuditSearch, before: string | undefined, limit: number) {
  const values: unknown[] = [];
  const value = (given: unknown) => `$${values.push(given)}`;
  const asked = facts.filter(([name]) => search[name] !== undefined);
  const condition = ([name, text]: (typeof facts)[number]) =>
    name === 'outcome' ? outcomes[search.outcome!] : text.replace('$', value(search[name]));
  const leading = asked.slice(0, 1).map(condition);
  if (search.since) leading.push(`at >= ${value(search.since)}`);
  if (search.until) leading.push(`at < ${value(search.until)}`);
  if (before !== undefined) {
    const id = `${value(before)}::bigint`;
    leading.push(`(at, id) < ((SELECT at FROM audit_events WHERE id = ${id}), ${id})`);
  }
  const where = leading.length > 0 ? `WHERE ${leading.join(' AND ')}` : '';
  // qualified, since an unqualified id would be the text in the result
  const order = 'ORDER BY audit_events.at DESC, audit_events.id DESC';
  const inner = [...values];
  const rest = asked.slice(1).map(condition);
  const columns = 'id, at, type, outcome, actor, client_id, sub, address, detail';
  return {
    bounded: rest.length > 0,
    page: composedStatement(
      'audit_search.page',
      `SELECT id::text, at, type, outcome, actor, client_id, sub, host(address) AS address, detail
         FROM (SELECT ${columns} FROM audit_events ${where} ${order} LIMIT ${maxScanned}) AS looked_at
        ${rest.length > 0 ? `WHERE ${rest.join(' AND ')}` : ''} LIMIT ${value(limit)}::bigint`,
    ),
    values,
    last: composedStatement(
      'audit_search.last',
      `SELECT id::text, at FROM audit_events ${where} ${order} OFFSET ${maxScanned - 1} LIMIT 1`,
    ),
    inner,
  };
}

export function auditSearchRepository(sql: Sql) {
  return {
    /** @param page.before the id of an event; undefined starts with the newest. An unknown id gives no events. */
    async search(search: AuditSearch, page: { limit: number; before: string | undefined }): Promise<Found> {
      const { bounded, page: select, values, last, inner } = statementsFor(search, page.before, page.limit);
      const events = (await sql.query<Row>(select, values)).map(toEvent);
      if (events.length === page.limit) return { events, next: events.at(-1), cut: false };
      // without another condition the index alone decides
      const [end] = bounded ? await sql.query<{ id: string; at: Date }>(last, inner) : [];
      return { events, next: end, cut: end !== undefined };
    },
    /** The names of the users and clients that events name. */
    async names(subs: string[], clientIds: string[]): Promise<{ id: string; kind: 'user' | 'client'; name: string }[]> {
      return sql.query(names, [subs, clientIds]);
    },
    async find(id: string): Promise<StoredEvent | undefined> {
      const [row] = await sql.query<Row>(find, [id]);
      return row && toEvent(row);
    },
    /** The event with this reference. */
    async findReferred(reference: string): Promise<StoredEvent | undefined> {
      const [row] = await sql.query<Row>(findReferred, [reference, referredTypes]);
      return row && toEvent(row);
    },
  };
}
