// Creates, changes and deletes groups, a part of administration.ts. A group with very many members is renamed and deleted in several transactions.
import { changed, type Input, starts } from '../../entities/entity.ts';
import { type Group, type GroupChange, type GroupMembers, groups as declared } from '../../entities/groups.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import { differing } from '../../repositories/entities.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import { admitBoth, offerNoMore, removeReferences, renameReferences } from './group-references.ts';
import { requireDecidedMembers } from './power.ts';

/** How many members one transaction changes, within the deadline of a request. */
export const maxAtOnce = 1_000;

/** What differs between two groups, for an event: with both values of what moves trust (federation FR14). */
function differences(before: Group, after: Group): { members: string[] } & NonNullable<AuditEvent['detail']> {
  const members = differing(declared, before, after).sort();
  const isTrust = members.includes('guarded_sources');
  const trust = { guarded_sources_before: before.guardedSources, guarded_sources: after.guardedSources };
  return { members, ...(isTrust && trust) };
}

/** Makes an audit event for each user: groups are data of the user. */
function changedUsers(by: Actor, subs: readonly string[], detail: AuditEvent['detail']): AuditEvent[] {
  return subs.map((sub) => ({
    ...by,
    type: 'user.changed',
    outcome: 'success',
    sub,
    detail: { members: ['groups'], ...detail },
  }));
}

export function groupChanges(store: Store) {
  const found = async ({ groups }: Repositories, name: string): Promise<Group> => {
    const group = (await groups.lock(name)).length > 0 ? await groups.find(name) : undefined;
    if (!group) throw notFound('there is no such group');
    return group;
  };
  const record = async ({ auditEvents }: Repositories, by: Actor, event: Pick<AuditEvent, 'type' | 'detail'>) =>
    auditEvents.insert({ ...event, ...by, outcome: 'success' });

  /**
   * Empties a group, in several transactions if it is large and `gradual` allows it, and performs the last step with the rest.
   * @param steps.begin locks the rows; groups are locked before their members
   * @param steps.empty changes locked members, and returns their subs
   * @throws OAuthError conflict if the group has more members than one transaction changes
   */
  async function emptied(
    by: Actor,
    name: string,
    gradual: boolean,
    steps: {
      begin: (repositories: Repositories, first: boolean) => Promise<void>;
      empty: (repositories: Repositories, subs: string[]) => Promise<string[]>;
      detail: AuditEvent['detail'];
      last: (repositories: Repositories) => Promise<void>;
    },
  ): Promise<number> {
    let done = 0;
    // a transaction may run again, so only this loop knows that one was committed
    for (let first = true; ; first = false) {
      const [count, over] = await store.transaction(async (repositories) => {
        await steps.begin(repositories, first);
        const subs = await repositories.groups.lockMembers(name, maxAtOnce + 1);
        const full = subs.length > maxAtOnce;
        if (full && !gradual) throw conflict(refusal('group.large', 'name', { most: String(maxAtOnce) }));
        const touched = await steps.empty(repositories, subs.slice(0, maxAtOnce));
        await repositories.auditEvents.insertMany(changedUsers(by, touched, steps.detail));
        if (!full) await steps.last(repositories);
        return [touched.length, !full] as const;
      });
      done += count;
      if (over) return done;
    }
  }

  return {
    /** @throws OAuthError conflict if a group of this name exists */
    createGroup: (by: Actor, input: Input): Promise<Group> =>
      store.transaction(async (repositories) => {
        // their rules have checked the members
        const group = await repositories.groups.insert(changed(declared, starts(declared), input) as GroupMembers);
        if (!group) throw conflict(refusal('group.exists', 'name'));
        await record(repositories, by, { type: 'group.created', detail: { group: group.name } });
        return group;
      }),
    /**
     * Changes a group in one transaction. Each member's next token has the new name.
     * @param change undefined members stay
     * @param options.guarded the groups that give power: a new name among them does, too, once links that were made without a person are decided
     * @param options.gradual allows steps for a group with more members than one transaction changes; repeat an interrupted operation to finish it
     * @param options.into allows a group of the new name to exist: the groups are merged, or an interrupted rename continues
     * @returns the number of moved members, and changed: false if the change made no difference
     * @throws OAuthError not_found, conflict
     */
    changeGroup: async (
      by: Actor,
      name: string,
      change: GroupChange,
      { guarded = [], gradual = false, into = false }: GroupChangeOptions = {},
    ): Promise<{ moved: number; changed: boolean }> => {
      const { name: to = name, description } = change;
      if (name === to)
        return store.transaction(async (repositories) => {
          const before = await found(repositories, name);
          const after = changed(declared, before, change);
          const detail = { group: name, ...differences(before, after) };
          if (detail.members.length === 0) return { moved: 0, changed: false };
          await repositories.groups.update(name, after);
          await record(repositories, by, { type: 'group.changed', detail });
          return { moved: 0, changed: true };
        });
      // its members would lose the second factor that the setting demands, and others could make members
      if (guarded.includes(name) && !guarded.includes(to)) throw conflict(refusal('group.guarded', 'name'));
      const names = { group_before: name, group: to };
      const moved = await emptied(by, name, gradual, {
        async begin(repositories, first) {
          const { groups, clientRoles } = repositories;
          const there = await groups.lock(name, to);
          const before = there.includes(name) ? await groups.find(name) : undefined;
          if (!before) throw notFound('there is no such group');
          const made = await groups.insert({ name: to, description: description ?? before.description });
          // an earlier step may have created the group
          // the members keep the roles that the group gives; a group that exists already keeps its own
          if (made) await clientRoles.copyGroup(name, to);
          if (!made && first && !into) throw conflict(refusal('group.exists', 'name'));
          // so that no user loses a client meanwhile
          await admitBoth(repositories, by, name, to);
        },
        async empty(repositories, subs) {
          await requireDecidedMembers(repositories, { name: to, member: 'name' }, subs, guarded);
          return repositories.groups.move(name, subs, to);
        },
        detail: names,
        async last(repositories) {
          const before = (await repositories.groups.find(name))!;
          // a group that exists already keeps its own sources
          const after = changed(declared, before, into ? { ...change, guarded_sources: undefined } : change);
          await repositories.scimGroups.rename(name, to);
          await renameReferences(repositories, by, name, to);
          await repositories.groups.delete(name);
          const guardedSources = into ? undefined : after.guardedSources;
          await repositories.groups.update(to, { description, guardedSources });
          const detail = { ...names, ...differences(before, after) };
          await record(repositories, by, { type: 'group.changed', detail });
        },
      });
      return { moved, changed: true };
    },
    /** @param gradual as for changeGroup @returns the number of members that the group had @throws OAuthError not_found, conflict */
    deleteGroup: (by: Actor, name: string, gradual = false): Promise<number> =>
      emptied(by, name, gradual, {
        async begin(repositories) {
          await found(repositories, name);
          await offerNoMore(repositories, name);
        },
        empty: ({ groups }, subs) => groups.leave(name, subs),
        detail: { group_before: name },
        async last(repositories) {
          await repositories.groups.delete(name);
          await removeReferences(repositories, by, name);
          await record(repositories, by, { type: 'group.deleted', detail: { group: name } });
        },
      }),
    /**
     * Adds users to an existing group and removes others, all or none.
     * @param change subs, at most `maxAtOnce` of each
     * @param guarded the groups that give power: a user joins one only once the links that were made without a person are decided
     * @returns the subs by outcome
     * @throws OAuthError not_found
     */
    changeMembers: (
      by: Actor,
      name: string,
      { add = [], remove = [] }: { add?: string[] | undefined; remove?: string[] | undefined },
      guarded: readonly string[],
    ): Promise<MembersChange> => {
      if (Math.max(add.length, remove.length) > maxAtOnce)
        throw invalidRequest(`name at most ${maxAtOnce} users at once`);
      return store.transaction(async (repositories) => {
        const { groups, auditEvents } = repositories;
        if (!(await groups.keep(name))) throw notFound('there is no such group');
        const there = new Set(await groups.lockUsers([...add, ...remove]));
        const known = (subs: string[]) => subs.filter((sub) => there.has(sub));
        await requireDecidedMembers(repositories, { name, member: 'add' }, known(add), guarded);
        const added = await groups.join(name, known(add));
        const removed = await groups.leave(name, known(remove));
        await auditEvents.insertMany(changedUsers(by, added, { group: name }));
        await auditEvents.insertMany(changedUsers(by, removed, { group_before: name }));
        const without = (subs: string[], touched: string[]) => known(subs).filter((sub) => !touched.includes(sub));
        return {
          added,
          removed,
          unchanged: [...without(add, added), ...without(remove, removed)],
          unknown: [...add, ...remove].filter((sub) => !there.has(sub)),
        };
      });
    },
  };
}

interface GroupChangeOptions {
  guarded?: readonly string[];
  gradual?: boolean;
  into?: boolean;
}

/** Subs, by outcome. */
export interface MembersChange {
  added: string[];
  removed: string[];
  unchanged: string[];
  unknown: string[];
}
