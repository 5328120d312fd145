// Reads and writes the table appearance, which has one row: the look that administrators chose.
import type { Appearance } from '../../config/appearance-types.ts';
import { type Sql, statement } from '../../database/database.ts';

interface Row {
  product_name: string | null;
  accent_color: string | null;
  support_url: string | null;
  logo: Buffer | null;
  logo_dark: Buffer | null;
  favicon: Buffer | null;
}

const columns = 'product_name, accent_color, support_url, logo, logo_dark, favicon';
const read = statement('appearance.read', `SELECT ${columns} FROM appearance`);
const lock = statement('appearance.lock', `SELECT ${columns} FROM appearance FOR UPDATE`);
// tells all instances to read the row again
const write = statement(
  'appearance.write',
  `WITH written AS (
     INSERT INTO appearance (${columns}) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (single) DO UPDATE SET (${columns}) = ($1, $2, $3, $4, $5, $6) RETURNING single
   ) SELECT pg_notify('gatehouse', 'appearance') FROM written`,
);

const appearanceOf = (row: Row | undefined): Appearance => ({
  productName: row?.product_name ?? undefined,
  accentColor: row?.accent_color ?? undefined,
  supportUrl: row?.support_url ?? undefined,
  logo: row?.logo ?? undefined,
  logoDark: row?.logo_dark ?? undefined,
  favicon: row?.favicon ?? undefined,
});

export function appearanceRepository(sql: Sql) {
  return {
    async read(): Promise<Appearance> {
      return appearanceOf((await sql.query<Row>(read))[0]);
    },
    async lock(): Promise<Appearance> {
      return appearanceOf((await sql.query<Row>(lock))[0]);
    },
    async write({ productName, accentColor, supportUrl, logo, logoDark, favicon }: Appearance): Promise<void> {
      await sql.query(write, [productName, accentColor, supportUrl, logo, logoDark, favicon]);
    },
  };
}
