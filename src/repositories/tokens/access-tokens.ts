// Reads and writes the table access_tokens: small rows, which every request for a resource reads.
import { batchedStatement, type Sql, statement } from '../../database/database.ts';
import type { Detail } from '../../oauth/authorization-details.ts';
import type { Binding } from '../../oauth/binding.ts';
import type { Subject } from '../../rules/claims/claims.ts';
import type { RequestedClaims } from '../../oauth/claims-request.ts';
import { type Audience, isForeign } from '../../oauth/own-resource.ts';
import { splitScope, withoutAdministration } from '../../oauth/scope.ts';
import type { ActingParty } from '../../oauth/token-exchange.ts';
import { bindingOf, type Confirmation, confirmationOf } from '../confirmation.ts';
import {
  type PresentedProof,
  proofTypes,
  type ProofUse,
  type ProofUseRow,
  proofValues,
  toProofUse,
  type UsedProof,
  usedProof,
  useProof,
  wantsNonce,
  withProofUse,
} from './dpop-proofs.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import { mayIssueToClient } from './may-issue.ts';
import { batchedSelect } from '../batched-select.ts';

/** The enabled user of a token. Only the needed columns are selected, since each one costs time in every request. */
export interface TokenUser extends Subject {
  admin: boolean;
}

export interface AccessToken {
  clientId: string;
  scope: string;
  issuedAt: Date;
  expiresAt: Date;
  /** Undefined for a token by client credentials. */
  user: TokenUser | undefined;
  /** The subject of the user for the client; undefined without a user. */
  subject: string | undefined;
  /** Whether the client registered UserInfo responses that are signed or encrypted. */
  userinfoAsJwt: boolean;
  /** Whether the client has rules for claims. */
  hasClaimRules: boolean;
  sid: string | undefined;
  authTime: Date | undefined;
  /** Seconds since the authentication. */
  authenticationAge: number | undefined;
  amr: string[] | undefined;
  nonce: string | undefined;
  requested: RequestedClaims | undefined;
  /** The client's registered scope, where claims were requested. */
  registeredScope: string | undefined;
  /** The audience: the resource and its server if it has one, else the client itself. */
  audience: string[];
  /** The audience, if the client named a resource. */
  restrictedTo: Audience | undefined;
  /** The key whose holder may use it. */
  binding: Binding;
  /** The client that acts for the user, of a token that an exchange issued by delegation. */
  act: ActingParty | undefined;
  /** The authorization details that it has; undefined without any. */
  details: readonly Detail[] | undefined;
}

/** What an exchange stores of a token, beside what every token has. */
export interface Exchange {
  /** Absent where the client impersonates the user. */
  act?: ActingParty | undefined;
  /** The pairwise subject of the user for the client that got the token; absent for the user's own `sub`. */
  subject?: string | undefined;
  /** The level of the authentication that the presented token names; absent for that of its methods. */
  acr?: string | undefined;
  /** The id of the policy. */
  policy: string;
}

/** Times are seconds since 1970: dates would cost both sides more than the rest of the row. */
interface Row {
  client_id: string;
  sub: string | null;
  username: string;
  email: string | null;
  email_verified: boolean;
  admin: boolean;
  groups: string[];
  claims: Record<string, unknown>;
  updated_at: number;
  subject: string | null;
  scope: string;
  issued_at: number;
  expires_at: number;
  sid: string | null;
  auth_time: number | null;
  authentication_age: number | null;
  amr: string[] | null;
  nonce: string | null;
  audience: Audience | null;
  rare: Rare | null;
}

/** The key of the token as a column, which the use of a proof compares. */
interface BoundRow {
  cnf: Confirmation | null;
}

/** What few tokens have: one column, which is NULL for the others, since each column costs time in every request. */
interface Rare {
  cnf: Confirmation | null;
  exchange: Exchange | null;
  details: Detail[] | null;
  requested: RequestedClaims | null;
  registered_scope: string | null;
  userinfo_as_jwt: boolean;
  has_claim_rules: boolean;
  roles: string[] | null;
}

const rareMembers = storedFunction(new URL('rare_members.sql', import.meta.url));

// inactive when the token, its client session, its client (or that epoch of it) or its user is (security R30, R42, R54), and once the user may no longer
// use the client (federation FR42): both rows are read anyway, so that asking costs nothing
const textOfFind = (tokenHash: string, ...columns: string[]) =>
  `SELECT c.client_id, coalesce(t.scope, cs.scope) AS scope,
          date_part('epoch', t.issued_at) AS issued_at, date_part('epoch', t.expires_at) AS expires_at,
          u.sub, u.username, u.email, u.email_verified, u.admin, u.groups, u.claims,
          date_part('epoch', u.updated_at) AS updated_at,
          cs.sid, coalesce(cs.subject, cs.sub) AS subject, cs.amr, cs.nonce, date_part('epoch', cs.auth_time) AS auth_time,
          date_part('epoch', now() - cs.auth_time) AS authentication_age,
          coalesce(t.audience, cs.audience) AS audience,
          CASE WHEN t.cnf IS NOT NULL OR t.exchange IS NOT NULL OR t.details IS NOT NULL OR cs.requested IS NOT NULL OR c.claim_rules IS NOT NULL
                 OR c.metadata ?| ARRAY['userinfo_signed_response_alg', 'userinfo_encrypted_response_alg']
                 OR coalesce(t.scope, cs.scope) LIKE '%roles%'
            THEN ${rareMembers.name}(t.cnf, t.exchange, t.scope, cs.scope, cs.requested, t.details, c.claim_rules, c.metadata, u.sub, u.groups, c.client_id)
          END AS rare${columns.map((column) => `, ${column}`).join('')}
     FROM access_tokens t
     LEFT JOIN client_sessions cs ON cs.id = t.client_session_id
     JOIN clients c ON c.client_id = coalesce(t.client_id, cs.client_id) AND c.status = 'enabled'
                   AND c.epoch = coalesce(t.client_epoch, cs.client_epoch)
     LEFT JOIN users u ON u.sub = cs.sub
    WHERE t.token_hash = ${tokenHash} AND t.expires_at > now()
      AND (cs.id IS NULL OR (u.status = 'enabled' AND has_access(u.groups, c.access, c.access_groups) AND comes_by(c.connections, cs.connection_id)))`;
const find = batchedSelect('access_tokens.find', ['bytea'], (tokenHash) => textOfFind(tokenHash));
// an operation, since two requests with the same proof wait for each other
const findWithProof = batchedSelect(
  'access_tokens.find_with_proof',
  ['bytea', ...proofTypes],
  (tokenHash, ...proof) => withProofUse(textOfFind(tokenHash, 't.cnf', wantsNonce), proof as [string, string, string]),
  { kind: 'operation', order: 2 },
);
const insertForClient = batchedStatement(
  'write',
  'access_tokens.insert_for_client',
  `INSERT INTO access_tokens (token_hash, client_id, client_epoch, scope, expires_at, audience)
   SELECT $1, $2, epoch, $3, now() + make_interval(secs => $4), $5 FROM ${mayIssueToClient('$2')}
   RETURNING 1 AS stored`,
  `WITH good AS (
     SELECT asked.*, c.epoch
       FROM unnest($1::bytea[], $2::text[], $3::text[], $4::double precision[], $5::text[])
              WITH ORDINALITY AS asked (token_hash, client_id, scope, lifetime, audience, place),
            LATERAL (SELECT epoch FROM ${mayIssueToClient('asked.client_id')} LIMIT 1) AS c
   ), stored AS (
     INSERT INTO access_tokens (token_hash, client_id, client_epoch, scope, expires_at, audience)
     SELECT token_hash, client_id, epoch, scope, now() + make_interval(secs => lifetime), audience::text[] FROM good
   )
   SELECT place::integer FROM good`,
);
// of a token that is bound to a key, or has authorization details
const insertBoundForClient = statement(
  'access_tokens.insert_bound_for_client',
  `WITH good AS MATERIALIZED (
     SELECT epoch, $7::jsonb IS NULL OR ${useProof.name}($7) AS is_new FROM ${mayIssueToClient('$2')}
   ), stored AS (
     INSERT INTO access_tokens (token_hash, client_id, client_epoch, scope, expires_at, audience, cnf, details)
     SELECT $1, $2, epoch, $3, now() + make_interval(secs => $4), $5, $6, $8 FROM good WHERE is_new
   )
   SELECT is_new FROM good`,
);

export function accessTokensRepository(sql: Sql) {
  return {
    /** Finds a token that is active, with everything that it depends on. */
    async find(tokenHash: Buffer): Promise<AccessToken | undefined> {
      const [row] = await sql.query<Row>(find, [tokenHash]);
      return row && toAccessToken(row);
    },
    /** Finds a token that is active, and uses the proof that goes with it if the token is bound to its key. */
    async findWithProof(
      tokenHash: Buffer,
      proof: PresentedProof,
    ): Promise<{ token: AccessToken; proof: ProofUse } | undefined> {
      const [row] = await sql.query<Row & BoundRow & ProofUseRow>(findWithProof, [tokenHash, ...proofValues(proof)]);
      return row && { token: toAccessToken(row), proof: toProofUse(row, proof) };
    },
    /**
     * Stores a token by client credentials.
     * @param token.lifetime in seconds
     * @param token.proof of the key in `binding`, which counts once
     * @returns why nothing was stored: the client is no longer enabled, or the proof was used before
     */
    async insertForClient(token: {
      tokenHash: Buffer;
      clientId: string;
      scope: string;
      lifetime: number;
      audience: Audience | undefined;
      details?: readonly Detail[] | undefined;
      binding: Binding;
      proof: UsedProof | undefined;
    }): Promise<'stored' | 'disabled' | 'replayed'> {
      const { tokenHash, clientId, scope, lifetime, audience, details, binding, proof } = token;
      const values = [tokenHash, clientId, scope, lifetime, audience];
      if (binding === 'none' && !details)
        return (await sql.query(insertForClient, values)).length > 0 ? 'stored' : 'disabled';
      const [row] = await sql.query<{ is_new: boolean }>(insertBoundForClient, [
        ...values,
        confirmationOf(binding),
        usedProof(proof),
        details && JSON.stringify(details),
      ]);
      return !row ? 'disabled' : row.is_new ? 'stored' : 'replayed';
    },
  };
}

function toAccessToken(row: Row): AccessToken {
  const { rare } = row;
  return {
    clientId: row.client_id,
    // a token from before this rule may have a larger scope (security R115)
    scope:
      row.audience !== null && isForeign(row.audience)
        ? withoutAdministration(splitScope(row.scope)).join(' ')
        : row.scope,
    issuedAt: toDate(row.issued_at),
    expiresAt: toDate(row.expires_at),
    user: row.sub === null ? undefined : toTokenUser(row, row.sub),
    // the subject for the client of the session, which an exchange gives to no other client
    subject: (rare?.exchange ? (rare.exchange.subject ?? row.sub) : row.subject) ?? undefined,
    userinfoAsJwt: rare?.userinfo_as_jwt ?? false,
    hasClaimRules: rare?.has_claim_rules ?? false,
    sid: row.sid ?? undefined,
    authTime: row.auth_time === null ? undefined : toDate(row.auth_time),
    authenticationAge: row.authentication_age ?? undefined,
    amr: row.amr ?? undefined,
    nonce: row.nonce ?? undefined,
    requested: rare?.requested ?? (rare?.exchange?.acr === undefined ? undefined : { acr: rare.exchange.acr }),
    registeredScope: rare?.registered_scope ?? undefined,
    audience: row.audience?.filter((entry) => entry !== null) ?? [row.client_id],
    restrictedTo: row.audience ?? undefined,
    binding: bindingOf(rare?.cnf ?? null),
    act: rare?.exchange?.act,
    details: rare?.details ?? undefined,
  };
}

function toTokenUser(row: Row, sub: string): TokenUser {
  return {
    sub,
    username: row.username,
    email: row.email ?? undefined,
    emailVerified: row.email_verified,
    groups: row.groups,
    claims: row.claims,
    updatedAt: toDate(row.updated_at),
    admin: row.admin,
    roles: row.rare?.roles ?? undefined,
  };
}

/** @param seconds since 1970 */
const toDate = (seconds: number): Date => new Date(seconds * 1000);
