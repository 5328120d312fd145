// Sends the audit trail to a collector, from one instance at a time. A collector that is away, slow or hostile costs requests nothing: the events wait in the trail.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { auditEventView } from '../domain/administration/administrator-views.ts';
import type { AuditSink } from '../outbound/audit-sink.ts';
import type { Store } from '../repositories/store.ts';
import { afterFailure, afterSuccess, firstPortion } from '../rules/audit/portion.ts';

interface AuditStreamOptions {
  store: Pick<Store, 'auditStream'>;
  sink: AuditSink;
  logger: Logger;
}

const lease = 60; // seconds: longer than an attempt can take
/** Milliseconds between two looks, and after a first failure. */
export const streamLimits = { pause: 1_000 };
const maxPause = 60_000;
/** Ids that may lie between the floor and the newest event before the floor is moved. */
const mostAbove = 1_000n;

/** An id, and what must end before no event with a lower one can come. */
interface Candidate {
  id: string;
  writers: string[];
  next?: string;
}

export function startAuditStream({ store: { auditStream }, sink, logger }: AuditStreamOptions): {
  stop(): Promise<void>;
} {
  const holder = randomUUID();
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let portion = firstPortion;
  let candidate: Candidate | undefined;
  let hasBegun = false;

  /** Looks which id is settled: every transaction that may have taken it, or a lower one, has ended. */
  async function settle(floor: string): Promise<void> {
    if (!candidate) {
      const id = await auditStream.lastId();
      if (BigInt(id) - BigInt(floor) > mostAbove) candidate = { id, writers: await auditStream.writers() };
      return;
    }
    if (candidate.next !== undefined) return;
    const open = new Set(await auditStream.writers());
    if (!candidate.writers.some((writer) => open.has(writer))) candidate.next = await auditStream.next();
  }

  /** @returns the milliseconds until the next look */
  async function look(): Promise<number> {
    if (!hasBegun) await auditStream.begin();
    hasBegun = true;
    const held = await auditStream.hold(holder, lease);
    if (!held) {
      candidate = undefined;
      return 10 * streamLimits.pause;
    }
    if (held.until === undefined) {
      await settle(held.floor);
      await auditStream.open(holder);
    }
    const events = await auditStream.read(holder, portion.size);
    if (events.length > 0) {
      try {
        await sink.send(events.map((event) => ({ ...event, text: JSON.stringify(auditEventView(event)) })));
      } catch (error) {
        if (stopped) return 0;
        portion = afterFailure(portion);
        const reason = error instanceof Error ? error.message : String(error);
        await auditStream.failed(holder, reason.slice(0, 500));
        throw error;
      }
      if (failures > 0) logger.info('the collector of the audit stream takes events again');
      failures = 0;
      await auditStream.sent(holder, events.at(-1)!.id);
      const isFull = events.length === portion.size;
      if (isFull) {
        portion = afterSuccess(portion);
        return 0;
      }
    }
    const { id, next } = candidate ?? {};
    const floor = await auditStream.close(holder, id !== undefined && next !== undefined ? { id, next } : undefined);
    if (floor !== undefined && floor === id) candidate = undefined;
    return streamLimits.pause;
  }

  let running = Promise.resolve();
  function schedule(after: number): void {
    if (stopped) return;
    timer = setTimeout(() => {
      running = look().then(schedule, (error: unknown) => {
        if (stopped) return;
        const wait = Math.min(maxPause, streamLimits.pause * 2 ** failures++);
        logger.warn({ err: error, pause: wait / 1000 }, 'the audit stream could not be sent; will retry');
        schedule(wait);
      });
    }, after);
  }
  schedule(0);

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      sink.stop();
      await running;
      await auditStream.release(holder).catch(() => undefined);
    },
  };
}
