// Reads and writes the table attributes, and keeps the values of unique attributes apart.
import { isUniqueViolation, type Sql, statement } from '../../database/database.ts';
import type { Attribute } from '../../rules/claims/attributes.ts';

interface Row {
  name: string;
  type: Attribute['type'];
  label: Record<string, string>;
  choices: string[] | null;
  max: number | null;
  person: Attribute['person'];
  is_unique: boolean;
}

const columns = 'name, type, label, choices, max, person, is_unique';
const list = statement('attributes.list', `SELECT ${columns} FROM attributes ORDER BY name`);
// the definitions stay as they are until the values are stored
const listForUse = statement('attributes.list_for_use', `SELECT ${columns} FROM attributes ORDER BY name FOR SHARE`);
const lock = statement('attributes.lock', `SELECT ${columns} FROM attributes WHERE name = $1 FOR UPDATE`);
// one at a time, and in a statement of its own: the next one sees what this one stored. An arbitrary constant identifies this advisory lock.
const lockCount = statement('attributes.lock_count', 'SELECT pg_advisory_xact_lock(7106347)');
const insert = statement(
  'attributes.insert',
  `INSERT INTO attributes (${columns}) SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (SELECT count(*) FROM attributes) < $8
   ON CONFLICT DO NOTHING RETURNING ${columns}`,
);
const update = statement(
  'attributes.update',
  `UPDATE attributes SET label = $2, choices = $3, max = $4, person = $5, is_unique = $6 WHERE name = $1 RETURNING ${columns}`,
);
const remove = statement('attributes.delete', 'DELETE FROM attributes WHERE name = $1');
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
// in the order of the keys, so that two writers of the same values cannot deadlock
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

export function attributesRepository(sql: Sql) {
  const one = async (rows: Promise<Row[]>): Promise<Attribute | undefined> => {
    const [row] = await rows;
    return row && toAttribute(row);
  };
  const values = ({ label, choices, max, person, unique }: Omit<Attribute, 'name' | 'type'>): unknown[] => [
    ...[label, choices && JSON.stringify(choices), max, person, unique],
  ];
  return {
    /** By name. */
    list: async (): Promise<Attribute[]> => (await sql.query<Row>(list)).map(toAttribute),
    /** In a transaction that stores values: no definition changes until it ends. */
    listForUse: async (): Promise<Attribute[]> => (await sql.query<Row>(listForUse)).map(toAttribute),
    lock: (name: string): Promise<Attribute | undefined> => one(sql.query<Row>(lock, [name])),
    /** In a transaction: undefined if there is one of this name, or if there are `most` already. */
    async insert({ name, type, ...members }: Attribute, most: number): Promise<Attribute | undefined> {
      await sql.query(lockCount);
      return one(sql.query<Row>(insert, [name, type, ...values(members), most]));
    },
    update: (name: string, members: Omit<Attribute, 'name' | 'type'>): Promise<Attribute | undefined> =>
      one(sql.query<Row>(update, [name, ...values(members)])),
    /** In a transaction: deletes the definition with the values of all users. */
    async delete(name: string): Promise<void> {
      await sql.query(removeValues, [name]);
      await sql.query(remove, [name]);
    },
    /** In a transaction that has locked the attribute: false if two users have the same value. */
    async makeUnique(name: string, unique: boolean): Promise<boolean> {
      await sql.query(forget, [name]);
      if (!unique) return true;
      return sql.query(fill, [name]).then(() => true, refusedAs(false));
    },
    /** The unique attributes of which another user has the value. */
    heldByOthers: async (sub: string, values: Readonly<Record<string, unknown>>, names: readonly string[]) =>
      (await sql.query<{ name: string }>(heldByOthers, [sub, values, names])).map(({ name }) => name),
    /** In a transaction that has stored values of unique attributes: false if another user has one of them. */
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

const toAttribute = ({ choices, max, is_unique, ...row }: Row): Attribute => ({
  ...row,
  choices: choices ?? undefined,
  max: max ?? undefined,
  unique: is_unique,
});
