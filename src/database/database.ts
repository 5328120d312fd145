// Opens PostgreSQL: it offers the pool, named prepared statements and transactions, and reports each outage as DatabaseUnavailable.
import { hash } from 'node:crypto';
import pg from 'pg';
import { newPart, type Part, submit } from './batch.ts';
import { createListener } from './listener.ts';
import { databaseLimits, withinDeadline } from './deadline.ts';
import { createTransactionBatches } from './transaction-batches.ts';
import { BatchFailed, createStatementBatcher, type StatementBatcher } from './statement-batcher.ts';
import { refuseStandby } from './standby.ts';
import type { Kind, Statement } from './statement.ts';

/** The database cannot answer now: callers answer 503 with Retry-After, and never decide without it. */
export class DatabaseUnavailable extends Error {}

export interface Sql {
  /** @throws DatabaseUnavailable when the database cannot answer; any other error comes from the statement */
  query<Row>(statement: Statement, values?: unknown[]): Promise<Row[]>;
}

export interface Database extends Sql {
  /**
   * Runs `work` in one transaction on one connection. It is retried up to three times after a serialization failure or a
   * deadlock, so `work` must have no effect but its statements. Statements that `work` issues without awaiting each other are sent together,
   * and run in that order.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Calls `listener` with each notification on the channel, and with undefined whenever some may have been missed. */
  listen(channel: string, listener: (payload: string | undefined) => void): void;
  /** How many connections are busy and idle, and how many callers wait for one. */
  connections(): { busy: number; idle: number; waiting: number };
  close(): Promise<void>;
}

export interface DatabaseOptions {
  connection: pg.ClientConfig;
  /**
   * The server itself, where `connection` leads to a pooler that lends a session for one transaction. What needs its own session uses this
   * connection, and the pooler makes the settings of sessions.
   */
  direct?: pg.ClientConfig | undefined;
  /** False where a pooler does not keep prepared statements after a transaction. */
  prepared?: boolean;
  poolSize: number;
  /** Called with the errors of idle connections, which no caller would get. */
  onError: (error: Error) => void;
}

const serializationFailures = new Set(['40001', '40P01']);
/** A migration made the plan stale: the connection that holds it must be dropped (SQLSTATE 0A000). */
const stalePlan = /^cached plan must not change result type/;
// connection exceptions (except a protocol violation, which is a bug of ours), our statement_timeout, shutdowns, too many
// connections, out of resources, read-only during a failover, our idle_in_transaction_session_timeout, a database that
// accepts no connections now (or not with these credentials)
const unavailable = /^(08(?!P01)...|57014|57P0[1-5]|53...|25006|25P0[34]|40003|58...|XX...|55000|3D000|28...)$/;
/** Callers that may wait for a connection at once: a database that does not respond must not fill the memory (security R108). */
const maxWaiting = 1_000;
const maxAttempts = 4;
/** Milliseconds that a batched operation waits for a lock before each of its callers retries alone. A lock is usually held for one or two. */
const maxLockWait = 100;
/**
 * Milliseconds that operations wait at most for those under way, which usually take one or two, including the disk. Where a commit takes
 * longer, as with a synchronous standby, each operation waits this long, and a longer wait would cost more than it saves.
 */
const maxCoalescingWait = 4;

/** Whether the server sent the error, rather than the driver or the system. */
export const isOfServer = (error: unknown): boolean => error instanceof pg.DatabaseError;

export function isUniqueViolation(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505';
}

/** Whether a text that would name a user or a client names another one already (security R153). */
export function isTakenKey(error: unknown, constraint = 'login_keys_pkey'): boolean {
  return isUniqueViolation(error) && (error as pg.DatabaseError).constraint === constraint;
}

/** Whether the constraint, or a trigger under its name, refused a value. */
export function isCheckViolation(error: unknown, constraint: string): boolean {
  return (
    error instanceof pg.DatabaseError && ['23514', '22023'].includes(error.code!) && error.constraint === constraint
  );
}

/** The sentence of a trigger that refused a change under the name `constraint`; undefined for any other error. */
export function refusalOfTrigger(error: unknown, constraint: string): string | undefined {
  return error instanceof pg.DatabaseError && error.code === '22023' && error.constraint === constraint
    ? error.message
    : undefined;
}

/** Whether a value fits no column, such as text with NUL: the client's mistake (SQLSTATE class 22). */
export function isInvalidValue(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code ?? '').startsWith('22');
}

export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23503';
}

/** The text of each statement in this process, by name. */
const texts = new Map<string, string>();
export const statementTexts: ReadonlyMap<string, string> = texts;
/** PostgreSQL truncates a longer name, so that two names could become equal. */
const maxNameBytes = 63;

/** @throws Error for a name with another text: a connection that prepared one of the two would run it for the other (security R125) */
export function statement(name: string, text: string): Statement {
  const known = texts.get(name);
  if (known !== undefined && known !== text) throw new Error(`two statements have the name ${name}`);
  if (known === undefined) {
    if (Buffer.byteLength(name) > maxNameBytes) throw new Error(`the name of the statement ${name} is too long`);
    texts.set(name, text);
  }
  return { name, text };
}

/**
 * A statement whose text depends on which filters are set. Its name contains a hash of its text, so that two texts never share a name. The
 * text contains no value, since each text stays prepared (security R125).
 */
export function composedStatement(name: string, text: string): Statement {
  return statement(`${name}.${hash('sha256', text).slice(0, 32)}`, text);
}

/**
 * A statement of the hot paths: it finds rows by a key (`read`), writes rows that no other request can know yet (`write`), or does a whole
 * operation (`operation`). Outside a transaction it is batched with statements of other requests, in one transaction on one connection. With
 * `textForMany`, calls that wait for the same statement are coalesced into one.
 */
export function batchedStatement(kind: Kind, name: string, text: string, textForMany?: string): Statement {
  const many = textForMany === undefined ? {} : { many: statement(`${name}.many`, textForMany) };
  return { ...statement(name, text), batched: kind, ...many };
}

export function openDatabase(options: DatabaseOptions): Database {
  const { direct, prepared = true } = options;
  // finds a host that vanished silently, as in a failover, before a request needs it
  const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
  const settings = {
    ...options.connection,
    ...keepAlive,
    connectionTimeoutMillis: databaseLimits.deadline - 200,
    // the server cancels at about the same time as we do, so that little happens after the answer
    ...(!direct && { statement_timeout: databaseLimits.deadline + 100, idle_in_transaction_session_timeout: 10_000 }),
    application_name: 'gatehouse',
  };
  // each kind has its own connections: writes may wait for a disk or a standby, and operations for a row lock
  const connectionsPerKind = direct ? 0 : Math.min(4, Math.floor(options.poolSize / 5));
  const pool = new pg.Pool({
    ...settings,
    max: options.poolSize - 3 * connectionsPerKind,
    query_timeout: databaseLimits.deadline + 200,
    // a new connection plans every statement five times, which costs the server more than an idle connection
    idleTimeoutMillis: 600_000,
    onConnect: refuseStandby,
  });
  function createBatcher(coalescingWait: number, ...commands: string[]): StatementBatcher {
    const setUp = { text: [keepPlans, ...commands].join('; '), query_timeout: databaseLimits.deadline };
    return createStatementBatcher({
      maxConnections: connectionsPerKind,
      coalescingWait,
      maxWaiting,
      connect: async () => {
        const client = new pg.Client(settings);
        // a connection that breaks early fails its callers; an unhandled error event would end the process
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
  const batchers: Record<Kind, StatementBatcher> = {
    read: createBatcher(0),
    write: createBatcher(0),
    operation: createBatcher(maxCoalescingWait, `SET lock_timeout = ${maxLockWait}`),
  };
  pool.on('error', options.onError);
  // a connection that breaks within a transaction fails its statement; an unhandled error event would end the process
  pool.on('connect', (client) => client.on('error', () => undefined));
  const listener = createListener({ ...(direct ?? options.connection), ...keepAlive }, options.onError);

  /** Gets a connection of the pool within the given milliseconds. A connection that comes later returns to the pool. */
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

  const send = (client: pg.PoolClient, parts: readonly Part[]) => withinDeadline((left) => run(client, parts, left()));

  async function run(client: pg.PoolClient, parts: readonly Part[], milliseconds: number): Promise<void> {
    if (milliseconds <= 0) throw new DatabaseUnavailable('the database was too slow');
    try {
      if (direct) for (const part of parts) await runByDriver(client, part, milliseconds);
      else
        await new Promise<void>((resolve, reject) => {
          submit(client, parts, (error) => (error ? reject(error) : resolve()), milliseconds);
        });
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  /** Runs a part through the driver's own query: behind a pooler each transaction may have another server. */
  async function runByDriver(client: pg.PoolClient, part: Part, milliseconds: number): Promise<void> {
    const { name, text } = part.statement;
    const config = { ...(prepared && { name }), text, values: part.parameters, query_timeout: milliseconds };
    const { rows, command } = await client.query<pg.QueryResultRow>(config);
    Object.assign(part, { rows, command });
  }

  /** Lends a connection, and drops it afterwards if an error makes it doubtful. */
  async function withConnection<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await withinDeadline((left) => acquire(left()));
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
    withConnection(async (client) => {
      const part = newPart(query, values);
      await send(client, [part]);
      return part.rows as Row[];
    });

  const transactionOnce = <T>(work: (sql: Sql) => Promise<T>): Promise<T> =>
    withConnection(async (client) => {
      const query = createTransactionBatches(client, (parts) => send(client, parts));
      try {
        // not awaited, so that it is sent with the first statement of `work`
        const begun = query(begin);
        begun.catch(() => undefined);
        const result = await work({
          query: async <Row>(statement: Statement, values?: unknown[]) =>
            (await query(statement, values)).rows as Row[],
        });
        await begun;
        // after a failed statement COMMIT rolls back, which only its command tag says
        if ((await query(commit)).command !== 'COMMIT') throw new Error('the transaction was rolled back');
        return result;
      } catch (error) {
        // a doubtful connection is dropped, which also rolls back, without another wait
        if (!(error instanceof DatabaseUnavailable)) await query(rollback);
        throw error;
      }
    });

  /** Retries work that lost against another transaction or had a stale plan, and so left no effect (security R110). */
  async function retried<T>(work: (again: boolean) => Promise<T>): Promise<T> {
    let stale = 0;
    let again = false;
    for (let attempt = 1; ; again = true) {
      try {
        return await work(again);
      } catch (error) {
        // another request's statement may be the cause: sent alone, this one gives its own result
        if (error instanceof BatchFailed) continue;
        // each connection may hold a stale plan, and is dropped for it
        if (isStalePlan(error) && stale++ <= options.poolSize) continue;
        if (!isSerializationFailure(error)) throw error;
        if (attempt++ === maxAttempts) throw new DatabaseUnavailable('too much contention', { cause: error });
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * attempt));
      }
    }
  }

  async function batched<Row>(kind: Kind, query: Statement, values: unknown[] = []): Promise<Row[]> {
    try {
      return (await batchers[kind].query(query, values)) as Row[];
    } catch (error) {
      // sent alone, the statement may wait longer
      if (isLockTimeout(error)) throw new BatchFailed('a lock was waited for', { cause: error });
      const failure = asUnavailable(error instanceof BatchFailed ? error.cause : error);
      if (!(failure instanceof DatabaseUnavailable)) throw error;
      // a read that was lost with its batch's connection had no effect, and is repeated once (security R109)
      throw kind === 'read' && failure !== error ? new BatchFailed('a connection was lost', { cause: error }) : failure;
    }
  }

  return {
    query: <Row>(query: Statement, values?: unknown[]) =>
      retried((again) =>
        query.batched && connectionsPerKind > 0 && !again
          ? batched<Row>(query.batched, query, values)
          : once<Row>(query, values),
      ),
    transaction: (work) => retried(() => transactionOnce(work)),
    listen: (channel, handler) => listener.listen(channel, handler),
    connections() {
      const all = { busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount };
      for (const { busy, idle, waiting } of Object.values(batchers).map((each) => each.connections())) {
        all.busy += busy;
        all.idle += idle;
        all.waiting += waiting;
      }
      return all;
    },
    async close() {
      await Promise.all([listener.close(), ...Object.values(batchers).map((each) => each.close())]);
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

/** Whether a connection must be dropped after an error: its state is unknown, its server is no longer the right one, or its plan is stale. */
function isDoubtful(error: unknown): boolean {
  return asUnavailable(error) instanceof DatabaseUnavailable || isStalePlan(error);
}

function isStalePlan(error: unknown): boolean {
  return error instanceof pg.DatabaseError && stalePlan.test(error.message);
}

/**
 * A statement that finds rows by a key has one good plan, by the index, for any number of keys. Planning costs more than running it, and
 * a plan made for a small table must stay good when the table has grown.
 */
const keepPlans = 'SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off';
const begin = statement('begin', 'BEGIN');
const commit = statement('commit', 'COMMIT');
const rollback = statement('rollback', 'ROLLBACK');

function asUnavailable(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error;
  if (error instanceof pg.DatabaseError) {
    // PgBouncer reports a missing server or connection as a FATAL protocol violation; our own violations are not FATAL
    return unavailable.test(error.code ?? '') || (error.severity === 'FATAL' && error.code === '08P01')
      ? new DatabaseUnavailable('the database refused', { cause: error })
      : error;
  }
  // any error that the server did not send: refused, reset, timed out, ended
  return error instanceof Error && !(error instanceof TypeError)
    ? new DatabaseUnavailable('the database cannot be reached', { cause: error })
    : error;
}
