// Lists states of the console's pages about webhooks, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const webhook = examples['console-webhook'];

export const consoleWebhooksStates: View[] = [
  { name: 'console-webhook', data: { ...webhook[1], done: 'webhook-changed' } },
  { name: 'console-webhook', data: { ...webhook[1], done: 'webhook-secret-removed' } },
  { name: 'console-webhook', data: { ...webhook[0], done: 'webhook-replayed' } },
  { name: 'console-webhook', data: { ...webhook[0], done: 'webhook-made' } },
];
