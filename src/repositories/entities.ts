// Reads and writes the table of an entity: its statements follow from its declaration, and are made once.
import { isDeepStrictEqual } from 'node:util';
import { isUniqueViolation, type Sql, statement } from '../database/database.ts';
import {
  columnsOf,
  computedIn,
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
  const { table, key = 'id', find = `${key} = $1`, sorted = key, most, within } = of;
  const all = columnsOf(of);
  const members = membersOf(of).flatMap(([name, declared]) => storedOf(name, declared));
  // a secret is sealed for its row, so that the service makes the id
  const isSealed = members.some(({ column }) => column.endsWith('_encrypted'));
  const owner = all.filter(({ column }) => column === within?.column);
  const inserted = [...members, ...owner, ...(isSealed && !of.key ? [{ column: 'id', name: 'id' }] : [])];
  /** @param parameter the number of the parameter that names the one below which it lives */
  const below = (condition: string, parameter: number) =>
    owner.length > 0 ? `(${condition}) AND ${owner[0]!.column} = $${parameter}` : condition;
  const shown = [`${table}.*`, ...Object.entries(computedIn(of)).map(([name, sql]) => `${sql} AS ${name}`)].join(', ');
  const changeable = members.filter(({ fixed }) => !fixed);
  const told = of.notifies ? `WITH told AS (SELECT pg_notify('gatehouse', '${table}')) ` : '';
  // PostgreSQL 15 wants a name for it
  const also = of.notifies ? 'told' : '(SELECT) AS nothing';
  const assignments = [
    ...changeable.map(({ column }, index) => `${column} = $${index + 2}`),
    ...(of.versioned ? ['version = version + 1'] : []),
    ...(of.marks === undefined ? [] : [of.marks]),
  ];
  addReferences(of);
  return {
    of,
    inserted,
    changeable,
    find: statement(`${table}.find`, `SELECT ${shown} FROM ${table} WHERE ${below(find, 2)}`),
    lock: statement(`${table}.lock`, `SELECT ${shown} FROM ${table} WHERE ${below(find, 2)} FOR UPDATE`),
    list: statement(
      `${table}.list`,
      of.key === undefined
        ? `SELECT ${shown} FROM ${table} WHERE $1::timestamptz IS NULL OR (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3`
        : `SELECT ${shown} FROM ${table} WHERE ${below('true', 1)} ORDER BY ${sorted}`,
    ),
    insert: statement(
      `${table}.insert`,
      `${told}INSERT INTO ${table} (${inserted.map(({ column }) => column).join(', ')})
       SELECT ${inserted.map((_, index) => `$${index + 1}`).join(', ')} FROM ${also} RETURNING ${shown}`,
    ),
    update: statement(
      `${table}.update`,
      `${told}UPDATE ${table} SET ${assignments.join(', ')} FROM ${also} WHERE ${below(`${key} = $1`, changeable.length + 2)} RETURNING ${shown}`,
    ),
    remove: statement(`${table}.delete`, `${told}DELETE FROM ${table} USING ${also} WHERE ${below(`${key} = $1`, 2)}`),
    // one insert at a time, and the count in a statement of its own: it sees what the insert before stored
    wait: statement(`${table}.wait`, `SELECT pg_advisory_xact_lock(hashtext('${table}'))`),
    full: statement(
      `${table}.full`,
      `SELECT count(*) >= ${most ?? 'NULL'} AS full FROM ${table} WHERE ${below('true', 1)}`,
    ),
    owner,
    toOne(row: Row): EntityOf<E> {
      const one: Row = {};
      for (const { column, name } of all) one[name] = row[column] ?? undefined;
      return one as EntityOf<E>;
    },
  };
}

export function entityRepository<E extends Entity>(statements: ReturnType<typeof entityTable<E>>, sql: Sql) {
  type One = EntityOf<E>;
  const { of, find, lock, list, insert, update, remove, inserted, changeable, wait, full, owner, toOne } = statements;
  const one = async (rows: Promise<Row[]>): Promise<One | undefined> => {
    const [row] = await rows;
    return row && toOne(row);
  };
  return {
    /** @param name anything that names one @param owners the one below which it lives, if there is any */
    find: (name: string, ...owners: string[]): Promise<One | undefined> => one(sql.query<Row>(find, [name, ...owners])),
    /** Finds the row as `find` does, and locks it until the transaction ends. */
    lock: (name: string, ...owners: string[]): Promise<One | undefined> => one(sql.query<Row>(lock, [name, ...owners])),
    /** Newest first; all by their key if a member is the key. */
    list: async ({ limit, after }: Page = { limit: 0, after: undefined }, ...owners: string[]): Promise<One[]> =>
      (await sql.query<Row>(list, of.key === undefined ? [after?.at, after?.id, limit] : owners)).map(toOne),
    /** In a transaction: whether there are as many as there can be. No other one is inserted until it ends. */
    async isFull(made: object): Promise<boolean> {
      if (of.most === undefined) return false;
      await sql.query(wait);
      return (await sql.query<Row>(full, valuesOf(owner, made)))[0]!['full'] === true;
    },
    /** Undefined when there is an equal one. */
    insert: (made: MembersOf<E> & object): Promise<One | undefined> =>
      one(sql.query<Row>(insert, valuesOf(inserted, made))).catch((error: unknown) => {
        if (isUniqueViolation(error)) return undefined;
        throw error;
      }),
    update: (changed: One): Promise<One | undefined> =>
      one(sql.query<Row>(update, [keyOf(of, changed), ...valuesOf(changeable, changed), ...valuesOf(owner, changed)])),
    async delete(found: One): Promise<void> {
      await sql.query(remove, [keyOf(of, found), ...valuesOf(owner, found)]);
    },
  };
}

/** The members whose values differ. */
export const differing = (of: Pick<Entity, 'members'>, before: object, after: object): string[] =>
  membersOf(of).flatMap(([name, declared]) => {
    const columns = storedOf(name, declared);
    return isDeepStrictEqual(valuesOf(columns, before), valuesOf(columns, after)) ? [] : [name];
  });
