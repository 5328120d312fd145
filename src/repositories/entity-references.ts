// Keeps the entities that members of others name, and finds the entity that names another one.
import { z } from 'zod';
import { type Sql, statement } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { type Entity, membersOf } from '../entities/entity.ts';

/** How one is kept until a transaction ends, by the table. */
const keeping = new Map<string, Statement>();
/** How the first is found that names one of a noun. */
const naming = new Map<string, { refers: string; one: string; first: Statement }>();

/** Makes the statements of an entity. */
export function addReferences({ table, key = 'id', called = key, one, members }: Entity): void {
  keeping.set(table, statement(`${table}.keep`, `SELECT FROM ${table} WHERE ${key}::text = $1 FOR KEY SHARE`));
  for (const [name, { refers, released, rule, column = name }] of membersOf({ members })) {
    if (refers === undefined || released) continue;
    const names = rule instanceof z.ZodArray ? `$1 = ANY (${column})` : `${column} = $1`;
    const first = statement(
      `${table}.naming_${name}`,
      `SELECT ${called} AS called FROM ${table} WHERE ${names} LIMIT 1`,
    );
    naming.set(first.name, { refers, one, first });
  }
}

export const referencesRepository = (sql: Sql) => ({
  /** In a transaction: whether one with this key exists, which then stays until the end; undefined if the noun is no entity. */
  async keep(noun: string, key: string): Promise<boolean | undefined> {
    const keep = keeping.get(noun);
    return keep && (await sql.query(keep, [key])).length > 0;
  },
  /** The first that names a locked one, as administrators call it. */
  async namedBy(noun: string, key: string): Promise<string | undefined> {
    for (const { refers, one, first } of naming.values()) {
      const [row] = refers === noun ? await sql.query<Record<string, unknown>>(first, [key]) : [];
      if (row) return `${one} ${String(row['called'])}`;
    }
    return undefined;
  },
});
