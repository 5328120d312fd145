// Creates, changes and removes an entity, each with its event in one transaction.
import { randomUUID } from 'node:crypto';
import type { SecretBox } from '../../crypto/secret-box.ts';
import {
  changed,
  type Entity,
  type EntityOf,
  type Input,
  keyOf,
  type MembersOf,
  starts,
  view,
} from '../../entities/entity.ts';
import { conflict, notFound } from '../../oauth/errors.ts';
import { type Refusal, refusal } from '../../oauth/refusals.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import { differing, type entityRepository } from '../../repositories/entities.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { requireNamed } from './named-entities.ts';

type Act = 'created' | 'changed' | 'deleted';

/** What is special to an entity. One that needs more than five of these and of the operations' own is no entity: write it out. */
export interface EntityRules<E extends Entity> {
  repository(repositories: Repositories): ReturnType<typeof entityRepository<E>>;
  /** The refusal when there is an equal one; when there are as many as there can be, if it is another one; and when there is none. */
  taken: Refusal;
  full?: Refusal;
  unknown?: Refusal;
  /** What an event says beside the members that changed. @param members those that are new or changed */
  facts(one: EntityOf<E>, act: Act, members: readonly string[]): Pick<AuditEvent, 'clientId' | 'detail'>;
  /** Checks what no rule of a single member can. @param members those that are new or changed @throws OAuthError */
  check?(repositories: Repositories, after: MembersOf<E>, members: readonly string[], isNew: boolean): Promise<void>;
  /** Stores what belongs to it, in the same transaction. @returns what only the answer to a creation has @throws OAuthError */
  stored?(repositories: Repositories, one: EntityOf<E>, members: readonly string[]): Promise<object | undefined>;
  /** Refuses the removal, or removes what belongs to it. @throws OAuthError */
  removing?(repositories: Repositories, one: EntityOf<E>): Promise<void>;
}

/** @param secretBox seals the secrets of an entity that has any */
export function entityAdministration<E extends Entity>(
  store: Store,
  of: E,
  rules: EntityRules<E>,
  secretBox?: Pick<SecretBox, 'seal'>,
) {
  type One = EntityOf<E>;
  const { repository } = rules;
  /** The associated data names table, column and row, so that a value that is copied to another row does not decrypt. */
  const seal = (id: string) => (value: string, column: string) => secretBox!.seal(value, `${of.table}.${column}.${id}`);

  async function record(
    { auditEvents }: Repositories,
    by: Actor,
    act: Act,
    one: One,
    members: readonly string[],
    further: AuditEvent['detail'] = {},
  ): Promise<void> {
    const { detail, ...facts } = rules.facts(one, act, members);
    const type = `${of.one}.${act}` as AuditEvent['type'];
    await auditEvents.insert({ ...by, ...facts, type, outcome: 'success', detail: { ...detail, ...further } });
  }
  async function locked(repositories: Repositories, name: string, owners: string[]): Promise<One> {
    const found = name.includes('\0') ? undefined : await repository(repositories).lock(name, ...owners);
    if (!found) throw notFound(rules.unknown ?? `there is no such ${of.one}`);
    return found;
  }
  /** The old and the new values of what moves the service's trust, for the event: no secret is one of them. */
  const trusted = (before: One, after: One, members: readonly string[]) =>
    Object.fromEntries(
      members
        .filter((name) => of.members[name]!.trust)
        .flatMap((name) =>
          [before, after].map((one, index) => [
            `${name}_${index === 0 ? 'before' : 'after'}`,
            String(view(of, one)[name] ?? ''),
          ]),
        ),
    );

  return {
    /** @param owners the one below which it lives, if there is any @throws OAuthError conflict */
    create: (by: Actor, input: Input, ...owners: string[]): Promise<One> =>
      store.transaction(async (repositories) => {
        const id = randomUUID();
        // the compiler cannot follow the members of a generic declaration
        const wanted = { id, ...changed(of, starts(of, ...owners), input, seal(id)) } as unknown as MembersOf<E> &
          object;
        const members = Object.keys(of.members);
        if (await repository(repositories).isFull(wanted)) throw conflict(rules.full ?? rules.taken);
        await requireNamed(repositories, of, wanted, members);
        await rules.check?.(repositories, wanted, members, true);
        const made = await repository(repositories).insert(wanted);
        if (!made) throw conflict(rules.taken);
        const shown = await rules.stored?.(repositories, made, members);
        await record(repositories, by, 'created', made, members);
        return { ...made, ...shown };
      }),
    /** @param name anything that names one @throws OAuthError not_found, or conflict if the change names an older version */
    change: (by: Actor, name: string, { version, ...change }: Input, ...owners: string[]): Promise<One> =>
      store.transaction(async (repositories) => {
        const before = await locked(repositories, name, owners);
        if (version !== undefined && version !== (before as { version?: number }).version)
          throw conflict(refusal('entity.version', 'version'));
        const after = changed(of, before, change, seal(keyOf(of, before)));
        const members = differing(of, before, after);
        if (members.length === 0) return before;
        await requireNamed(repositories, of, after, members);
        await rules.check?.(repositories, after, members, false);
        const made = (await repository(repositories).update(after))!;
        await rules.stored?.(repositories, made, members);
        await record(repositories, by, 'changed', made, members, { members, ...trusted(before, made, members) });
        return made;
      }),
    /** @param which anything that names one @throws OAuthError not_found, or conflict if another one names it */
    remove: (by: Actor, which: string, ...owners: string[]): Promise<One> =>
      store.transaction(async (repositories) => {
        const found = await locked(repositories, which, owners);
        const name = await repositories.references.namedBy(of.table, keyOf(of, found));
        if (name !== undefined) throw conflict(refusal('entity.named', of.one, { name }));
        await rules.removing?.(repositories, found);
        await repository(repositories).delete(found);
        await record(repositories, by, 'deleted', found, []);
        return found;
      }),
  };
}
