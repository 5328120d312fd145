// Lists states of the console's pages about the service, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const overview = examples['console-overview'][1];
const keys = examples['console-keys'][1];
const sessions = examples['console-sessions'][1];

export const consoleOperationsStates: View[] = [
  { name: 'console-overview', data: { ...overview, pending: { count: 3, more: false } } },
  {
    name: 'console-overview',
    data: {
      ...overview,
      checklist: overview.checklist!.map((item) => ({ ...item, isDone: !item.isDone })),
      done: 'backup-confirmed',
    },
  },
  { name: 'console-sessions', data: { ...sessions, fault: 'user', done: 'session-ended' } },
  { name: 'console-sessions', data: { ...sessions, fault: 'several' } },
  { name: 'console-sessions', data: { ...sessions, done: 'sessions-ended' } },
  { name: 'console-keys-rotate', data: { ...examples['console-keys-rotate'][1], chosen: [], fault: 'algorithms' } },
  ...['key-withdrawn', 'saml-key-created', 'saml-key-activated', 'saml-key-deleted'].map((done): View => ({
    name: 'console-keys',
    data: { ...keys, done },
  })),
];
