// Starts, watches and stops the embedded PostgreSQL: a server as a child process, which all processes with one DATA_DIR use.
import { closeSync, constants, openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { arrive, type Origin } from './embedded/arrival.ts';
import { openCluster, PORT, type Cluster } from './embedded/cluster.ts';
import { EmbeddedPostgresError, errorText } from './embedded/error.ts';
import { trimLog } from './embedded/log-file.ts';
import { findServer, isServer, signal } from './embedded/postmaster.ts';
import { isConnectionLoss, openSession, type Session } from './embedded/session.ts';

export { EmbeddedPostgresError };

export interface EmbeddedPostgres {
  /**
   * For the driver. `host` is the folder with the socket: the absolute DATA_DIR or, where that is too long for a socket's
   * address, another name of it that only this process can use.
   */
  readonly connection: { host: string; port: number; user: 'gatehouse'; database: 'gatehouse' };
  /** How this process got its server. `adopted`: a killed process had left it running. `joined`: another process uses it. */
  readonly origin: Origin;
  /** Calls `listener` each time that the server ends without stop(). */
  onExit(listener: () => void): void;
  /**
   * Starts the server again unless it answers. Several processes may call it at once, and a caller may repeat it after a failure.
   * @throws EmbeddedPostgresError when it cannot be started, or after stop().
   */
  ensureRunning(): Promise<void>;
  /**
   * Stops the server unless another process still uses it. The caller closes its own connections first; the server cuts
   * the rest. A second call waits for the same stop.
   * @throws EmbeddedPostgresError when the server does not end within 40 s.
   */
  stop(): Promise<void>;
}

/** The signals that stop the server, and the ms that each gets: an orderly stop, then one that the next start recovers from. */
const STOP_SIGNALS: [NodeJS.Signals, number][] = [
  ['SIGINT', 25_000],
  ['SIGQUIT', 10_000],
  ['SIGKILL', 5_000],
];
/** How long stop() tries to reach a server that is busy, in ms. */
const STOP_BUSY_LIMIT = 20_000;
const TRIM_INTERVAL_MS = 60_000;

/**
 * Makes the cluster in `dataDir` unless it exists, and starts its server or joins one that runs.
 * @throws EmbeddedPostgresError with a sentence for the operator when the server cannot run here.
 */
export async function startEmbeddedPostgres(options: {
  dataDir: string;
  log: (line: string) => void;
}): Promise<EmbeddedPostgres> {
  const server = new EmbeddedServer(path.resolve(options.dataDir), options.log);
  try {
    await server.ensureRunning();
  } catch (error) {
    server.release();
    throw error;
  }
  return server;
}

class EmbeddedServer implements EmbeddedPostgres {
  readonly #dataDir: string;
  readonly #log: (line: string) => void;
  readonly #listeners: (() => void)[] = [];
  #folder: SocketFolder | undefined;
  #cluster: Cluster | undefined;
  #origin: Origin | undefined;
  #session: Session | undefined;
  #entering: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #trimming: NodeJS.Timeout | undefined;

  constructor(dataDir: string, log: (line: string) => void) {
    this.#dataDir = dataDir;
    this.#log = log;
  }

  get connection(): EmbeddedPostgres['connection'] {
    return { host: this.#folder!.host, port: PORT, user: 'gatehouse', database: 'gatehouse' };
  }

  get origin(): Origin {
    return this.#origin!;
  }

  onExit(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async ensureRunning(): Promise<void> {
    if (this.#stopping) throw new EmbeddedPostgresError('This process has stopped its use of the embedded PostgreSQL.');
    this.#entering ??= this.#enter().finally(() => (this.#entering = undefined));
    await this.#entering;
  }

  async stop(): Promise<void> {
    this.#stopping ??= this.#leave().finally(() => this.release());
    await this.#stopping;
  }

  /** Releases the timer and the folder of this process. */
  release(): void {
    clearInterval(this.#trimming);
    this.#folder?.close();
  }

  async #enter(): Promise<void> {
    if (await this.#session?.answers()) return;
    void this.#session?.close();
    // The folder may have been deleted since, and then a new cluster is made.
    this.#cluster = await openCluster(this.#dataDir, this.#log);
    this.#folder ??= new SocketFolder(this.#dataDir, this.#log);
    await this.#trim();
    this.#trimming ??= setInterval(() => void this.#trim(), TRIM_INTERVAL_MS).unref();
    const { session, origin } = await arrive(this.#cluster, this.#folder.host, this.#log);
    this.#origin ??= origin;
    this.#keep(session);
  }

  #keep(session: Session): void {
    this.#session = session;
    session.onClose(() => void this.#recover(session));
  }

  /**
   * Runs when the connection that marks this process as a user is lost. A server that is alive gets a new connection: it cuts
   * all of them when one of its processes crashes. A server that has ended is reported to the listeners.
   */
  async #recover(lost: Session): Promise<void> {
    if (this.#session === lost) this.#session = undefined;
    for (;;) {
      if (this.#stopping ?? this.#entering ?? this.#session) return;
      const attempt = await openSession(this.#folder!.host).catch(() => undefined);
      if (attempt?.session) {
        if (this.#stopping ?? this.#entering ?? this.#session) return await attempt.session.close();
        return this.#keep(attempt.session);
      }
      const ended =
        attempt?.state !== 'busy' && (await findServer(this.#cluster!).catch(() => undefined)) === undefined;
      if (ended) break;
      await delay(50);
    }
    for (const listener of this.#listeners) listener();
  }

  async #leave(): Promise<void> {
    await this.#entering?.catch(() => undefined);
    for (;;) {
      const session = await this.#currentSession();
      this.#session = undefined;
      if (!session) return;
      try {
        return await this.#leaveBy(session);
      } catch (error) {
        // The server crashed just now: try again when it has recovered.
        if (!session.closed && !isConnectionLoss(error)) throw error;
      } finally {
        await session.close();
      }
    }
  }

  /** @throws the driver's error when the connection is lost before the server gets its signal. */
  async #leaveBy(session: Session): Promise<void> {
    const last = await session.becomeLast();
    const pid = last ? await findServer(this.#cluster!) : undefined;
    if (pid === undefined) {
      this.#log('the embedded PostgreSQL goes on running: another process uses it');
      return;
    }
    // A server that is stopped while it recovers from a crash may hang, so check its state once more. The exclusive
    // lock stays until the server cuts this connection, so that other processes wait for it.
    await session.check();
    await this.#stopServer(pid);
  }

  /** The connection with the lock, or a new one if that was just lost; undefined without a server. */
  async #currentSession(): Promise<Session | undefined> {
    if (this.#session && !this.#session.closed) return this.#session;
    if (!this.#folder) return undefined;
    for (const begin = Date.now(); Date.now() - begin < STOP_BUSY_LIMIT; await delay(20)) {
      const attempt = await openSession(this.#folder.host).catch(() => undefined);
      if (attempt?.session) return attempt.session;
      if (attempt?.state !== 'busy') return undefined;
    }
    this.#log('the embedded PostgreSQL goes on running: it is still recovering from a crash');
    return undefined;
  }

  async #stopServer(pid: number): Promise<void> {
    for (const [name, limit] of STOP_SIGNALS) {
      signal(pid, name);
      for (const begin = Date.now(); Date.now() - begin < limit; await delay(4)) {
        if (!(await isServer(this.#cluster!, pid))) return;
      }
      this.#log(`the embedded PostgreSQL did not stop within ${limit / 1000} s of ${name}`);
    }
    throw new EmbeddedPostgresError(`The embedded PostgreSQL (process ${pid}) could not be stopped: stop it manually.`);
  }

  async #trim(): Promise<void> {
    await trimLog(this.#dataDir).catch((error: unknown) => {
      this.#log(`the embedded PostgreSQL's log could not be shortened: ${errorText(error)}`);
    });
  }
}

/** DATA_DIR as the folder of a socket's address, which has room for about a hundred bytes. */
class SocketFolder {
  readonly host: string;
  readonly #descriptor: number | undefined;

  /** @throws EmbeddedPostgresError when the path is too long and the system has no other name for the folder. */
  constructor(dataDir: string, log: (line: string) => void) {
    const limit = process.platform === 'linux' ? 107 : 103;
    const length = Buffer.byteLength(`${dataDir}/.s.PGSQL.${PORT}`);
    if (length <= limit) {
      this.host = dataDir;
      return;
    }
    if (process.platform !== 'linux') {
      throw new EmbeddedPostgresError(
        `DATA_DIR (${dataDir}) is ${length - limit} bytes too long for the embedded PostgreSQL's socket: choose a shorter one, or set DATABASE_URL.`,
      );
    }
    // Linux has a short name for an open file of a process.
    this.#descriptor = openSync(dataDir, constants.O_RDONLY | constants.O_DIRECTORY);
    this.host = `/proc/self/fd/${this.#descriptor}`;
    log(
      `DATA_DIR is ${length - limit} bytes too long for a socket's address: the service works, but psql cannot connect there`,
    );
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }
}
