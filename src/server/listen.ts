// Where the service listens: at each address of localhost, as doors of one server, so that its bounds and refusals hold behind all of them.
import { lookup } from 'node:dns/promises';
import { type AddressInfo, createServer } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

/**
 * Listens; the framework itself would make a server of its own for every further address of localhost, without what this one was given
 * (security R104).
 * @returns what closes the application: no address lets anybody in any more, and what is under way is answered
 * @throws the system's error where the first address is not to be had; of the others the log tells
 */
export async function listenAt(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  logger: Pick<Logger, 'warn'>,
): Promise<() => Promise<void>> {
  const addresses = host === 'localhost' ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];
  const [first, ...others] = new Set(addresses);
  await app.listen({ port, host: first! });
  const doors = others.map((address) =>
    openDoor(app, address).catch((error: unknown) => {
      logger.warn({ address, err: error }, 'localhost has an address more at which the service cannot listen');
    }),
  );
  const closers = await Promise.all(doors);
  return async () => void (await Promise.all([app.close(), ...closers.map((close) => close?.())]));
}

/** Lets connections to one more address in, at the port of the application that listens. @returns what closes that again, as above */
export async function openDoor({ server }: FastifyInstance, address: string): Promise<() => Promise<void>> {
  // as Node makes the server itself
  const door = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket));
  door.maxConnections = server.maxConnections;
  door.on('drop', (dropped) => server.emit('drop', dropped));
  await new Promise<void>((resolve, reject) => {
    door.once('error', reject);
    door.listen({ host: address, port: (server.address() as AddressInfo).port }, resolve);
  });
  return () => new Promise((resolve) => void door.close(() => resolve()));
}
