// The table authorization_requests: requests that wait for their End-User, each bound to one browser.
import { type Sql, statement } from '../database/database.ts';
import type { ErrorCode } from '../oauth/errors.ts';

export interface AuthorizationRequestRow {
  clientId: string;
  endpoint: 'authorization' | 'authentication';
  /** Those that count: of a request object only what it held. */
  parameters: Record<string, string>;
  /** Why the request cannot be served, told to the client once the End-User is signed in. */
  problem: { code: ErrorCode; description: string } | undefined;
  /** What was decided on the consent page for this very request, and by whom. */
  decision: { allowed: boolean; sub: string } | undefined;
  createdAt: Date;
}

// the browser's oldest go when it has too many
const insert = statement(
  'authorization_requests.insert',
  `WITH surplus AS (
     DELETE FROM authorization_requests WHERE id_hash IN (
       SELECT id_hash FROM authorization_requests WHERE browser_hash = $2 ORDER BY created_at DESC OFFSET $7))
   INSERT INTO authorization_requests (id_hash, browser_hash, client_id, endpoint, parameters, problem, expires_at)
   VALUES ($1, $2, $3, $4, $5, $8, now() + make_interval(secs => $6))`,
);
const find = statement(
  'authorization_requests.find',
  `SELECT client_id, endpoint, parameters, problem, decision, decided_sub, created_at FROM authorization_requests
    WHERE id_hash = $1 AND browser_hash = $2 AND expires_at > now()`,
);
const decide = statement(
  'authorization_requests.decide',
  `UPDATE authorization_requests SET decision = $3, decided_sub = $2 WHERE id_hash = $1 AND (decision IS NULL OR decided_sub <> $2) RETURNING 1 AS done`,
);
const remove = statement(
  'authorization_requests.delete',
  'DELETE FROM authorization_requests WHERE id_hash = $1 RETURNING 1 AS done',
);

export function authorizationRequestsRepository(sql: Sql) {
  return {
    /** @param request.lifetime in seconds @param request.perBrowser how many may wait in one browser, 0 for any number */
    async insert(request: {
      idHash: Buffer;
      browserHash: Buffer;
      clientId: string;
      endpoint: AuthorizationRequestRow['endpoint'];
      parameters: Record<string, string>;
      problem: AuthorizationRequestRow['problem'];
      lifetime: number;
      perBrowser: number;
    }): Promise<void> {
      await sql.query(insert, [
        request.idHash,
        request.browserHash,
        request.clientId,
        request.endpoint,
        request.parameters,
        request.lifetime,
        request.perBrowser > 0 ? request.perBrowser - 1 : 1_000_000,
        request.problem,
      ]);
    },
    /** The pending request, if it is this browser's. */
    async find(idHash: Buffer, browserHash: Buffer): Promise<AuthorizationRequestRow | undefined> {
      const [row] = await sql.query<{
        client_id: string;
        endpoint: AuthorizationRequestRow['endpoint'];
        parameters: Record<string, string>;
        problem: AuthorizationRequestRow['problem'] | null;
        decision: 'allowed' | 'denied' | null;
        decided_sub: string | null;
        created_at: Date;
      }>(find, [idHash, browserHash]);
      return (
        row && {
          clientId: row.client_id,
          endpoint: row.endpoint,
          parameters: row.parameters,
          problem: row.problem ?? undefined,
          decision:
            row.decision && row.decided_sub ? { allowed: row.decision === 'allowed', sub: row.decided_sub } : undefined,
          createdAt: row.created_at,
        }
      );
    },
    /** Notes what a user decided; false when the same user decided before, or the request was answered. */
    async decide(idHash: Buffer, sub: string, allowed: boolean): Promise<boolean> {
      return (await sql.query(decide, [idHash, sub, allowed ? 'allowed' : 'denied'])).length > 0;
    },
    /** Uses a request up; false when somebody did before. */
    async delete(idHash: Buffer): Promise<boolean> {
      return (await sql.query(remove, [idHash])).length > 0;
    },
  };
}
