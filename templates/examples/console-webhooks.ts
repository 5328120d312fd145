// Gives example data of the console's pages about a webhook.
import type { ConsoleWebhooksPages } from '../../src/pages/views/console-webhooks.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';

const frame = { ...consoleFrame, section: 'webhooks' as const };
const uri = '/admin/webhooks/8c1e';
const uris = { editUri: `${uri}/edit`, deleteUri: `${uri}/delete` };
const since = new Date('2026-03-14T09:26:53Z');
const form = (action: string) => ({ action, hidden: { csrf: 'c' } });
export const consoleWebhooksExamples: Examples<ConsoleWebhooksPages> = {
  'console-webhook': [
    {
      ...frame,
      ...uris,
      webhook: {
        id: '8c1e',
        name: 'x',
        url: 'https://x.example',
        events: ['*'],
        isEnabled: false,
        waiting: 0,
        createdAt: since,
      },
      secrets: [{ id: 'secret' }],
      secretForm: form(`${uri}/secrets`),
      deliveries: [],
      replayForm: form(`${uri}/replay`),
    },
    {
      ...frame,
      ...uris,
      webhook: {
        id: '8c1e',
        name: 'Hafenverwaltungsbenachrichtigung',
        url: 'https://harbour.example/hooks/gatehouse?of=the-whole-service',
        events: ['user.*', 'group.changed', 'client.disabled'],
        isEnabled: true,
        waiting: 12,
        failingSince: since,
        createdAt: since,
      },
      secrets: [
        { id: 'secret', since },
        { id: 'second_secret', since },
      ],
      removeForm: form(`${uri}/secrets/remove`),
      deliveries: [
        {
          event: '4711',
          type: 'user.disabled',
          status: 'waiting',
          attempts: 3,
          answer: { status: 503, time: 14_999, start: '<html><body>Service unavailable, try again' },
          failure: 'answered 503',
          createdAt: since,
          nextAt: since,
          eventUri: '/admin/audit/4711',
        },
        {
          event: '4710',
          type: 'user.second_factor_removed',
          status: 'given_up',
          attempts: 8,
          failure: 'cannot be reached (ECONNREFUSED)',
          createdAt: since,
          eventUri: '/admin/audit/4710',
        },
        {
          event: '4709',
          type: 'group.changed',
          status: 'delivered',
          attempts: 1,
          answer: { status: 204, time: 38, start: '' },
          createdAt: since,
          eventUri: '/admin/audit/4709',
        },
      ],
      replayForm: form(`${uri}/replay`),
      first: uri,
      next: `${uri}?cursor=x`,
    },
  ],
  'console-webhook-secret': [
    { ...frame, name: 'x', uri, id: 'secret', secret: 'whsec_x' },
    {
      ...frame,
      name: 'Hafenverwaltungsbenachrichtigung',
      uri,
      id: 'second_secret',
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjUPD8ILA==',
    },
  ],
};
