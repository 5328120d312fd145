// Lists states of the console's pages about resources, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const list = examples['console-resources'];
const resource = examples['console-resource'];
const form = examples['console-resource-form'];

export const consoleResourcesStates: View[] = [
  { name: 'console-resources', data: { ...list[0], done: 'resource-deleted' } },
  { name: 'console-resource', data: { ...resource[1], done: 'resource-made' } },
  { name: 'console-resource', data: { ...resource[0], done: 'resource-changed' } },
  { name: 'console-resource', data: { ...resource[0], resource: { ...resource[0].resource, jwtAlg: 'RS256' } } },
  ...(['taken', 'resource', 'own', 'name', 'client', 'lifetime', 'claims'] as const).map((problem): View => ({
    name: 'console-resource-form',
    data: { ...form[0], problem },
  })),
];
