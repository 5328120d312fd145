// Imports that go on after the answer: whoever began one may close the page, and looks again where it writes how far it is.
import { Readable } from 'node:stream';
import { withNewDeadline } from '../../../database/deadline.ts';
import { type ImportCounts, importFile } from '../../../domain/user-transfer.ts';
import type { TransferFormat } from '../../../domain/user-records.ts';
import type { Administration } from '../../../domain/administration/administration.ts';
import type { Store } from '../../../repositories/store.ts';
import { maxRefusals, type RefusedRow, type UserImport } from '../../../repositories/users/user-imports.ts';
import type { Actor } from '../../../repositories/audit/actor.ts';

/** What is imported, and how. */
export interface ImportOrder {
  text: string;
  format: TransferFormat;
  update: boolean;
  admins: boolean;
}

/** What a check found, or why there is nothing to check. */
export interface CheckResult {
  counts: ImportCounts;
  refusals: RefusedRow[];
}

/** How many lines there are to read. */
export const linesOf = (text: string): number => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);

/** Imports at once in this process: each keeps its text in memory, and the database busy. */
const maxAtOnce = 2;

export function createImports(
  parts: { store: Store; administration: Administration },
  log: { warn(line: object, message: string): void },
) {
  const running = new Set<Promise<void>>();
  let closing = false;
  const read = (by: Actor, { text, format, ...options }: ImportOrder, dryRun: boolean) =>
    importFile(parts, by, Readable.from([Buffer.from(text)]), format, { ...options, dryRun });

  async function run(id: string, by: Actor, order: ImportOrder): Promise<void> {
    const refusals: RefusedRow[] = [];
    let progress = { line: 0, created: 0, updated: 0, unchanged: 0, refused: 0 };
    const note = (state: UserImport['state']) =>
      withNewDeadline(() => parts.store.userImports.update(id, state, progress, refusals));
    try {
      for await (const report of read(by, order, false)) {
        if (report.kind === 'refused') {
          const { line, column, reason } = report;
          if (refusals.length < maxRefusals) refusals.push({ line, column, reason });
        } else {
          progress = { line: report.line, ...report.counts };
          await note(closing ? 'stopped' : 'running');
          if (closing) return;
        }
      }
      await note('done');
    } catch (error) {
      log.warn({ err: error, import: id }, 'an import of users stopped');
      await note('stopped').catch(() => undefined);
    }
  }

  return {
    /** Lets each end with the batch under way, and waits for that: it is stored, and how far it is. */
    async stop(): Promise<void> {
      closing = true;
      await Promise.all(running);
    },
    /**
     * Says what an import would do, and meanwhile up to which line it is.
     * @throws HeadProblem before anything else, when the head is none of a table of users
     */
    async *check(by: Actor, order: ImportOrder): AsyncGenerator<number, CheckResult> {
      const refusals: RefusedRow[] = [];
      const reports = read(by, order, true);
      for (;;) {
        const next = await reports.next();
        if (next.done) return { counts: next.value, refusals };
        if (next.value.kind === 'progress') yield next.value.line;
        else if (refusals.length < maxRefusals) {
          const { line, column, reason } = next.value;
          refusals.push({ line, column, reason });
        }
      }
    },
    /**
     * Begins an import; one of an id that was begun before goes on as it is.
     * @returns false when as many go on as may at once
     */
    async begin(id: string, by: Actor, order: ImportOrder): Promise<boolean> {
      if (running.size >= maxAtOnce && !(await parts.store.userImports.find(id))) return false;
      if (!(await parts.store.userImports.insert(id, by.actor, linesOf(order.text)))) return true;
      const work = run(id, by, order).finally(() => running.delete(work));
      running.add(work);
      return true;
    },
  };
}
