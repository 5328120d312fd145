// Finds client sessions by their handles: the authorization code itself, or the fresh handle of the token response (decisions section 5).
import { type Sql, statement } from '../../database/database.ts';
import type { Binding } from '../../oauth/binding.ts';
import { bindingOf, type Confirmation } from '../confirmation.ts';
import type { Audience } from '../../oauth/own-resource.ts';
import {
  type PresentedProof,
  type ProofUse,
  type ProofUseRow,
  proofValues,
  toProofUse,
  wantsNonce,
  withProofUse,
} from '../tokens/dpop-proofs.ts';
import { toUser, type User, type UserRow } from '../users/users.ts';

/** A live client session that a handle gives access to. */
export interface ClientSession {
  id: string;
  clientId: string;
  scope: string;
  sid: string;
  /** The subject of the user for the client. */
  subject: string;
  nonce: string | undefined;
  authTime: Date;
  amr: string[];
  audience: string[];
  /** The audience, if the client named a resource. */
  restrictedTo: Audience | undefined;
  /** The key whose holder may use the handle. */
  binding: Binding;
  issuedAt: Date;
  expiresAt: Date;
  user: User;
}

interface Row extends UserRow {
  client_session_id: string;
  client_id: string;
  scope: string;
  sid: string;
  subject: string;
  nonce: string | null;
  auth_time: Date;
  amr: string[];
  audience: Audience | null;
  cnf: Confirmation | null;
  issued_at: Date;
  session_expires_at: Date;
  /** The end of a code that is neither redeemed nor activated. */
  code_expires_at?: Date | null;
}

// checked on each use: session, client, user, grant and access (security R85, federation FR42)
const live = `
  JOIN sessions s ON s.id = cs.session_id AND s.idle_expires_at > now()
  JOIN clients c ON c.client_id = cs.client_id AND c.status = 'enabled' AND c.epoch = cs.client_epoch
  JOIN grants g ON g.sub = cs.sub AND g.client_id = cs.client_id
  JOIN users u ON u.sub = cs.sub AND u.status = 'enabled' AND has_access(u.groups, c.access, c.access_groups)
    AND comes_by(c.connections, cs.connection_id)`;
const hasProfile = `c.metadata -> 'uma_profile' = 'true'`;
// the code in a URL is no handle where handles are bound to a key, and a code that is bound itself is only redeemed
const acceptsCode = `${hasProfile} AND ac.cnf IS NULL AND c.metadata -> 'dpop_bound_access_tokens' IS DISTINCT FROM 'true'
  AND c.metadata -> 'tls_client_certificate_bound_access_tokens' IS DISTINCT FROM 'true'`;
const columns = `u.*, cs.id AS client_session_id, cs.client_id, cs.scope, cs.sid,
  coalesce(cs.subject, cs.sub) AS subject, cs.nonce, cs.auth_time, cs.amr, cs.audience,
  s.expires_at AS session_expires_at`;

const useCode = statement(
  'client_session_handles.use_code',
  `WITH handle AS MATERIALIZED (
     SELECT ${columns}, NULL::jsonb AS cnf, ac.issued_at, ac.redeemed_at IS NULL AND ac.activated_at IS NULL AS is_new
       FROM authorization_codes ac JOIN client_sessions cs ON cs.id = ac.client_session_id ${live}
      WHERE ac.code_hash = $1 AND ac.retired_at IS NULL AND ${acceptsCode}
        AND (ac.redeemed_at IS NOT NULL OR ac.activated_at IS NOT NULL OR ac.expires_at > now())),
   kept AS (
     UPDATE client_sessions cs SET expires_at = greatest(cs.expires_at, handle.session_expires_at)
       FROM handle WHERE cs.id = handle.client_session_id AND handle.is_new RETURNING cs.id),
   activated AS (
     UPDATE authorization_codes ac SET activated_at = now() FROM kept
      WHERE ac.code_hash = $1 AND ac.activated_at IS NULL)
   SELECT * FROM handle`,
);
// a fresh code is valid for its own lifetime, for any client; a redeemed or activated code only as a handle
const findCode = statement(
  'client_session_handles.find_code',
  `SELECT ${columns}, CASE WHEN fresh THEN ac.cnf END AS cnf, ac.issued_at, CASE WHEN fresh THEN ac.expires_at END AS code_expires_at
     FROM authorization_codes ac
    CROSS JOIN LATERAL (SELECT ac.redeemed_at IS NULL AND ac.activated_at IS NULL AS fresh) state
     JOIN client_sessions cs ON cs.id = ac.client_session_id ${live}
    WHERE ac.code_hash = $1 AND ac.retired_at IS NULL
      AND CASE WHEN fresh THEN ac.expires_at > now() ELSE ${acceptsCode} END`,
);
const freshText = (...more: string[]) => `
  SELECT ${[columns, 'h.cnf', 'h.issued_at', ...more].join(', ')}
    FROM client_session_handles h JOIN client_sessions cs ON cs.id = h.client_session_id ${live}
   WHERE h.handle_hash = $1 AND ${hasProfile}`;
const findHandle = statement('client_session_handles.find', freshText());
const useHandle = statement(
  'client_session_handles.use',
  `WITH handle AS MATERIALIZED (${freshText()}),
   retired AS (
     UPDATE authorization_codes ac SET retired_at = now() FROM handle
      WHERE ac.client_session_id = handle.client_session_id AND ac.retired_at IS NULL AND handle.cnf IS NULL)
   SELECT * FROM handle`,
);
// the code of a bound handle is none itself, and needs no end
const useHandleWithProof = statement(
  'client_session_handles.use_with_proof',
  withProofUse(freshText(wantsNonce), ['$2::jsonb', '$3', '$4::boolean']),
);

export function clientSessionHandlesRepository(sql: Sql) {
  const one = async (rows: Promise<Row[]>): Promise<ClientSession | undefined> => {
    const [row] = await rows;
    return row && toClientSession(row);
  };
  return {
    /** The client session of a code. The first use within the code's lifetime activates it as a handle (security R81). */
    useCode: (codeHash: Buffer): Promise<ClientSession | undefined> => one(sql.query<Row>(useCode, [codeHash])),
    /**
     * Finds a code without using it: a fresh code can be redeemed, and a later one is a handle of its client session for clients
     * of the UMA profile.
     */
    findCode: (codeHash: Buffer): Promise<ClientSession | undefined> => one(sql.query<Row>(findCode, [codeHash])),
    /** The client session of a fresh handle. Its first use ends the code's use as a handle (security R82). */
    useHandle: (handleHash: Buffer): Promise<ClientSession | undefined> => one(sql.query<Row>(useHandle, [handleHash])),
    /** The same for a handle that is bound to a key: uses the proof if it is of this key. */
    async useHandleWithProof(
      handleHash: Buffer,
      proof: PresentedProof,
    ): Promise<{ token: ClientSession; proof: ProofUse } | undefined> {
      const [row] = await sql.query<Row & ProofUseRow>(useHandleWithProof, [handleHash, ...proofValues(proof)]);
      return row && { token: toClientSession(row), proof: toProofUse(row, proof) };
    },
    findHandle: (handleHash: Buffer): Promise<ClientSession | undefined> =>
      one(sql.query<Row>(findHandle, [handleHash])),
  };
}

const toClientSession = (row: Row): ClientSession => ({
  id: row.client_session_id,
  clientId: row.client_id,
  scope: row.scope,
  sid: row.sid,
  subject: row.subject,
  nonce: row.nonce ?? undefined,
  authTime: row.auth_time,
  amr: row.amr,
  audience: row.audience?.filter((entry) => entry !== null) ?? [row.client_id],
  restrictedTo: row.audience ?? undefined,
  binding: bindingOf(row.cnf),
  issuedAt: row.issued_at,
  expiresAt: row.code_expires_at ?? row.session_expires_at,
  user: toUser(row),
});
