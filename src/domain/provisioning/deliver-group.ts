// Makes a group at a target what it is to be: its name, and those of its members who have an account there, in portions (federation 8, FR38).
import { portion, type TargetGroup } from '../../repositories/provisioning/provisioned-groups.ts';
import type { Target } from '../../repositories/provisioning/provisioning-targets.ts';
import type { Store } from '../../repositories/store.ts';
import { groupSchema, type PatchOperation } from '../../rules/provisioning/account.ts';
import { RequestRefused, type TargetConnection } from './target-client.ts';

export function createGroupDelivery({ provisionedGroups }: Store) {
  /** Finds or makes the group; undefined if another instance has taken over. */
  async function idOf(group: TargetGroup, connection: TargetConnection): Promise<string | undefined> {
    const { name } = group;
    const { found, status } = await connection.find('Groups', 'displayName', name);
    if (found.length > 1) throw new RequestRefused('several groups have this name', status);
    if (found[0]) {
      const { id } = found[0];
      return (await provisionedGroups.keep(group, id, group.isPosted, name)) ? id : undefined;
    }
    if (!(await provisionedGroups.post(group))) return undefined;
    const made = await connection.create('Groups', { schemas: [groupSchema], displayName: name });
    const id = made.id ?? (await connection.find('Groups', 'displayName', name)).found[0]?.id;
    if (id === undefined) throw new RequestRefused('the answer named no id of the new group', made.status);
    return (await provisionedGroups.keep(group, id, true, name)) ? id : undefined;
  }

  /** Sends members in portions until none differs; false if the group is gone at the target. */
  async function sendMembers(group: TargetGroup, id: string, connection: TargetConnection): Promise<boolean> {
    let { hasMembers } = group;
    for (;;) {
      const missing = await provisionedGroups.missing(group);
      if (missing.length === 0) break;
      const value = missing.map(({ remoteId }) => ({ value: remoteId }));
      const operations: PatchOperation[] = [{ op: 'add', path: 'members', value }];
      if ((await connection.patch('Groups', id, operations, hasMembers)) === undefined) return false;
      const subs = missing.map(({ sub }) => sub);
      await provisionedGroups.join(group, subs);
      hasMembers = true;
      if (missing.length < portion) break;
    }
    for (;;) {
      const surplus = await provisionedGroups.surplus(group);
      if (surplus.length === 0) break;
      const operations = surplus.map(({ remoteId }): PatchOperation => ({
        op: 'remove',
        path: `members[value eq ${JSON.stringify(remoteId)}]`,
      }));
      if ((await connection.patch('Groups', id, operations, hasMembers)) === undefined) return false;
      const subs = surplus.map(({ sub }) => sub);
      await provisionedGroups.leave(group, subs);
      if (surplus.length < portion) break;
    }
    return true;
  }

  /** The group is gone there: it is made anew, with all its members. */
  async function startAnew(group: TargetGroup, connection: TargetConnection): Promise<void> {
    await provisionedGroups.empty(group);
    await provisionedGroups.keep(group, undefined, false, undefined);
    if (!group.isWanted) return;
    const anew = { ...group, isPosted: false, hasMembers: false };
    const id = await idOf(anew, connection);
    if (id !== undefined && !(await sendMembers(anew, id, connection)))
      throw new RequestRefused('the new group cannot be found', 404);
  }

  /** @returns whether the target has nothing of the group any more @throws TargetFailure, RequestRefused */
  return async (group: TargetGroup, target: Target, connection: TargetConnection): Promise<'done' | 'gone'> => {
    const { name, isWanted } = group;
    let { remoteId } = group;
    if (!isWanted && remoteId === undefined && !group.isPosted) return 'gone';
    if (remoteId !== undefined && isWanted && group.written !== name) {
      const operations: PatchOperation[] = [{ op: 'replace', path: 'displayName', value: name }];
      const status = await connection.patch('Groups', remoteId, operations, group.hasMembers);
      if (status === undefined) remoteId = undefined;
      else await provisionedGroups.keep(group, remoteId, group.isMade, name);
    }
    remoteId ??= await idOf(group, connection);
    if (remoteId === undefined) return 'done';
    if (!(await sendMembers(group, remoteId, connection))) await startAnew(group, connection);
    if (isWanted) return 'done';
    // a group that was there before stays, without the members that it got from here
    if (group.isMade && target.leave !== 'nothing') await connection.remove('Groups', remoteId);
    return 'gone';
  };
}
