// Declares the operations on webhooks: those of every entity, and those on their secrets and deliveries (federation 14).
import { z } from 'zod';
import { webhookAdministration, webhookSecrets } from '../../domain/administration/webhooks.ts';
import { isNumber, pageOf, pageShape, readCursor } from '../../domain/administration/paging.ts';
import { type Webhook, webhooks } from '../../entities/webhooks.ts';
import { rule } from '../../oauth/refusals.ts';
import { text } from '../../oauth/text.ts';
import type { WebhookDeliverySummary } from '../../repositories/webhooks/webhook-deliveries.ts';
import { entityOperations } from './entities.ts';
import { operation } from './operation.ts';
import { table } from './text-table.ts';

const named = 'The id, or the name.';
const path = '/admin/api/webhooks/:webhook';
const section = { permission: 'webhooks', tag: 'webhooks' } as const;
const byWebhook = z.object({ webhook: text(255).describe(named) });

/** A new webhook has its secret once, if the service made it. */
type Shown = Webhook & { newSecret?: string };

export const webhookActs = entityOperations(webhooks, {
  says: {
    list: 'Lists all webhooks (at most 32), newest first',
    create: 'Creates a webhook, which gets a message about each event of the named types',
    show: 'Shows a webhook, without its secrets',
    change: 'Changes a webhook, except its name',
    delete: 'Deletes a webhook, with its undelivered messages',
  },
  named,
  most: 255,
  answers: { one: 'Webhook', page: 'WebhookPage' },
  columns: {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    STATUS: ({ status }) => status,
    URL: ({ url }) => url,
    EVENTS: ({ events }) => events.join(' '),
    WAITING: ({ waiting }) => String(waiting),
  },
  done: {
    create: (webhook: Shown) =>
      `Created the webhook ${webhook.name}.${webhook.newSecret === undefined ? '' : ` Its secret, which is shown only now: ${webhook.newSecret}`}`,
    change: ({ name, status }) => `Changed the webhook ${name}: it is ${status}.`,
    delete: ({ name }) => `Deleted the webhook ${name}.`,
  },
  repository: ({ store }) => store.webhooks,
  administration: webhookAdministration,
  answer: ({ newSecret }: Shown) => (newSecret === undefined ? {} : { new_secret: newSecret }),
});

export const addWebhookSecret = operation({
  ...section,
  method: 'POST',
  path: `${path}/secrets`,
  summary: 'Creates a second secret for a webhook. Both secrets sign each message until one is removed',
  params: byWebhook,
  status: 201,
  answer: 'NewWebhookSecret',
  handler: (context, { params: { webhook }, actor }) => webhookAdministration(context).addSecret(actor, webhook),
  view: ({ id, secret }) => ({ id, new_secret: secret }),
  command: {
    name: 'webhook add-secret',
    text: ({ id, secret }) => `Made the secret ${id}, which is shown only now: ${secret}`,
  },
});

export const removeWebhookSecret = operation({
  ...section,
  method: 'DELETE',
  path: `${path}/secrets/:secret`,
  summary: 'Removes one of two secrets of a webhook, which then signs no further message',
  params: byWebhook.extend({ secret: z.enum(webhookSecrets, rule('one-of')).describe('The id of the secret.') }),
  handler: (context, { params: { webhook, secret }, actor }) =>
    webhookAdministration(context).removeSecret(actor, webhook, secret),
  command: {
    name: 'webhook remove-secret',
    text: (_done, { params: { secret } }) => `Removed the secret ${secret}.`,
    json: (_done, { params: { webhook, secret } }) => ({ webhook, secret }),
  },
});

const deliveryView = (delivery: WebhookDeliverySummary) => ({
  id: delivery.id,
  event: delivery.eventId,
  type: delivery.type,
  status: delivery.status,
  attempts: delivery.attempts,
  answer: delivery.answer,
  last_failure: delivery.lastFailure,
  created_at: delivery.createdAt.toISOString(),
  next_attempt_at: delivery.nextAttemptAt?.toISOString(),
  finished_at: delivery.finishedAt?.toISOString(),
});

export const listWebhookDeliveries = operation({
  ...section,
  method: 'GET',
  path: `${path}/deliveries`,
  summary:
    'Lists the messages to a webhook with the last answers, newest first. Finished messages are kept for a week, and at most 1000',
  params: byWebhook,
  input: () => pageShape,
  answer: 'WebhookDeliveryPage',
  async handler(context, { params: { webhook }, input: { limit, cursor } }) {
    const { id } = await webhookActs.find(context, webhook);
    const page = { limit, after: readCursor(cursor, isNumber) };
    return { limit, deliveries: await context.store.webhookDeliveries.list(id, page) };
  },
  view: ({ limit, deliveries }) =>
    pageOf('deliveries', deliveries, limit, deliveryView, ({ createdAt: at, id }) => ({ at, id })),
  command: {
    name: 'webhook deliveries',
    options: { limit: 'limit' },
    limit: 50,
    text: ({ deliveries }) =>
      table(
        ['CREATED', 'EVENT', 'TYPE', 'STATUS', 'ATTEMPTS', 'NEXT ATTEMPT', 'ANSWER', 'LAST FAILURE'],
        deliveries.map((delivery) => [
          delivery.createdAt.toISOString(),
          delivery.eventId,
          delivery.type,
          delivery.status,
          String(delivery.attempts),
          delivery.nextAttemptAt?.toISOString() ?? '',
          delivery.answer ? `${delivery.answer.status} in ${delivery.answer.time} ms` : '',
          delivery.lastFailure ?? '',
        ]),
      ),
    json: ({ deliveries }) => deliveries.map(deliveryView),
  },
});

export const replayWebhookEvent = operation({
  ...section,
  method: 'POST',
  path: `${path}/replay`,
  summary: 'Sends the message about an event to a webhook again, with the same id',
  params: byWebhook,
  input: () =>
    z.strictObject({
      event: z
        .string(rule('string'))
        .refine(isNumber, rule('event-id'))
        .describe('The id of the event in the audit trail.'),
    }),
  handler: (context, { params: { webhook }, input: { event }, actor }) =>
    webhookAdministration(context).replay(actor, webhook, event),
  command: {
    name: 'webhook replay',
    arguments: ['event'],
    text: (_done, { input: { event } }) => `The message about the event ${event} is sent once more.`,
    json: (_done, { params: { webhook }, input: { event } }) => ({ webhook, event }),
  },
});

export const webhookOperations = [
  ...webhookActs.all,
  addWebhookSecret,
  removeWebhookSecret,
  listWebhookDeliveries,
  replayWebhookEvent,
];
