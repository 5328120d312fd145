// The audit trail as a file, piece by piece: as CSV for spreadsheets, or as JSON Lines for programs.
import { newPatience, withPatience } from '../../database/patience.ts';
import { auditEventView } from '../../http/administrator-views.ts';
import type { AuditSearch, Found } from '../../repositories/audit-search.ts';
import type { Store } from '../../repositories/index.ts';

export const exportFormats = { csv: 'text/csv; charset=utf-8', jsonl: 'application/jsonl; charset=utf-8' } as const;

const piece = 1000; // events read at a time
const columns = ['id', 'at', 'type', 'outcome', 'actor', 'client_id', 'sub', 'address', 'detail'] as const;

export async function* exported(
  store: Pick<Store, 'auditSearch'>,
  search: AuditSearch,
  format: keyof typeof exportFormats,
): AsyncGenerator<string> {
  if (format === 'csv') yield `${columns.join(',')}\r\n`;
  for (let before: string | undefined; ;) {
    const { events, next } = await patiently(() => store.auditSearch.search(search, { limit: piece, before }));
    if (events.length > 0) {
      const views = events.map(auditEventView);
      yield views.map((view) => (format === 'csv' ? line(view) : `${JSON.stringify(view)}\n`)).join('');
    }
    if (!next) return;
    before = next.id;
  }
}

/** Each piece may wait for the database as long as a request may, however many there are. */
function patiently(work: () => Promise<Found>): Promise<Found> {
  return new Promise((resolve, reject) => withPatience(newPatience(), () => void work().then(resolve, reject)));
}

/** RFC 4180; what a spreadsheet would take for a formula begins with an apostrophe. */
function line(view: Record<string, unknown>): string {
  const cells = columns.map((column) => {
    const value = view[column] ?? '';
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  });
  return `${cells.join(',')}\r\n`;
}
