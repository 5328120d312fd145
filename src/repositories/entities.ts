// Reads and writes the table of an entity: its statements follow from its declaration, and are made once.
import { isDeepStrictEqual } from 'node:util';
import { isUniqueViolation, type Sql, statement } from '../database/database.ts';
import {
  columnsOf,
  type Entity,
  type EntityOf,
  keyOf,
  type MembersOf,
  membersOf,
  type Stored,
  storedOf,
} from '../entities/entity.ts';
import { addReferences } from './entity-references.ts';
import type { Page } from './clients/client-listing.ts';

type Row = Record<string, unknown>;

const valuesOf = (columns: readonly Stored[], given: object): unknown[] =>
  columns.map(({ name, json }) => {
    const value = (given as Row)[name];
    return json && value !== undefined ? JSON.stringify(value) : value;
  });

/** The statements of an entity, and how its rows are read. Call it once for each entity, outside of functions. */
export function entityTable<E extends Entity>(of: E) {
  const { table, key = 'id', find = `${key} = $1`, sorted = key, most } = of;
  const members = membersOf(of).flatMap(([name, declared]) => storedOf(name, declared));
  // a secret is sealed for its row, so that the service makes the id
  const isSealed = members.some(({ column }) => column.endsWith('_encrypted'));
  const inserted: Stored[] = isSealed && !of.key ? [...members, { column: 'id', name: 'id' }] : members;
  const changeable = members.filter(({ fixed }) => !fixed);
  const told = of.notifies ? `WITH told AS (SELECT pg_notify('gatehouse', '${table}')) ` : '';
  // PostgreSQL 15 wants a name for it
  const also = of.notifies ? 'told' : '(SELECT) AS nothing';
  const assignments = [
    ...changeable.map(({ column }, index) => `${column} = $${index + 2}`),
    ...(of.versioned ? ['version = version + 1'] : []),
    ...(of.marks === undefined ? [] : [of.marks]),
  ];
  const all = columnsOf(of);
  addReferences(of);
  return {
    of,
    inserted,
    changeable,
    find: statement(`${table}.find`, `SELECT * FROM ${table} WHERE ${find}`),
    lock: statement(`${table}.lock`, `SELECT * FROM ${table} WHERE ${find} FOR UPDATE`),
    list: statement(
      `${table}.list`,
      of.key === undefined
        ? `SELECT * FROM ${table} WHERE $1::timestamptz IS NULL OR (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3`
        : `SELECT * FROM ${table} ORDER BY ${sorted}`,
    ),
    insert: statement(
      `${table}.insert`,
      `${told}INSERT INTO ${table} (${inserted.map(({ column }) => column).join(', ')})
       SELECT ${inserted.map((_, index) => `$${index + 1}`).join(', ')} FROM ${also} RETURNING *`,
    ),
    update: statement(
      `${table}.update`,
      `${told}UPDATE ${table} SET ${assignments.join(', ')} FROM ${also} WHERE ${key} = $1 RETURNING ${table}.*`,
    ),
    remove: statement(`${table}.delete`, `${told}DELETE FROM ${table} USING ${also} WHERE ${key} = $1`),
    // one insert at a time, and the count in a statement of its own: it sees what the insert before stored
    wait: statement(`${table}.wait`, `SELECT pg_advisory_xact_lock(hashtext('${table}'))`),
    full: statement(`${table}.full`, `SELECT count(*) >= ${most ?? 'NULL'} AS full FROM ${table}`),
    toOne(row: Row): EntityOf<E> {
      const one: Row = {};
      for (const { column, name } of all) one[name] = row[column] ?? undefined;
      return one as EntityOf<E>;
    },
  };
}

export function entityRepository<E extends Entity>(statements: ReturnType<typeof entityTable<E>>, sql: Sql) {
  type One = EntityOf<E>;
  const { of, find, lock, list, insert, update, remove, inserted, changeable, wait, full, toOne } = statements;
  const one = async (rows: Promise<Row[]>): Promise<One | undefined> => {
    const [row] = await rows;
    return row && toOne(row);
  };
  return {
    /** @param name anything that names one */
    find: (name: string): Promise<One | undefined> => one(sql.query<Row>(find, [name])),
    /** Finds the row and locks it until the transaction ends. @param name anything that names one */
    lock: (name: string): Promise<One | undefined> => one(sql.query<Row>(lock, [name])),
    /** Newest first; all by their key if a member is the key. */
    list: async ({ limit, after }: Page = { limit: 0, after: undefined }): Promise<One[]> =>
      (await sql.query<Row>(list, of.key === undefined ? [after?.at, after?.id, limit] : [])).map(toOne),
    /** In a transaction: whether there are as many as there can be. No other one is inserted until it ends. */
    async isFull(): Promise<boolean> {
      if (of.most === undefined) return false;
      await sql.query(wait);
      return (await sql.query<Row>(full))[0]!['full'] === true;
    },
    /** Undefined when there is an equal one. */
    insert: (made: MembersOf<E> & object): Promise<One | undefined> =>
      one(sql.query<Row>(insert, valuesOf(inserted, made))).catch((error: unknown) => {
        if (isUniqueViolation(error)) return undefined;
        throw error;
      }),
    update: (changed: One): Promise<One | undefined> =>
      one(sql.query<Row>(update, [keyOf(of, changed), ...valuesOf(changeable, changed)])),
    async delete(found: One): Promise<void> {
      await sql.query(remove, [keyOf(of, found)]);
    },
  };
}

/** The members whose values differ. */
export const differing = (of: Pick<Entity, 'members'>, before: object, after: object): string[] =>
  membersOf(of).flatMap(([name, declared]) => {
    const columns = storedOf(name, declared);
    return isDeepStrictEqual(valuesOf(columns, before), valuesOf(columns, after)) ? [] : [name];
  });
