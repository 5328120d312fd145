// Declares the operations on the roles of clients.
import { z } from 'zod';
import { newRoleShape, roleHoldersShape } from '../../rules/claims/claim-shapes.ts';
import { text } from '../../oauth/text.ts';
import type { ClientRole } from '../../repositories/claims/client-roles.ts';
import { findClient } from './clients.ts';
import { operation } from './operation.ts';
import { table } from './text-table.ts';

const rolesPath = '/admin/api/clients/:id/roles';
const byClient = z.object({ id: text(255).describe('The client_id.') });
const byRole = byClient.extend({ role: text(100).describe('The name of the role.') });
const roleView = ({ name, description, groups, users }: ClientRole) => ({ name, description, groups, users });
const counted = ({ count }: { count: number }) => ({ count });

const listRoles = operation({
  permission: 'clients',
  method: 'GET',
  path: rolesPath,
  tag: 'roles',
  summary: 'Lists the roles of a client, with the groups that give them',
  params: byClient,
  answer: 'Roles',
  async handler({ store }, { params: { id } }) {
    const { clientId } = await findClient(store, id);
    return store.clientRoles.list(clientId);
  },
  view: (roles) => ({ roles: roles.map(roleView) }),
  command: {
    name: 'role list',
    text: (roles) =>
      table(
        ['ROLE', 'GROUPS', 'USERS', 'DESCRIPTION'],
        roles.map((role) => [role.name, role.groups.join(', '), String(role.users), role.description]),
      ),
    json: (roles) => roles.map(roleView),
  },
});

export const createRole = operation({
  permission: 'clients',
  method: 'POST',
  path: rolesPath,
  tag: 'roles',
  summary: 'Defines a role of a client',
  params: byClient,
  input: () => newRoleShape,
  status: 201,
  answer: 'Role',
  handler: ({ administration }, { params: { id }, input, actor }) => administration.createRole(actor, id, input),
  view: roleView,
  command: {
    name: 'role create',
    arguments: ['name'],
    options: { description: 'description' },
    text: ({ name }) => `Defined the role ${name}.`,
  },
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
export const giveRole = holders('give', 'Gives a role of a client to groups and users');
export const takeRole = holders('take', 'Takes a role of a client from groups and users');

export const deleteRole = operation({
  permission: 'clients',
  method: 'DELETE',
  path: `${rolesPath}/:role`,
  tag: 'roles',
  summary: 'Deletes a role of a client, which nothing has any more',
  params: byRole,
  handler: ({ administration }, { params: { id, role }, actor }) => administration.deleteRole(actor, id, role),
  command: {
    name: 'role delete',
    text: (_, { typed }) => `Deleted the role ${typed['role']}.`,
    json: (_, { params: { role } }) => ({ role }),
  },
});

export const claimOperations = [listRoles, createRole, giveRole, takeRole, deleteRole];
