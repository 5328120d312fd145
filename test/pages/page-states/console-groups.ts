// Lists states of the console's group pages, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const groups = examples['console-groups'];
const group = examples['console-group'];
const edit = examples['console-group-edit'];
const deletion = examples['console-group-delete'];
const without = { ...group[1] };
delete without.unknown;

export const consoleGroupsStates: View[] = [
  { name: 'console-groups', data: { ...groups[1], problem: 'name' } },
  { name: 'console-groups', data: { ...groups[0], q: 'x' } },
  { name: 'console-groups', data: { ...groups[0], done: 'group-made' } },
  { name: 'console-groups', data: { ...groups[0], done: 'group-deleted' } },
  { name: 'console-group', data: { ...without, problem: 'nobody', people: [] } },
  { name: 'console-group', data: { ...without, problem: 'many' } },
  { name: 'console-group', data: { ...without, problem: 'several', several: 'two' } },
  { name: 'console-group', data: { ...without, problem: 'links' } },
  { name: 'console-group', data: { ...without, problem: 'no-way-in' } },
  { name: 'console-group', data: { ...group[0], done: 'group-changed' } },
  { name: 'console-group', data: { ...group[0], done: 'members-added' } },
  { name: 'console-group', data: { ...group[0], done: 'member-removed' } },
  { name: 'console-group-edit', data: { ...edit[1], problem: 'name' } },
  { name: 'console-group-edit', data: { ...edit[1], problem: 'description' } },
  { name: 'console-group-edit', data: { ...edit[1], problem: 'large' } },
  { name: 'console-group-edit', data: { ...edit[1], problem: 'links' } },
  { name: 'console-group-edit', data: { ...edit[1], problem: 'no-way-in' } },
  { name: 'console-group-delete', data: { ...deletion[1], members: 1001, problem: 'large' } },
];
