// Creates, changes and removes an entity, each with its event in one transaction.
import { changed, type Entity, type EntityOf, type Input, type MembersOf, starts } from '../../entities/entity.ts';
import { conflict, notFound } from '../../oauth/errors.ts';
import type { Refusal } from '../../oauth/refusals.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import { differing, type entityRepository } from '../../repositories/entities.ts';
import type { Repositories, Store } from '../../repositories/store.ts';

/** What is special to an entity. */
export interface EntityRules<E extends Entity> {
  repository(repositories: Repositories): ReturnType<typeof entityRepository<E>>;
  /** The refusal when there is an equal one. */
  taken: Refusal;
  /** What an event says beside the members that changed. */
  facts(one: EntityOf<E>, what: 'created' | 'changed' | 'deleted'): Pick<AuditEvent, 'clientId' | 'detail'>;
  /** Checks what no rule of a single member can. @param members those that are new or changed @throws OAuthError */
  check?(repositories: Repositories, after: MembersOf<E>, members: readonly string[]): Promise<void>;
}

export function entityAdministration<E extends Entity>(store: Store, of: E, rules: EntityRules<E>) {
  type One = EntityOf<E>;
  const { repository, check } = rules;
  async function record(
    { auditEvents }: Repositories,
    by: Actor,
    what: 'created' | 'changed' | 'deleted',
    one: One,
    further: AuditEvent['detail'] = {},
  ): Promise<void> {
    const { detail, ...facts } = rules.facts(one, what);
    const type = `${of.one}.${what}` as AuditEvent['type'];
    await auditEvents.insert({ ...by, ...facts, type, outcome: 'success', detail: { ...detail, ...further } });
  }
  async function locked(repositories: Repositories, name: string): Promise<One> {
    const found = await repository(repositories).lock(name);
    if (!found) throw notFound(`there is no such ${of.one}`);
    return found;
  }
  return {
    /** @throws OAuthError conflict */
    create: (by: Actor, input: Input): Promise<One> =>
      store.transaction(async (repositories) => {
        const wanted = changed(of, starts(of), input) as MembersOf<E> & object;
        await check?.(repositories, wanted, Object.keys(of.members));
        const made = await repository(repositories).insert(wanted);
        if (!made) throw conflict(rules.taken);
        await record(repositories, by, 'created', made);
        return made;
      }),
    /** @param name anything that names one @throws OAuthError not_found */
    change: (by: Actor, name: string, change: Input): Promise<One> =>
      store.transaction(async (repositories) => {
        const before = await locked(repositories, name);
        const after = changed(of, before, change);
        const members = differing(of, before, after);
        if (members.length === 0) return before;
        await check?.(repositories, after, members);
        const made = (await repository(repositories).update(before.id, after))!;
        await record(repositories, by, 'changed', made, { members });
        return made;
      }),
    /** @param name anything that names one @throws OAuthError not_found */
    remove: (by: Actor, name: string): Promise<One> =>
      store.transaction(async (repositories) => {
        const found = await locked(repositories, name);
        await repository(repositories).delete(found.id);
        await record(repositories, by, 'deleted', found);
        return found;
      }),
  };
}
