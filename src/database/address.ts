// Turns the address of a PostgreSQL into options of the driver; asks the server whether it offers TLS where the address leaves that open.
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { postgresAddress, type PostgresTls } from '../config/postgres-url.ts';

export interface AddressOptions {
  connectionString: string;
  ssl?: Exclude<PostgresTls, 'offered'>;
}

const answerLimit = 2_500; // milliseconds
const pause = 500; // milliseconds
/** SSLRequest: its length, and the code 80877103 (PostgreSQL 55.7). */
const question = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** @param wait milliseconds for a server that does not answer yet; after them the connection is tried without TLS, and says why it fails */
export async function optionsOf(address: string, wait = 0, stopped?: AbortSignal): Promise<AddressOptions> {
  const { connectionString, host, port, tls } = postgresAddress(address);
  if (tls === undefined) return { connectionString };
  if (tls !== 'offered') return { connectionString, ssl: tls };
  const end = performance.now() + wait;
  for (;;) {
    const offers = await offersTls(host, port);
    // libpq's prefer encrypts without a check: an attacker who answers in place of the server could also refuse TLS
    if (offers !== undefined || performance.now() >= end)
      return { connectionString, ssl: offers === true && { rejectUnauthorized: false } };
    await delay(pause, undefined, { signal: stopped });
  }
}

/** Undefined if the server does not answer. */
function offersTls(host: string, port: number): Promise<boolean | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: answerLimit });
    const end = (answer: boolean | undefined) => {
      resolve(answer);
      socket.destroy();
    };
    socket.on('connect', () => void socket.write(question));
    socket.on('data', (bytes) => end(bytes[0] === 0x53));
    for (const event of ['error', 'timeout', 'close']) socket.on(event, () => end(undefined));
  });
}
