// Declares the channel of logout tokens (OpenID Connect Back-Channel Logout 1.0), which keeps the order of each receiver.
import type { Logger } from 'pino';
import { FetchRefused, type GuardedPost } from '../outbound/guarded-fetch.ts';
import type { AuditEvent } from '../repositories/audit/audit-events.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Store } from '../repositories/store.ts';
import type { LogoutDelivery } from '../repositories/logout-deliveries/logout-deliveries.ts';
import type { TokenService } from '../tokens/token-service.ts';
import type { Channel, Failure } from './channel.ts';

export interface LogoutChannelOptions {
  store: Store;
  tokens: Pick<TokenService, 'logoutToken'>;
  post: GuardedPost;
  /** Seconds after which a delivery is given up, and for which a finished one is kept. */
  retention: number;
  logger: Logger;
}

type Due = LogoutDelivery & { now?: Date };

const receiversAtOnce = 8;
const perReceiver = 4;
const lease = 20; // seconds: longer than an attempt can take

export function logoutChannel({ store, tokens, post, retention, logger }: LogoutChannelOptions): Channel<Due> {
  async function handle(deliveries: readonly Due[]): Promise<Failure<Due>[]> {
    // not from the cache, which may be out of date
    const client = await store.clients.find(deliveries[0]!.clientId);
    const uri = client?.status === 'enabled' ? client.metadata.backchannel_logout_uri : undefined;
    const reason = 'the client is disabled, or has no backchannel_logout_uri any more';
    if (!client || uri === undefined) return deliveries.map((row) => ({ row, reason, isPermanent: true }));
    const reasons = await Promise.all(deliveries.map((delivery) => deliver(client, uri, delivery)));
    return deliveries.flatMap((row, index) => {
      const reason = reasons[index];
      return reason === undefined ? [] : [{ row, reason }];
    });
  }

  /** @returns why it is to be tried again */
  async function deliver(client: Client, uri: string, delivery: Due): Promise<string | undefined> {
    let status: number;
    try {
      status = await post(uri, { logout_token: await tokens.logoutToken(client, delivery, delivery.now!) });
    } catch (error) {
      return reasonOf(error);
    }
    // sections 2.7 and 2.8: with 400 the receiver refuses the token; any other status is a failure
    if (status === 200 || status === 204) await record(delivery, 'delivered');
    else if (status === 400) await record(delivery, 'refused', 'answered 400');
    else return `answered ${status}`;
    return undefined;
  }

  async function record(delivery: Due, status: 'delivered' | 'refused', reason?: string): Promise<void> {
    const recorded = await store.transaction(async ({ logoutDeliveries, auditEvents }) => {
      if (!(await logoutDeliveries.finish(delivery, status, retention, reason))) return false;
      // a delivery at the first attempt needs no event: it has its own row and a log line
      if (status !== 'delivered' || delivery.attempts > 1) await auditEvents.insert(eventOf(status, delivery));
      return true;
    });
    if (recorded) logger.info({ ...facts(delivery), reason }, `logout token ${status}`);
  }

  return {
    name: 'logout',
    queue: {
      async claim({ logoutDeliveries }, busy) {
        const receivers = receiversAtOnce - busy.size;
        if (receivers < 1) return [];
        const claimed = await logoutDeliveries.claim({ busy: [...busy], receivers, parallel: perReceiver, lease });
        return [...Map.groupBy(claimed, ({ clientId }) => clientId)].map(([name, rows]) => ({ name, rows }));
      },
      nextPause: ({ logoutDeliveries }) => logoutDeliveries.nextPause(),
      giveUp: ({ logoutDeliveries }) => logoutDeliveries.giveUp(retention),
      fail: (delivery, reason) => store.logoutDeliveries.fail(delivery, reason),
      end: ({ logoutDeliveries }, delivery, reason) => logoutDeliveries.finish(delivery, 'given_up', retention, reason),
    },
    handle,
    recordEnd: ({ auditEvents }, delivery) => auditEvents.insert(eventOf('given_up', delivery)),
    facts,
    messages: {
      failed: 'logout token not delivered; will retry',
      givenUp: 'a logout token could not be delivered; giving up',
      unread: 'pending logout deliveries could not be read',
      unrecorded: 'a logout delivery could not be recorded',
    },
  };
}

const facts = ({ clientId, sub, attempts }: LogoutDelivery) => ({ client_id: clientId, sub, attempts });

function eventOf(status: 'delivered' | 'refused' | 'given_up', delivery: LogoutDelivery): AuditEvent {
  return {
    type: `logout_token.${status}`,
    outcome: status === 'delivered' ? 'success' : 'failure',
    actor: 'service',
    clientId: delivery.clientId,
    sub: delivery.sub,
    detail: { attempts: delivery.attempts },
  };
}

/** The reason in one line, for an administrator who can correct it. */
function reasonOf(error: unknown): string {
  if (!(error instanceof FetchRefused)) return error instanceof Error ? error.message : String(error);
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  const more = cause?.code ?? cause?.message;
  return (more === undefined ? error.message : `${error.message} (${more})`).slice(0, 500);
}
