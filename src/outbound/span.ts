// Runs work as a span of the trace of the current request. Without a trace it costs one look into an empty store, and loads no package.
import { AsyncLocalStorage } from 'node:async_hooks';

/** No value of a request, and no text that a user or a client chose: only names that the code defines, numbers, and hosts (security R99). */
export type Attributes = Record<string, string | number>;
export type SpanKind = 'internal' | 'client';

export interface Span {
  /** False once the request has been answered: what it left running, such as a timer, is no part of the trace. */
  readonly isOpen: boolean;
  /** Names this span to another service (W3C Trace Context 3.2). */
  readonly traceparent: string;
  /** Begins a span below this one. */
  begin(name: string, kind: SpanKind, attributes?: Attributes): Span;
  set(attributes: Attributes): void;
  /** @param failure the kind of the failure, never its message */
  end(failure?: string): void;
}

const current = new AsyncLocalStorage<Span | undefined>();

/** The span of the work that runs now; undefined outside of a recorded request. */
export function currentSpan(): Span | undefined {
  const span = current.getStore();
  return span?.isOpen ? span : undefined;
}

/** Runs `work`, and everything that it starts, within a span; undefined leaves the trace. */
export const withSpan = <T>(span: Span | undefined, work: () => T): T => current.run(span, work);

/** Runs `work` at once as a span below the current one, or just runs it. */
export function traced<T>(name: string, work: () => Promise<T>): Promise<T> {
  const parent = currentSpan();
  return parent ? asSpan(parent.begin(name, 'internal'), work) : work();
}

/** Runs `work` at once within the span, and ends it. */
export async function asSpan<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    const result = await withSpan(span, work);
    span.end();
    return result;
  } catch (error) {
    span.end(kindOf(error));
    throw error;
  }
}

/** The code of an error, such as a SQLSTATE or ECONNREFUSED, else its class. Its message may have values in it (security R99). */
export function kindOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'string' && /^[A-Z0-9_]{2,40}$/.test(code)) return code;
  return error instanceof Error ? error.constructor.name : 'unknown';
}
