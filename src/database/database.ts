// The one door to PostgreSQL: the pool, named prepared statements, transactions, and the database's trouble as one named error.
import { hash } from 'node:crypto';
import pg from 'pg';
import { newPart, type Part, submit } from './batch.ts';
import { createListener } from './listener.ts';
import { patience, patiently } from './deadline.ts';
import { createSharedStatements, FailedTogether, type SharedStatements } from './statement-batcher.ts';
import { refuseStandby } from './standby.ts';
import type { Kind, Statement } from './statement.ts';

/** The database cannot be asked just now: callers answer 503 with Retry-After, never a verdict. */
export class DatabaseUnavailable extends Error {}

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
  /** How many connections are at work and idle, and how many callers wait for one. */
  connections(): { busy: number; idle: number; waiting: number };
  close(): Promise<void>;
}

export interface DatabaseOptions {
  connection: pg.ClientConfig;
  /**
   * The server itself, where `connection` leads to a pooler that lends a session for one transaction: what needs a session of
   * its own goes there, and settings of a session are the pooler's business.
   */
  direct?: pg.ClientConfig | undefined;
  /** False where a statement is forgotten once its transaction is over: such a pooler may not know prepared statements. */
  prepared?: boolean;
  poolSize: number;
  /** Called with trouble of idle connections, which nobody else would see. */
  onError: (error: Error) => void;
}

const serializationFailures = new Set(['40001', '40P01']);
/** A plan that a migration made stale: the connection that holds it has to go (SQLSTATE 0A000). */
const stalePlan = /^cached plan must not change result type/;
// connection exceptions (but not a protocol violation, which is a mistake of ours), our statement_timeout, shutdowns, too
// many connections, out of resources, read-only during a failover, our idle_in_transaction_session_timeout, a database that
// lets nobody in just now (or not with these credentials)
const unavailable = /^(08(?!P01)...|57014|57P0[1-5]|53...|25006|25P0[34]|40003|58...|XX...|55000|3D000|28...)$/;
/** Callers that wait for a connection at a time: a database that stands still must not fill the memory (security R108). */
const maxWaiting = 1_000;
const maxAttempts = 4;
/** Milliseconds that an act waits for a lock before those who went with it are let go, each by itself: mostly it is held for one or two. */
const mostLockWait = 100;
/**
 * Milliseconds for which acts wait for those that are under way, of any kind: mostly they take one or two, with the disk. Where a commit takes
 * longer, as with a standby that is waited for, this is what each kind waits for the one before it, and more would cost more than it saves.
 */
const mostGathering = 4;

export function isUniqueViolation(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505';
}

export function isCheckViolation(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23514' && error.constraint === constraint;
}

/** What a trigger refused under a name of its own, if that is what went wrong: its sentence. */
export function refusalOfTrigger(error: unknown, constraint: string): string | undefined {
  return error instanceof pg.DatabaseError && error.code === '22023' && error.constraint === constraint
    ? error.message
    : undefined;
}

/** A value that no column could hold, such as text with NUL: the sender's fault (SQLSTATE class 22). */
export function isInvalidValue(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code ?? '').startsWith('22');
}

export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23503';
}

/** The text of each name in this process. */
const texts = new Map<string, string>();
export const statementTexts: ReadonlyMap<string, string> = texts;
/** PostgreSQL cuts off what is longer, and takes two names with the same beginning for one. */
const mostNameBytes = 63;

/** @throws Error for a name that has another text: a connection that prepared one of the two would run it for the other (security R125) */
export function statement(name: string, text: string): Statement {
  const known = texts.get(name);
  if (known !== undefined && known !== text) throw new Error(`two statements have the name ${name}`);
  if (known === undefined) {
    if (Buffer.byteLength(name) > mostNameBytes) throw new Error(`the name of the statement ${name} is too long`);
    texts.set(name, text);
  }
  return { name, text };
}

/**
 * A statement whose text depends on which filters are set. Its name is made of its text, so that two texts never have one name. The text
 * holds no value, since each text stays prepared (security R125).
 */
export function composedStatement(name: string, text: string): Statement {
  return statement(`${name}.${hash('sha256', text).slice(0, 32)}`, text);
}

/**
 * A statement of the hot paths: it finds rows by a key (`read`), writes rows that nobody else can know yet (`write`), or is all that an
 * act does (`act`). Outside a transaction it shares a connection, and its transaction, with those of other requests; and with those that
 * wait for the same of other keys even the statement, if there is one for many.
 */
export function sharedStatement(kind: Kind, name: string, text: string, textOfMany?: string): Statement {
  const many = textOfMany === undefined ? {} : { many: statement(`${name}.many`, textOfMany) };
  return { ...statement(name, text), shared: kind, ...many };
}

export function openDatabase(options: DatabaseOptions): Database {
  const { direct, prepared = true } = options;
  // a host that vanished without a word, as in a failover, is found out before a request meets it
  const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
  const settings = {
    ...options.connection,
    ...keepAlive,
    connectionTimeoutMillis: patience - 200,
    // the server gives up about when we do: little happens after the answer
    ...(!direct && { statement_timeout: patience + 100, idle_in_transaction_session_timeout: 10_000 }),
    application_name: 'gatehouse',
  };
  // reads apart from what writes, which may have to wait for a disk or a standby, and that apart from what may have to wait for a row
  const lanes = direct ? 0 : Math.min(4, Math.floor(options.poolSize / 5));
  const pool = new pg.Pool({
    ...settings,
    max: options.poolSize - 3 * lanes,
    query_timeout: patience + 200,
    // a new connection plans every statement anew, five times: that costs the server more than an idle one
    idleTimeoutMillis: 600_000,
    onConnect: refuseStandby,
  });
  function share(gathering: number, ...more: string[]): SharedStatements {
    const setUp = { text: [settlePlans, ...more].join('; '), query_timeout: patience };
    return createSharedStatements({
      lanes,
      gathering,
      maxWaiting,
      connect: async () => {
        const client = new pg.Client(settings);
        // one that breaks before it is ready fails what waits for it; unheard, it would end the process
        client.on('error', () => undefined);
        try {
          await client.connect();
          await refuseStandby(client);
          await client.query(setUp);
          return client;
        } catch (error) {
          void client.end().catch(() => undefined);
          throw error;
        }
      },
      isDoubtful,
      tooSlow: () => new DatabaseUnavailable('the database was too slow'),
      onError: options.onError,
    });
  }
  const shared: Record<Kind, SharedStatements> = {
    read: share(0),
    write: share(0),
    act: share(mostGathering, `SET lock_timeout = ${mostLockWait}`),
  };
  pool.on('error', options.onError);
  // a connection that breaks while a transaction holds it fails that transaction's statement; unheard, it would end the process
  pool.on('connect', (client) => client.on('error', () => undefined));
  const listener = createListener({ ...(direct ?? options.connection), ...keepAlive }, options.onError);

  /** A connection of the pool, within the given milliseconds; one that comes later goes back. */
  function acquire(milliseconds: number): Promise<pg.PoolClient> {
    if (milliseconds <= 0 || pool.waitingCount >= maxWaiting)
      throw new DatabaseUnavailable('too many wait for the database');
    return new Promise((resolve, reject) => {
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        reject(new DatabaseUnavailable('no connection became free'));
      }, milliseconds);
      pool.connect((error, client) => {
        clearTimeout(timer);
        if (late) client?.release();
        else if (client) resolve(client);
        else reject(asUnavailable(error));
      });
    });
  }

  const send = (client: pg.PoolClient, query: Statement, values: unknown[] = []) =>
    patiently((left) => run(client, query, values, left()));

  async function run(
    client: pg.PoolClient,
    query: Statement,
    values: unknown[],
    milliseconds: number,
  ): Promise<Pick<Part, 'rows' | 'command'>> {
    if (milliseconds <= 0) throw new DatabaseUnavailable('the database was too slow');
    try {
      if (direct) {
        // as the driver does it: behind a pooler the server is another one each time
        const { name, text } = query;
        const config = { ...(prepared && { name }), text, values, query_timeout: milliseconds };
        return await client.query<pg.QueryResultRow>(config);
      }
      const part = newPart(query, values);
      await new Promise<void>((resolve, reject) => {
        submit(client, [part], (error) => (error ? reject(error) : resolve()), milliseconds);
      });
      return part;
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  /** Lends a connection; it is gone afterwards when what happened makes it doubtful. */
  async function withConnection<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await patiently((left) => acquire(left()));
    let doubtful = false;
    try {
      return await work(client);
    } catch (error) {
      doubtful = isDoubtful(error);
      throw error;
    } finally {
      client.release(doubtful);
    }
  }

  const once = <Row>(query: Statement, values: unknown[] = []): Promise<Row[]> =>
    withConnection(async (client) => (await send(client, query, values)).rows as Row[]);

  const transactionOnce = <T>(work: (sql: Sql) => Promise<T>): Promise<T> =>
    withConnection(async (client) => {
      try {
        await send(client, begin);
        const result = await work({
          query: async <Row>(query: Statement, values?: unknown[]) => (await send(client, query, values)).rows as Row[],
        });
        // after a failed statement COMMIT takes all back and says so only by its answer
        if ((await send(client, commit)).command !== 'COMMIT') throw new Error('the transaction was taken back');
        return result;
      } catch (error) {
        // what is doubtful is dropped, which takes its transaction back too, without another wait
        if (!(error instanceof DatabaseUnavailable)) await send(client, rollback);
        throw error;
      }
    });

  /** Tries again what lost against another transaction, or met a stale plan, and left nothing behind (security R110). */
  async function retried<T>(work: (again: boolean) => Promise<T>): Promise<T> {
    let stale = 0;
    let again = false;
    for (let attempt = 1; ; again = true) {
      try {
        return await work(again);
      } catch (error) {
        // perhaps by another request's statement: alone it tells
        if (error instanceof FailedTogether) continue;
        // each connection may hold one, and is dropped for it
        if (isStalePlan(error) && stale++ <= options.poolSize) continue;
        if (!isSerializationFailure(error)) throw error;
        if (attempt++ === maxAttempts) throw new DatabaseUnavailable('too much contention', { cause: error });
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * attempt));
      }
    }
  }

  async function together<Row>(kind: Kind, query: Statement, values: unknown[] = []): Promise<Row[]> {
    try {
      return (await shared[kind].query(query, values)) as Row[];
    } catch (error) {
      // by itself it may wait longer
      if (isLockTimeout(error)) throw new FailedTogether('a lock was waited for', { cause: error });
      const trouble = asUnavailable(error instanceof FailedTogether ? error.cause : error);
      if (!(trouble instanceof DatabaseUnavailable)) throw error;
      // a read that was lost with the connection of many did nothing, and is asked once more (security R109)
      throw kind === 'read' && trouble !== error
        ? new FailedTogether('a connection was lost', { cause: error })
        : trouble;
    }
  }

  return {
    query: <Row>(query: Statement, values?: unknown[]) =>
      retried((again) =>
        query.shared && lanes > 0 && !again ? together<Row>(query.shared, query, values) : once<Row>(query, values),
      ),
    transaction: (work) => retried(() => transactionOnce(work)),
    listen: (channel, handler) => listener.listen(channel, handler),
    connections() {
      const all = { busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount };
      for (const { busy, idle, waiting } of Object.values(shared).map((each) => each.connections())) {
        all.busy += busy;
        all.idle += idle;
        all.waiting += waiting;
      }
      return all;
    },
    async close() {
      await Promise.all([listener.close(), ...Object.values(shared).map((each) => each.close())]);
      await pool.end();
    },
  };
}

function isSerializationFailure(error: unknown): boolean {
  return error instanceof pg.DatabaseError && serializationFailures.has(error.code ?? '');
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '55P03';
}

/** Whether a connection is to go after this: nobody can tell what it still does, it leads to a server that is no longer the right one, or its plan is stale. */
function isDoubtful(error: unknown): boolean {
  return asUnavailable(error) instanceof DatabaseUnavailable || isStalePlan(error);
}

function isStalePlan(error: unknown): boolean {
  return error instanceof pg.DatabaseError && stalePlan.test(error.message);
}

/**
 * What finds rows by a key has one good plan, by the index, however many keys there are: to plan it anew costs more than to run it,
 * and a plan that was made while the table was small must do when it has grown.
 */
const settlePlans = 'SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off';
const begin = statement('begin', 'BEGIN');
const commit = statement('commit', 'COMMIT');
const rollback = statement('rollback', 'ROLLBACK');

function asUnavailable(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error;
  if (error instanceof pg.DatabaseError) {
    // PgBouncer says with the code of a protocol violation that a server or a place was not to be had, and hangs up; ours are no FATAL
    return unavailable.test(error.code ?? '') || (error.severity === 'FATAL' && error.code === '08P01')
      ? new DatabaseUnavailable('the database refused', { cause: error })
      : error;
  }
  // everything that is no answer of the server: refused, reset, timed out, ended
  return error instanceof Error && !(error instanceof TypeError)
    ? new DatabaseUnavailable('the database cannot be reached', { cause: error })
    : error;
}
