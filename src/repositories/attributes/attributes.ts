// Changes and deletes the values of attributes when their definitions change, and keeps two users from having the same value of a unique attribute.
import { isUniqueViolation, type Sql, statement } from '../../database/database.ts';
import { attributes } from '../../entities/attributes.ts';
import type { Attribute } from '../../rules/claims/attributes.ts';
import { entityRepository, entityTable } from '../entities.ts';

// the definitions must not change until the values are stored
const listForUse = statement('attributes.list_for_use', 'SELECT * FROM attributes ORDER BY name FOR SHARE');
const removeValues = statement(
  'attributes.remove_values',
  'UPDATE users SET claims = claims - $1, updated_at = now() WHERE claims ? $1',
);
const forget = statement('attributes.forget_unique', 'DELETE FROM unique_attribute_values WHERE name = $1');
const fill = statement(
  'attributes.fill_unique',
  `INSERT INTO unique_attribute_values (name, digest, sub)
   SELECT $1, attribute_digest(claims -> $1), sub FROM users WHERE claims ? $1`,
);
const forgetOf = statement(
  'attributes.forget_unique_of',
  'DELETE FROM unique_attribute_values WHERE sub = ANY ($1) AND name = ANY ($2)',
);
// inserts in the order of the keys, so that two writers of the same values cannot deadlock
const keep = statement(
  'attributes.keep_unique',
  `INSERT INTO unique_attribute_values (name, digest, sub)
   SELECT name, attribute_digest(u.claims -> name) AS digest, u.sub
     FROM users u, unnest($2::text[]) AS name WHERE u.sub = ANY ($1) AND u.claims ? name ORDER BY 1, 2`,
);

const heldByOthers = statement(
  'attributes.held_by_others',
  `SELECT v.name FROM jsonb_each($2) AS said JOIN unique_attribute_values v ON v.name = said.key AND v.digest = attribute_digest(said.value)
    WHERE v.sub <> $1 AND said.key = ANY ($3) ORDER BY v.name`,
);

const table = entityTable(attributes);

export function attributesRepository(sql: Sql) {
  return {
    ...entityRepository(table, sql),
    /** In a transaction that stores values: lists the definitions, which cannot change until the transaction ends. */
    listForUse: async (): Promise<Attribute[]> =>
      (await sql.query<Record<string, unknown>>(listForUse)).map(table.toOne),
    /** In a transaction: deletes the values of all users. */
    async deleteValues(name: string): Promise<void> {
      await sql.query(removeValues, [name]);
    },
    /** In a transaction that has locked the attribute: makes it unique or not. False if two users have the same value. */
    async makeUnique(name: string, unique: boolean): Promise<boolean> {
      await sql.query(forget, [name]);
      if (!unique) return true;
      return sql.query(fill, [name]).then(() => true, refusedAs(false));
    },
    /** The names of the unique attributes whose value another user has. */
    heldByOthers: async (sub: string, values: Readonly<Record<string, unknown>>, names: readonly string[]) =>
      (await sql.query<{ name: string }>(heldByOthers, [sub, values, names])).map(({ name }) => name),
    /** In a transaction that has stored values of unique attributes: claims these values. False if another user has one of them. */
    async keepUnique(subs: readonly string[], names: readonly string[]): Promise<boolean> {
      if (subs.length === 0 || names.length === 0) return true;
      await sql.query(forgetOf, [subs, names]);
      return sql.query(keep, [subs, names]).then(() => true, refusedAs(false));
    },
  };
}

const refusedAs =
  <T>(answer: T) =>
  (error: unknown): T => {
    if (isUniqueViolation(error)) return answer;
    throw error;
  };
