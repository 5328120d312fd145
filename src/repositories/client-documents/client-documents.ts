// Reads and writes the tables client_documents, document_fetches and client_askers: the documents of clients, their fetches, and the users who asked for the clients.
import { type Sql, statement } from '../../database/database.ts';
import { registrationWaits } from '../clients/client-listing.ts';

/** The state that decides whether a request fetches the document. */
export interface DocumentState {
  /** Whether the stored document is fresh, so that no fetch is needed. */
  isFresh: boolean;
  /** Whether the row notes no use within the last hour. */
  isIdle: boolean;
}

/** The values with which the next fetch of a known document compares. */
export interface KnownDocument {
  hash: Buffer;
  etag: string | undefined;
  /** Whether the last fetch found the document missing. */
  wasMissing: boolean;
}

/** A document that the service has read. */
export interface ReadDocument {
  hash: Buffer;
  etag: string | undefined;
  /** Seconds for which no request fetches the document again. */
  fresh: number;
}

/** The users who asked for a client: their count, and the first user names. */
export interface Askers {
  count: number;
  usernames: string[];
}

/** The most users that are stored for each client. */
export const maxAskers = 100;
/** The most documents of one user that may wait for an administrator (security R164). */
export const maxUndecided = 10;
/** Seconds after which another caller may repeat a fetch that never ended. No fetch lasts so long. */
const lease = 15;
/** Seconds for which the service sends no request to an address after a failure. */
const held = 60;
/** Seconds for which a document must be missing before users can no longer authorize its client. */
const gone = 86_400;
/** The most documents that one run of the job fetches. */
const batch = 20;

const state = statement(
  'client_documents.state',
  `SELECT fresh_until > now() AS fresh, used_at < now() - interval '1 hour' OR refetch_at IS NULL AS idle
     FROM client_documents WHERE client_id = $1`,
);
const touch = statement(
  'client_documents.touch',
  `UPDATE client_documents SET used_at = now(), refetch_at = coalesce(refetch_at, now() + interval '1 hour') WHERE client_id = $1`,
);
const find = statement(
  'client_documents.find',
  `SELECT hash, etag, gone_since IS NOT NULL AS was_missing FROM client_documents WHERE client_id = $1`,
);
const store = statement(
  'client_documents.store',
  `INSERT INTO client_documents AS d (client_id, hash, etag, fresh_until, refetch_at)
   VALUES ($1, $2, $3, now() + make_interval(secs => $4), now() + interval '1 hour')
   ON CONFLICT (client_id) DO UPDATE SET hash = excluded.hash, etag = excluded.etag, fetched_at = now(), fresh_until = excluded.fresh_until,
     gone_since = NULL`,
);
const unchanged = statement(
  'client_documents.unchanged',
  `UPDATE client_documents SET fetched_at = now(), fresh_until = now() + make_interval(secs => $2), gone_since = NULL WHERE client_id = $1`,
);
const missing = statement(
  'client_documents.missing',
  `UPDATE client_documents SET gone_since = coalesce(gone_since, now()) WHERE client_id = $1
   RETURNING gone_since <= now() - make_interval(secs => ${gone}) AS gone`,
);
// skips rows that another instance has locked, so that the instances share the work
const due = statement(
  'client_documents.due',
  `UPDATE client_documents SET refetch_at = CASE WHEN used_at > now() - interval '1 day' THEN now() + interval '1 hour' END
    WHERE client_id = ANY (ARRAY(
      SELECT client_id FROM client_documents WHERE refetch_at <= now() ORDER BY refetch_at LIMIT ${batch} FOR UPDATE SKIP LOCKED))
   RETURNING client_id, refetch_at IS NOT NULL AS used`,
);

const fetchOf = statement(
  'document_fetches.find',
  'SELECT failure FROM document_fetches WHERE client_id = $1 AND held_until > now()',
);
const claim = statement(
  'document_fetches.claim',
  `INSERT INTO document_fetches AS f (client_id, held_until) VALUES ($1, now() + make_interval(secs => ${lease}))
   ON CONFLICT (client_id) DO UPDATE SET failure = NULL, held_until = excluded.held_until WHERE f.held_until <= now()
   RETURNING client_id`,
);
const fail = statement(
  'document_fetches.fail',
  `UPDATE document_fetches SET failure = $2, held_until = now() + make_interval(secs => ${held}) WHERE client_id = $1`,
);
const release = statement('document_fetches.release', 'DELETE FROM document_fetches WHERE client_id = $1');

const ask = statement(
  'client_askers.add',
  `INSERT INTO client_askers (client_id, sub)
   SELECT $1, $2 WHERE (SELECT count(*) FROM (SELECT FROM client_askers WHERE client_id = $1 LIMIT ${maxAskers}) AS known) < ${maxAskers}
   ON CONFLICT DO NOTHING`,
);
const undecidedOf = statement(
  'client_askers.undecided',
  `SELECT count(*)::int AS undecided FROM (
     SELECT FROM client_askers JOIN clients USING (client_id) WHERE sub = $1 AND ${registrationWaits} LIMIT ${maxUndecided}) AS capped`,
);
const askers = statement(
  'client_askers.list',
  `SELECT a.client_id, count(*)::int AS count, (array_agg(u.username ORDER BY a.asked_at, u.username))[:$2] AS usernames
     FROM client_askers a JOIN users u USING (sub) WHERE a.client_id = ANY ($1) GROUP BY a.client_id`,
);

export function clientDocumentsRepository(sql: Sql) {
  return {
    /** The state of a client's document; undefined for a client without a document. */
    async state(clientId: string): Promise<DocumentState | undefined> {
      const [row] = await sql.query<{ fresh: boolean; idle: boolean }>(state, [clientId]);
      return row && { isFresh: row.fresh, isIdle: row.idle };
    },
    /** Remembers that a user asked for the client, so that the job fetches its document. */
    async touch(clientId: string): Promise<void> {
      await sql.query(touch, [clientId]);
    },
    async find(clientId: string): Promise<KnownDocument | undefined> {
      const [row] = await sql.query<{ hash: Buffer; etag: string | null; was_missing: boolean }>(find, [clientId]);
      return row && { hash: row.hash, etag: row.etag ?? undefined, wasMissing: row.was_missing };
    },
    async store(clientId: string, { hash, etag, fresh }: ReadDocument): Promise<void> {
      await sql.query(store, [clientId, hash, etag, fresh]);
    },
    /** Notes that the document has not changed. */
    async unchanged(clientId: string, fresh: number): Promise<void> {
      await sql.query(unchanged, [clientId, fresh]);
    },
    /** Notes that the document is missing. True if it has been missing for a day. */
    async missing(clientId: string): Promise<boolean> {
      const [row] = await sql.query<{ gone: boolean }>(missing, [clientId]);
      return row?.gone ?? false;
    },
    /** Claims the next documents that are due for a fetch. */
    async due(): Promise<{ clientIds: string[]; isFull: boolean }> {
      const rows = await sql.query<{ client_id: string; used: boolean }>(due, []);
      return { clientIds: rows.filter(({ used }) => used).map((row) => row.client_id), isFull: rows.length >= batch };
    },
    /** The fetch of an address, if it is running or failed within the last minute. */
    async fetchOf(clientId: string): Promise<{ failure: string | undefined } | undefined> {
      const [row] = await sql.query<{ failure: string | null }>(fetchOf, [clientId]);
      return row && { failure: row.failure ?? undefined };
    },
    /** Claims the fetch of an address for this caller. False if another fetch is running, or failed within the last minute. */
    async claim(clientId: string): Promise<boolean> {
      return (await sql.query(claim, [clientId])).length > 0;
    },
    /** Ends a claimed fetch that failed. */
    async fail(clientId: string, failure: string): Promise<void> {
      await sql.query(fail, [clientId, failure.slice(0, 1000)]);
    },
    /** Ends a claimed fetch that succeeded. */
    async release(clientId: string): Promise<void> {
      await sql.query(release, [clientId]);
    },
    /** Stores a user who asked for a waiting client. */
    async ask(clientId: string, sub: string): Promise<void> {
      await sql.query(ask, [clientId, sub]);
    },
    /** The number of documents for which the user asked and which wait for an administrator, counted up to the limit. */
    async undecidedOf(sub: string): Promise<number> {
      const [row] = await sql.query<{ undecided: number }>(undecidedOf, [sub]);
      return row!.undecided;
    },
    /** The users who asked for each of these clients. @param names the most user names for each */
    async askers(clientIds: readonly string[], names: number): Promise<Map<string, Askers>> {
      if (clientIds.length === 0) return new Map();
      const rows = await sql.query<{ client_id: string; count: number; usernames: string[] }>(askers, [
        clientIds,
        names,
      ]);
      return new Map(rows.map(({ client_id: clientId, count, usernames }) => [clientId, { count, usernames }]));
    },
  };
}
