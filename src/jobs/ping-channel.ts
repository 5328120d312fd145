// Declares the channel of pings: they tell a client that a user has answered its backchannel request (OpenID Connect CIBA Core 10.2).
import type { Logger } from 'pino';
import type { SecretBox } from '../crypto/secret-box.ts';
import { FetchRefused, type GuardedSend } from '../outbound/guarded-fetch.ts';
import { associatedDataOf } from '../repositories/keys/sealed-values.ts';
import type { OutboxRow } from '../repositories/outbox/outbox.ts';
import type { Store } from '../repositories/store.ts';
import type { Channel, Failure } from './channel.ts';
import { outboxQueue } from './outbox.ts';

export interface PingChannelOptions {
  store: Store;
  secretBox: Pick<SecretBox, 'open'>;
  send: GuardedSend;
  logger: Logger;
  /** Ends the attempts under way when the instance stops: another one makes them after the lease. */
  stopped: AbortSignal;
}

const timeout = 5_000; // milliseconds for an answer
const lease = 15; // seconds: longer than an attempt can take
/** Seconds after which a ping is given up: its request has expired by then. */
const deadline = 600;

export function pingChannel({ store, secretBox, send, logger, stopped }: PingChannelOptions): Channel<OutboxRow> {
  async function ping(row: OutboxRow): Promise<Failure<OutboxRow> | undefined> {
    const ended = (reason: string) => ({ row, reason, isPermanent: true });
    const id = String(row.data['request']);
    const sealed = await store.backchannelRequests.notification(id);
    if (!sealed) return ended('the request has expired');
    const client = row.clientId === undefined ? undefined : await store.clients.find(row.clientId);
    const url = client?.status === 'enabled' ? client.metadata.backchannel_client_notification_endpoint : undefined;
    if (url === undefined) return ended('the client is disabled, or has no notification endpoint any more');
    const name = associatedDataOf('backchannel_requests.notification_encrypted', id);
    const { auth_req_id, client_notification_token: token } = JSON.parse(
      secretBox.open(sealed, name).toString(),
    ) as Record<string, string>;
    try {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
      // no redirect is followed, and what an answer says beyond its status does not count
      const { status } = await send(url, { body: JSON.stringify({ auth_req_id }), headers, timeout, signal: stopped });
      if (status >= 500 || status === 429) return { row, reason: `answered ${status}` };
      if (status < 200 || status >= 300) return ended(`answered ${status}`);
    } catch (error) {
      // a later instance takes it
      if (stopped.aborted) return undefined;
      return { row, reason: error instanceof FetchRefused ? error.message.slice(0, 500) : String(error) };
    }
    if (await store.outbox.delete(row.id)) logger.info(facts(row), 'ping delivered');
    return undefined;
  }

  return {
    name: 'ping',
    queue: outboxQueue(store, { name: 'ping', parallel: 8, batch: 1, lease, deadline }),
    handle: async (rows) => (await Promise.all(rows.map(ping))).flatMap((failure) => failure ?? []),
    recordEnd: ({ auditEvents }, row) =>
      auditEvents.insert({
        type: 'backchannel.ping_failed',
        outcome: 'failure',
        actor: 'service',
        clientId: row.clientId,
        detail: { attempts: row.attempts },
      }),
    facts,
    messages: {
      failed: 'a ping was not delivered; will retry',
      givenUp: 'a ping could not be delivered; giving up',
      unread: 'pending pings could not be read',
      unrecorded: 'a ping could not be recorded',
    },
  };
}

const facts = ({ clientId, attempts }: OutboxRow) => ({ client_id: clientId, attempts });
