// Forwards connections to a server, and cuts each when so many bytes of answers have passed.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

export interface CuttingProxy {
  port: number;
  /** Bytes of a connection's answers before it is cut. */
  limit: number;
  /** How many connections were cut. */
  cuts: number;
  stop(): Promise<void>;
}

export async function startCuttingProxy(target: number): Promise<CuttingProxy> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((inbound) => {
    const outbound = connect(target, '127.0.0.1');
    let passed = 0;
    const end = () => {
      inbound.destroy();
      outbound.destroy();
    };
    for (const socket of [inbound, outbound]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    inbound.on('data', (data) => outbound.write(data));
    outbound.on('data', (data) => {
      passed += data.length;
      if (passed <= proxy.limit) return void inbound.write(data);
      proxy.cuts++;
      end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: CuttingProxy = {
    port: (server.address() as { port: number }).port,
    limit: Infinity,
    cuts: 0,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
