// Reads and writes the table user_imports: the progress of each import from the console, without any imported value.
import { type Sql, statement } from '../../database/database.ts';

export interface ReportedRow {
  line: number;
  column: string;
  reason: string;
}

export interface ImportProgress {
  line: number;
  created: number;
  updated: number;
  unchanged: number;
  refused: number;
}

export interface UserImport extends ImportProgress {
  id: string;
  /** `running`: the import had a recent heartbeat. `stopped`: it has no recent heartbeat, and did not finish. */
  state: 'running' | 'done' | 'stopped';
  lines: number;
  refusals: ReportedRow[];
  /** Stored rows that an administrator should know of. */
  notes: ReportedRow[];
  startedAt: Date;
}

/** The most rows of each list that are kept. */
export const maxRefusals = 500;
/** Seconds without a heartbeat after which an import counts as stopped: far more than a batch takes. */
const silence = 60;

const insert = statement(
  'user_imports.insert',
  `INSERT INTO user_imports (id, started_by, lines) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id`,
);
const update = statement(
  'user_imports.update',
  `UPDATE user_imports SET state = $2, line = $3, created = $4, updated = $5, unchanged = $6, refused = $7, refusals = $8, notes = $9, seen_at = now()
    WHERE id = $1`,
);
const find = statement(
  'user_imports.find',
  `SELECT *, CASE WHEN state = 'running' AND seen_at < now() - make_interval(secs => ${silence}) THEN 'stopped' ELSE state END AS current_state
     FROM user_imports WHERE id = $1`,
);

interface Row extends ImportProgress {
  id: string;
  current_state: UserImport['state'];
  lines: number;
  refusals: ReportedRow[];
  notes: ReportedRow[];
  started_at: Date;
}

export function userImportsRepository(sql: Sql) {
  return {
    /** False when an import with this id exists, and so was started before. @param lines the number of lines to read */
    async insert(id: string, startedBy: string, lines: number): Promise<boolean> {
      return (await sql.query(insert, [id, startedBy, lines])).length > 0;
    },
    /** @param lists all reported rows, of which the first are kept */
    async update(
      id: string,
      state: UserImport['state'],
      progress: ImportProgress,
      lists: Record<'refusals' | 'notes', readonly ReportedRow[]>,
    ): Promise<void> {
      const { line, created, updated, unchanged, refused } = progress;
      const [refusals, notes] = [lists.refusals, lists.notes].map((list) => JSON.stringify(list.slice(0, maxRefusals)));
      await sql.query(update, [id, state, line, created, updated, unchanged, refused, refusals, notes]);
    },
    async find(id: string): Promise<UserImport | undefined> {
      const [row] = await sql.query<Row>(find, [id]);
      if (!row) return undefined;
      const { current_state, lines, line, created, updated, unchanged, refused, refusals, notes } = row;
      return {
        id,
        state: current_state,
        lines,
        line,
        created,
        updated,
        unchanged,
        refused,
        refusals,
        notes,
        startedAt: row.started_at,
      };
    },
  };
}
