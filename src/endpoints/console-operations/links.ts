// Addresses of the console's other pages, and queries of its own.
import type { LinkedName } from '../../http/views/console-operations.ts';

export function userLink(sub: string, name: string | undefined): LinkedName {
  return name === undefined ? { id: sub } : { id: sub, name, uri: `/admin/users/${encodeURIComponent(sub)}` };
}

export function clientLink(clientId: string, name: string | undefined): LinkedName {
  return name === undefined
    ? { id: clientId }
    : { id: clientId, name, uri: `/admin/clients/${encodeURIComponent(clientId)}` };
}

/** "?a=b&c=d" of what is there; empty for nothing. */
export function queryOf(parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  const query = new URLSearchParams(given as [string, string][]).toString();
  return query === '' ? '' : `?${query}`;
}
