// Builds what a fault needs: PostgreSQL behind an address that can move, service processes, and a load that remembers.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Forwarder } from '../helpers/forwarder.ts';
import { PostgresServer } from '../helpers/postgres-server.ts';
import { LoadBed } from './load-bed.ts';

export interface BedOptions {
  processes: number;
  /** The folder with the programs of an installed server; the embedded ones unless given. */
  bin?: string | undefined;
}

export class Bed extends LoadBed {
  primary: PostgresServer;
  standby: PostgresServer | undefined;
  readonly forwarder: Forwarder;
  #clusters = 0;
  readonly #closers: (() => void)[] = [];

  private constructor(folder: string, primary: PostgresServer, forwarder: Forwarder) {
    super(folder, { DATABASE_URL: `postgresql://gatehouse@127.0.0.1:${forwarder.port}/gatehouse` });
    this.primary = primary;
    this.forwarder = forwarder;
  }

  static async open(options: BedOptions): Promise<Bed> {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-faults-'));
    // the servers run as another user when this process is root
    chmodSync(folder, 0o755);
    const primary = await PostgresServer.create(join(folder, 'postgres-0'), options.bin);
    const bed = new Bed(folder, primary, await Forwarder.open(primary.port));
    await bed.startServices(options.processes, () => bed.primary.connection);
    return bed;
  }

  /** Gives the primary a synchronous standby: the primary acknowledges nothing without it. */
  async addStandby(): Promise<PostgresServer> {
    this.standby = await this.primary.standby(join(this.folder, `postgres-${++this.#clusters}`));
    await this.primary.replicateSynchronously();
    return this.standby;
  }

  /** Promotes the standby to primary, behind the same address; the old primary is not used any more. */
  async failOver(): Promise<void> {
    const old = this.primary;
    this.primary = this.standby!;
    this.standby = undefined;
    await this.primary.promote();
    this.forwarder.move(this.primary.port);
    void old.remove();
  }

  /** A resource to close after the servers have ended. */
  onClose(close: () => void): void {
    this.#closers.push(close);
  }

  /** Ends everything, and returns the lines that the services have logged. */
  async close(): Promise<string[]> {
    const lines = await this.stopServices();
    await this.forwarder.close();
    await this.standby?.stop();
    await this.primary.stop();
    for (const close of this.#closers) close();
    rmSync(this.folder, { recursive: true, force: true });
    return lines;
  }
}
