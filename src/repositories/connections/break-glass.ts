// Reads and writes the table break_glass: the users who may sign in here although a connection enforces the domain of their address.
import { type Sql, statement } from '../../database/database.ts';

const has = statement('break_glass.has', 'SELECT FROM break_glass WHERE sub = $1');
const add = statement(
  'break_glass.add',
  'INSERT INTO break_glass (sub) VALUES ($1) ON CONFLICT DO NOTHING RETURNING sub',
);
const remove = statement('break_glass.remove', 'DELETE FROM break_glass WHERE sub = $1 RETURNING sub');

export function breakGlassRepository(sql: Sql) {
  return {
    has: async (sub: string): Promise<boolean> => (await sql.query(has, [sub])).length > 0,
    /** In a transaction that holds the user's row. @returns whether the mark has changed */
    set: async (sub: string, marked: boolean): Promise<boolean> =>
      (await sql.query(marked ? add : remove, [sub])).length > 0,
  };
}
