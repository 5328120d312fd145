// Exports the audit trail in pieces for console, admin routes and command line: as CSV for spreadsheets, or JSON Lines for programs.
import { withNewDeadline } from '../../database/deadline.ts';
import { markedCell } from '../../rules/users/table-cell.ts';
import type { AuditSearch } from '../../repositories/audit/audit-search.ts';
import type { Store } from '../../repositories/store.ts';
import { auditEventView } from '../administration/administrator-views.ts';
import type { TransferFormat } from '../users/user-records.ts';
import type { Actor } from '../../repositories/audit/actor.ts';

const piece = 1000; // events read at a time
const columns = ['id', 'at', 'type', 'outcome', 'actor', 'client_id', 'sub', 'address', 'detail'] as const;

/**
 * All events that a search finds, newest first; the audit trail records the export before the first event is read.
 * @param asked the filter with the names of the caller's parameters, for the audit trail
 */
export async function exportEvents(
  store: Pick<Store, 'auditSearch' | 'auditEvents'>,
  by: Actor,
  format: TransferFormat,
  search: AuditSearch,
  asked: Record<string, string | undefined>,
): Promise<AsyncGenerator<string>> {
  const detail = { format, ...asked };
  await store.auditEvents.insert({ ...by, type: 'audit_events.exported', outcome: 'success', detail });
  return eventsOf(store, search, format);
}

async function* eventsOf(
  store: Pick<Store, 'auditSearch'>,
  search: AuditSearch,
  format: TransferFormat,
): AsyncGenerator<string> {
  if (format === 'csv') yield `${columns.join(',')}\r\n`;
  for (let before: string | undefined; ;) {
    const { events, next } = await withNewDeadline(() => store.auditSearch.search(search, { limit: piece, before }));
    if (events.length > 0) {
      const views = events.map(auditEventView);
      yield views.map((view) => (format === 'csv' ? line(view) : `${JSON.stringify(view)}\n`)).join('');
    }
    if (!next) return;
    before = next.id;
  }
}

/** RFC 4180; what a spreadsheet would take for a formula begins with an apostrophe. */
function line(view: Record<string, unknown>): string {
  const cells = columns.map((column) => {
    const value = view[column] ?? '';
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const safe = markedCell(text);
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  });
  return `${cells.join(',')}\r\n`;
}
