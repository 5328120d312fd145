// Sends messages of syslog over TLS: each is counted in octets, and the end of the session says that the receiver has them (RFC 5425 4.3, 4.4).
import { connect, type TLSSocket } from 'node:tls';
import { guardedLookup, isOutwardAddress } from './outward-address.ts';

export interface SyslogReceiver {
  /** syslog+tls://HOST:PORT */
  url: string;
  ca: string | undefined;
  allowed: readonly string[];
  signal: AbortSignal;
}

const defaultPort = 6514; // RFC 5425 4.1

/**
 * Makes the function that sends messages in a session of their own. It resolves when the receiver has closed the session as well: it does so after
 * it has read all of it, so that what a receiver that dies has not read is sent again. It gets the milliseconds for the session.
 */
export function createSyslogSender({ url, ca, allowed, signal }: SyslogReceiver) {
  const { hostname, port: named } = new URL(url.replace(/^syslog\+tls:/, 'https:'));
  const port = named === '' ? defaultPort : Number(named);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isExempt = allowed.includes(`${hostname}:${port}`);
  return (messages: readonly string[], timeout: number): Promise<void> =>
    new Promise((resolve, reject) => {
      if (!isExempt && !isOutwardAddress(`https://${hostname}:${port}/`, allowed)) {
        reject(new Error('the address of the collector is not public: OUTBOUND_ALLOW can allow it'));
        return;
      }
      const socket: TLSSocket = connect({
        host,
        port,
        ...(ca !== undefined && { ca }),
        ...(/^[a-z]/i.test(host) && { servername: host }),
        ...(!isExempt && { lookup: guardedLookup }),
        minVersion: 'TLSv1.2',
      });
      const fail = (reason: string) => {
        socket.destroy();
        reject(new Error(reason));
      };
      const stop = () => fail('the service stops');
      signal.addEventListener('abort', stop, { once: true });
      const late = setTimeout(() => fail('the collector did not take the events in time'), timeout);
      let hasEnded = false;
      socket.on('secureConnect', () => {
        for (const message of messages) {
          const bytes = Buffer.from(message);
          socket.write(`${bytes.length} `);
          socket.write(bytes);
        }
        socket.end();
      });
      // a receiver sends nothing; what it sends anyway is not kept
      socket.resume();
      socket.on('end', () => {
        hasEnded = socket.writableFinished;
      });
      socket.on('error', (error: NodeJS.ErrnoException) =>
        fail(`the collector cannot be reached (${error.code ?? error.message})`),
      );
      socket.on('close', () => {
        clearTimeout(late);
        signal.removeEventListener('abort', stop);
        if (hasEnded) resolve();
        else reject(new Error('the collector broke off'));
      });
    });
}
