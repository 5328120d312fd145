// Declares the answers of the operations on webhooks.
import { z } from 'zod';
import { answerOf } from '../../entities/entity.ts';
import { webhooks } from '../../entities/webhooks.ts';
import { webhookSecrets } from '../../domain/administration/webhooks.ts';

const time = z.iso.datetime();
const newSecret = z.string().describe('The secret, which no other answer shows: give it to the receiver now.');
const webhook = answerOf(webhooks).extend({ new_secret: newSecret.optional() });
const delivery = z.object({
  id: z.string(),
  event: z.string().describe('The id of the event in the audit trail. The header webhook-id is evt_ and this id.'),
  type: z.string(),
  status: z.enum(['waiting', 'delivered', 'given_up']),
  attempts: z.int(),
  answer: z
    .object({
      status: z.int(),
      time: z.int().describe('In milliseconds.'),
      start: z.string().describe('The first bytes of the body.'),
    })
    .optional()
    .describe('The last answer of the receiver.'),
  last_failure: z.string().optional(),
  created_at: time,
  next_attempt_at: time.optional(),
  finished_at: time.optional(),
});

export const webhookAnswers = {
  Webhook: webhook,
  WebhookPage: z.object({ webhooks: z.array(webhook), next_cursor: z.string().optional() }),
  NewWebhookSecret: z.object({ id: z.enum(webhookSecrets), new_secret: newSecret }),
  WebhookDeliveryPage: z.object({ deliveries: z.array(delivery), next_cursor: z.string().optional() }),
} as const;
