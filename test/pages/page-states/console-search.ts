// Lists states of the console's search page, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

export const consoleSearchStates: View[] = [
  { name: 'console-search', data: { ...examples['console-search'][0], searched: 'nobody' } },
];
