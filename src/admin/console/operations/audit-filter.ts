// The filter of the audit page as it stands in the address bar, and what it asks for.
import { isIP } from 'node:net';
import type { AuditFilterView } from '../../../pages/views/console-operations.ts';
import type { AuditEventType } from '../../../repositories/audit/audit-events.ts';
import type { AuditSearch } from '../../../repositories/audit/audit-search.ts';
import { tokenIssued, viewedTypes } from '../../../repositories/audit/audit-view.ts';
import type { Store } from '../../../repositories/store.ts';

export interface AuditFilterRead {
  /** As it was typed. */
  shown: AuditFilterView;
  search: AuditSearch;
  /** The issues of tokens are asked for, which are no events of the trail. */
  issues: boolean;
  faults: ('address' | 'since' | 'until')[];
}

const members = ['type', 'outcome', 'actor', 'user', 'client', 'address', 'since', 'until'] as const;

/** People are named by their user name or subject; somebody who is gone by the subject. */
export async function readAuditFilter(
  query: Record<string, string>,
  store: Pick<Store, 'users'>,
): Promise<AuditFilterRead> {
  const shown: AuditFilterView = {};
  for (const member of members) {
    const value = query[member]?.replaceAll('\0', '').trim().slice(0, 320) ?? '';
    if (value !== '') shown[member] = value;
  }
  if (!viewedTypes.some((type) => type === shown.type)) delete shown.type;
  if (shown.outcome !== 'success' && shown.outcome !== 'failure') delete shown.outcome;
  const faults: AuditFilterRead['faults'] = [];
  if (shown.address !== undefined && isIP(shown.address) === 0) faults.push('address');
  const time = (member: 'since' | 'until'): Date | undefined => {
    const text = shown[member];
    if (text === undefined) return undefined;
    // what a browser's own field gives has no zone: it is UTC, as all times of the console
    const date = new Date(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text) ? `${text}Z` : text);
    if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(date.getTime())) return date;
    faults.push(member);
    return undefined;
  };
  const subOf = async (name: string | undefined) =>
    name === undefined ? undefined : ((await store.users.findByLogin(name))?.sub ?? name);
  const issues = shown.type === tokenIssued;
  const search: AuditSearch = {
    type: issues ? undefined : (shown.type as AuditEventType | undefined),
    outcome: shown.outcome as AuditSearch['outcome'],
    actor: await subOf(shown.actor),
    sub: await subOf(shown.user),
    clientId: shown.client,
    address: shown.address,
    since: time('since'),
    until: time('until'),
  };
  return { shown, search, issues, faults };
}
