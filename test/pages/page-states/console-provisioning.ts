// Lists states of the console's page about a provisioning target, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const [disabled, held] = examples['console-provisioning-target'];
const name = 'console-provisioning-target';
const going = { ...disabled!, reconcileForm: held!.reconcileForm!, users: held!.users };

export const consoleProvisioningStates: View[] = [
  { name, data: { ...disabled!, done: 'provisioning-target-made' } },
  { name, data: { ...disabled!, done: 'provisioning-target-changed' } },
  { name, data: { ...held!, hold: 'first' as const } },
  {
    name,
    data: { ...going, target: { ...held!.target, state: 'failing' as const }, done: 'provisioning-target-approved' },
  },
  {
    name,
    data: {
      ...going,
      target: { ...held!.target, state: 'active' as const, leave: 'delete' as const },
      users: (['adopted', 'changed', 'deleted'] as const).map((act) => ({ ...held!.users[0]!, act })),
      done: 'provisioning-target-reconciled',
    },
  },
];
