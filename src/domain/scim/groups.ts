// Creates, changes and deletes groups for a SCIM source, and their members by set operations (federation 8, FR38).
import type { Config } from '../../config.ts';
import { isUniqueViolation } from '../../database/database.ts';
import type { ScimSource } from '../../entities/scim-sources.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import type { ScimGroup } from '../../repositories/scim/scim-groups.ts';
import type { ScimPage } from '../../repositories/scim/scim-users.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { invalidValue, ScimError, taken } from '../../rules/scim/errors.ts';
import type { MemberChange } from '../../rules/scim/patch.ts';
import { mostMembers, type Values } from '../../rules/scim/resource.ts';
import { groupName } from '../../rules/users/administration.ts';
import { admitBoth, offerNoMore, removeReferences, renameReferences } from '../administration/group-references.ts';
import { guardedGroups } from '../administration/guarded-groups.ts';
import { membershipSource } from '../administration/scim-sources.ts';
import type { Expects } from './users.ts';

export interface ScimGroupsOptions {
  store: Store;
  config: Pick<Config, 'secondFactor'>;
}

/** The members of a request, and what it says about the group. */
export interface GroupChange {
  resource: Values;
  members: MemberChange | undefined;
}

const gone = () => new ScimError(404, 'there is no such resource');
const guards = () => new ScimError(403, 'only an administrator changes the members of this group');

/** The resource that the parts of a row stand for, without members. */
export const groupResource = ({ displayName, externalId }: ScimGroup): Values => ({
  displayName,
  ...(externalId !== undefined && { externalId }),
});

export function createScimGroups({ store, config }: ScimGroupsOptions) {
  const guarded = guardedGroups(config);
  const actorOf = ({ id }: ScimSource) => ({ actor: membershipSource(id), outcome: 'success' }) as const;

  /** @throws ScimError invalidValue */
  function divide({ groupPrefix }: ScimSource, { displayName, externalId }: Values) {
    const parsed = groupName.safeParse(`${groupPrefix}${String(displayName)}`);
    if (!parsed.success) throw invalidValue('displayName cannot be the name of a group');
    if (externalId !== undefined && Buffer.byteLength(String(externalId)) > 255)
      throw invalidValue('externalId has more than 255 bytes');
    return { name: parsed.data, displayName: String(displayName), externalId: externalId as string | undefined };
  }

  const changedUsers = (source: ScimSource, subs: readonly string[], detail: AuditEvent['detail']): AuditEvent[] =>
    subs.map((sub) => ({ ...actorOf(source), type: 'user.changed', sub, detail: { members: ['groups'], ...detail } }));

  /** In a transaction that holds the row of the group. @throws ScimError */
  async function changeMembers(
    { scimGroups, auditEvents }: Repositories,
    source: ScimSource,
    { id, name }: Pick<ScimGroup, 'id' | 'name'>,
    members: MemberChange,
  ): Promise<void> {
    const { stranger, guards: isGuarded, ...changed } = await scimGroups.changeMembers(source.id, id, members, guarded);
    if (stranger !== null) throw invalidValue(`no user of this source has the id ${stranger.slice(0, 100)}`);
    if (isGuarded && !changed.changed && (changed.skipped ?? []).length === 0) throw guards();
    await auditEvents.insertMany([
      ...changedUsers(source, changed.joined ?? [], { group: name }),
      ...changedUsers(source, changed.departed ?? [], { group_before: name }),
    ]);
    const skipped = changed.skipped ?? [];
    if (skipped.length === 0) return;
    const detail = { scim_source: source.id, group: name, subs: skipped.slice(0, 20) };
    await auditEvents.insert({ ...actorOf(source), type: 'group.guarded', outcome: 'failure', detail });
  }

  /** Renames a group with its members, as an administrator does. @throws ScimError */
  async function rename(repositories: Repositories, source: ScimSource, from: string, to: string): Promise<void> {
    const { groups, clientRoles, auditEvents } = repositories;
    if (guarded.includes(from) || guarded.includes(to)) throw guards();
    await groups.lock(from, to);
    const before = await groups.find(from);
    if (!before) throw gone();
    if (!(await groups.insert({ name: to, description: before.description }))) throw taken('a group has this name');
    await clientRoles.copyGroup(from, to);
    const by = actorOf(source);
    await admitBoth(repositories, by, from, to);
    const members = await groups.lockMembers(from, mostMembers + 1);
    if (members.length > mostMembers) throw invalidValue('the group has too many members to be renamed');
    const moved = await groups.move(from, members, to);
    await auditEvents.insertMany(changedUsers(source, moved, { group_before: from, group: to }));
    await renameReferences(repositories, by, from, to);
    const detail = { group_before: from, group: to, members: ['name'] };
    await auditEvents.insert({ ...by, type: 'group.changed', detail });
  }

  async function locked({ scimGroups }: Repositories, source: ScimSource, id: string): Promise<ScimGroup> {
    const found = await scimGroups.lock(source.id, id);
    if (!found) throw gone();
    return found;
  }

  const refused = (error: unknown): never => {
    if (isUniqueViolation(error)) throw taken('a group has this name, or this externalId');
    throw error;
  };

  return {
    list: (source: ScimSource, page: ScimPage, withMembers: boolean) =>
      store.scimGroups.list(source.id, page, withMembers),
    /** @throws ScimError 404 */
    async find(source: ScimSource, id: string, withMembers: boolean): Promise<ScimGroup> {
      const found = id.includes('\0') ? undefined : await store.scimGroups.find(source.id, id, withMembers);
      if (!found) throw gone();
      return found;
    },
    /** Whether a group has so many members that an answer need not have them. */
    isLarge: (source: ScimSource, id: string): Promise<boolean> => store.scimGroups.isLarge(source.id, id),
    /** @returns the id @throws ScimError */
    create: (source: ScimSource, { resource, members }: GroupChange): Promise<string> =>
      store
        .transaction(async (repositories) => {
          const { groups, scimGroups, auditEvents } = repositories;
          const values = divide(source, resource);
          const { name } = values;
          await groups.lock(name);
          const here = await groups.find(name);
          const isAdmitted = here?.guardedSources.includes(membershipSource(source.id)) ?? false;
          if ((guarded.includes(name) && !isAdmitted) || (await scimGroups.isTaken(name)) || (here && !isAdmitted))
            throw taken('a group has this name');
          if (!here) {
            await groups.insert({ name });
            await auditEvents.insert({ ...actorOf(source), type: 'group.created', detail: { group: name } });
          }
          const id = await scimGroups.insert(source.id, values);
          if (members) await changeMembers(repositories, source, { id, name }, members);
          return id;
        })
        .catch(refused),
    /** @param next makes the change from the locked group @throws ScimError */
    change: (source: ScimSource, id: string, expects: Expects, next: (mine: ScimGroup) => GroupChange): Promise<void> =>
      store
        .transaction(async (repositories) => {
          const { scimGroups, groups } = repositories;
          const mine = await locked(repositories, source, id);
          expects(mine);
          const { resource, members } = next(mine);
          const values = divide(source, resource);
          const isRenamed = values.displayName !== mine.displayName && values.name !== mine.name;
          if (isRenamed) await rename(repositories, source, mine.name, values.name);
          const isOther = values.displayName !== mine.displayName || values.externalId !== mine.externalId;
          // an administrator may have given the group another name, which stays until the source changes its own
          const name = isRenamed ? values.name : mine.name;
          if (isOther) await scimGroups.update(source.id, id, { ...values, name });
          if (isRenamed) await groups.delete(mine.name);
          if (members) await changeMembers(repositories, source, { id, name }, members);
        })
        .catch(refused),
    /** Ends the memberships of the source; the group itself goes with its last member. @throws ScimError */
    remove: (source: ScimSource, id: string, expects: Expects): Promise<void> =>
      store.transaction(async (repositories) => {
        const { scimGroups, groups, auditEvents } = repositories;
        const mine = await locked(repositories, source, id);
        expects(mine);
        await changeMembers(repositories, source, mine, { all: true, add: new Set(), remove: new Set() });
        await scimGroups.delete(source.id, id);
        // members that another source put there keep the group
        if (guarded.includes(mine.name)) return;
        await groups.lock(mine.name);
        if ((await groups.lockMembers(mine.name, 1)).length > 0) return;
        await offerNoMore(repositories, mine.name);
        await groups.delete(mine.name);
        await removeReferences(repositories, actorOf(source), mine.name);
        await auditEvents.insert({ ...actorOf(source), type: 'group.deleted', detail: { group: mine.name } });
      }),
  };
}
