// Lists states of the pages for devices, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const review = examples['device-review'][1];

export const deviceStates: View[] = [
  ...(['unknown', 'throttled', 'tampered', 'unmet'] as const).map((problem): View => ({
    name: 'device-code',
    data: { ...examples['device-code'][1], problem, wait: 90 },
  })),
  { name: 'login', data: { methods: [], destination: 'device' } },
  { name: 'device-review', data: { ...review, isSameNetwork: true } },
  { name: 'device-review', data: { ...review, client: { ...review.client, selfRegistered: false, host: '' } } },
  { name: 'device-decided', data: { ...examples['device-decided'][1], approved: false } },
];
