// Lists states of the console's page about a resource, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const resource = examples['console-resource'];

export const consoleResourcesStates: View[] = [
  { name: 'console-resource', data: { ...resource[1], done: 'resource-made' } },
  { name: 'console-resource', data: { ...resource[0], done: 'resource-changed' } },
  { name: 'console-resource', data: { ...resource[0], resource: { ...resource[0].resource, jwtAlg: 'RS256' } } },
];
