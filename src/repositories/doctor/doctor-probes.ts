// Stores the single-use ids of requests that `gatehouse doctor` sends, and what an instance saw of each.
import { digest } from '../../crypto/secrets.ts';
import { type Sql, statement } from '../../database/database.ts';

/** What an instance saw of a request. */
export interface SeenRequest {
  /** The Host header. */
  host: string;
  /** The scheme that X-Forwarded-Proto names; absent without this header. */
  scheme?: string;
  /** The address of the socket: that of the proxy, if there is one. */
  peer: string;
  /** The address that limits count. */
  address: string;
  /** Whether the request has X-Forwarded-For or Forwarded. */
  forwarded: boolean;
  /** Whether TRUST_PROXY names the peer. */
  trusted: boolean;
  /** Bytes of the address and the headers. */
  size: number;
  /** The clock of the instance, as a time in ISO 8601. */
  at: string;
  /** The connections to the database that the process may open. */
  pool: number;
}

const open = statement('doctor_probes.open', 'INSERT INTO doctor_probes (id_hash) VALUES ($1)');
const see = statement(
  'doctor_probes.see',
  `UPDATE doctor_probes SET seen = $2
    WHERE id_hash = $1 AND seen IS NULL AND created_at > now() - interval '1 minute' RETURNING 1 AS known`,
);
const take = statement('doctor_probes.take', 'DELETE FROM doctor_probes WHERE id_hash = $1 RETURNING seen');

const hashOf = (id: string) => digest('doctor probe', id);

export function doctorProbesRepository(sql: Sql) {
  return {
    async open(id: string): Promise<void> {
      await sql.query(open, [hashOf(id)]);
    },
    /** Notes what an instance saw; false for an id that is unknown, used or older than a minute. */
    async see(id: string, seen: SeenRequest): Promise<boolean> {
      return (await sql.query(see, [hashOf(id), JSON.stringify(seen)])).length > 0;
    },
    /** Removes the id, and returns what an instance saw; undefined if none has seen it. */
    async take(id: string): Promise<SeenRequest | undefined> {
      const [row] = await sql.query<{ seen: SeenRequest | null }>(take, [hashOf(id)]);
      return row?.seen ?? undefined;
    },
  };
}
