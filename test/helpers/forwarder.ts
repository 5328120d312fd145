// Plays the address of a database that moves with a failover, as a virtual address or HAProxy does; and cuts connections.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A connection that is cut at a statement: before the server gets it, or after the server has answered and before the client knows. */
export interface Cut {
  /** The prepared statement's name. */
  statement: string;
  when: 'before' | 'after';
}

export class Forwarder {
  /** The port of the loopback, or the path of the socket, to which it forwards. */
  target: number | string;
  /** Cuts the next connection that sends this; undefined again afterwards. */
  cutAt: Cut | undefined;
  /** How many times a client wrote after it had an answer. */
  roundTrips = 0;
  #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number | string) {
    this.target = target;
    this.#server = createServer((inbound) => this.#forward(inbound));
  }

  static async open(target: number | string): Promise<Forwarder> {
    const forwarder = new Forwarder(target);
    forwarder.#server.listen(0, '127.0.0.1');
    await once(forwarder.#server, 'listening');
    return forwarder;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  /** Forwards to another server from now on; connections to the old one are cut. */
  move(target: number | string): void {
    this.target = target;
    this.cut();
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }

  #forward(inbound: Socket): void {
    const { target } = this;
    const outbound = connect(typeof target === 'string' ? { path: target } : { port: target, host: '127.0.0.1' });
    let cutting = false;
    let waiting = false;
    const end = () => {
      inbound.destroy();
      outbound.destroy();
    };
    for (const socket of [inbound, outbound]) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on('error', end);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    inbound.on('data', (data) => {
      // the name is in the message that prepares it, and in each that executes it
      if (this.cutAt && data.includes(`${this.cutAt.statement}\0`)) {
        const { when } = this.cutAt;
        this.cutAt = undefined;
        if (when === 'before') return end();
        cutting = true;
      }
      if (!waiting) this.roundTrips++;
      waiting = true;
      outbound.write(data);
    });
    outbound.on('data', (data) => {
      waiting = false;
      if (cutting) end();
      else inbound.write(data);
    });
  }
}
