// Connects a process to the cluster's server: it joins a running one, or starts one and removes what prevents the start.
import { setTimeout as delay } from 'node:timers/promises';
import { folderError, type Cluster } from './cluster.ts';
import { EmbeddedPostgresError, errorCode, errorText } from './error.ts';
import { logPath } from './log-file.ts';
import { findServer, removeStaleLocks, signal, signalOrphans, startServer, type StartedServer } from './postmaster.ts';
import { openSession, type Session } from './session.ts';

/** How this process got its server. `adopted`: a killed process had left it running. `joined`: another process uses it. */
export type Origin = 'started' | 'adopted' | 'joined';

/** Milliseconds without an answer from any server, after which a start has failed. */
const QUIET_LIMIT = 60_000;
/** Milliseconds that a server may recover or stop, and how often the log says so meanwhile. */
const BUSY_LIMIT = 15 * 60_000;
const BUSY_NOTICE = 10_000;
/** Milliseconds before the processes of a killed server get the first signal, and before they are killed. */
const ORPHANS_SIGNAL = 3_000;
const ORPHANS_KILL = 6_000;
/** Milliseconds after which an empty lock file is taken for stale: a server may just be writing a younger one. */
const EMPTY_LOCK_LIMIT = 1_000;
/** Starts that may fail for an unknown reason. */
const MAX_FAILURES = 2;

/**
 * Joins the cluster's server or starts it, waits until it answers, and makes the role and the database.
 * @throws EmbeddedPostgresError when the server does not start, or refuses this process.
 */
export async function arrive(
  cluster: Cluster,
  host: string,
  log: (line: string) => void,
): Promise<{ session: Session; origin: Origin }> {
  return await new Arrival(cluster, host, log).run();
}

class Arrival {
  readonly #cluster: Cluster;
  readonly #host: string;
  readonly #log: (line: string) => void;
  readonly #begin = Date.now();
  #lastSign = Date.now();
  #lastNotice = Date.now();
  /** Since when a lock file or a process prevents the start. */
  #blockedSince: number | undefined;
  #server: StartedServer | undefined;
  /** Whether another process was seen to start or stop the server. */
  #sawOther = false;
  #failures = 0;

  constructor(cluster: Cluster, host: string, log: (line: string) => void) {
    this.#cluster = cluster;
    this.#host = host;
    this.#log = log;
  }

  async run(): Promise<{ session: Session; origin: Origin }> {
    for (;;) {
      const attempt = await openSession(this.#host).catch((error: unknown) => {
        throw new EmbeddedPostgresError(
          `The embedded PostgreSQL in ${this.#cluster.dataDir} refused this process: ${errorText(error)}; start the service as the owner of this folder, or set DATABASE_URL.`,
          { cause: error },
        );
      });
      if (attempt.session) {
        const origin = await this.#settle(attempt.session);
        if (origin) return { session: attempt.session, origin };
      } else if (attempt.state === 'busy') {
        await this.#waitForOther();
      } else {
        await this.#advance();
      }
    }
  }

  /** Undefined when the server ended meanwhile; the caller tries again. */
  async #settle(session: Session): Promise<Origin | undefined> {
    try {
      const ours = this.#server?.pid !== undefined && this.#server.pid === (await findServer(this.#cluster));
      const shared = await session.isShared();
      await session.provision();
      return ours ? 'started' : shared || this.#sawOther ? 'joined' : 'adopted';
    } catch (error) {
      await session.close();
      this.#fail(errorText(error), error);
      return undefined;
    }
  }

  async #waitForOther(): Promise<void> {
    const now = Date.now();
    this.#lastSign = now;
    this.#sawOther ||= this.#server === undefined;
    if (now - this.#begin > BUSY_LIMIT) throw this.#failure('it was busy recovering for too long');
    if (now - this.#lastNotice > BUSY_NOTICE) {
      this.#lastNotice = now;
      this.#log(`the embedded PostgreSQL is not ready yet, see ${logPath(this.#cluster.dataDir)}`);
    }
    await delay(20);
  }

  /** Takes one step towards a server where none listens. */
  async #advance(): Promise<void> {
    if (Date.now() - this.#lastSign > QUIET_LIMIT) {
      if (this.#server?.pid !== undefined && !this.#server.ended) signal(this.#server.pid, 'SIGQUIT');
      throw this.#failure('it gave no sign of life');
    }
    const { ended } = (this.#server ??= await this.#start());
    if (ended) {
      if (ended.error) throw ended.error;
      this.#server = undefined;
      await this.#clear(await ended.readReason());
      await delay(50);
    } else {
      await delay(4);
    }
  }

  async #start(): Promise<StartedServer> {
    return await startServer(this.#cluster).catch((error: unknown) => {
      throw error instanceof EmbeddedPostgresError ? error : folderError(this.#cluster.dataDir, error);
    });
  }

  /** Removes the cause that ended a server right after its start. */
  async #clear(reason: string): Promise<void> {
    const blockedFor = Date.now() - (this.#blockedSince ??= Date.now());
    if (/lock file .*(already exists|is empty)/.test(reason)) {
      this.#sawOther = true;
      await removeStaleLocks(this.#cluster, blockedFor > EMPTY_LOCK_LIMIT);
    } else if (/shared memory block .*in use/.test(reason)) {
      if (blockedFor > ORPHANS_KILL) await signalOrphans(this.#cluster, 'SIGKILL');
      else if (blockedFor > ORPHANS_SIGNAL) await signalOrphans(this.#cluster, 'SIGQUIT');
    } else {
      this.#fail(reason);
    }
  }

  #fail(reason: string, cause?: unknown): void {
    if (++this.#failures >= MAX_FAILURES) throw this.#failure(reason, cause);
  }

  #failure(reason: string, cause?: unknown): EmbeddedPostgresError {
    const code = errorCode(cause);
    return new EmbeddedPostgresError(
      `The embedded PostgreSQL in ${this.#cluster.dataDir} did not start: ${reason}${code ? ` (${code})` : ''}; see ${logPath(this.#cluster.dataDir)} and fix the problem, or set DATABASE_URL.`,
      { cause },
    );
  }
}
