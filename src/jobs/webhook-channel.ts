// Declares the channel of messages to webhooks (Standard Webhooks). Each receiver has a place of its own, so that none holds up another.
import type { Logger } from 'pino';
import type { SecretBox } from '../crypto/secret-box.ts';
import { webhookSignature } from '../crypto/webhook-signature.ts';
import { subscribeWebhooks } from '../domain/events/webhook-subscriber.ts';
import { maxWebhooks } from '../entities/webhooks.ts';
import { FetchRefused, type GuardedSend } from '../outbound/guarded-fetch.ts';
import { associatedDataOf } from '../repositories/keys/sealed-values.ts';
import type { Repositories, Store } from '../repositories/store.ts';
import type { WebhookAnswer, WebhookDelivery } from '../repositories/webhooks/webhook-deliveries.ts';
import type { Receiver } from '../repositories/webhooks/webhooks.ts';
import type { Channel, Failure } from './channel.ts';

export interface WebhookChannelOptions {
  store: Store;
  secretBox: Pick<SecretBox, 'open'>;
  send: GuardedSend;
  logger: Logger;
  /** Ends the attempts under way when the instance stops: another one makes them after the lease. */
  stopped: AbortSignal;
}

type Due = WebhookDelivery & { answer?: WebhookAnswer };

const perReceiver = 10;
const timeout = 15_000; // milliseconds for an answer
const lease = 30; // seconds: longer than an attempt can take
/** Seconds until the next attempt, by the number of the attempts. */
const pauses = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];
/** Seconds after which a receiver that fails is disabled, and a message that waits is given up. */
const limit = 5 * 86_400;

export function webhookChannel({ store, secretBox, send, logger, stopped }: WebhookChannelOptions): Channel<Due> {
  async function handle(deliveries: readonly Due[]): Promise<Failure<Due>[]> {
    const { webhookId } = deliveries[0]!;
    const receiver = await store.webhooks.receiver(webhookId);
    // it was disabled or deleted since: the lease ends later, and the messages wait as others of it do
    if (!receiver) return [];
    const secrets = secretsOf(webhookId, receiver);
    const failures = await Promise.all(deliveries.map((delivery) => attempt(receiver.url, secrets, delivery)));
    return failures.flatMap((failure) => failure ?? []);
  }

  const secretsOf = (id: string, { secretEncrypted, secondSecretEncrypted }: Receiver): string[] =>
    [
      [secretEncrypted, associatedDataOf('webhooks.secret_encrypted', id)] as const,
      [secondSecretEncrypted, associatedDataOf('webhooks.second_secret_encrypted', id)] as const,
    ].flatMap(([sealed, name]) => (sealed ? [secretBox.open(sealed, name).toString()] : []));

  async function attempt(url: string, secrets: readonly string[], delivery: Due): Promise<Failure<Due> | undefined> {
    const failed = (reason: string): Failure<Due> => ({
      row: delivery,
      reason,
      ...(delivery.attempts > pauses.length && { isPermanent: true }),
    });
    let answer: WebhookAnswer;
    try {
      answer = await send(url, { ...messageOf(secrets, delivery), timeout, signal: stopped });
    } catch (error) {
      if (stopped.aborted) return undefined;
      return failed(reasonOf(error));
    }
    delivery.answer = { ...answer, start: shown(answer.start) };
    if (answer.status >= 200 && answer.status < 300) {
      if (await store.webhookDeliveries.deliver(delivery, delivery.answer))
        logger.info({ ...facts(delivery), status: answer.status }, 'message to a webhook delivered');
      return undefined;
    }
    const reason = `answered ${answer.status}`;
    if (answer.status !== 410) return failed(reason);
    await store.transaction(async (repositories) => {
      await disable(repositories, delivery.webhookId, 'gone');
    });
    return { row: delivery, reason, isPermanent: true };
  }

  async function disable(repositories: Repositories, webhook: string, reason: 'gone' | 'failing'): Promise<void> {
    if (!(await repositories.webhooks.disable(webhook))) return;
    await subscribeWebhooks(repositories);
    const event = { type: 'webhook.disabled', outcome: 'success', actor: 'service' } as const;
    await repositories.auditEvents.insert({ ...event, detail: { webhook, reason } });
    logger.warn({ webhook, reason }, 'a webhook was disabled');
  }

  return {
    name: 'webhook',
    queue: {
      async claim({ webhookDeliveries }, busy) {
        const receivers = maxWebhooks - busy.size;
        if (receivers < 1) return [];
        const claimed = await webhookDeliveries.claim({ busy: [...busy], receivers, parallel: perReceiver, lease });
        return [...Map.groupBy(claimed, ({ webhookId }) => webhookId)].map(([name, rows]) => ({ name, rows }));
      },
      nextPause: ({ webhookDeliveries }) => webhookDeliveries.nextPause(),
      giveUp: ({ webhookDeliveries }) => webhookDeliveries.giveUp(limit),
      fail: (delivery, reason) =>
        store.transaction(async (repositories) => {
          const pause = pauses[delivery.attempts - 1]!;
          const { answer, webhookId } = delivery;
          const failed = await repositories.webhookDeliveries.fail(delivery, reason, answer, { pause, limit });
          if (failed?.isLong) await disable(repositories, webhookId, 'failing');
          return failed && pause;
        }),
      end: ({ webhookDeliveries }, delivery, reason) => webhookDeliveries.end(delivery, reason, delivery.answer),
    },
    handle,
    recordEnd: async () => undefined, // its row says so, and an event about it would be one more message
    facts,
    messages: {
      failed: 'a message to a webhook was not delivered; will retry',
      givenUp: 'a message to a webhook could not be delivered; giving up',
      unread: 'pending messages to webhooks could not be read',
      unrecorded: 'a message to a webhook could not be recorded',
    },
  };
}

/** The same id at each attempt, and for the same event at each replay, so that a receiver recognizes it. */
function messageOf(secrets: readonly string[], { eventId, body }: WebhookDelivery) {
  const id = `evt_${eventId}`;
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': webhookSignature(secrets, id, timestamp, body),
  };
  return { body, headers };
}

const facts = ({ webhookId, eventId, attempts }: WebhookDelivery) => ({ webhook: webhookId, event: eventId, attempts });

/** The database stores no zero byte, and a page shows no control characters. */
const shown = (start: string): string => start.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();

/** The reason in one line, without the address, which can have a secret in it. */
function reasonOf(error: unknown): string {
  if (!(error instanceof FetchRefused)) return error instanceof Error ? error.message : String(error);
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  const more = cause?.code ?? cause?.message;
  return (more === undefined ? 'refused' : `cannot be reached (${more})`).slice(0, 500);
}
