// Writes what packages print, and errors that no code handled, as lines of the log, so that standard error holds nothing else (security R126).
import { format } from 'node:util';
import type { Logger } from 'pino';

type Level = 'info' | 'debug' | 'warn' | 'error';

const longest = 2_000; // characters
let logger: Logger | undefined;
/** What comes while the packages are loaded, before there is a log. */
let early: ((log: Logger) => void)[] | undefined = [];

/** From now on, for the whole process; logTo() says where to. */
export function captureStrayOutput(): void {
  // Node's own listener prints them
  process.removeAllListeners('warning');
  process.on('warning', (warning) => keep((log) => log.warn({ err: warning }, 'Node or a package warns')));
  const print = console.error;
  const printed = (level: Level) => {
    return (...what: unknown[]) =>
      keep((log) => log[level]({ printed: format(...what).slice(0, longest) }, 'a package printed this'));
  };
  for (const level of ['info', 'debug', 'warn', 'error'] as const) console[level] = printed(level);
  console.log = printed('info');
  console.dir = printed('info');
  console.trace = printed('debug');
  // a promise that fails unheard ends here, too
  process.on('uncaughtException', (error) => {
    if (logger) logger.fatal({ err: error }, 'an error that nothing handled ends this process');
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
