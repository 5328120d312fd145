// Lists past events for administrators, newest first: the audit trail, and the issue of each token that is still stored (decisions section 7).
import { composedStatement, type Sql, statement } from '../../database/database.ts';
import { type AuditEvent, type AuditEventType, auditEventTypes } from './audit-events.ts';
import { type EventRow, toEvent } from './event-row.ts';

/** The type of a token's issue. The token's own row is the event, and the view shows it while the row is stored. */
export const tokenIssued = 'token.issued';

/** All types that the view can show. */
export const viewedTypes = [...auditEventTypes, tokenIssued] as const;

export interface ViewedEvent extends Omit<AuditEvent, 'type'> {
  type: AuditEventType | typeof tokenIssued;
  /** The number of a row of the trail; for a token's issue, its time and a part of its digest. */
  id: string;
  at: Date;
}

export interface AuditFilter {
  type?: string | undefined;
  outcome?: 'success' | 'failure' | undefined;
  actor?: string | undefined;
  /** A complete IP address; the issue of a token has none. */
  address?: string | undefined;
  clientId?: string | undefined;
  sub?: string | undefined;
  /** Inclusive. */
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
}

const trailId = /^\d{1,18}$/;
const issueId = /^token-(\d{1,16})-[0-9a-f]{16}$/;

const momentOf = statement(
  'audit_view.moment',
  'SELECT (extract(epoch FROM at) * 1000000)::bigint AS moment FROM audit_events WHERE id = $1',
);

/** A table of the view, and the column that each filter compares. */
interface Source {
  columns: string;
  table: string;
  /** Joins exactly one row of another table to each row. */
  join?: string;
  at: string;
  /** Orders rows with the same time. */
  place: string;
  clientId: string;
  sub: string | undefined;
}

const trail: Source = {
  columns: 'e.id::text AS id, e.type, e.outcome, e.actor, e.client_id, e.sub, host(e.address) AS address, e.detail',
  table: 'audit_events e',
  at: 'e.at',
  place: `lpad(e.id::text, 18, '0')`,
  clientId: 'e.client_id',
  sub: 'e.sub',
};

/** The issues of one kind of token that belongs to a client session. */
function ofClientSessions(kind: string, table: string, hash: string, scope = 'cs.scope'): Source {
  const place = issuePlace(hash);
  return {
    columns: `${place} AS id, '${tokenIssued}', 'success', cs.client_id, cs.client_id, cs.sub, NULL, ${detail(kind, scope)}`,
    table: `${table} t`,
    join: 'JOIN client_sessions cs ON cs.id = t.client_session_id',
    at: 't.issued_at',
    place,
    clientId: 'cs.client_id',
    sub: 'cs.sub',
  };
}

/** Access tokens by client credentials. */
const ofClients: Source = {
  columns: `${issuePlace('token_hash')} AS id, '${tokenIssued}', 'success', t.client_id, t.client_id, NULL, NULL, ${detail('access_token', 't.scope')}`,
  table: '(SELECT * FROM access_tokens WHERE client_id IS NOT NULL) t',
  at: 't.issued_at',
  place: issuePlace('token_hash'),
  clientId: 't.client_id',
  sub: undefined,
};

function issuePlace(hash: string): string {
  return `'token-' || (extract(epoch FROM t.issued_at) * 1000000)::bigint || '-' || encode(substring(t.${hash}, 1, 8), 'hex')`;
}

function detail(kind: string, scope: string): string {
  return `jsonb_build_object('kind', '${kind}', 'scope', ${scope})`;
}

const issues = [
  ofClientSessions('authorization_code', 'authorization_codes', 'code_hash'),
  ofClientSessions('access_token', 'access_tokens', 'token_hash', 'coalesce(t.scope, cs.scope)'),
  ofClients,
  ofClientSessions('refresh_token', 'refresh_tokens', 'token_hash'),
  ofClientSessions('client_session_handle', 'client_session_handles', 'handle_hash'),
];

/** Makes the statement for these filters, so that each combination is planned with its own indexes; undefined where no event can match. */
function listing(filter: AuditFilter, before: { moment: string; place: string } | undefined, limit: number) {
  const values: unknown[] = [];
  const value = (given: unknown, type: string) => `$${values.push(given)}::${type}`;
  const { type, outcome, actor, address, clientId, sub, since, until } = filter;
  const sources = [
    ...(type === tokenIssued ? [] : [trail]),
    ...((type === undefined || type === tokenIssued) && outcome !== 'failure' ? issues : []),
  ]
    .filter((source) => sub === undefined || source.sub !== undefined)
    .filter((source) => address === undefined || source === trail);
  if (sources.length === 0) return undefined;
  const conditions: ((source: Source) => string)[] = [];
  const add = (given: unknown, sqlType: string, condition: (source: Source, parameter: string) => string) => {
    if (given === undefined) return;
    const parameter = value(given, sqlType);
    conditions.push((source) => condition(source, parameter));
  };
  if (type !== tokenIssued) add(type, 'text', (_, parameter) => `e.type = ${parameter}`);
  // every issue is a success
  add(outcome, 'text', (source, parameter) =>
    source === trail ? `e.outcome = ${parameter}` : `${parameter} = 'success'`,
  );
  // the client that gets a token is the actor
  add(actor, 'text', (source, parameter) => `${source === trail ? 'e.actor' : source.clientId} = ${parameter}`);
  add(address, 'inet', (_, parameter) => `e.address = ${parameter}`);
  add(clientId, 'text', (source, parameter) => `${source.clientId} = ${parameter}`);
  add(sub, 'text', (source, parameter) => `${source.sub} = ${parameter}`);
  add(since, 'timestamptz', ({ at }, parameter) => `${at} >= ${parameter}`);
  add(until, 'timestamptz', ({ at }, parameter) => `${at} < ${parameter}`);
  if (before) {
    const moment = `('epoch'::timestamptz + ${value(before.moment, 'bigint')} * interval '1 microsecond')`;
    const place = value(before.place, 'text');
    conditions.push(
      (source) =>
        `${source.at} <= ${moment} AND (${source.at} < ${moment} OR (${source.place}) COLLATE "C" < ${place})`,
    );
  }
  const most = value(limit, 'bigint');
  const branch = (source: Source) => {
    const { table, join = '' } = source;
    const all = conditions.map((condition) => condition(source)).join(' AND ');
    const newest = (columns: string, from: string) =>
      `(SELECT ${columns} FROM ${from} ${all === '' ? '' : `WHERE ${all}`}
         ORDER BY ${source.at} DESC, (${source.place}) COLLATE "C" DESC LIMIT ${most})`;
    const columns = `${source.columns}, ${source.at}, (${source.place}) COLLATE "C"`;
    // the index finds the newest rows of a table, and the join reads only those
    if (join !== '' && [clientId, sub, filter.actor].every((given) => given === undefined))
      return `(SELECT ${columns} FROM ${newest('t.*', table)} t ${join})`;
    return newest(columns, `${table} ${join}`);
  };
  const text = `SELECT id, at, type, outcome, actor, client_id, sub, address, detail
    FROM (${sources.map(branch).join(' UNION ALL ')})
      AS view (id, type, outcome, actor, client_id, sub, address, detail, at, place)
   ORDER BY at DESC, place DESC LIMIT ${most}`;
  return { statement: composedStatement('audit_view.list', text), values };
}

/** Whether a text can be the id of an event of the view. */
export function isEventId(id: string): boolean {
  return trailId.test(id) || issueId.test(id);
}

export function auditViewRepository(sql: Sql) {
  async function placeOf(id: string): Promise<{ moment: string; place: string } | undefined> {
    const issued = issueId.exec(id);
    if (issued) return { moment: issued[1]!, place: id };
    const [row] = await sql.query<{ moment: string }>(momentOf, [id]);
    return row && { moment: row.moment, place: id.padStart(18, '0') };
  }

  return {
    /** @param page.before the id of an event; undefined starts with the newest. An unknown id gives no events. */
    async list(filter: AuditFilter, page: { limit: number; before: string | undefined }): Promise<ViewedEvent[]> {
      const before = page.before === undefined ? undefined : await placeOf(page.before);
      if (page.before !== undefined && !before) return [];
      const query = listing(filter, before, page.limit);
      return query ? (await sql.query<EventRow<ViewedEvent['type']>>(query.statement, query.values)).map(toEvent) : [];
    },
  };
}
