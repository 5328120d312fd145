// Reads and writes the table device_authorizations: requests of devices that wait for a user's decision (RFC 8628).
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { Detail } from '../../oauth/authorization-details.ts';
import type { Binding } from '../../oauth/binding.ts';
import type { RedemptionFailure } from '../../oauth/code-redemption.ts';
import { deviceGrant } from '../../oauth/registrable-values.ts';
import { splitScope } from '../../oauth/scope.ts';
import { actsAt } from '../tokens/may-issue.ts';
import { pacePoll } from '../deferred-authorizations/pace-poll.ts';
import { batchedCall } from '../batched-call.ts';
import { bindingOf, type Confirmation, confirmationOf } from '../confirmation.ts';
import {
  issuedTokens,
  type Redemption,
  type RedemptionResult,
  type RedemptionRow,
  redeemCode,
  toRedemptionResult,
} from '../tokens/authorization-codes.ts';
import { type UsedProof, usedProof, useProof } from '../tokens/dpop-proofs.ts';
import { withUser } from '../users/users.ts';

export interface NewDeviceAuthorization {
  codeHash: Buffer;
  shownCodeHash: Buffer;
  clientId: string;
  scope: string[];
  /** The resources that the request named. */
  resources: string[] | undefined;
  /** The authorization details that it asks for. */
  details: readonly Detail[] | undefined;
  /** The key by which the device must redeem its code. */
  binding: Binding;
  /** The proof of this key, which counts once. */
  proof: UsedProof | undefined;
  address: string | undefined;
  /** Undefined: the request counts in no network. */
  network: string | undefined;
  /** In seconds. */
  interval: number;
  lifetime: number;
  /** How many undecided requests the client, and the network, may have. */
  perClient: number;
  perNetwork: number;
}

/** A request that waits for a decision. */
export interface DeviceAuthorization {
  deviceCodeHash: Buffer;
  clientId: string;
  scope: string[];
  resources: string[] | undefined;
  details: readonly Detail[];
  binding: Binding;
  address: string | undefined;
  createdAt: Date;
  /** The seconds until it expires. */
  lifetime: number;
}

/** What became of a new request. */
export type DeviceOutcome = 'stored' | 'full' | 'replayed' | 'taken';

/** Why a poll gets no tokens. */
export type PollFailure = RedemptionFailure | 'pending' | 'slow_down' | 'denied';

interface Row {
  device_code_hash: Buffer;
  client_id: string;
  scope: string;
  audience: string[] | null;
  details: Detail[] | null;
  cnf: Confirmation | null;
  address: string | null;
  created_at: Date;
  lifetime: number;
}

const storeDeviceAuthorization = storedFunction(new URL('store_device_authorization.sql', import.meta.url), [useProof]);
const useDeviceCode = storedFunction(new URL('use_device_code.sql', import.meta.url), [redeemCode, useProof, pacePoll]);

const insert = statement(
  'device_authorizations.insert',
  `SELECT ${storeDeviceAuthorization.name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) AS outcome`,
);
const columns = `device_code_hash, client_id, scope, audience, details, cnf, host(address) AS address, created_at,
  extract(epoch FROM expires_at - now())::double precision AS lifetime`;
const isWaiting = 'user_code_hash = ANY ($1::bytea[]) AND decision IS NULL AND expires_at > now()';
const find = statement('device_authorizations.find', `SELECT ${columns} FROM device_authorizations WHERE ${isWaiting}`);
const decide = statement(
  'device_authorizations.decide',
  `UPDATE device_authorizations SET decision = $2 WHERE ${isWaiting} RETURNING ${columns}`,
);
const decidedClient = statement(
  'device_authorizations.decided_client',
  'SELECT client_id FROM device_authorizations WHERE user_code_hash = ANY ($1::bytea[]) AND decision IS NOT NULL',
);
const poll = batchedCall('device_authorizations.poll', {
  function: useDeviceCode,
  types: 'bytea, jsonb, jsonb',
  columns: 'r.*, u.*',
  join: withUser,
  locks: 'value_1',
});

export function deviceAuthorizationsRepository(sql: Sql) {
  return {
    /** `full` when the client or the network is at its limit, `replayed` when the proof was used before, `taken` when another request has the user code. */
    async insert(device: NewDeviceAuthorization): Promise<DeviceOutcome> {
      const [row] = await sql.query<{ outcome: DeviceOutcome }>(insert, [
        device.codeHash,
        device.shownCodeHash,
        device.clientId,
        device.scope.join(' '),
        device.resources,
        confirmationOf(device.binding),
        device.address,
        device.network,
        device.interval,
        device.lifetime,
        device.perClient,
        device.perNetwork,
        usedProof(device.proof),
        device.details && JSON.stringify(device.details),
      ]);
      return row!.outcome;
    },
    /** The request that waits under a user code. @param userCodeHashes of the code, one for each valid key */
    async find(userCodeHashes: Buffer[]): Promise<DeviceAuthorization | undefined> {
      const [row] = await sql.query<Row>(find, [userCodeHashes]);
      return row && toDeviceAuthorization(row);
    },
    /** Decides about a request; undefined when it no longer waits. Parameters and result as for find(). */
    async decide(userCodeHashes: Buffer[], decision: 'approved' | 'denied'): Promise<DeviceAuthorization | undefined> {
      const [row] = await sql.query<Row>(decide, [userCodeHashes, decision]);
      return row && toDeviceAuthorization(row);
    },
    /** The client of the request under a user code that was decided about. Parameter as for find(). */
    async decidedClient(userCodeHashes: Buffer[]): Promise<string | undefined> {
      const [row] = await sql.query<Pick<Row, 'client_id'>>(decidedClient, [userCodeHashes]);
      return row?.client_id;
    },
    /**
     * Answers a poll, and stores its tokens if the user has approved. The decision and its effects are one statement.
     * @param slowDown seconds by which an early poll raises the interval, and its maximum
     */
    async poll(
      redemption: Omit<Redemption, 'redirectUri' | 'codeChallenge'> & {
        /** Of the device. */ address: string | undefined;
      },
      slowDown: { by: number; most: number },
    ): Promise<RedemptionResult<PollFailure>> {
      const { codeHash, clientId, resource, details, retrySeconds, proof } = redemption;
      const [row] = await sql.query<RedemptionRow<PollFailure>>(poll, [
        codeHash,
        {
          client_id: clientId,
          redirect_uri: deviceGrant,
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

const toDeviceAuthorization = (row: Row): DeviceAuthorization => ({
  deviceCodeHash: row.device_code_hash,
  clientId: row.client_id,
  scope: splitScope(row.scope),
  resources: row.audience ?? undefined,
  details: row.details ?? [],
  binding: bindingOf(row.cnf),
  address: row.address ?? undefined,
  createdAt: row.created_at,
  lifetime: row.lifetime,
});
