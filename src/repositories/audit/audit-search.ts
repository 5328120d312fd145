// The search in the audit trail, newest first: by any of its facts together, and never longer than one look at so many events takes.
import { composedStatement, type Sql, statement } from '../../database/database.ts';
import type { AuditEvent, AuditEventType } from './audit-events.ts';
import { type EventRow, toEvent } from './event-row.ts';

export interface AuditSearch {
  type?: AuditEventType | undefined;
  outcome?: 'success' | 'failure' | undefined;
  actor?: string | undefined;
  clientId?: string | undefined;
  sub?: string | undefined;
  /** A whole IP address. */
  address?: string | undefined;
  /** From this moment on. */
  since?: Date | undefined;
  /** Up to this moment, but without it. */
  until?: Date | undefined;
}

export interface StoredEvent extends AuditEvent {
  id: string;
  at: Date;
}

export interface Found {
  events: StoredEvent[];
  /** Where to go on: there may be more below this event. */
  next: { id: string; at: Date } | undefined;
  /** True when the page is not full and yet not the last: it ended at `next`, after so many events that do not fit. */
  cut: boolean;
}

/** How many events of the best index are looked at in one search. */
export const mostLookedAt = 20_000;

type Row = EventRow<AuditEventType>;

/** What can be asked for, the most telling first: the first that is asked for leads, by its index. */
const facts = [
  ['address', 'address = $::inet'],
  ['sub', 'sub = $'],
  ['actor', 'actor = $'],
  ['clientId', 'client_id = $'],
  ['type', 'type = $'],
  ['outcome', 'outcome = $'],
] as const;

/** Known when the statement is planned, for the index of failures; never the value that was asked for (security R125). */
const outcomes = { success: `outcome = 'success'`, failure: `outcome = 'failure'` };

const find = statement(
  'audit_search.find',
  `SELECT id::text, at, type, outcome, actor, client_id, sub, host(address) AS address, detail FROM audit_events WHERE id = $1`,
);

// an id of both kinds there is not, but by the same name twice there may be
const names = statement(
  'audit_search.names',
  `SELECT sub AS id, 'user' AS kind, username AS name FROM users WHERE sub = ANY ($1)
   UNION ALL
   SELECT client_id, 'client', coalesce(metadata ->> 'client_name', client_id) FROM clients WHERE client_id = ANY ($2)`,
);

/** The statements for just these facts, so that each combination is planned by the index of the one that leads. */
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
  // by the columns, not by the text that an id is shown as
  const order = 'ORDER BY audit_events.at DESC, audit_events.id DESC';
  const inner = [...values];
  const rest = asked.slice(1).map(condition);
  const columns = 'id, at, type, outcome, actor, client_id, sub, address, detail';
  return {
    bounded: rest.length > 0,
    page: composedStatement(
      'audit_search.page',
      `SELECT id::text, at, type, outcome, actor, client_id, sub, host(address) AS address, detail
         FROM (SELECT ${columns} FROM audit_events ${where} ${order} LIMIT ${mostLookedAt}) AS looked_at
        ${rest.length > 0 ? `WHERE ${rest.join(' AND ')}` : ''} LIMIT ${value(limit)}::bigint`,
    ),
    values,
    last: composedStatement(
      'audit_search.last',
      `SELECT id::text, at FROM audit_events ${where} ${order} OFFSET ${mostLookedAt - 1} LIMIT 1`,
    ),
    inner,
  };
}

export function auditSearchRepository(sql: Sql) {
  return {
    /** @param page.before the id of an event; undefined begins with the newest. Nothing comes after one that is not there. */
    async search(search: AuditSearch, page: { limit: number; before: string | undefined }): Promise<Found> {
      const { bounded, page: select, values, last, inner } = statementsFor(search, page.before, page.limit);
      const events = (await sql.query<Row>(select, values)).map(toEvent);
      if (events.length === page.limit) return { events, next: events.at(-1), cut: false };
      // without another condition the index has said all
      const [end] = bounded ? await sql.query<{ id: string; at: Date }>(last, inner) : [];
      return { events, next: end, cut: end !== undefined };
    },
    /** What the people and applications are called of whom there are events. */
    async names(subs: string[], clientIds: string[]): Promise<{ id: string; kind: 'user' | 'client'; name: string }[]> {
      return sql.query(names, [subs, clientIds]);
    },
    async find(id: string): Promise<StoredEvent | undefined> {
      const [row] = await sql.query<Row>(find, [id]);
      return row && toEvent(row);
    },
  };
}
