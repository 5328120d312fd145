// Reads the filter of the audit page from the query of its address.
import { isIP } from 'node:net';
import type { AuditFilterView } from '../../../pages/views/console-operations.ts';
import type { Pages } from '../../../pages/views/index.ts';
import type { AuditEventType } from '../../../repositories/audit/audit-events.ts';
import type { AuditSearch } from '../../../repositories/audit/audit-search.ts';
import { tokenIssued, viewedTypes } from '../../../repositories/audit/audit-view.ts';
import { userNamed } from '../../operations/pages/names.ts';
import type { AdminSession } from '../admin-session.ts';

export interface AuditFilterRead {
  /** The typed values. */
  shown: AuditFilterView;
  /** The filter as the query of a link. */
  query: Record<string, string>;
  search: AuditSearch;
  /** Whether the filter asks for issued tokens, which are no events of the trail. */
  issues: boolean;
  faults: Pages['console-audit']['faults'];
}

const userOfAudit = userNamed('audit');

/** In place of a member that is typed, a link names a user by sub alone, also one that is deleted: no name is read there (security R153). */
const bySub = { actor: 'by', user: 'sub' } as const;
const members = ['type', 'outcome', 'actor', 'user', 'client', 'address', 'since', 'until'] as const;

const nameOf = (query: Record<string, string>, member: (typeof members)[number]) => {
  const names = member === 'actor' || member === 'user' ? [bySub[member], member] : [member];
  return names.find((one) => (query[one] ?? '') !== '') ?? member;
};

/** The given parameters of the filter, as a link repeats them. */
export function readQuery(query: Record<string, string>): Record<string, string> {
  const given = members.map((member) => {
    const name = nameOf(query, member);
    return [name, query[name]?.replaceAll('\0', '').trim().slice(0, 320) ?? ''] as const;
  });
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}

/** The filter names a user by user name or subject, and a deleted user by subject. */
export async function readAuditFilter(
  query: Record<string, string>,
  admin: Pick<AdminSession, 'run'>,
): Promise<AuditFilterRead> {
  const shown: AuditFilterView = {};
  const read = readQuery(query);
  for (const member of members) {
    const value = read[nameOf(query, member)];
    if (value !== undefined) shown[member] = value;
  }
  if (!viewedTypes.some((type) => type === shown.type)) delete shown.type;
  if (shown.outcome !== 'success' && shown.outcome !== 'failure') delete shown.outcome;
  const faults: AuditFilterRead['faults'] = [];
  if (shown.address !== undefined && isIP(shown.address) === 0) faults.push('address');
  const time = (member: 'since' | 'until'): Date | undefined => {
    const text = shown[member];
    if (text === undefined) return undefined;
    // a browser's date field sends no zone: the value is UTC, as all times of the console
    const date = new Date(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text) ? `${text}Z` : text);
    if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(date.getTime())) return date;
    faults.push(member);
    return undefined;
  };
  const subOf = async (member: keyof typeof bySub) => {
    const typed = read[member];
    if (typed === undefined) return read[bySub[member]];
    const named = await admin.run(userOfAudit, typed);
    if (named === 'several') faults.push(member);
    return typeof named === 'object' ? named.sub : typed;
  };
  const issues = shown.type === tokenIssued;
  const search: AuditSearch = {
    type: issues ? undefined : (shown.type as AuditEventType | undefined),
    outcome: shown.outcome as AuditSearch['outcome'],
    actor: await subOf('actor'),
    sub: await subOf('user'),
    clientId: shown.client,
    address: shown.address,
    since: time('since'),
    until: time('until'),
  };
  return { shown, query: read, search, issues, faults };
}
