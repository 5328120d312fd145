// Lists states of the pages about clients that are known by their document, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const waiting = examples['new-application'][1];
const consent = examples.consent[1];
const review = examples['device-review'][1];
const document = { claimedName: 'Harbour Editor', onlyLoopback: true };

export const applicationStates: View[] = [
  {
    name: 'new-application',
    data: {
      ...waiting,
      state: 'unusable',
      reason: 'client_id in the document must be the address of the document, character by character',
    },
  },
  { name: 'new-application', data: { ...waiting, state: 'throttled', wait: 90 } },
  { name: 'new-application', data: { ...waiting, state: 'full' } },
  { name: 'new-application', data: { ...waiting, state: 'many' } },
  { name: 'login', data: { problem: 'client', newApplicationUri: '/login' } },
  { name: 'consent', data: { ...consent, client: { ...consent.client, document } } },
  { name: 'consent', data: { ...consent, client: { ...consent.client, selfRegistered: false, document } } },
  { name: 'device-review', data: { ...review, client: { ...review.client, selfRegistered: false, document } } },
];
