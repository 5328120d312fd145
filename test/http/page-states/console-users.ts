// States that the console's pages of users and groups can be in, beside the examples.
import { examples } from '../../../src/http/views/index.ts';
import type { View } from './state.ts';

const user = examples['console-user'];
const deletion = examples['console-user-delete'];
const groups = examples['console-groups'];
const users = examples['console-users'];

export const consoleUsersStates: View[] = [
  { name: 'console-user', data: { ...user[1], problem: 'groups' } },
  {
    name: 'console-user',
    data: {
      ...user[0],
      done: 'user-ended',
      user: { ...user[0].user, email: 'x@example.com', emailVerified: false },
    },
  },
  { name: 'console-user-delete', data: { ...deletion[1], problem: 'last-administrator' } },
  { name: 'console-users', data: { ...users[0], done: 'user-deleted' } },
  { name: 'console-groups', data: { ...groups[1], problem: 'name' } },
  { name: 'console-groups', data: { ...groups[0], done: 'group-made' } },
];
