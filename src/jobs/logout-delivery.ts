// Delivers logout tokens (OpenID Connect Back-Channel Logout 1.0), each at least once, from any instance.
import type { Logger } from 'pino';
import { type DeliveryWorker, startDeliveryLoop, type UnderWay } from './delivery-loop.ts';
import { FetchRefused, type GuardedPost } from '../outbound/guarded-fetch.ts';
import type { AuditEvent } from '../repositories/audit/audit-events.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Store } from '../repositories/store.ts';
import type { LogoutDelivery } from '../repositories/logout-deliveries/logout-deliveries.ts';
import type { TokenService } from '../tokens/token-service.ts';

export interface LogoutDeliveryOptions {
  store: Store;
  tokens: Pick<TokenService, 'logoutToken'>;
  post: GuardedPost;
  /** Seconds after which a delivery is given up, and for which a finished one is kept. */
  retention: number;
  logger: Logger;
}

const receiversAtOnce = 8;
const perReceiver = 4;
const lease = 20; // seconds: longer than an attempt can take

export function startLogoutDelivery(options: LogoutDeliveryOptions): DeliveryWorker {
  const { store, tokens, post, retention, logger } = options;

  async function look(underWay: UnderWay): Promise<number | undefined> {
    const { givenUp, claimed, pause } = await store.transaction(async ({ logoutDeliveries, auditEvents }) => {
      const givenUp = await logoutDeliveries.giveUp(retention);
      for (const delivery of givenUp) await auditEvents.insert(eventOf('given_up', delivery));
      const receivers = receiversAtOnce - underWay.names.size;
      const pause = await logoutDeliveries.nextPause();
      if (receivers < 1) return { givenUp, claimed: [], pause };
      const claimed = await logoutDeliveries.claim({
        busy: [...underWay.names],
        receivers,
        parallel: perReceiver,
        lease,
      });
      return { givenUp, claimed, pause };
    });
    for (const delivery of givenUp) {
      const reason = delivery.lastFailure;
      logger.warn({ ...facts(delivery), reason }, 'a logout token could not be delivered; giving up');
    }
    for (const [clientId, deliveries] of Map.groupBy(claimed, (delivery) => delivery.clientId))
      underWay.add(clientId, deliverTo(clientId, deliveries));
    return pause;
  }

  async function deliverTo(clientId: string, deliveries: (LogoutDelivery & { now: Date })[]): Promise<void> {
    // not from the cache, which may be out of date
    const client = await store.clients.find(clientId);
    const uri = client?.status === 'enabled' ? client.metadata.backchannel_logout_uri : undefined;
    await Promise.all(
      deliveries.map((delivery) =>
        client && uri !== undefined
          ? deliver(client, uri, delivery)
          : record(delivery, 'given_up', 'the client is disabled, or has no backchannel_logout_uri any more'),
      ),
    );
  }

  async function deliver(client: Client, uri: string, delivery: LogoutDelivery & { now: Date }): Promise<void> {
    let status: number;
    try {
      status = await post(uri, { logout_token: await tokens.logoutToken(client, delivery, delivery.now) });
    } catch (error) {
      return retry(delivery, reasonOf(error));
    }
    // sections 2.7 and 2.8: with 400 the receiver refuses the token; any other status is a failure
    if (status === 200 || status === 204) return record(delivery, 'delivered');
    if (status === 400) return record(delivery, 'refused', 'answered 400');
    return retry(delivery, `answered ${status}`);
  }

  async function record(
    delivery: LogoutDelivery,
    status: 'delivered' | 'refused' | 'given_up',
    reason?: string,
  ): Promise<void> {
    const recorded = await store.transaction(async ({ logoutDeliveries, auditEvents }) => {
      if (!(await logoutDeliveries.finish(delivery, status, retention, reason))) return false;
      // a delivery at the first attempt needs no event: it has its own row and a log line
      if (status !== 'delivered' || delivery.attempts > 1) await auditEvents.insert(eventOf(status, delivery));
      return true;
    });
    if (recorded) logger.info({ ...facts(delivery), reason }, `logout token ${status.replace('_', ' ')}`);
  }

  async function retry(delivery: LogoutDelivery, reason: string): Promise<void> {
    const pause = await store.logoutDeliveries.fail(delivery, reason);
    logger.info({ ...facts(delivery), reason, pause }, 'logout token not delivered; will retry');
  }

  return startDeliveryLoop({
    look,
    failures: {
      look: 'pending logout deliveries could not be read',
      work: 'a logout delivery could not be recorded',
    },
    logger,
  });
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
