// Logs the lines of one request with its id. A child logger costs more than a line, so it makes one only where pino needs it.
import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify';
import { withoutQueries } from './logged-addresses.ts';

type Bindings = Parameters<FastifyBaseLogger['child']>[0];
type Options = Parameters<FastifyBaseLogger['child']>[1];
type Line = [unknown, string?, ...unknown[]];
type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

const quotesQuery = (part: unknown): boolean => typeof part === 'string' && part.includes('?');
const shown = (part: unknown): unknown => (typeof part === 'string' ? withoutQueries(part) : part);

class RequestLog {
  readonly #parent: FastifyBaseLogger;
  readonly #bindings: Bindings;

  constructor(parent: FastifyBaseLogger, bindings: Bindings) {
    this.#parent = parent;
    this.#bindings = bindings;
  }

  get level(): string {
    return this.#parent.level;
  }

  fatal(...line: Line): void {
    this.#write('fatal', line);
  }

  error(...line: Line): void {
    this.#write('error', line);
  }

  warn(...line: Line): void {
    this.#write('warn', line);
  }

  info(...line: Line): void {
    this.#write('info', line);
  }

  debug(...line: Line): void {
    this.#write('debug', line);
  }

  trace(...line: Line): void {
    this.#write('trace', line);
  }

  silent(): void {}

  child(bindings: Bindings, options?: Options): FastifyBaseLogger {
    return this.#parent.child(this.#bindings).child(bindings, options);
  }

  /** Puts the request's id before the members of the line, as a child logger does. */
  #write(level: Level, line: Line): void {
    const [members, ...rest] = line.some(quotesQuery) ? (line.map(shown) as Line) : line;
    if (typeof members === 'object' && members !== null && !(members instanceof Error))
      this.#parent[level]({ ...this.#bindings, ...members }, ...rest);
    else this.#parent.child(this.#bindings)[level](members, ...rest);
  }
}

/**
 * Pino's type has many members that no request uses: the class has those that Fastify and the handlers call. No route has a level or
 * serializers of its own, which would come as a third parameter.
 */
export const requestLog: NonNullable<FastifyServerOptions['childLoggerFactory']> = (logger, bindings) =>
  new RequestLog(logger, bindings) as unknown as FastifyBaseLogger;
