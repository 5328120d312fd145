// Reads and writes the table authorization_requests: requests that wait for their user, bound to one browser (security R4), or pushed by a client.
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { Detail } from '../../oauth/authorization-details.ts';
import type { ErrorCode } from '../../oauth/errors.ts';
import { batchedCall } from '../batched-call.ts';
import { type UsedProof, usedProof, useProof } from '../tokens/dpop-proofs.ts';
import { batchedSelect } from '../batched-select.ts';
import { repeatedWithin } from '../sessions/sessions.ts';

/** The decision on the consent page for a request, and the user who decided. */
export interface ConsentDecision {
  allowed: boolean;
  sub: string;
  /** The authorization details that the user allowed; absent if the request has none. */
  details?: readonly Detail[] | undefined;
}

/** Seconds in which a browser follows the page that leads to the answer. */
const answeredWithin = 60;

export interface AuthorizationRequestRow {
  clientId: string;
  /** Where the request arrived, which names its protocol. */
  endpoint: string;
  /** The effective parameters: with a request object, only those that it contains. */
  parameters: Record<string, string>;
  /** Why the request cannot be served. The client gets the error once the user is signed in. */
  problem: { code: ErrorCode; description: string } | undefined;
  decision: ConsentDecision | undefined;
  createdAt: Date;
}

/** Why a request is not served whose user left the sign-in page. No other stored problem has this code. */
const cancelled = { code: 'access_denied', description: 'the End-User cancelled the sign-in' } as const;

/** Whether the user left the sign-in page: the client then gets its error although no user is signed in. */
export const isCancelled = ({ problem }: Pick<AuthorizationRequestRow, 'problem'>): boolean =>
  problem?.code === cancelled.code;

export interface RequestRow {
  client_id: string;
  endpoint: AuthorizationRequestRow['endpoint'];
  parameters: Record<string, string>;
  problem: AuthorizationRequestRow['problem'] | null;
  decision: 'allowed' | 'denied' | null;
  decided_sub: string | null;
  details: Detail[] | null;
  created_at: Date;
}

type DecisionRow = Pick<RequestRow, 'decision' | 'decided_sub' | 'details'>;

const networkIsFull = storedFunction(new URL('network_is_full.sql', import.meta.url));
const storeRequest = storedFunction(new URL('store_request.sql', import.meta.url), [networkIsFull]);
const pushRequest = storedFunction(new URL('push_request.sql', import.meta.url), [networkIsFull, useProof]);
const takeRequest = storedFunction(new URL('take_request.sql', import.meta.url), [networkIsFull]);

const insert = batchedCall('authorization_requests.insert', {
  function: storeRequest,
  types: 'bytea, bytea, text, text, jsonb, jsonb, double precision, integer, text, integer',
  columns: 'r AS stored',
  // the network
  locks: 'value_9',
});
const push = statement(
  'authorization_requests.push',
  `SELECT ${pushRequest.name}($1, $2, $3, $4, $5, $6, $7, $8) AS outcome`,
);
const take = statement(
  'authorization_requests.take',
  `SELECT ${takeRequest.name}($1, $2, $3, $4, $5, $6, $7, $8) AS outcome`,
);
/** Selects a request by its digest, if it is bound to the browser. */
export const findRequest = batchedSelect(
  'authorization_requests.find',
  ['bytea', 'bytea'],
  (idHash, browserHash) =>
    `SELECT client_id, endpoint, parameters, problem, decision, decided_sub, details, created_at FROM authorization_requests
      WHERE id_hash = ${idHash} AND browser_hash = ${browserHash} AND expires_at > now()`,
);
const lock = statement(
  'authorization_requests.lock',
  'SELECT decision, decided_sub, details FROM authorization_requests WHERE id_hash = $1 FOR NO KEY UPDATE',
);
// A copy for the same form, which a double click sends twice: once the request is answered, it gets a new response for the same decision. It has
// no id that a browser knows, and counts in no network.
const copy = (form: string) => `
  INSERT INTO authorization_requests
    (id_hash, browser_hash, client_id, endpoint, parameters, problem, decision, decided_sub, details, created_at, expires_at)
    SELECT ${form}, browser_hash, client_id, endpoint, parameters, problem, decision, decided_sub, details, created_at,
           clock_timestamp() + make_interval(secs => ${repeatedWithin}) FROM changed WHERE ${form} IS NOT NULL
    ON CONFLICT (id_hash) DO NOTHING`;
const decide = statement(
  'authorization_requests.decide',
  `WITH changed AS (UPDATE authorization_requests SET decision = $2, decided_sub = $3, details = $5 WHERE id_hash = $1 RETURNING *) ${copy('$4::bytea')}`,
);
const repeat = statement(
  'authorization_requests.repeat',
  `INSERT INTO authorization_requests
     (id_hash, browser_hash, client_id, endpoint, parameters, problem, decision, decided_sub, details, created_at, expires_at)
     SELECT $2, browser_hash, client_id, endpoint, parameters, problem, decision, decided_sub, details, created_at,
            clock_timestamp() + make_interval(secs => ${answeredWithin})
       FROM authorization_requests WHERE id_hash = $1 AND browser_hash = $3 AND expires_at > clock_timestamp()
        AND (decision IS NULL OR decision = $4) RETURNING 1 AS done`,
);
const setPrompt = statement(
  'authorization_requests.set_prompt',
  `UPDATE authorization_requests SET parameters = jsonb_set(parameters, '{prompt}', to_jsonb($2::text)) WHERE id_hash = $1`,
);
const cancel = statement(
  'authorization_requests.cancel',
  `WITH changed AS (UPDATE authorization_requests SET problem = $2 WHERE id_hash = $1 RETURNING *) ${copy('$3::bytea')}`,
);
const remove = statement(
  'authorization_requests.delete',
  'DELETE FROM authorization_requests WHERE id_hash = $1 RETURNING 1 AS done',
);

export function authorizationRequestsRepository(sql: Sql) {
  return {
    /**
     * False when the network is at its limit.
     * @param request.lifetime in seconds
     * @param request.perBrowser how many may wait in one browser; 0 for no limit, as for the network
     */
    async insert(request: {
      idHash: Buffer;
      browserHash: Buffer;
      clientId: string;
      endpoint: AuthorizationRequestRow['endpoint'];
      parameters: Record<string, string>;
      problem: AuthorizationRequestRow['problem'];
      lifetime: number;
      perBrowser: number;
      network: string;
      perNetwork: number;
    }): Promise<boolean> {
      const [row] = await sql.query<{ stored: boolean }>(insert, [
        request.idHash,
        request.browserHash,
        request.clientId,
        request.endpoint,
        request.parameters,
        request.problem,
        request.lifetime,
        kept(request.perBrowser),
        request.network,
        request.perNetwork,
      ]);
      return row!.stored;
    },
    /** As insert(); `replayed` if its proof was used before. @param request.lifetime seconds until a browser must present it @param request.perClient how many may wait; 0 for no limit */
    async push(request: {
      idHash: Buffer;
      clientId: string;
      parameters: Record<string, string>;
      lifetime: number;
      perClient: number;
      /** Undefined: the request counts in no network. */
      network: string | undefined;
      perNetwork: number;
      proof: UsedProof | undefined;
    }): Promise<'stored' | 'full' | 'replayed'> {
      const { idHash, clientId, parameters, lifetime, perClient, network, perNetwork, proof } = request;
      const values = [idHash, clientId, parameters, lifetime, kept(perClient), network, perNetwork, usedProof(proof)];
      const [row] = await sql.query<{ outcome: 'stored' | 'full' | 'replayed' }>(push, values);
      return row!.outcome;
    },
    /**
     * Binds a pushed request to the first browser that presents it; undefined when it is gone or bound to another browser, `full` when the
     * browser's network is at its limit. Parameters as for insert().
     * @param request.onlySilent binds it only if it has prompt=none
     */
    async take(request: {
      idHash: Buffer;
      clientId: string;
      browserHash: Buffer;
      lifetime: number;
      perBrowser: number;
      onlySilent: boolean;
      network: string;
      perNetwork: number;
    }): Promise<'taken' | 'full' | undefined> {
      const { idHash, clientId, browserHash, lifetime, perBrowser, onlySilent, network, perNetwork } = request;
      const values = [idHash, clientId, browserHash, lifetime, kept(perBrowser), onlySilent, network, perNetwork];
      const [row] = await sql.query<{ outcome: 'taken' | 'full' | null }>(take, values);
      return row!.outcome ?? undefined;
    },
    /** The pending request, if it is bound to this browser. */
    async find(idHash: Buffer, browserHash: Buffer): Promise<AuthorizationRequestRow | undefined> {
      const [row] = await sql.query<RequestRow>(findRequest, [idHash, browserHash]);
      return row && toAuthorizationRequest(row);
    },
    /** Locks a stored request until the transaction ends, and returns the decision so far; undefined if the request was answered. */
    async lock(idHash: Buffer): Promise<Pick<AuthorizationRequestRow, 'decision'> | undefined> {
      const [row] = await sql.query<DecisionRow>(lock, [idHash]);
      return row && { decision: toDecision(row) };
    },
    /** Stores a user's decision, in a transaction that holds the lock of the request. @param formHash of the form that decides */
    async decide(
      idHash: Buffer,
      { allowed, sub, details }: ConsentDecision,
      formHash: Buffer | undefined,
    ): Promise<void> {
      const allowedDetails = details && JSON.stringify(details);
      await sql.query(decide, [idHash, allowed ? 'allowed' : 'denied', sub, formHash, allowedDetails]);
    },
    /** Stores an answered request again under a new id if the same form of the browser decided the same within the last seconds; else false. */
    async repeat(formHash: Buffer, idHash: Buffer, browserHash: Buffer, isAllowed: boolean): Promise<boolean> {
      const values = [formHash, idHash, browserHash, isAllowed ? 'allowed' : 'denied'];
      return (await sql.query(repeat, values)).length > 0;
    },
    /** Replaces the prompt of a request, when the user has done a part of it. */
    async setPrompt(idHash: Buffer, prompt: string): Promise<void> {
      await sql.query(setPrompt, [idHash, prompt]);
    },
    /** The user does not want to sign in: the client gets the error. */
    async cancel(idHash: Buffer, formHash: Buffer | undefined): Promise<void> {
      await sql.query(cancel, [idHash, cancelled, formHash]);
    },
    /** Deletes a request; false when it was deleted before. */
    async delete(idHash: Buffer): Promise<boolean> {
      return (await sql.query(remove, [idHash])).length > 0;
    },
  };
}

export function toAuthorizationRequest(row: RequestRow): AuthorizationRequestRow {
  return {
    clientId: row.client_id,
    endpoint: row.endpoint,
    parameters: row.parameters,
    problem: row.problem ?? undefined,
    decision: toDecision(row),
    createdAt: row.created_at,
  };
}

function toDecision({ decision, decided_sub: sub, details }: DecisionRow): ConsentDecision | undefined {
  if (!decision || !sub) return undefined;
  return { allowed: decision === 'allowed', sub, ...(details && { details }) };
}

/** How many of the older requests stay beside a new one. */
function kept(limit: number): number {
  return limit > 0 ? limit - 1 : 1_000_000;
}
