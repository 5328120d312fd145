// How many connections there may be at once, so that slow and idle clients leave files for the database and for others (security R104).
import type { Server } from 'node:http';
import type { Logger } from 'pino';

const warningInterval = 60_000; // milliseconds

/**
 * Turns connections away past `most`, 0 for no bound. Those that wait between two requests are closed then, and make room
 * for the next that comes: only clients that are busy, or slow within the time limits, count for long.
 */
export function boundConnections(server: Server, most: number, logger: Logger): void {
  if (most === 0) return;
  server.maxConnections = most;
  let warned = -Infinity;
  server.on('drop', () => {
    server.closeIdleConnections();
    if (performance.now() - warned < warningInterval) return;
    warned = performance.now();
    logger.warn({ connections: most }, 'a connection was turned away: there are as many as LIMIT_CONNECTIONS allows');
  });
}
