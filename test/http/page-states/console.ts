// States that the console's own pages can be in, beside the examples.
import { examples } from '../../../src/http/views/index.ts';
import type { View } from './state.ts';

export const consoleStates: View[] = [
  { name: 'console-overview', data: { ...examples['console-overview'][1], more: false } },
];
