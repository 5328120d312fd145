// Builds what each set of faults has, whatever its database is: service processes, a load that remembers, and a watch on what needs no
// database.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { Load } from '../helpers/load.ts';
import { freePort, runCommand, startServer, stopServers, type ServerProcess } from '../helpers/server-process.ts';

const refusalLimit = 3_000; // milliseconds

export class LoadBed {
  readonly settings: Record<string, string>;
  readonly folder: string;
  readonly services: ServerProcess[] = [];
  readonly watch: Watch;
  load!: Load;

  /** @param database the settings that say where the services find it */
  protected constructor(folder: string, database: Record<string, string>) {
    this.folder = folder;
    this.settings = {
      ...database,
      SECRET_KEY: randomBytes(32).toString('base64url'),
      ADMIN_PASSWORD: 'correct horse battery',
      DATABASE_POOL_SIZE: '10',
      // at the end of a long run everything is checked once more
      ACCESS_TOKEN_LIFETIME: '7200',
      LIMIT_REGISTRATION_PER_NETWORK: '0',
      LIMIT_SIGN_IN_PER_NETWORK: '0',
    };
    this.watch = new Watch(this.services);
  }

  /** @param database where the tests reach it by themselves; read at each use */
  protected async startServices(processes: number, database: () => pg.ClientConfig): Promise<void> {
    const issuer = `http://localhost:${await freePort()}`;
    this.settings['BASE_URL'] = issuer;
    for (let index = 0; index < processes; index++) {
      const port = index === 0 ? new URL(issuer).port : String(await freePort());
      const service = startServer({ ...this.settings, PORT: port });
      this.services.push(service);
      await service.ready();
    }
    const admin = await runCommand(
      ['client', 'create', '--name', 'Admin', '--grant-type', 'client_credentials', '--scope', 'admin'],
      this.settings,
    );
    this.load = new Load({
      issuer,
      instances: this.services.map(baseOf),
      database,
      admin: { clientId: admin['client_id'] as string, clientSecret: admin['client_secret'] as string },
      mayLoseConnections: false,
    });
    await this.load.prepare();
    this.watch.begin();
  }

  /**
   * Starts a new measurement, and returns the previous one. An answer 503 is late after 3 s (security R108); the time that an answer
   * without any database took meanwhile is due to the machine, and is added.
   */
  takeTimes(): { refusal: number; withoutDatabase: number; memory: number } {
    const { name, time } = this.load.requests.slowestRefusal;
    const { slowest, peakMemory } = this.watch;
    if (time > refusalLimit + slowest)
      this.load.violations.push(`${name} was answered with 503 after ${Math.round(time)} ms`);
    this.load.requests.slowestRefusal = { name: '', time: 0 };
    this.watch.slowest = this.watch.peakMemory = 0;
    return { refusal: time, withoutDatabase: slowest, memory: peakMemory };
  }

  /** Everything that went wrong, as sentences. */
  get violations(): string[] {
    return [...(this.load?.violations ?? []), ...this.watch.violations];
  }

  /** Ends the services, and returns the lines that they have logged. */
  protected async stopServices(): Promise<string[]> {
    await this.watch.end();
    return stopServers();
  }
}

/** Requests from each process what needs no database, again and again, and reads its memory. */
class Watch {
  readonly violations: string[] = [];
  slowest = 0;
  /** The highest resident memory of any process, in MB. */
  peakMemory = 0;
  readonly #services: ServerProcess[];
  #running = false;
  #done: Promise<void> = Promise.resolve();

  constructor(services: ServerProcess[]) {
    this.#services = services;
  }

  begin(): void {
    this.#running = true;
    for (const service of this.#services)
      void service.exited.then(({ code }) => {
        if (this.#running) this.violations.push(`a process ended (${code}): ${service.stderr.slice(-1000)}`);
      });
    this.#done = this.#watch();
  }

  async end(): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  async #watch(): Promise<void> {
    while (this.#running) {
      for (const service of this.#services) {
        for (const path of ['/jwks', '/.well-known/openid-configuration', '/health/live'])
          await this.#ask(service, path);
        this.peakMemory = Math.max(this.peakMemory, memoryOf(service.pid));
      }
      await delay(100);
    }
  }

  async #ask(service: ServerProcess, path: string): Promise<void> {
    const begin = performance.now();
    try {
      const response = await fetch(baseOf(service) + path, { signal: AbortSignal.timeout(10_000) });
      await response.text();
      if (response.status !== 200) this.violations.push(`${path} was answered with ${response.status}`);
    } catch (error) {
      this.violations.push(`${path} was not answered: ${String(error)}`);
    }
    this.slowest = Math.max(this.slowest, performance.now() - begin);
  }
}

export function baseOf(service: ServerProcess): string {
  return `http://localhost:${service.port}`;
}

function memoryOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
