// Listens at every address of localhost, with one HTTP server behind all listeners, so that its limits and refusals apply to each.
import { lookup } from 'node:dns/promises';
import { type AddressInfo, createServer } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

/**
 * Listens. Fastify would make another server for each further address of localhost, without the limits of this one (security R104).
 * @returns the function that closes the application: it accepts no more connections, and answers the requests under way
 * @throws the system's error when the first address is not available; for other addresses it logs a warning
 */
export async function listenAt(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  logger: Pick<Logger, 'warn'>,
): Promise<() => Promise<void>> {
  const addresses =
    host === 'localhost'
      ? (await lookup(host, { all: true })).map(({ address }) => address)
      : [await addressToListen(host)];
  const [first, ...others] = new Set(addresses);
  await app.listen({ port, host: first! });
  const listeners = others.map((address) =>
    addListener(app, address).catch((error: unknown) => {
      logger.warn({ address, err: error }, 'the service cannot listen on another address of localhost');
    }),
  );
  const closers = await Promise.all(listeners);
  return async () => void (await Promise.all([app.close(), ...closers.map((close) => close?.())]));
}

/** All addresses (`::`) are those of IPv4 where the system has no IPv6 at all; else the address itself. */
export async function addressToListen(host: string): Promise<string> {
  if (host !== '::') return host;
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EAFNOSUPPORT' ? '0.0.0.0' : host));
    probe.listen({ host, port: 0 }, () => probe.close(() => resolve(host)));
  });
}

/** Accepts connections at a further address, at the port of the application. @returns the function that closes this listener */
export async function addListener({ server }: FastifyInstance, address: string): Promise<() => Promise<void>> {
  // the options that Node gives an HTTP server
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket));
  listener.maxConnections = server.maxConnections;
  listener.on('drop', (dropped) => server.emit('drop', dropped));
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen({ host: address, port: (server.address() as AddressInfo).port }, resolve);
  });
  return () => new Promise((resolve) => void listener.close(() => resolve()));
}
