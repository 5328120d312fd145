// Reads and writes the table kept_objects: which set of configuration files keeps an object, and alone changes it (federation 10).
import { type Sql, statement } from '../../database/database.ts';

export interface KeptObject {
  /** The section of the files. */
  section: string;
  key: string;
  fileSet: string;
  /** When the kept object was created: one that was made anew by hand has another time. */
  madeAt: string;
  /** A digest of what it was like when the files were applied; an earlier version stored none. */
  state?: string | undefined;
}

interface Row {
  section: string;
  key: string;
  file_set: string;
  made_at: string;
  state: string | null;
}

const list = statement('kept_objects.list', 'SELECT section, key, file_set, made_at, state FROM kept_objects');
const find = statement(
  'kept_objects.find',
  'SELECT section, key, file_set, made_at, state FROM kept_objects WHERE section = $1 AND key = $2',
);
const keep = statement(
  'kept_objects.keep',
  `INSERT INTO kept_objects (section, key, file_set, made_at, state) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (section, key) DO UPDATE
   SET file_set = excluded.file_set, made_at = excluded.made_at, state = excluded.state`,
);
const release = statement('kept_objects.release', 'DELETE FROM kept_objects WHERE section = $1 AND key = $2');
// an arbitrary constant that identifies this advisory lock
const lock = statement('kept_objects.lock', 'SELECT pg_advisory_xact_lock(7106350)');

const objectOf = ({ section, key, file_set: fileSet, made_at: madeAt, state }: Row): KeptObject => ({
  section,
  key,
  fileSet,
  madeAt,
  state: state ?? undefined,
});

export function keptObjectsRepository(sql: Sql) {
  return {
    async list(): Promise<KeptObject[]> {
      return (await sql.query<Row>(list)).map(objectOf);
    },
    async find(section: string, key: string): Promise<KeptObject | undefined> {
      const [row] = await sql.query<Row>(find, [section, key]);
      return row && objectOf(row);
    },
    async keep({ section, key, fileSet, madeAt, state }: KeptObject): Promise<void> {
      await sql.query(keep, [section, key, fileSet, madeAt, state]);
    },
    async release(section: string, key: string): Promise<void> {
      await sql.query(release, [section, key]);
    },
    /** In a transaction: the changes of files come one after another. */
    async lock(): Promise<void> {
      await sql.query(lock);
    },
  };
}
