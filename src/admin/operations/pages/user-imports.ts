// Declares the console's imports of users. They run in the background and store their progress, so that an administrator can close the page and return to it.
import { guardedGroups } from '../../../domain/administration/guarded-groups.ts';
import { Readable } from 'node:stream';
import { withNewDeadline } from '../../../database/deadline.ts';
import { type ImportCounts, importFile, type ImportReport } from '../../../domain/users/user-transfer.ts';
import type { TransferFormat } from '../../../domain/users/user-records.ts';
import { maxRefusals, type ReportedRow, type UserImport } from '../../../repositories/users/user-imports.ts';
import type { Actor } from '../../../repositories/audit/actor.ts';
import { type OperationContext, pageOperation } from '../operation.ts';

/** The users to import, with the options. */
export interface ImportInput {
  text: string;
  format: TransferFormat;
  update: boolean;
  admins: boolean;
  trustConfirmations: boolean;
}

/** The result of a check. */
export interface CheckResult {
  counts: ImportCounts;
  refusals: ReportedRow[];
  notes: ReportedRow[];
}

/** The number of lines of a text. */
export const linesOf = (text: string): number => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);

/** Imports at once in this process: each keeps its text in memory and the database busy. */
const maxAtOnce = 2;

type Lists = Pick<CheckResult, 'refusals' | 'notes'>;
const newLists = (): Lists => ({ refusals: [], notes: [] });

function keep(lists: Lists, { kind, line, column, reason }: Exclude<ImportReport, { kind: 'progress' }>): void {
  const list = kind === 'refused' ? lists.refusals : lists.notes;
  if (list.length < maxRefusals) list.push({ line, column, reason });
}

export type Imports = ReturnType<typeof createImports>;

export function createImports(
  parts: Pick<OperationContext, 'config' | 'store' | 'administration' | 'secretBox' | 'connectionKinds'>,
  log: { warn(line: object, message: string): void },
) {
  const running = new Set<Promise<void>>();
  let closing = false;
  const guarded = guardedGroups(parts.config);
  const read = (by: Actor, { text, format, ...options }: ImportInput, dryRun: boolean) =>
    importFile(parts, by, Readable.from([Buffer.from(text)]), format, { ...options, dryRun, guarded });

  async function run(id: string, by: Actor, input: ImportInput): Promise<void> {
    const lists = newLists();
    let progress = { line: 0, created: 0, updated: 0, unchanged: 0, refused: 0 };
    const note = (state: UserImport['state']) =>
      withNewDeadline(() => parts.store.userImports.update(id, state, progress, lists));
    try {
      for await (const report of read(by, input, false)) {
        if (report.kind !== 'progress') keep(lists, report);
        else {
          progress = { line: report.line, ...report.counts };
          await note(closing ? 'stopped' : 'running');
          if (closing) return;
        }
      }
      await note('done');
    } catch (error) {
      log.warn({ err: error, import: id }, 'a user import failed');
      await note('stopped').catch(() => undefined);
    }
  }

  /**
   * Yields the line that the check has reached, and returns the result.
   * @throws HeadProblem before anything else, if the head is not that of a table of users
   */
  async function* check(by: Actor, input: ImportInput): AsyncGenerator<number, CheckResult> {
    const lists = newLists();
    const reports = read(by, input, true);
    for (;;) {
      const next = await reports.next();
      if (next.done) return { counts: next.value, ...lists };
      if (next.value.kind === 'progress') yield next.value.line;
      else keep(lists, next.value);
    }
  }

  return {
    /** Stops each import after its present batch, and waits for that: the batch and the progress are stored. */
    async stop(): Promise<void> {
      closing = true;
      await Promise.all(running);
    },
    /** Checks what an import would do. */
    check: pageOperation('users', 'change', async (_context, input: ImportInput, by) => check(by, input)),
    /** Starts an import, unless one with this id was started before; false if the maximum number of imports is running. */
    begin: pageOperation(
      'users',
      'change',
      async ({ store }, { id, input }: { id: string; input: ImportInput }, by) => {
        if (running.size >= maxAtOnce && !(await store.userImports.find(id))) return false;
        if (!(await store.userImports.insert(id, by.actor, linesOf(input.text)))) return true;
        const work = run(id, by, input).finally(() => running.delete(work));
        running.add(work);
        return true;
      },
    ),
    find: pageOperation('users', 'read', ({ store }, id: string) => store.userImports.find(id)),
  };
}
