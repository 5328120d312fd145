// Links the names of users and clients in audit events to their pages in the console while they exist.
import { clientPath } from '../client-review.ts';
import type { Involved, Names } from '../operations/pages/names.ts';
import type { StoredEvent } from '../../repositories/audit/audit-search.ts';
import type { ViewedEvent } from '../../repositories/audit/audit-view.ts';
import type { AuditEventRow, LinkedName } from '../../pages/views/console-operations.ts';

export function userLink(sub: string, name: string | undefined): LinkedName {
  return name === undefined ? { id: sub } : { id: sub, name, uri: `/admin/users/${encodeURIComponent(sub)}` };
}

export function clientLink(clientId: string, name: string | undefined): LinkedName {
  return name === undefined ? { id: clientId } : { id: clientId, name, uri: clientPath(clientId) };
}

/** Gives the links of one event. @param names those that namesIn() found */
export const linkedNames =
  (names: Names) =>
  ({ actor, sub, clientId }: Involved): { actor?: LinkedName; user?: LinkedName; client?: LinkedName } => {
    const nameOf = (kind: 'user' | 'client', id: string) =>
      names.find((one) => one.kind === kind && one.id === id)?.name;
    const actorLink = (id: string): LinkedName => {
      const user = nameOf('user', id);
      return user === undefined ? clientLink(id, nameOf('client', id)) : userLink(id, user);
    };
    return {
      ...(actor !== undefined && { actor: actorLink(actor) }),
      ...(sub !== undefined && { user: userLink(sub, nameOf('user', sub)) }),
      ...(clientId !== undefined && { client: clientLink(clientId, nameOf('client', clientId)) }),
    };
  };

/** Prepares events for a list, with the names of their users and clients. */
export function eventRows(names: Names, events: readonly (StoredEvent | ViewedEvent)[]): AuditEventRow[] {
  const linked = linkedNames(names);
  return events.map((event) => {
    const { id, at, type, outcome, address } = event;
    return {
      id,
      at,
      type,
      failed: outcome === 'failure',
      ...linked(event),
      ...(address !== undefined && { address }),
      // an issued token has no page
      ...(!id.startsWith('token-') && { uri: `/admin/audit/${id}` }),
    };
  });
}
