// Reads and writes the table backchannel_requests: requests of clients that a user answers in the account (OpenID Connect CIBA Core 1.0).
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { Detail } from '../../oauth/authorization-details.ts';
import type { Binding } from '../../oauth/binding.ts';
import { cibaGrant } from '../../oauth/registrable-values.ts';
import { batchedCall } from '../batched-call.ts';
import { bindingOf, type Confirmation, confirmationOf } from '../confirmation.ts';
import { pacePoll } from '../deferred-authorizations/pace-poll.ts';
import type { PollFailure } from '../device-authorizations/device-authorizations.ts';
import {
  issuedTokens,
  type Redemption,
  type RedemptionResult,
  type RedemptionRow,
  redeemCode,
  toRedemptionResult,
} from '../tokens/authorization-codes.ts';
import { type UsedProof, usedProof, useProof } from '../tokens/dpop-proofs.ts';
import { actsAt } from '../tokens/may-issue.ts';
import { withUser } from '../users/users.ts';

export interface NewBackchannelRequest {
  codeHash: Buffer;
  /** Names it on the page of its user. */
  id: string;
  clientId: string;
  /** Of what the client named the user by. */
  hintHash: Buffer;
  /** The user of the hint, whether the request may reach them or not; undefined for nobody. */
  sub: string | undefined;
  scope: string[];
  /** The resources that the request named. */
  resources: string[] | undefined;
  /** The authorization details that it asks for. */
  details: readonly Detail[];
  message: string | undefined;
  acrValues: string[];
  /** The key by which the client must redeem it. */
  binding: Binding;
  /** The proof of this key, which counts once. */
  proof: UsedProof | undefined;
  /** What the ping needs, encrypted; undefined where the client polls. */
  notification: Buffer | undefined;
  /** In seconds. */
  interval: number;
  lifetime: number;
  /** `perDay` is 0 for any number. */
  limits: { perHint: number; perDay: number; perClient: number };
}

/** A request that waits for its user. */
export interface BackchannelRequest {
  id: string;
  codeHash: Buffer;
  clientId: string;
  scope: string[];
  resources: string[] | undefined;
  details: readonly Detail[];
  message: string | undefined;
  acrValues: string[];
  binding: Binding;
  createdAt: Date;
  expiresAt: Date;
}

/** What became of a new request, and whom it reaches. */
export interface BackchannelOutcome {
  outcome: 'stored' | 'full' | 'unknown' | 'replayed';
  person: string | undefined;
}

/** What became of a decision; `unconfirmed` without a sign-in of its own. `seconds` are those until the request expires. */
export type BackchannelDecision = { outcome: 'decided'; seconds: number } | { outcome: 'unconfirmed' | 'gone' };

interface Row {
  id: string;
  auth_req_id_hash: Buffer;
  client_id: string;
  scope: string;
  audience: string[] | null;
  details: Detail[] | null;
  binding_message: string | null;
  acr_values: string[];
  cnf: Confirmation | null;
  created_at: Date;
  expires_at: Date;
}

const storeRequest = storedFunction(new URL('store_backchannel_request.sql', import.meta.url), [useProof]);
const decideRequest = storedFunction(new URL('decide_backchannel_request.sql', import.meta.url));
const useAuthReqId = storedFunction(new URL('use_auth_req_id.sql', import.meta.url), [redeemCode, useProof, pacePoll]);

const insert = statement('backchannel_requests.insert', `SELECT * FROM ${storeRequest.name}($1, $2, $3)`);
const decide = statement('backchannel_requests.decide', `SELECT * FROM ${decideRequest.name}($1, $2, $3, $4)`);
const isWaiting = 'sub = $1 AND decision IS NULL AND expires_at > now()';
const waiting = statement(
  'backchannel_requests.waiting',
  `SELECT id, auth_req_id_hash, client_id, scope, audience, details, binding_message, acr_values, cnf, created_at, expires_at
     FROM backchannel_requests WHERE ${isWaiting} ORDER BY created_at DESC, id LIMIT $2`,
);
const count = statement(
  'backchannel_requests.count',
  `SELECT count(*)::int AS waiting FROM backchannel_requests WHERE ${isWaiting}`,
);
const stillWaits = statement(
  'backchannel_requests.still_waits',
  'SELECT 1 AS waits FROM backchannel_requests WHERE id = $1 AND decision IS NULL AND expires_at > now()',
);
const notification = statement(
  'backchannel_requests.notification',
  `SELECT notification_encrypted AS sealed FROM backchannel_requests
    WHERE id = $1 AND notification_encrypted IS NOT NULL AND expires_at > now()`,
);
const poll = batchedCall('backchannel_requests.poll', {
  function: useAuthReqId,
  types: 'bytea, jsonb, jsonb',
  columns: 'r.*, u.*',
  join: withUser,
  locks: 'value_1',
});

export function backchannelRequestsRepository(sql: Sql) {
  return {
    /** Stores a request, with the mail to its user if it reaches one and the last mail is an hour old. */
    async insert({
      limits,
      proof,
      notification: sealed,
      ...asked
    }: NewBackchannelRequest): Promise<BackchannelOutcome> {
      const [row] = await sql.query<{ outcome: BackchannelOutcome['outcome']; person: string | null }>(insert, [
        {
          client_id: asked.clientId,
          sub: asked.sub,
          hint: asked.hintHash.toString('hex'),
          code: asked.codeHash.toString('hex'),
          id: asked.id,
          scope: asked.scope.join(' '),
          audience: asked.resources,
          details: asked.details.length > 0 ? asked.details : undefined,
          message: asked.message,
          acr_values: asked.acrValues,
          cnf: confirmationOf(asked.binding),
          interval: asked.interval,
          seconds: asked.lifetime,
          per_hint: limits.perHint,
          per_day: limits.perDay,
          per_client: limits.perClient,
        },
        sealed,
        usedProof(proof),
      ]);
      return { outcome: row!.outcome, person: row!.person ?? undefined };
    },
    /** The requests that wait for a user, newest first. */
    async waiting(sub: string, limit: number): Promise<BackchannelRequest[]> {
      return (await sql.query<Row>(waiting, [sub, limit])).map(toRequest);
    },
    async count(sub: string): Promise<number> {
      return (await sql.query<{ waiting: number }>(count, [sub]))[0]!.waiting;
    },
    /** Whether a request waits for its user. */
    async waits(id: string): Promise<boolean> {
      return (await sql.query(stillWaits, [id])).length > 0;
    },
    /** Decides about a request in the session of its user, and queues the ping of its client. */
    async decide(
      id: string,
      { sub, sessionId }: { sub: string; sessionId: string },
      decision: 'approved' | 'denied',
    ): Promise<BackchannelDecision> {
      const [row] = await sql.query<BackchannelDecision>(decide, [id, sub, sessionId, decision]);
      return row!;
    },
    /** What the ping of a request needs, encrypted; undefined once the request has expired. */
    async notification(id: string): Promise<Buffer | undefined> {
      return (await sql.query<{ sealed: Buffer }>(notification, [id]))[0]?.sealed;
    },
    /** Answers a poll, and stores its tokens if the user has approved. Parameters and result as for a device code. */
    async poll(
      redemption: Omit<Redemption, 'redirectUri' | 'codeChallenge'> & {
        /** Of the client. */ address: string | undefined;
      },
      slowDown: { by: number; most: number },
    ): Promise<RedemptionResult<PollFailure>> {
      const { codeHash, clientId, resource, details, retrySeconds, proof } = redemption;
      const [row] = await sql.query<RedemptionRow<PollFailure>>(poll, [
        codeHash,
        {
          client_id: clientId,
          redirect_uri: cibaGrant,
          resource,
          details,
          retry_seconds: retrySeconds,
          slow_down_seconds: slowDown.by,
          max_interval: slowDown.most,
          proof: usedProof(proof),
          acts_at: actsAt(redemption.address),
        },
        issuedTokens(redemption),
      ]);
      return toRedemptionResult(row);
    },
  };
}

const toRequest = (row: Row): BackchannelRequest => ({
  id: row.id,
  codeHash: row.auth_req_id_hash,
  clientId: row.client_id,
  scope: row.scope.split(' '),
  resources: row.audience ?? undefined,
  details: row.details ?? [],
  message: row.binding_message ?? undefined,
  acrValues: row.acr_values,
  binding: bindingOf(row.cnf),
  createdAt: row.created_at,
  expiresAt: row.expires_at,
});
