// Declares the operations on scopes for claims, and on the roles of clients.
import { z } from 'zod';
import { newRoleShape, newScopeShape, roleHoldersShape, scopeChangeShape } from '../../rules/claims/claim-shapes.ts';
import { text } from '../../oauth/text.ts';
import type { ClientRole } from '../../repositories/claims/client-roles.ts';
import type { ClaimScope } from '../../repositories/claims/scopes.ts';
import { findClient } from './clients.ts';
import { operation } from './operation.ts';
import { table } from './text-table.ts';

const path = '/admin/api/scopes';
const byScope = z.object({ scope: text(100).describe('The name of the scope.') });
const scopeView = ({ name, text, claims }: ClaimScope) => ({ name, text, claims });
const scopeOptions = { text: 'text', claim: 'claims' };

const listScopes = operation({
  permission: 'claims',
  method: 'GET',
  path,
  tag: 'scopes',
  summary: 'Lists all scopes for claims by name; there are at most 100',
  answer: 'Scopes',
  handler: ({ store }) => store.scopes.list(),
  view: (scopes) => ({ scopes: scopes.map(scopeView) }),
  command: {
    name: 'scope list',
    text: (scopes) =>
      table(
        ['NAME', 'CLAIMS'],
        scopes.map(({ name, claims }) => [name, claims.join(' ')]),
      ),
    json: (scopes) => scopes.map(scopeView),
  },
});

export const createScope = operation({
  permission: 'claims',
  method: 'POST',
  path,
  tag: 'scopes',
  summary: 'Defines a scope that releases claims; administrators give it to clients in their scope',
  input: () => newScopeShape,
  status: 201,
  answer: 'Scope',
  handler: ({ administration }, { input, actor }) => administration.createScope(actor, input as ClaimScope),
  view: scopeView,
  command: {
    name: 'scope create',
    arguments: ['name'],
    options: scopeOptions,
    text: ({ name }) => `Defined the scope ${name}. Give it to clients in their scope.`,
  },
});

export const changeScope = operation({
  permission: 'claims',
  method: 'PATCH',
  path: `${path}/:scope`,
  tag: 'scopes',
  summary: 'Changes what a scope releases, or what users read',
  params: byScope,
  input: () => scopeChangeShape,
  answer: 'Scope',
  handler: ({ administration }, { params: { scope }, input, actor }) =>
    administration.changeScope(actor, scope, input as Partial<ClaimScope>),
  view: scopeView,
  async shown({ store }, { scope }) {
    const found = (await store.scopes.list()).find(({ name }) => name === scope);
    return found && scopeView(found);
  },
  command: { name: 'scope change', options: scopeOptions, text: ({ name }) => `Changed the scope ${name}.` },
});

export const deleteScope = operation({
  permission: 'claims',
  method: 'DELETE',
  path: `${path}/:scope`,
  tag: 'scopes',
  summary: 'Deletes a scope for which no client is registered',
  params: byScope,
  handler: ({ administration }, { params: { scope }, actor }) => administration.deleteScope(actor, scope),
  command: {
    name: 'scope delete',
    text: ({ name }) => `Deleted the scope ${name}.`,
    json: ({ name }) => ({ scope: name }),
  },
});

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

export const claimOperations = [
  ...[listScopes, createScope, changeScope, deleteScope],
  ...[listRoles, createRole, giveRole, takeRole, deleteRole],
];
