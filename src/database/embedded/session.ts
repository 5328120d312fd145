// Opens the connection that marks a process as a user of the server: it holds a shared lock, which the other processes can see.
import pg from 'pg';
import { PORT } from './cluster.ts';
import { errorCode } from './error.ts';

/** Advisory lock of the database "postgres": every process that uses the server holds it shared, and the one that stops it exclusively. */
const IN_USE = 0x67617465;
/** Advisory lock held while the role and the database are made. */
const PROVISION = 0x67617466;

/**
 * `busy`: a server runs, but it starts, stops, recovers or is full. `absent`: no server listens.
 */
export type Attempt = { session: Session } | { session?: undefined; state: 'busy' | 'absent' };

/** A connection as the superuser, for whom PostgreSQL reserves connections. */
export class Session {
  readonly #client: pg.Client;
  #closed = false;

  constructor(client: pg.Client) {
    this.#client = client;
    client.once('end', () => (this.#closed = true));
  }

  get closed(): boolean {
    return this.#closed;
  }

  onClose(listener: () => void): void {
    this.#client.once('end', listener);
  }

  /** @throws the driver's error when the server does not answer. */
  async check(): Promise<void> {
    await this.#client.query('SELECT 1');
  }

  /** Whether the server still answers. */
  async answers(): Promise<boolean> {
    if (this.#closed) return false;
    return await this.check().then(
      () => true,
      () => false,
    );
  }

  /** Whether another process also uses the server. */
  async isShared(): Promise<boolean> {
    const { rows } = await this.#client.query<{ shared: boolean }>(
      `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = ${IN_USE}
         AND mode = 'ShareLock' AND granted AND pid <> pg_backend_pid()) AS shared`,
    );
    return rows[0]!.shared;
  }

  /** Makes the role and the database "gatehouse" unless they exist. The role owns its database and is no superuser. */
  async provision(): Promise<void> {
    if (await this.#isProvisioned()) return;
    await this.#client.query(`SELECT pg_advisory_lock(${PROVISION})`);
    if (!(await this.#isProvisioned())) {
      await this.#client.query(
        `DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'gatehouse')
           THEN CREATE ROLE gatehouse LOGIN CREATEDB; END IF; END $$`,
      );
      await this.#client.query('CREATE DATABASE gatehouse OWNER gatehouse');
    }
    await this.#client.query(`SELECT pg_advisory_unlock(${PROVISION})`);
  }

  async #isProvisioned(): Promise<boolean> {
    const { rowCount } = await this.#client.query(`SELECT FROM pg_database WHERE datname = 'gatehouse'`);
    return rowCount === 1;
  }

  /**
   * Replaces the shared lock by the exclusive one. True: no other process uses the server, and a new one waits until this
   * connection ends.
   */
  async becomeLast(): Promise<boolean> {
    await this.#client.query(`SELECT pg_advisory_unlock_shared(${IN_USE})`);
    const { rows } = await this.#client.query<{ last: boolean }>(`SELECT pg_try_advisory_lock(${IN_USE}) AS last`);
    return rows[0]!.last;
  }

  async close(): Promise<void> {
    if (!this.#closed) await this.#client.end().catch(() => undefined);
  }
}

/**
 * Connects to the server and takes the shared lock, for which it waits while another process stops the server.
 * @throws the driver's error when the server answers with an unexpected refusal.
 */
export async function openSession(host: string): Promise<Attempt> {
  // These override everything that the driver would read from the environment.
  const client = new pg.Client({
    host,
    port: PORT,
    user: 'postgres',
    database: 'postgres',
    password: '',
    ssl: false,
    options: '-c statement_timeout=0 -c idle_session_timeout=0',
    application_name: 'gatehouse: in use',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => undefined); // the server may die at any time; the 'end' event follows
  const session = new Session(client);
  try {
    await client.connect();
    await client.query(`SELECT pg_advisory_lock_shared(${IN_USE})`);
    return { session };
  } catch (error) {
    void session.close();
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return { state: 'absent' };
    if (isConnectionLoss(error)) return { state: 'busy' };
    throw error;
  }
}

/** Whether an error means that the server starts, stops, recovers, is full or has just died, so that a retry may succeed. */
export function isConnectionLoss(error: unknown): boolean {
  const code = errorCode(error);
  return error instanceof pg.DatabaseError ? /^(57P0|53300)/.test(code ?? '') : !FATAL_CODES.has(code);
}

/** System errors that no retry solves. Others occur when a server ends during a request. */
const FATAL_CODES = new Set<string | undefined>([
  'EACCES',
  'EPERM',
  'ENAMETOOLONG',
  'EINVAL',
  'ENOTSOCK',
  'ELOOP',
  'ENOTDIR',
]);
