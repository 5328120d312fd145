// Makes a group at a target what it is to be: its name, and those of its members who have an account there, in portions (federation 8, FR38).
import { portion, type TargetGroup } from '../../repositories/provisioning/provisioned-groups.ts';
import type { Target } from '../../repositories/provisioning/provisioning-targets.ts';
import type { Store } from '../../repositories/store.ts';
import { groupSchema, type PatchOperation } from '../../rules/provisioning/account.ts';
import { RequestRefused, type TargetConnection } from './target-client.ts';

/** A group whose id at the target is known. */
type KnownGroup = TargetGroup & { remoteId: string };

/** Whether the group has no member at the target: one that was there before may have some that the target does not show. */
const isEmpty = ({ isMade, hasMembers }: TargetGroup): boolean => isMade && !hasMembers;

export function createGroupDelivery({ provisionedGroups }: Store) {
  /** Creates the group. A request that is refused made nothing: a group that is found later was there before. */
  async function create(group: TargetGroup, connection: TargetConnection) {
    try {
      return await connection.create('Groups', { schemas: [groupSchema], displayName: group.name });
    } catch (error) {
      if (error instanceof RequestRefused && !group.isPosted) await provisionedGroups.unpost(group);
      throw error;
    }
  }

  /** Finds or makes the group; undefined if another instance has taken over. */
  async function known(group: TargetGroup, connection: TargetConnection): Promise<KnownGroup | undefined> {
    const { name } = group;
    const { found, status } = await connection.find('Groups', 'displayName', name);
    if (found.length > 1) throw new RequestRefused('several groups have this name', status);
    if (found[0]) return keep(found[0].id, group.isPosted);
    if (!(await provisionedGroups.post(group))) return undefined;
    const made = await create(group, connection);
    const id = made.id ?? (await connection.find('Groups', 'displayName', name)).found[0]?.id;
    if (id === undefined) throw new RequestRefused('the answer named no id of the new group', made.status);
    return keep(id, true);

    async function keep(remoteId: string, isMade: boolean): Promise<KnownGroup | undefined> {
      return (await provisionedGroups.keep(group, remoteId, isMade, name)) ? { ...group, remoteId, isMade } : undefined;
    }
  }

  /** Sends members in portions until none differs; false if the group is gone at the target. */
  async function sendMembers(group: KnownGroup, connection: TargetConnection): Promise<boolean> {
    const { remoteId } = group;
    let mayHide = isEmpty(group);
    for (;;) {
      const missing = await provisionedGroups.missing(group);
      if (missing.length === 0) break;
      const value = missing.map(({ remoteId }) => ({ value: remoteId }));
      const operations: PatchOperation[] = [{ op: 'add', path: 'members', value }];
      if ((await connection.patch('Groups', remoteId, operations, mayHide)) === undefined) return false;
      const subs = missing.map(({ sub }) => sub);
      await provisionedGroups.join(group, subs);
      mayHide = false;
      if (missing.length < portion) break;
    }
    for (;;) {
      const surplus = await provisionedGroups.surplus(group);
      if (surplus.length === 0) break;
      const operations = surplus.map(({ remoteId }): PatchOperation => ({
        op: 'remove',
        path: `members[value eq ${JSON.stringify(remoteId)}]`,
      }));
      if ((await connection.patch('Groups', remoteId, operations, mayHide)) === undefined) return false;
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
    await provisionedGroups.unpost(group);
    if (!group.isWanted) return;
    const anew = { ...group, isPosted: false, hasMembers: false };
    const found = await known(anew, connection);
    if (found && !(await sendMembers(found, connection)))
      throw new RequestRefused('the new group cannot be found', 404);
  }

  /** @returns whether the target has nothing of the group any more @throws TargetFailure, RequestRefused */
  return async (group: TargetGroup, target: Target, connection: TargetConnection): Promise<'done' | 'gone'> => {
    const { name, isWanted, remoteId } = group;
    if (!isWanted && remoteId === undefined && !group.isPosted) return 'gone';
    if (remoteId !== undefined && isWanted && group.written !== name) {
      const operations: PatchOperation[] = [{ op: 'replace', path: 'displayName', value: name }];
      if ((await connection.patch('Groups', remoteId, operations, isEmpty(group))) === undefined) {
        await startAnew(group, connection);
        return 'done';
      }
      await provisionedGroups.keep(group, remoteId, group.isMade, name);
    }
    const there = remoteId === undefined ? await known(group, connection) : { ...group, remoteId };
    if (!there) return 'done';
    if (!(await sendMembers(there, connection))) await startAnew(group, connection);
    if (isWanted) return 'done';
    // a group that was there before stays, without the members that it got from here
    if (there.isMade && target.leave !== 'nothing') await connection.remove('Groups', there.remoteId);
    return 'gone';
  };
}
