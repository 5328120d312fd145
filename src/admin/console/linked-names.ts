// Finds the names of users and clients in audit events, with links to their pages in the console while they exist.
import type { Store } from '../../repositories/store.ts';
import { clientPath } from '../client-review.ts';
import type { StoredEvent } from '../../repositories/audit/audit-search.ts';
import type { ViewedEvent } from '../../repositories/audit/audit-view.ts';
import type { AuditEventRow, LinkedName } from '../../pages/views/console-operations.ts';

export function userLink(sub: string, name: string | undefined): LinkedName {
  return name === undefined ? { id: sub } : { id: sub, name, uri: `/admin/users/${encodeURIComponent(sub)}` };
}

export function clientLink(clientId: string, name: string | undefined): LinkedName {
  return name === undefined ? { id: clientId } : { id: clientId, name, uri: clientPath(clientId) };
}

interface Involved {
  actor?: string | undefined;
  sub?: string | undefined;
  clientId?: string | undefined;
}

/** Looks up the names of all users and clients of these events. @returns a function that gives the links of one event */
export async function linkedNames(
  { auditSearch }: Pick<Store, 'auditSearch'>,
  events: readonly Involved[],
): Promise<(event: Involved) => { actor?: LinkedName; user?: LinkedName; client?: LinkedName }> {
  const all = (ids: (string | undefined)[]) => [...new Set(ids)].filter((id) => id !== undefined);
  const subs = all(events.flatMap(({ sub, actor }) => [sub, actor]));
  const clientIds = all(events.flatMap(({ clientId, actor }) => [clientId, actor]));
  const names = subs.length + clientIds.length === 0 ? [] : await auditSearch.names(subs, clientIds);
  const nameOf = (kind: 'user' | 'client', id: string) => names.find((one) => one.kind === kind && one.id === id)?.name;
  const actorLink = (id: string): LinkedName => {
    const user = nameOf('user', id);
    return user === undefined ? clientLink(id, nameOf('client', id)) : userLink(id, user);
  };
  return ({ actor, sub, clientId }) => ({
    ...(actor !== undefined && { actor: actorLink(actor) }),
    ...(sub !== undefined && { user: userLink(sub, nameOf('user', sub)) }),
    ...(clientId !== undefined && { client: clientLink(clientId, nameOf('client', clientId)) }),
  });
}

/** Prepares events for a list, with the names of their users and clients. */
export async function eventRows(
  store: Pick<Store, 'auditSearch'>,
  events: readonly (StoredEvent | ViewedEvent)[],
): Promise<AuditEventRow[]> {
  const linked = await linkedNames(store, events);
  return events.map((event) => {
    const { id, at, type, outcome, address } = event;
    return {
      ...{ id, at, type, failed: outcome === 'failure', ...linked(event) },
      ...(address !== undefined && { address }),
      // an issued token has no page
      ...(!id.startsWith('token-') && { uri: `/admin/audit/${id}` }),
    };
  });
}
