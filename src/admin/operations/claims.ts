// Declares the operations on the roles of clients.
import { z } from 'zod';
import { roles } from '../../entities/roles.ts';
import { roleHoldersShape } from '../../rules/claims/claim-shapes.ts';
import { text } from '../../oauth/text.ts';
import { findClient } from './clients.ts';
import { entityOperations } from './entities.ts';
import { operation } from './operation.ts';

const rolesPath = '/admin/api/clients/:id/roles';
const byClient = z.object({ id: text(255).describe('The client_id.') });
const byRole = byClient.extend({ role: text(100).describe('The name of the role.') });
const counted = ({ count }: { count: number }) => ({ count });

export const roleActs = entityOperations(roles, {
  says: {
    list: 'Lists the roles of a client, with the groups to which they are assigned',
    create: 'Creates a role of a client',
    change: 'Changes the description of a role of a client',
    delete: 'Deletes a role of a client, and removes it from all groups and users',
  },
  named: 'The name of the role.',
  most: 100,
  answers: { one: 'Role', page: 'Roles' },
  columns: {
    ROLE: ({ name }) => name,
    GROUPS: ({ groups }) => groups.join(', '),
    USERS: ({ users }) => String(users),
    DESCRIPTION: ({ description }) => description,
  },
  done: {
    create: ({ name }) => `Defined the role ${name}.`,
    change: ({ name }) => `Changed the role ${name}.`,
    delete: ({ name }) => `Deleted the role ${name}.`,
  },
  repository: ({ store }) => ({
    ...store.clientRoles,
    async list(page, clientId = '') {
      await findClient(store, clientId);
      return store.clientRoles.list(page, clientId);
    },
  }),
  administration: ({ administration }) => administration.roles,
});

const holders = (name: 'give' | 'take', summary: string) =>
  operation({
    permission: 'clients',
    method: 'POST',
    path: `${rolesPath}/:role/${name}`,
    tag: 'roles',
    summary,
    params: byRole,
    input: () => roleHoldersShape,
    answer: 'HoldersChange',
    async handler({ administration }, { params: { id, role }, input, actor }) {
      return { count: await administration[name === 'give' ? 'giveRole' : 'takeRole'](actor, id, role, input) };
    },
    view: counted,
    command: {
      name: `role ${name}`,
      options: { group: 'groups', member: 'users' },
      text: ({ count }) => `Changed for ${count} groups and users.`,
    },
  });
export const giveRole = holders('give', 'Assigns a role of a client to groups and users');
export const takeRole = holders('take', 'Removes a role of a client from groups and users');

const { list, create, change, remove } = roleActs;
export const claimOperations = [list, create, change, giveRole, takeRole, remove];
