// Logs the output of packages and unhandled errors, so that standard error has only log lines (security R126).
import { format } from 'node:util';
import type { Logger } from 'pino';

type Level = 'info' | 'debug' | 'warn' | 'error';

const maxPrinted = 2_000; // characters
let logger: Logger | undefined;
/** Output from before the log exists, while packages are loaded. */
let early: ((log: Logger) => void)[] | undefined = [];

/** Captures output of the whole process from now on; logTo() gives it the log. */
export function captureStrayOutput(): void {
  // Node's own listener would print warnings
  process.removeAllListeners('warning');
  process.on('warning', (warning) => keep((log) => log.warn({ err: warning }, 'warning from Node or a package')));
  const print = console.error;
  const logAt = (level: Level) => {
    return (...values: unknown[]) =>
      keep((log) => log[level]({ printed: format(...values).slice(0, maxPrinted) }, 'a package printed this'));
  };
  for (const level of ['info', 'debug', 'warn', 'error'] as const) console[level] = logAt(level);
  console.log = logAt('info');
  console.dir = logAt('info');
  console.trace = logAt('debug');
  // also gets promises that reject without a handler
  process.on('uncaughtException', (error) => {
    if (logger) logger.fatal({ err: error }, 'unhandled error, exiting');
    else print(String(error));
    process.exit(1);
  });
}

export function logTo(log: Logger): void {
  logger = log;
  for (const line of early ?? []) line(log);
  early = undefined;
}

function keep(line: (log: Logger) => void): void {
  if (logger) line(logger);
  else early?.push(line);
}
