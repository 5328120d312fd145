// Reads the context of a sign-in page in one statement: the browser's session, its pending request, and the user's grant.
import type { Sql } from '../../database/database.ts';
import {
  type AuthorizationRequestRow,
  findRequest,
  type RequestRow,
  toAuthorizationRequest,
} from '../authorization-requests/authorization-requests.ts';
import type { Granted } from '../../oauth/granted.ts';
import type { GrantParts } from '../clients/grants.ts';
import { batchedSelect } from '../batched-select.ts';
import { foundSession, type Session, type SessionRow, toSession } from './sessions.ts';

export interface SignInContext {
  session: Session | undefined;
  /** The pending request, if it is bound to this browser. */
  pending: AuthorizationRequestRow | undefined;
  /** The grant of the session's user to the client of the request, or to `clientId`. */
  grant: GrantParts | undefined;
}

/** A value is undefined if the browser did not send it. `clientId` names the client if there is no request. */
export interface SignInContextQuery {
  tokenHash: Buffer | undefined;
  /** In seconds. */
  idleLifetime: number;
  requestHash: Buffer | undefined;
  browserHash: Buffer | undefined;
  clientId: string | undefined;
}

interface Row extends SessionRow {
  requested_of: string | null;
  endpoint: RequestRow['endpoint'];
  parameters: RequestRow['parameters'];
  problem: RequestRow['problem'];
  decision: RequestRow['decision'];
  decided_sub: string | null;
  details: RequestRow['details'];
  requested_at: Date;
  granted: Granted | null;
  redirect_uris: string[];
}

const find = batchedSelect(
  'visits.find',
  ['bytea', 'double precision', 'bytea', 'bytea', 'text'],
  (
    tokenHash,
    idleLifetime,
    requestHash,
    browserHash,
    clientId,
  ) => `SELECT s.*, r.client_id AS requested_of, r.endpoint, r.parameters, r.problem, r.decision, r.decided_sub, r.details, r.created_at AS requested_at,
          g.granted, g.redirect_uris
     FROM (VALUES (true)) AS visit (here)
     LEFT JOIN authorization_requests r ON r.id_hash = ${requestHash} AND r.browser_hash = ${browserHash} AND r.expires_at > now()
     LEFT JOIN (${foundSession(tokenHash, idleLifetime)}) s ON true
     LEFT JOIN grants g ON g.sub = s.sub AND g.client_id = coalesce(r.client_id, ${clientId})`,
);

export function signInContextsRepository(sql: Sql) {
  return {
    async find({
      tokenHash,
      idleLifetime,
      requestHash,
      browserHash,
      clientId,
    }: SignInContextQuery): Promise<SignInContext> {
      if (!tokenHash) {
        // most browsers have no session at a sign-in
        const [request] =
          requestHash && browserHash ? await sql.query<RequestRow>(findRequest, [requestHash, browserHash]) : [];
        return { session: undefined, pending: request && toAuthorizationRequest(request), grant: undefined };
      }
      const [row] = await sql.query<Row>(find, [tokenHash, idleLifetime, requestHash, browserHash, clientId]);
      const { requested_of, requested_at, granted, redirect_uris: redirectUris } = row!;
      return {
        session: row!.session_id === null ? undefined : toSession(row!),
        pending:
          requested_of === null
            ? undefined
            : toAuthorizationRequest({ ...row!, client_id: requested_of, created_at: requested_at }),
        grant: granted === null ? undefined : { ...granted, redirectUris },
      };
    },
  };
}
