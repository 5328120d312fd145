// Checks the database: its version, its sorting, the rights of the role, its connections, its clock, and the schema.
import { DatabaseUnavailable } from '../../database/database.ts';
import { compareMigrations } from '../../database/migrations.ts';
import type { ServerFacts } from '../../repositories/doctor/doctor-view.ts';
import type { ServiceDatabase } from '../../database/service-database.ts';
import { check, fault, type Finding, ok, warning } from './check.ts';

const oldestMajor = 15;
/** Its last release of PostgreSQL is in November of the fifth year. */
const endsIn: Record<number, number> = { 15: 2027, 16: 2028, 17: 2029, 18: 2030 };

/** Why there is no answer, by the code of the server or of the connection. */
const silences: Record<string, readonly [says: string, todo: string]> = {
  '53300': [
    'all connections of the server are in use',
    'Look in pg_stat_activity which programs use them, or raise max_connections of PostgreSQL.',
  ],
  '28P01': ['the server refuses the password', 'Correct the user and the password in DATABASE_URL.'],
  '28000': [
    'the server refuses the role',
    'Correct the user in DATABASE_URL, or let it in by pg_hba.conf of PostgreSQL.',
  ],
  '3D000': ['the server has no database of this name', 'Correct the name in DATABASE_URL, or create the database.'],
  ECONNREFUSED: ['no server listens there', 'Start PostgreSQL, or correct the host and the port in DATABASE_URL.'],
  ENOTFOUND: ['its host has no address', 'Correct the host in DATABASE_URL.'],
};
const silence = [
  'the database does not answer, or refuses the connection',
  'Start PostgreSQL, and correct DATABASE_URL: its host, port, user, password and name. The log of PostgreSQL has the reason.',
] as const;

interface SeenDatabase {
  /** Undefined if the database does not answer; the code then says why, if there is one. */
  server: ServerFacts | undefined;
  code?: string | undefined;
  kind: ServiceDatabase['kind'];
  year: number;
}

export const database = check<SeenDatabase>('database', {
  async look({ server, kind }) {
    const year = new Date().getUTCFullYear();
    try {
      return { server: await server(), kind, year };
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      // the cause is an error of the driver or of the system
      return { server: undefined, code: (error.cause as NodeJS.ErrnoException | undefined)?.code, kind, year };
    }
  },
  judge({ server, code = '', kind, year }) {
    if (!server) {
      const [says, todo] = silences[code] ?? silence;
      return [fault(says === silence[0] ? says : `the database does not answer: ${says}`, todo)];
    }
    const { version, major, encoding, hasIcu, icuChanged, collationChanged, size } = server;
    const found: Finding[] = [];
    if (major < oldestMajor)
      found.push(fault(`PostgreSQL ${version} is too old`, `Move the database to PostgreSQL ${oldestMajor} or later.`));
    else if ((endsIn[major] ?? Infinity) < year)
      found.push(warning(`PostgreSQL ${version} gets no more fixes`, 'Move the database to a newer major version.'));
    if (encoding !== 'UTF8')
      found.push(fault(`the encoding is ${encoding}`, `Dump the database, and load it into one with ENCODING 'UTF8'.`));
    if (!hasIcu)
      found.push(
        fault(
          'the collation und-x-icu is missing',
          'Use a PostgreSQL that is built with ICU: names are compared by it.',
        ),
      );
    if (icuChanged)
      found.push(
        warning(
          'names are sorted by another version of ICU than that of the indexes, after an update of the system',
          'Run REINDEX DATABASE, then ALTER COLLATION "und-x-icu" REFRESH VERSION: until then a user may not be found.',
        ),
      );
    if (collationChanged)
      found.push(
        warning(
          'the collation of the database has another version than its indexes, after an update of the system',
          'Run REINDEX DATABASE, then ALTER DATABASE name REFRESH COLLATION VERSION.',
        ),
      );
    if (found.length > 0) return found;
    return [ok(`${kind} PostgreSQL ${version}, ${encoding}, ${Math.ceil(size / 1_048_576)} MiB`)];
  },
});

export const rights = check<ServerFacts & { kind: ServiceDatabase['kind'] }>('rights', {
  look: async ({ server, kind }) => ({ ...(await server()), kind }),
  judge({ role, schema, superuser, mayCreate, closedTables, kind }) {
    if (closedTables.length > 0)
      return [
        fault(
          `the role ${role} may not read and write ${closedTables.slice(0, 3).join(', ')}${closedTables.length > 3 ? ` and ${closedTables.length - 3} more` : ''}`,
          `Make it their owner: REASSIGN OWNED BY the_former_role TO ${role};`,
        ),
      ];
    if (mayCreate !== true)
      return [
        fault(
          `the role ${role} may not create tables in the schema ${schema ?? '(none)'}`,
          `Run as the owner of the database: GRANT CREATE ON SCHEMA ${schema ?? 'public'} TO ${role}; otherwise the next version cannot migrate.`,
        ),
      ];
    if (superuser && kind === 'external')
      return [
        warning(
          `the role ${role} is a superuser`,
          `Give the service a role of its own that owns its database: a fault of the service could then reach nothing else of the server.`,
        ),
      ];
    return [ok(`${role} owns what it needs`)];
  },
});

interface SeenConnections {
  connections: number;
  open: number;
  instances: number;
  pool: number;
}

export const maxConnections = check<SeenConnections>('max-connections', {
  async look({ server, store, probes, config }) {
    const [{ connections: most, open }, running, { short }] = await Promise.all([
      server(),
      store.doctorView.instances(),
      probes(),
    ]);
    // the instance knows its own setting, which this shell may not have
    const pool = short.seen?.pool ?? config.databasePoolSize;
    return { connections: most, open, instances: Math.max(1, running.length), pool };
  },
  judge({ connections: most, open, instances, pool }) {
    // each instance listens on one more
    const needed = instances * (pool + 1);
    if (needed > most)
      return [
        warning(
          `${instances} × ${pool + 1} connections may be needed, and the server allows ${most}`,
          `Set max_connections of PostgreSQL to ${needed + 20} or more, or make DATABASE_POOL_SIZE smaller.`,
        ),
      ];
    if (open > 0.9 * most)
      return [
        warning(
          `${open} of ${most} connections of the server are in use`,
          'Look in pg_stat_activity which programs use them, or raise max_connections.',
        ),
      ];
    return [ok(`${open} of ${most} in use, at most ${needed} of them by the service`)];
  },
});

interface SeenClocks {
  /** Milliseconds by which the clock is ahead of the database's. */
  here: number;
  instance: number | undefined;
}

export const clock = check<SeenClocks>('clock', {
  async look({ store, probes }) {
    const before = Date.now();
    const now = await store.doctorView.clock();
    const middle = (before + Date.now()) / 2;
    const here = middle - now.getTime();
    const { short } = await probes();
    // the doctor's own clock is the ruler between the two
    const instance = short.seen && Date.parse(short.seen.at) - short.sentAt + here;
    return { here, instance };
  },
  judge({ here, instance }) {
    const all = [
      ['this machine', here],
      ['the instance', instance ?? 0],
    ] as const;
    const [who, ahead] = all.toSorted((one, other) => Math.abs(other[1]) - Math.abs(one[1]))[0]!;
    const seconds = Math.round(Math.abs(ahead) / 100) / 10;
    const says = `the clock of ${who} is ${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} that of the database`;
    const todo = 'Let all machines set their clocks by NTP (timedatectl set-ntp true).';
    // proofs and assertions of clients are refused after a minute
    if (seconds >= 30) return [fault(says, todo)];
    return seconds >= 5 ? [warning(says, todo)] : [ok(`within ${seconds} s of the database`)];
  },
});

export const schema = check<{ pending: string[]; unknown: string[] }>('schema', {
  look: async ({ store }) => compareMigrations(await store.doctorView.migrations()),
  judge({ pending, unknown }) {
    if (unknown.length > 0)
      return [
        fault(
          `the database has ${unknown.at(-1)}, which this version does not know`,
          'Use the newer version of Gatehouse here, too. To go back, restore the backup from before the update.',
        ),
      ];
    if (pending.length > 0)
      return [
        warning(
          `${pending.length} ${pending.length === 1 ? 'migration is' : 'migrations are'} pending (${pending[0]})`,
          'Make a backup, then start the service of this version, or run: bin/gatehouse migrate',
        ),
      ];
    return [ok('no migration is pending')];
  },
});
