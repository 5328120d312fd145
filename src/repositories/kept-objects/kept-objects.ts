// Reads and writes the table kept_objects: which set of configuration files keeps an object, and alone changes it (federation 10).
import { type Sql, statement } from '../../database/database.ts';

export interface KeptObject {
  /** The section of the files. */
  section: string;
  key: string;
  fileSet: string;
}

interface Row {
  section: string;
  key: string;
  file_set: string;
}

const list = statement('kept_objects.list', 'SELECT section, key, file_set FROM kept_objects');
const find = statement('kept_objects.find', 'SELECT file_set FROM kept_objects WHERE section = $1 AND key = $2');
const keep = statement(
  'kept_objects.keep',
  `INSERT INTO kept_objects (section, key, file_set) VALUES ($1, $2, $3)
   ON CONFLICT (section, key) DO UPDATE SET file_set = excluded.file_set`,
);
const release = statement(
  'kept_objects.release',
  'DELETE FROM kept_objects WHERE section = $1 AND key = $2 RETURNING file_set',
);
// an arbitrary constant that identifies this advisory lock
const lock = statement('kept_objects.lock', 'SELECT pg_advisory_xact_lock(7106350)');

export function keptObjectsRepository(sql: Sql) {
  return {
    async list(): Promise<KeptObject[]> {
      const rows = await sql.query<Row>(list);
      return rows.map(({ section, key, file_set: fileSet }) => ({ section, key, fileSet }));
    },
    /** The set that keeps an object; undefined for nobody's. */
    async find(section: string, key: string): Promise<string | undefined> {
      return (await sql.query<Pick<Row, 'file_set'>>(find, [section, key]))[0]?.file_set;
    },
    async keep(section: string, key: string, fileSet: string): Promise<void> {
      await sql.query(keep, [section, key, fileSet]);
    },
    /** @returns the set that kept it */
    async release(section: string, key: string): Promise<string | undefined> {
      return (await sql.query<Pick<Row, 'file_set'>>(release, [section, key]))[0]?.file_set;
    },
    /** In a transaction: the changes of files come one after another. */
    async lock(): Promise<void> {
      await sql.query(lock);
    },
  };
}
