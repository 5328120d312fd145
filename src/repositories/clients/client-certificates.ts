// Reads and writes the table client_certificates: the certificates with which clients have authenticated lately (RFC 8705).
import { type Sql, statement } from '../../database/database.ts';

/** How many of a client are kept: its servers may have one each. */
const maxKept = 10;

interface Row {
  x5t: string;
  subject: string | null;
  expires_at: Date;
  seen_at: Date;
}

export interface SeenCertificate {
  /** Its SHA-256, in base64url. */
  x5t: string;
  /** A line for each relative distinguished name; undefined if it has none. */
  subject: string | undefined;
  expiresAt: Date;
}

// the client may have been deleted meanwhile
const note = statement(
  'client_certificates.note',
  `WITH known AS MATERIALIZED (SELECT x5t FROM client_certificates WHERE client_id = $1),
   noted AS (
     INSERT INTO client_certificates AS stored (client_id, x5t, subject, expires_at)
     SELECT client_id, $2, $3, $4 FROM clients WHERE client_id = $1
     ON CONFLICT (client_id, x5t) DO UPDATE SET seen_at = now()
     RETURNING stored.x5t)
   SELECT EXISTS (SELECT FROM known) AND NOT EXISTS (SELECT FROM known JOIN noted USING (x5t)) AND EXISTS (SELECT FROM noted) AS is_other`,
);
const prune = statement(
  'client_certificates.prune',
  `DELETE FROM client_certificates WHERE client_id = $1 AND x5t IN (
     SELECT x5t FROM client_certificates WHERE client_id = $1 ORDER BY seen_at DESC, x5t OFFSET $2)`,
);
const last = statement(
  'client_certificates.last',
  `SELECT x5t, subject, expires_at, seen_at FROM client_certificates WHERE client_id = $1 ORDER BY seen_at DESC, x5t LIMIT 1`,
);

export function clientCertificatesRepository(sql: Sql) {
  return {
    /** In a transaction: notes that a client came with a certificate. @returns whether it has only come with other ones before */
    async note(clientId: string, { x5t, subject, expiresAt }: SeenCertificate): Promise<boolean> {
      const [row] = await sql.query<{ is_other: boolean }>(note, [clientId, x5t, subject ?? null, expiresAt]);
      if (row!.is_other) await sql.query(prune, [clientId, maxKept]);
      return row!.is_other;
    },
    /** The one that was seen last. */
    async last(clientId: string): Promise<(SeenCertificate & { seenAt: Date }) | undefined> {
      const [row] = await sql.query<Row>(last, [clientId]);
      if (!row) return undefined;
      return { x5t: row.x5t, subject: row.subject ?? undefined, expiresAt: row.expires_at, seenAt: row.seen_at };
    },
  };
}
