// Lists states of the console's group pages, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import { ownRefusals, type View } from './state.ts';

const groups = examples['console-groups'];
const group = examples['console-group'];
const edit = examples['console-group-edit'];
const deletion = examples['console-group-delete'];

const large = { member: 'name', code: 'group.large', params: { most: '1000' }, whole: true } as const;

const tooLong = { field: 'description', member: 'description', code: 'too-long', params: { most: '1000' } } as const;
/** Two fields at fault: the top of the page leads to each. */
const twice = {
  field: 'name',
  member: 'name',
  code: 'dots',
  whole: false,
  others: [{ ...tooLong, whole: false }],
} as const;

export const consoleGroupsStates: View[] = [
  { name: 'console-groups', data: { ...groups[0], q: 'x' } },
  { name: 'console-groups', data: { ...groups[0], done: 'group-made' } },
  { name: 'console-groups', data: { ...groups[0], done: 'group-deleted' } },
  { name: 'console-group', data: { ...group[1], people: [] } },
  ...ownRefusals('console.group').map((refused): View => ({ name: 'console-group', data: { ...group[1], refused } })),
  { name: 'console-group', data: { ...group[0], done: 'group-changed' } },
  { name: 'console-group', data: { ...group[0], done: 'members-added' } },
  { name: 'console-group', data: { ...group[0], done: 'member-removed' } },
  ...ownRefusals('console.groups').map((refused): View => ({
    name: 'console-group-edit',
    data: { ...edit[1], refused },
  })),
  { name: 'console-groups', data: { ...groups[0], refused: twice } },
  { name: 'console-group-edit', data: { ...edit[1], refused: twice } },
  { name: 'console-group-delete', data: { ...deletion[1], members: 1001, refused: large } },
];
