// Follows a group that is renamed or deleted wherever it is named, whether an administrator or a directory does it.
import { isDeepStrictEqual } from 'node:util';
import type { Connection } from '../../entities/connections.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Repositories } from '../../repositories/store.ts';
import { alsoIn, endedIn, renamedIn } from '../../rules/users/group-names.ts';

/** Records that the groups of clients follow a group. */
const recordClients = (
  { auditEvents }: Repositories,
  by: Actor,
  clients: readonly { clientId: string; version: number }[],
): Promise<void> =>
  auditEvents.insertMany(
    clients.map(({ clientId, version }) => ({
      ...by,
      type: 'client.updated',
      outcome: 'success',
      clientId,
      detail: { version, members: ['access_groups'] },
    })),
  );

type Entries = Awaited<ReturnType<Repositories['connectedServers']['lockNaming']>>[number]['clients'];

/** Changes the entries of connected servers that name a group. */
async function changeServers(
  { connectedServers, auditEvents }: Repositories,
  by: Actor,
  group: string,
  change: (entries: Entries) => Entries,
  detail: AuditEvent['detail'],
): Promise<void> {
  for (const server of await connectedServers.lockNaming(group)) {
    const clients = change(server.clients);
    // an earlier step may have changed them
    if (isDeepStrictEqual(clients, server.clients)) continue;
    await connectedServers.update({ ...server, clients });
    await auditEvents.insert({
      ...by,
      type: 'connected_server.changed',
      outcome: 'success',
      detail: { connected_server: server.name, members: ['clients'], ...detail },
    });
  }
}

/** Lets the rules of connections give a group under its new name. */
async function renameInRules(
  { connections, auditEvents }: Repositories,
  by: Actor,
  name: string,
  to: string,
): Promise<void> {
  for (const connection of await connections.lockNaming(name)) {
    const { id, groupRules, defaultGroups } = connection;
    const rules = groupRules.map((rule) => ('group' in rule && rule.group === name ? { ...rule, group: to } : rule));
    const changed: Partial<Connection> = {
      ...(groupRules.some((rule) => 'group' in rule && rule.group === name) && { groupRules: rules }),
      ...(defaultGroups.includes(name) && { defaultGroups: renamedIn(defaultGroups, name, to) }),
    };
    await connections.update({ ...connection, ...changed });
    const members = [
      ...(changed.defaultGroups ? ['default_groups'] : []),
      ...(changed.groupRules ? ['group_rules'] : []),
    ];
    await auditEvents.insert({
      ...by,
      type: 'connection.changed',
      outcome: 'success',
      detail: { connection: id, members, group_before: name, group: to },
    });
  }
}

/**
 * In a transaction that holds both groups, before members move: new users get the new group, and what admits the members of one admits those of
 * both until the last one has moved.
 */
export async function admitBoth(repositories: Repositories, by: Actor, name: string, to: string): Promise<void> {
  await recordClients(repositories, by, await repositories.clientAccess.addGroup(name, to));
  await changeServers(
    repositories,
    by,
    name,
    (entries) => entries.map((entry) => ({ ...entry, groups: alsoIn(entry.groups, name, to) })),
    { group: to },
  );
  await repositories.signUpLinks.renameGroup(name, to);
  await renameInRules(repositories, by, name, to);
}

/** In a transaction that holds both groups, once the last member has moved. */
export async function renameReferences(repositories: Repositories, by: Actor, name: string, to: string): Promise<void> {
  await repositories.provisioningTargets.renameGroup(name, to);
  await recordClients(repositories, by, await repositories.clientAccess.renameGroup(name, to));
  await changeServers(
    repositories,
    by,
    name,
    (entries) => entries.map((entry) => ({ ...entry, groups: renamedIn(entry.groups, name, to) })),
    { group_before: name, group: to },
  );
}

/** In a transaction that holds the group, before its members leave: no new user gets it. */
export async function offerNoMore(repositories: Repositories, name: string): Promise<void> {
  await repositories.signUpLinks.removeGroup(name);
  await repositories.provisioningTargets.removeGroup(name);
}

/** In a transaction that deletes the group: a later group of this name would else admit its members. */
export async function removeReferences(repositories: Repositories, by: Actor, name: string): Promise<void> {
  await recordClients(repositories, by, await repositories.clientAccess.removeGroup(name));
  await changeServers(repositories, by, name, (entries) => endedIn(entries, name), { group_before: name });
}
