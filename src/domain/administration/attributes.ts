// Creates, changes and deletes the definitions of attributes, a part of administration.ts.
import { isDeepStrictEqual } from 'node:util';
import { type Attribute, type AttributeMembers, fitsType, maxAttributes } from '../../rules/claims/attributes.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import type { Repositories, Store } from '../../repositories/store.ts';

const changed = (before: Attribute, change: AttributeMembers): Attribute => ({
  ...before,
  label: change.label ?? before.label,
  choices: change.choices === undefined ? before.choices : (change.choices ?? undefined),
  max: change.max === undefined ? before.max : (change.max ?? undefined),
  person: change.person ?? before.person,
  unique: change.unique ?? before.unique,
});

export function attributeOperations(store: Store) {
  const record = (
    { auditEvents }: Repositories,
    by: Actor,
    type: AuditEvent['type'],
    { name }: Attribute,
    detail: AuditEvent['detail'] = {},
  ) => auditEvents.insert({ ...by, type, outcome: 'success', detail: { attribute: name, ...detail } });
  const locked = async ({ attributes }: Repositories, name: string): Promise<Attribute> => {
    const found = name.includes('\0') ? undefined : await attributes.lock(name);
    if (!found) throw notFound('there is no such attribute');
    return found;
  };
  const requireFit = (attribute: Attribute) => {
    if (!fitsType(attribute)) throw invalidRequest(refusal('attribute-type', attribute.unique ? 'unique' : 'choices'));
  };

  return {
    /** @throws OAuthError conflict if there is one of this name, or if there are too many */
    createAttribute: (by: Actor, given: AttributeMembers & Pick<Attribute, 'name' | 'type'>): Promise<Attribute> =>
      store.transaction(async (repositories) => {
        const { name, type } = given;
        const none = { label: {}, choices: undefined, max: undefined, person: 'none', unique: false } as const;
        const wanted = changed({ name, type, ...none }, given);
        requireFit(wanted);
        const made = await repositories.attributes.insert(wanted, maxAttributes);
        if (!made) throw conflict(refusal('attribute.exists', 'name', { most: String(maxAttributes) }));
        await record(repositories, by, 'attribute.created', made, { type });
        return made;
      }),
    /** @throws OAuthError not_found, or conflict if it becomes unique and two users have the same value */
    changeAttribute: (by: Actor, name: string, change: AttributeMembers): Promise<Attribute> =>
      store.transaction(async (repositories) => {
        const before = await locked(repositories, name);
        const after = changed(before, change);
        requireFit(after);
        const members = (Object.keys(after) as (keyof Attribute)[]).filter(
          (member) => !isDeepStrictEqual(before[member], after[member]),
        );
        if (members.length === 0) return before;
        if (members.includes('unique') && !(await repositories.attributes.makeUnique(name, after.unique)))
          throw conflict(refusal('attribute.shared', 'unique'));
        const made = (await repositories.attributes.update(name, after))!;
        await record(repositories, by, 'attribute.changed', made, { members });
        return made;
      }),
    /** Deletes the definition and the values of all users. @throws OAuthError not_found */
    deleteAttribute: (by: Actor, name: string): Promise<Attribute> =>
      store.transaction(async (repositories) => {
        const found = await locked(repositories, name);
        await repositories.attributes.delete(name);
        await record(repositories, by, 'attribute.deleted', found);
        return found;
      }),
  };
}
