// Declares webhooks: receivers of messages about events of the audit trail (Standard Webhooks, federation 14).
import { z } from 'zod';
import { isWebhookSecret } from '../crypto/webhook-signature.ts';
import { nounName } from '../oauth/display-text.ts';
import { rule } from '../oauth/refusals.ts';
import { text } from '../oauth/text.ts';
import { isEventPattern } from '../rules/webhooks/event-filter.ts';
import { column, entity, type EntityOf, member } from './entity.ts';

const maxPatterns = 100;
/** Each has its own place among the deliveries that run at the same time, so that none holds up another. */
export const maxWebhooks = 32;
/** Messages of one webhook that are counted. */
const maxCounted = 10_000;

const secret = z.string(rule('string')).refine(isWebhookSecret, rule('webhook-secret'));

export const webhooks = entity({
  table: 'webhooks',
  one: 'webhook',
  permission: 'webhooks',
  section: 'webhooks',
  called: 'name',
  order: ['name', 'url', 'events', 'status'],
  find: 'id = $1 OR name = $1',
  most: maxWebhooks,
  versioned: true,
  members: {
    name: member('The name that administrators see. It cannot be changed.', nounName, {
      required: true,
      fixed: true,
      form: 'text',
      list: true,
    }),
    url: member(
      'The https URL that gets the messages. It must be outside of the service’s own network.',
      text(2000).min(1, rule('empty')),
      { required: true, form: 'address', list: true },
    ),
    events: member(
      'The types of events that the webhook gets. An entry that ends in an asterisk, such as user.*, selects all types with that beginning.',
      z
        .array(z.string(rule('string')).refine(isEventPattern, rule('event-pattern')))
        .min(1, rule('empty'))
        .max(maxPatterns, rule('entries', { most: String(maxPatterns) })),
      {
        required: true,
        option: 'event',
        form: { kind: 'lines', lines: 5, writing: 'ltr' },
        list: (events: string[]) => events.join(' '),
      },
    ),
    status: member(
      'Whether the webhook gets messages. The service disables a webhook whose receiver answers 410, or fails for five days.',
      z.enum(['enabled', 'disabled']),
      { start: 'enabled', form: 'radio', list: 'tag' },
    ),
    secret: member(
      'The secret that signs the messages, whsec_ and 24 to 64 bytes in Base64. Without a value the service creates a secret.',
      secret,
      { secret: true },
    ),
    second_secret: member(
      'A second secret, which also signs the messages while the receiver changes from one secret to the other.',
      secret,
      { secret: true },
    ),
  },
  row: {
    waiting: column<number>(
      z.int().describe(`The number of messages that wait for delivery, counted up to ${maxCounted}.`),
      `webhook_waiting(webhooks.id, ${maxCounted})`,
    ),
    failing_since: column<Date | undefined>(
      z.iso.datetime().optional().describe('The time since which every delivery has failed.'),
      'webhook_failing_since(webhooks.id)',
    ),
  },
});

export type Webhook = EntityOf<typeof webhooks>;
