// The one door to PostgreSQL: the pool, named prepared statements, transactions, and the database's trouble as one named error.
import pg from 'pg';

/** The database cannot be asked just now: callers answer 503 with Retry-After, never a verdict. */
export class DatabaseUnavailable extends Error {}

/** A statement that is prepared once a connection under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export interface Sql {
  /** @throws DatabaseUnavailable when the database cannot be asked; any other error is the statement's own */
  query<Row>(statement: Statement, values?: unknown[]): Promise<Row[]>;
}

export interface Database extends Sql {
  /**
   * Runs `work` in one transaction on one connection; a serialization failure or a deadlock is tried again,
   * three times at most, so `work` must have no effect but its statements.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Calls `listener` with each notification on the channel, and with undefined whenever some may have been missed. */
  listen(channel: string, listener: (payload: string | undefined) => void): void;
  /** Puts words behind the name of the connection that listens, for as long as it does: in pg_stat_activity everybody sees them. */
  introduce(words: string): void;
  /** How many connections are at work and idle, and how many callers wait for one. */
  connections(): { busy: number; idle: number; waiting: number };
  close(): Promise<void>;
}

export interface DatabaseOptions {
  connection: pg.ClientConfig;
  poolSize: number;
  /** Called with trouble of idle connections, which nobody else would see. */
  onError: (error: Error) => void;
}

const serializationFailures = new Set(['40001', '40P01']);
/** A plan that a migration made stale: the connection that holds it has to go (SQLSTATE 0A000). */
const stalePlan = /^cached plan must not change result type/;
// connection exceptions (but not a protocol violation, which is a mistake of ours), our statement_timeout, shutdowns, too
// many connections, out of resources, read-only during a failover, a database that lets nobody in just now (or not with
// these credentials)
const unavailable = /^(08(?!P01)...|57014|57P0[1-4]|53...|25006|58...|XX...|55000|3D000|28...)$/;

export function isUniqueViolation(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505';
}

export function isCheckViolation(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23514' && error.constraint === constraint;
}

/** A value that no column could hold, such as text with NUL: the sender's fault (SQLSTATE class 22). */
export function isInvalidValue(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code ?? '').startsWith('22');
}

export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23503';
}

export function statement(name: string, text: string): Statement {
  return { name, text };
}

export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...options.connection,
    max: options.poolSize,
    connectionTimeoutMillis: 2_500,
    // a frozen server is told within 3 s; the server gives up first, so that nothing happens after the answer
    statement_timeout: 2_800,
    query_timeout: 2_900,
    idle_in_transaction_session_timeout: 10_000,
    idleTimeoutMillis: 30_000,
    application_name: 'gatehouse',
  });
  pool.on('error', options.onError);
  // a connection that breaks while a transaction holds it fails that transaction's statement; unheard, it would end the process
  pool.on('connect', (client) => client.on('error', () => undefined));
  const listener = createListener(options);

  async function run<Row>(client: pg.Pool | pg.PoolClient, query: Statement, values: unknown[] = []): Promise<Row[]> {
    try {
      const result = await client.query({ name: query.name, text: query.text, values });
      return result.rows as Row[];
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  async function once<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    let client: pg.PoolClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw asUnavailable(error);
    }
    let broken: Error | undefined;
    try {
      await run(client, begin);
      const result = await work({ query: (query, values) => run(client, query, values) });
      await run(client, commit);
      return result;
    } catch (error) {
      if (error instanceof Error && stalePlan.test(error.message)) broken = error;
      await client.query('ROLLBACK').catch((rollbackError: Error) => (broken = rollbackError));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  return {
    query: (query, values) => retried(() => run(pool, query, values)),
    transaction: (work) => retried(() => once(work)),
    listen: (channel, handler) => listener.listen(channel, handler),
    introduce: (words) => listener.introduce(words),
    connections: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    async close() {
      await listener.close();
      await pool.end();
    },
  };
}

/** Tries again what lost against another transaction and left nothing behind. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const lost =
        error instanceof pg.DatabaseError &&
        (serializationFailures.has(error.code ?? '') || stalePlan.test(error.message));
      if (!lost || attempt > 3) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * attempt));
    }
  }
}

const begin = statement('begin', 'BEGIN');
const commit = statement('commit', 'COMMIT');

function asUnavailable(error: unknown): unknown {
  if (error instanceof pg.DatabaseError) {
    return unavailable.test(error.code ?? '')
      ? new DatabaseUnavailable('the database refused', { cause: error })
      : error;
  }
  // everything that is no answer of the server: refused, reset, timed out, ended
  return error instanceof Error && !(error instanceof TypeError)
    ? new DatabaseUnavailable('the database cannot be reached', { cause: error })
    : error;
}

/** One connection of its own that listens, and comes back by itself. */
function createListener(options: DatabaseOptions) {
  const handlers = new Map<string, (payload: string | undefined) => void>();
  let introduction = '';
  let client: pg.Client | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  async function connect(): Promise<void> {
    const next = new pg.Client({
      ...options.connection,
      application_name: listenerName(),
      connectionTimeoutMillis: 2_500,
      keepAlive: true,
    });
    let over = false;
    // once a connection, by whichever sign its end shows first
    const lost = (): void => {
      if (over) return;
      over = true;
      void next.end().catch(() => undefined);
      if (client === next) {
        client = undefined;
        if (!closed) for (const handler of handlers.values()) handler(undefined);
      }
      again();
    };
    next.on('error', lost);
    next.on('end', lost);
    next.on('notification', (message) => handlers.get(message.channel)?.(message.payload));
    try {
      await next.connect();
      client = next;
      // the words may have changed meanwhile
      await name(next);
      for (const channel of handlers.keys()) await next.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
      for (const handler of handlers.values()) handler(undefined);
    } catch (error) {
      if (!closed) options.onError(error as Error);
      lost();
    }
    if (closed) await next.end().catch(() => undefined);
  }

  const listenerName = () => `gatehouse listener ${introduction}`.trimEnd();

  async function name(listening: pg.Client | undefined): Promise<void> {
    await listening?.query(`SELECT set_config('application_name', $1, false)`, [listenerName()]);
  }

  function again(): void {
    if (!closed) timer = setTimeout(() => void connect(), 500);
  }

  return {
    listen(channel: string, handler: (payload: string | undefined) => void): void {
      handlers.set(channel, handler);
      if (!client && !timer) timer = setTimeout(() => void connect(), 0);
      else void client?.query(`LISTEN ${pg.escapeIdentifier(channel)}`).catch(() => undefined);
    },
    introduce(words: string): void {
      if (words === introduction) return;
      introduction = words;
      // what fails on a connection that breaks is done on the next one
      name(client).catch(() => undefined);
    },
    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      await client?.end().catch(() => undefined);
    },
  };
}
