// Reads and writes the table appearance, which has one row: the look that administrators chose.
import type { Appearance } from '../../config/appearance-types.ts';
import { type Sql, statement } from '../../database/database.ts';
import { appearanceParts as parts } from '../../entities/appearance.ts';

type Row = Record<string, unknown>;

const columns = parts.map(({ column }) => column).join(', ');
const values = parts.map((_, index) => `$${index + 1}`).join(', ');
const read = statement('appearance.read', `SELECT ${columns} FROM appearance`);
const lock = statement('appearance.lock', `SELECT ${columns} FROM appearance FOR UPDATE`);
// tells all instances to read the row again
const write = statement(
  'appearance.write',
  `WITH written AS (
     INSERT INTO appearance (${columns}) VALUES (${values})
     ON CONFLICT (single) DO UPDATE SET (${columns}) = (${values}) RETURNING single
   ) SELECT pg_notify('gatehouse', 'appearance') FROM written`,
);

const appearanceOf = (row: Row | undefined): Appearance =>
  // the declaration has the parts of an appearance
  Object.fromEntries(parts.map(({ column, name }) => [name, row?.[column] ?? undefined])) as unknown as Appearance;

export function appearanceRepository(sql: Sql) {
  return {
    async read(): Promise<Appearance> {
      return appearanceOf((await sql.query<Row>(read))[0]);
    },
    async lock(): Promise<Appearance> {
      return appearanceOf((await sql.query<Row>(lock))[0]);
    },
    async write(appearance: Appearance): Promise<void> {
      await sql.query(
        write,
        parts.map(({ name }) => appearance[name]),
      );
    },
  };
}
