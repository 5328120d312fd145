// Reads and writes the tables directory_imports and directory_entries: the imports of directories, and the entries that the last import found.
import { type Sql, statement } from '../../database/database.ts';

export const importStates = ['new', 'done', 'failed', 'held'] as const;

/** The result of a run, as numbers of users. */
export interface ImportCounts {
  /** Entries of users. */
  found: number;
  created: number;
  /** Users whose entry had changed. */
  changed: number;
  disabled: number;
  enabled: number;
  /** Entries that no user got: a name is taken, or the connection makes no users. */
  skipped: number;
  /** Administrators whose entry is gone. An import does not disable them. */
  kept: number;
}

export interface DirectoryImport {
  connectionId: string;
  mark: string | undefined;
  fullAt: Date | undefined;
  state: (typeof importStates)[number];
  problem: string | undefined;
  approved: number | undefined;
  counts: Partial<ImportCounts>;
  startedAt: Date | undefined;
  finishedAt: Date | undefined;
  running: boolean;
}

/** The result of a run. An undefined member keeps the stored value. */
export interface ImportResult {
  state: 'done' | 'failed' | 'held';
  problem?: string | undefined;
  counts: Partial<ImportCounts>;
  mark?: string | undefined;
  /** Whether the run read every user. */
  full: boolean;
}

/** A linked user, as an import finds it. */
export interface LinkedEntry {
  subject: string;
  sub: string;
  enabled: boolean;
}

export interface SeenEntry {
  digest: Buffer;
  present: boolean;
  disabled: boolean;
}

interface Row {
  connection_id: string;
  mark: string | null;
  full_at: Date | null;
  state: DirectoryImport['state'];
  problem: string | null;
  approved: number | null;
  counts: Partial<ImportCounts>;
  started_at: Date | null;
  finished_at: Date | null;
  running: boolean;
}

/** Seconds that an instance has for the next step of a run. After them, another instance may start the run again. */
const lease = 120;
const columns =
  'i.connection_id, i.mark, i.full_at, i.state, i.problem, i.approved, i.counts, i.started_at, i.finished_at, i.held_until > now() AS running';
const imported = `c.kind = 'ldap' AND c.status = 'enabled' AND c.settings ->> 'import' ~ '^[0-9]{1,5}$'`;

const prepare = statement(
  'directory_imports.prepare',
  `INSERT INTO directory_imports (connection_id) SELECT id FROM connections c WHERE ${imported} ON CONFLICT DO NOTHING`,
);
const claim = statement(
  'directory_imports.claim',
  `WITH due AS (
     SELECT d.connection_id FROM directory_imports d JOIN connections c ON c.id = d.connection_id
      WHERE ${imported} AND d.held_until <= now()
        AND (d.requested_at IS NOT NULL OR d.finished_at IS NULL
             OR d.finished_at + make_interval(mins => (c.settings ->> 'import')::int) <= now())
      ORDER BY d.finished_at NULLS FIRST, d.connection_id LIMIT 1 FOR UPDATE OF d SKIP LOCKED)
   UPDATE directory_imports i SET holder = $1, held_until = now() + make_interval(secs => ${lease}), requested_at = NULL, started_at = now()
     FROM due WHERE i.connection_id = due.connection_id RETURNING ${columns}`,
);
const extend = statement(
  'directory_imports.extend',
  `UPDATE directory_imports d SET held_until = now() + make_interval(secs => ${lease}) FROM connections c
    WHERE d.connection_id = $1 AND d.holder = $2 AND c.id = d.connection_id AND ${imported} RETURNING 1 AS held`,
);
const finish = statement(
  'directory_imports.finish',
  `UPDATE directory_imports SET holder = NULL, held_until = '-infinity', state = $3, problem = $4, counts = $5,
     mark = coalesce($6, mark), full_at = CASE WHEN $7 THEN started_at ELSE full_at END,
     approved = CASE WHEN $3 = 'failed' THEN approved END, finished_at = now()
    WHERE connection_id = $1 AND holder = $2 RETURNING 1 AS held`,
);
const release = statement(
  'directory_imports.release',
  `UPDATE directory_imports SET holder = NULL, held_until = '-infinity', requested_at = now()
    WHERE connection_id = $1 AND holder = $2`,
);
const find = statement(
  'directory_imports.find',
  `SELECT ${columns} FROM directory_imports i WHERE i.connection_id = $1`,
);
const request = statement(
  'directory_imports.request',
  `INSERT INTO directory_imports AS i (connection_id, requested_at) VALUES ($1, now())
   ON CONFLICT (connection_id) DO UPDATE SET requested_at = now(), full_at = CASE WHEN $2 THEN NULL ELSE i.full_at END`,
);
const approve = statement(
  'directory_imports.approve',
  `UPDATE directory_imports SET approved = (counts ->> 'disabled')::int, requested_at = now()
    WHERE connection_id = $1 AND state = 'held' AND coalesce($2, (counts ->> 'disabled')::int) = (counts ->> 'disabled')::int RETURNING approved`,
);
const wake = statement('directory_imports.wake', `SELECT pg_notify('gatehouse', 'import')`);
const linked = statement(
  'directory_entries.linked',
  `SELECT l.subject, l.sub, u.status = 'enabled' AS enabled FROM linked_identities l JOIN users u ON u.sub = l.sub
    WHERE l.connection_id = $1 AND l.issuer = $1`,
);
const seen = statement(
  'directory_entries.seen',
  'SELECT subject, digest, present, disabled FROM directory_entries WHERE connection_id = $1',
);
const isDisabled = statement(
  'directory_entries.is_disabled',
  'SELECT disabled FROM directory_entries WHERE connection_id = $1 AND subject = $2',
);
const note = statement(
  'directory_entries.note',
  `INSERT INTO directory_entries (connection_id, subject, digest, present, disabled) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (connection_id, subject) DO UPDATE SET digest = $3, present = $4, disabled = $5`,
);

export function directoryImportsRepository(sql: Sql) {
  return {
    /** Leases the import that has been due longest; undefined if none is. @param holder a name for the run */
    async claim(holder: string): Promise<DirectoryImport | undefined> {
      await sql.query(prepare);
      const [row] = await sql.query<Row>(claim, [holder]);
      return row && toImport(row);
    },
    /** Extends the lease. False if another run has it, or if the connection imports no users any more: an administrator stops the run by disabling it. */
    extend: async (id: string, holder: string): Promise<boolean> => (await sql.query(extend, [id, holder])).length > 0,
    /** Stores the result of a run. False if another run has the lease. */
    async finish(id: string, holder: string, { state, problem, counts, mark, full }: ImportResult): Promise<boolean> {
      return (await sql.query(finish, [id, holder, state, problem, counts, mark, full])).length > 0;
    },
    /** Ends the lease, so that another instance can start the run again. */
    async release(id: string, holder: string): Promise<void> {
      await sql.query(release, [id, holder]);
    },
    async find(id: string): Promise<DirectoryImport | undefined> {
      const [row] = await sql.query<Row>(find, [id]);
      return row && toImport(row);
    },
    /** Makes an import due now, on any instance. @param full whether it reads every user */
    async request(id: string, full: boolean): Promise<void> {
      await sql.query(request, [id, full]);
      await sql.query(wake);
    },
    /**
     * Approves the import that waits. Returns the number of users that it may disable, or undefined if none waits.
     * @param seen approves only if this is the number
     */
    async approve(id: string, seen: number | undefined): Promise<number | undefined> {
      const [row] = await sql.query<{ approved: number | null }>(approve, [id, seen]);
      if (!row) return undefined;
      await sql.query(wake);
      return row.approved ?? 0;
    },
    /** Every user who is linked to the connection. */
    linked: (id: string): Promise<LinkedEntry[]> => sql.query<LinkedEntry>(linked, [id]),
    /** The entries that the last import found, by subject. */
    async seen(id: string): Promise<Map<string, SeenEntry>> {
      const rows = await sql.query<SeenEntry & { subject: string }>(seen, [id]);
      return new Map(rows.map(({ subject, ...entry }) => [subject, entry]));
    },
    /** In a transaction that holds the user's row: whether the import disabled the user, and no administrator decided since. */
    async isDisabled(id: string, subject: string): Promise<boolean> {
      return (await sql.query<{ disabled: boolean }>(isDisabled, [id, subject]))[0]?.disabled ?? false;
    },
    async note(id: string, subject: string, { digest, present, disabled }: SeenEntry): Promise<void> {
      await sql.query(note, [id, subject, digest, present, disabled]);
    },
  };
}

const toImport = (row: Row): DirectoryImport => ({
  connectionId: row.connection_id,
  mark: row.mark ?? undefined,
  fullAt: row.full_at ?? undefined,
  state: row.state,
  problem: row.problem ?? undefined,
  approved: row.approved ?? undefined,
  counts: row.counts,
  startedAt: row.started_at ?? undefined,
  finishedAt: row.finished_at ?? undefined,
  running: row.running,
});
