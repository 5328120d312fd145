// Keeps ended spans until they are sent, in bounded memory. A collector that is away, slow or hostile costs requests nothing: spans are dropped.
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { withSpan } from './span.ts';

export interface SpanQueueOptions {
  /** Sends some spans. It rejects if the collector does not take them. */
  send(spans: ReadableSpan[]): Promise<void>;
  /** Called when the collector begins to refuse spans, and with undefined when it takes them again. */
  onChange(error: Error | undefined): void;
}

/** The numbers of spans since the start. */
export interface SpanCounts {
  sent: number;
  /** That the collector did not take. */
  failed: number;
  /** For which there was no place. */
  dropped: number;
}

export interface SpanQueue extends SpanProcessor {
  counts(): SpanCounts;
}

/** The most spans that wait, the most that are sent at a time, and the milliseconds between two times. */
export const spanLimits = { waiting: 2048, portion: 512, interval: 2_000 };

export function createSpanQueue({ send, onChange }: SpanQueueOptions): SpanQueue {
  let waiting: ReadableSpan[] = [];
  let sending: Promise<void> | undefined;
  let isFailing = false;
  let isStopped = false;
  const counts: SpanCounts = { sent: 0, failed: 0, dropped: 0 };
  const timer = setInterval(flush, spanLimits.interval).unref();

  async function sendPortion(): Promise<void> {
    const spans = waiting.splice(0, spanLimits.portion);
    try {
      await send(spans);
      counts.sent += spans.length;
      if (isFailing) onChange(undefined);
      isFailing = false;
    } catch (error) {
      counts.failed += spans.length;
      if (!isFailing && !isStopped) onChange(error instanceof Error ? error : new Error(String(error)));
      isFailing = true;
    }
  }

  function flush(): void {
    if (sending || waiting.length === 0) return;
    sending = sendPortion().finally(() => {
      sending = undefined;
      // a collector that takes spans gets the next ones as soon as there are many
      if (!isFailing && waiting.length >= spanLimits.portion) flush();
    });
  }

  return {
    onStart: () => undefined,
    onEnd(span) {
      if (isStopped || waiting.length >= spanLimits.waiting) {
        counts.dropped++;
        return;
      }
      waiting.push(span);
      // sending is no part of the request that ends here
      if (waiting.length === spanLimits.portion && !isFailing) setImmediate(() => withSpan(undefined, flush));
    },
    counts: () => counts,
    async forceFlush() {
      await sending;
      while (waiting.length > 0) await sendPortion();
    },
    async shutdown() {
      clearInterval(timer);
      isStopped = true;
      await sending;
      // one attempt: a collector that is away must not hold up the stop of the service
      while (waiting.length > 0 && !isFailing) await sendPortion();
      counts.dropped += waiting.length;
      waiting = [];
    },
  };
}
