// What administrators do to groups, a part of administration.ts. A group with very many members is renamed and deleted in several transactions.
import { conflict, invalidRequest, notFound } from '../oauth/errors.ts';
import type { Actor } from './administration.ts';
import type { AuditEvent } from './audit-events.ts';
import type { Group } from './groups.ts';
import type { Repositories, Store } from './index.ts';

/** So many members are changed in one transaction, within what a request may wait for the database. */
export const mostAtOnce = 1_000;

/** Each user's groups are a fact about that user: each change has its row in the trail. */
function changed(by: Actor, subs: readonly string[], detail: AuditEvent['detail']): AuditEvent[] {
  return subs.map((sub) => ({
    ...by,
    type: 'user.changed',
    outcome: 'success',
    sub,
    detail: { members: ['groups'], ...detail },
  }));
}

export function groupActs(store: Store) {
  const found = async ({ groups }: Repositories, name: string): Promise<Group> => {
    const group = (await groups.lock(name)) ? await groups.find(name) : undefined;
    if (!group) throw notFound('there is no such group');
    return group;
  };
  const record = async ({ auditEvents }: Repositories, by: Actor, event: Pick<AuditEvent, 'type' | 'detail'>) =>
    auditEvents.insert({ ...event, ...by, outcome: 'success' });

  /**
   * Empties a group, in several transactions if it is large and `gradual` allows it, and then does the last step with the rest.
   * @param empty changes members that are locked, and returns whom
   * @throws OAuthError conflict when it has more members than one transaction takes
   */
  async function emptied(
    by: Actor,
    name: string,
    gradual: boolean,
    empty: (repositories: Repositories, subs: string[]) => Promise<string[]>,
    detail: AuditEvent['detail'],
    last: (repositories: Repositories, group: Group) => Promise<void>,
  ): Promise<number> {
    let done = 0;
    for (;;) {
      const [count, over] = await store.transaction(async (repositories) => {
        const group = await found(repositories, name);
        const subs = await repositories.groups.lockMembers(name, mostAtOnce + 1);
        const full = subs.length > mostAtOnce;
        if (full && !gradual)
          throw conflict(
            `the group has more than ${mostAtOnce} members: rename or delete it by the command line, which does so in steps`,
          );
        const touched = await empty(repositories, subs.slice(0, mostAtOnce));
        await repositories.auditEvents.insertMany(changed(by, touched, detail));
        if (!full) await last(repositories, group);
        return [touched.length, !full] as const;
      });
      done += count;
      if (over) return done;
    }
  }

  return {
    /** @throws OAuthError conflict when there is one of this name */
    createGroup: (by: Actor, name: string, description: string): Promise<Group> =>
      store.transaction(async (repositories) => {
        const group = await repositories.groups.insert(name, description);
        if (!group) throw conflict('there is a group of this name');
        await record(repositories, by, { type: 'group.created', detail: { group: name } });
        return group;
      }),
    /** @returns changed: false when it was so before @throws OAuthError not_found */
    describeGroup: (by: Actor, name: string, description: string): Promise<{ group: Group; changed: boolean }> =>
      store.transaction(async (repositories) => {
        const group = await found(repositories, name);
        if (group.description === description) return { group, changed: false };
        await repositories.groups.describe(name, description);
        await record(repositories, by, { type: 'group.changed', detail: { group: name, members: ['description'] } });
        return { group: { ...group, description }, changed: true };
      }),
    /**
     * Gives a group another name, and to its members with it; their tokens name it so from their next one on.
     * @param options.gradual in steps, where it has more members than one transaction takes; who repeats an act that was interrupted ends it
     * @param options.into there may be a group of the new name: both become one, or a rename that was interrupted goes on
     * @returns how many members moved @throws OAuthError not_found, conflict
     */
    renameGroup: (
      by: Actor,
      name: string,
      to: string,
      { gradual = false, into = false }: { gradual?: boolean; into?: boolean } = {},
    ): Promise<number> => {
      if (name === to) throw invalidRequest('the group has this name');
      let begun = false;
      return emptied(
        by,
        name,
        gradual,
        async (repositories, subs) => {
          // a step before has made it
          const before = await repositories.groups.find(name);
          const made = await repositories.groups.insert(to, before?.description ?? '');
          if (!made && !begun && !into) throw conflict('there is a group of this name');
          begun = true;
          return repositories.groups.move(name, subs, to);
        },
        { group_before: name, group: to },
        async (repositories) => {
          await repositories.groups.delete(name);
          const detail = { group_before: name, group: to };
          await record(repositories, by, { type: 'group.changed', detail: { ...detail, members: ['name'] } });
        },
      );
    },
    /** @param gradual as for renameGroup @returns how many members it had @throws OAuthError not_found, conflict */
    deleteGroup: (by: Actor, name: string, gradual = false): Promise<number> =>
      emptied(
        by,
        name,
        gradual,
        (repositories, subs) => repositories.groups.leave(name, subs),
        { group_before: name },
        async (repositories) => {
          await repositories.groups.delete(name);
          await record(repositories, by, { type: 'group.deleted', detail: { group: name } });
        },
      ),
    /**
     * Puts users into a group that there is.
     * @param subs at most `mostAtOnce`
     * @returns who joined, who was there before or is in too many groups, and whom there is not @throws OAuthError not_found
     */
    addMembers: (by: Actor, name: string, subs: string[]): Promise<MembersChange> =>
      changeMembers(by, name, subs, 'join', { group: name }),
    /** Takes users out of a group. */
    removeMembers: (by: Actor, name: string, subs: string[]): Promise<MembersChange> =>
      changeMembers(by, name, subs, 'leave', { group_before: name }),
  };

  function changeMembers(
    by: Actor,
    name: string,
    subs: string[],
    act: 'join' | 'leave',
    detail: AuditEvent['detail'],
  ): Promise<MembersChange> {
    if (subs.length > mostAtOnce) throw invalidRequest(`at most ${mostAtOnce} users can be named at once`);
    return store.transaction(async (repositories) => {
      if (!(await repositories.groups.find(name))) throw notFound('there is no such group');
      const there = await repositories.groups.lockUsers(subs);
      const touched = await repositories.groups[act](name, there);
      await repositories.auditEvents.insertMany(changed(by, touched, detail));
      const [isThere, isTouched] = [new Set(there), new Set(touched)];
      return {
        changed: touched,
        unchanged: there.filter((sub) => !isTouched.has(sub)),
        unknown: subs.filter((sub) => !isThere.has(sub)),
      };
    });
  }
}

/** Subjects, by what happened to them. */
export interface MembersChange {
  changed: string[];
  unchanged: string[];
  unknown: string[];
}
