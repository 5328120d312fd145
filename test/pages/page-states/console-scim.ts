// Lists states of the console's pages about SCIM sources, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const source = examples['console-scim-source'];

export const consoleScimStates: View[] = [
  { name: 'console-scim-source', data: { ...source[0], done: 'scim-source-made' } },
  { name: 'console-scim-source', data: { ...source[1], done: 'scim-source-changed' } },
  { name: 'console-scim-source', data: { ...source[1], done: 'scim_token-removed' } },
];
