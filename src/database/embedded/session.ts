// The connection by which a process uses the server: it holds a shared lock that tells the others somebody is there.
import pg from 'pg';
import { PORT } from './cluster.ts';
import { errorCode } from './error.ts';

/** Advisory lock of database "postgres": shared by every process that uses the server, exclusive for the one that stops it. */
const IN_USE = 0x67617465;
/** Advisory lock under which the role and the database are made. */
const PROVISION = 0x67617466;

/**
 * `busy`: a server is there, but it starts, stops, recovers or is full. `absent`: no server listens.
 */
export type Attempt = { session: Session } | { session?: undefined; state: 'busy' | 'absent' };

/** A connection as the superuser, who always finds a free place: PostgreSQL reserves some for him. */
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

  /** @throws what the driver throws when the server does not answer. */
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

  /** Whether another process uses the server too. */
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
   * Gives up the shared lock and asks for the exclusive one. True: nobody else uses the server, and whoever comes now
   * waits until this connection ends.
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
 * Tries to use the server: connects and takes the shared lock, for which it waits while another process stops the server.
 * @throws the driver's error when the server answers with an unexpected refusal.
 */
export async function openSession(host: string): Promise<Attempt> {
  // Everything that the driver would else read from the environment is named here.
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
  client.on('error', () => undefined); // the server may die at any time; 'end' follows and is dealt with
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

/** Whether an error means that the server starts, stops, recovers, is full or has just died, so that waiting may help. */
export function isConnectionLoss(error: unknown): boolean {
  const code = errorCode(error);
  return error instanceof pg.DatabaseError ? /^(57P0|53300)/.test(code ?? '') : !FATAL_CODES.has(code);
}

/** System errors that no waiting mends; others come with a server that goes down while it is asked. */
const FATAL_CODES = new Set<string | undefined>([
  'EACCES',
  'EPERM',
  'ENAMETOOLONG',
  'EINVAL',
  'ENOTSOCK',
  'ELOOP',
  'ENOTDIR',
]);
