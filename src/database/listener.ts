// Listens for the database's notifications on a connection of its own, and connects again when it is lost.
import pg from 'pg';
import { refuseStandby } from './standby.ts';

export type Notified = (payload: string | undefined) => void;

export interface Listener {
  listen(channel: string, handler: Notified): void;
  close(): Promise<void>;
}

const pause = 500; // milliseconds before the next connection

export function createListener(connection: pg.ClientConfig, onError: (error: Error) => void): Listener {
  const handlers = new Map<string, Notified>();
  let client: pg.Client | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  async function connect(): Promise<void> {
    const next = new pg.Client({
      ...connection,
      application_name: 'gatehouse listener',
      keepAlive: true,
      connectionTimeoutMillis: 2_500,
      query_timeout: 2_500,
    });
    let over = false;
    // runs once for each connection, whose end several events may report
    const lost = (): void => {
      if (over) return;
      over = true;
      void next.end().catch(() => undefined);
      if (client === next) {
        client = undefined;
        if (!closed) for (const handler of handlers.values()) handler(undefined);
      }
      again();
    };
    next.on('error', lost);
    next.on('end', lost);
    next.on('notification', (message) => handlers.get(message.channel)?.(message.payload));
    try {
      await next.connect();
      await refuseStandby(next);
      client = next;
      for (const channel of handlers.keys()) await next.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
      for (const handler of handlers.values()) handler(undefined);
    } catch (error) {
      if (!closed) onError(error as Error);
      lost();
    }
    if (closed) await next.end().catch(() => undefined);
  }

  function again(): void {
    if (!closed) timer = setTimeout(() => void connect(), pause);
  }

  return {
    listen(channel, handler) {
      handlers.set(channel, handler);
      if (!client && !timer) timer = setTimeout(() => void connect(), 0);
      else void client?.query(`LISTEN ${pg.escapeIdentifier(channel)}`).catch(() => undefined);
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await client?.end().catch(() => undefined);
    },
  };
}
