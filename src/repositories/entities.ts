// Reads and writes the table of an entity: its statements follow from its declaration, and are made once.
import { isDeepStrictEqual } from 'node:util';
import { isUniqueViolation, type Sql, statement } from '../database/database.ts';
import { type Entity, type EntityOf, type MembersOf, membersOf, namesOf, valuesOf } from '../entities/entity.ts';
import type { Page } from './clients/client-listing.ts';

type Row = Record<string, unknown>;

/** The statements of an entity, and how its rows are read. Call it once for each entity, outside of functions. */
export function entityTable<E extends Entity>(of: E) {
  const { table, find } = of;
  const columns = membersOf(of).map(([name]) => name);
  const changeable = membersOf(of).flatMap(([name, { fixed }]) => (fixed ? [] : [name]));
  const told = of.notifies ? `WITH told AS (SELECT pg_notify('gatehouse', '${table}')) ` : '';
  const also = of.notifies ? 'told' : '(SELECT)';
  const parameters = columns.map((_, index) => `$${index + 1}`);
  const assignments = changeable.map((name, index) => `${name} = $${index + 2}`);
  if (of.marks !== undefined) assignments.push(of.marks);
  const names = namesOf(of);
  return {
    of,
    columns,
    changeable,
    find: statement(`${table}.find`, `SELECT * FROM ${table} WHERE ${find}`),
    lock: statement(`${table}.lock`, `SELECT * FROM ${table} WHERE ${find} FOR UPDATE`),
    list: statement(
      `${table}.list`,
      `SELECT * FROM ${table} WHERE $1::timestamptz IS NULL OR (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3`,
    ),
    insert: statement(
      `${table}.insert`,
      `${told}INSERT INTO ${table} (${columns.join(', ')}) SELECT ${parameters.join(', ')} FROM ${also} RETURNING *`,
    ),
    update: statement(
      `${table}.update`,
      `${told}UPDATE ${table} SET ${assignments.join(', ')} FROM ${also} WHERE id = $1 RETURNING ${table}.*`,
    ),
    remove: statement(`${table}.delete`, `${told}DELETE FROM ${table} USING ${also} WHERE id = $1`),
    toOne(row: Row): EntityOf<E> {
      const one: Row = {};
      for (const [column, name] of names) one[name] = row[column] ?? undefined;
      return one as EntityOf<E>;
    },
  };
}

export function entityRepository<E extends Entity>(statements: ReturnType<typeof entityTable<E>>, sql: Sql) {
  type One = EntityOf<E>;
  const { find, lock, list, insert, update, remove, columns, changeable, toOne } = statements;
  const one = async (rows: Promise<Row[]>): Promise<One | undefined> => {
    const [row] = await rows;
    return row && toOne(row);
  };
  return {
    /** @param name anything that names one */
    find: (name: string): Promise<One | undefined> => one(sql.query<Row>(find, [name])),
    /** Finds the row and locks it until the transaction ends. @param name anything that names one */
    lock: (name: string): Promise<One | undefined> => one(sql.query<Row>(lock, [name])),
    /** Newest first. */
    list: async ({ limit, after }: Page): Promise<One[]> =>
      (await sql.query<Row>(list, [after?.at, after?.id, limit])).map(toOne),
    /** Undefined when there is an equal one. */
    insert: (made: MembersOf<E> & object): Promise<One | undefined> =>
      one(sql.query<Row>(insert, valuesOf(columns, made))).catch((error: unknown) => {
        if (isUniqueViolation(error)) return undefined;
        throw error;
      }),
    update: (id: string, changed: MembersOf<E> & object): Promise<One | undefined> =>
      one(sql.query<Row>(update, [id, ...valuesOf(changeable, changed)])),
    async delete(id: string): Promise<void> {
      await sql.query(remove, [id]);
    },
  };
}

/** The members whose values differ. */
export const differing = (of: Entity, before: object, after: object): string[] =>
  membersOf(of)
    .map(([name]) => name)
    .filter((name) => !isDeepStrictEqual(valuesOf([name], before), valuesOf([name], after)));
