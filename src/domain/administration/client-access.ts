// Checks a change of who may use a client, a part of administration.ts.
import { clientSettings } from '../../entities/client-settings.ts';
import { type Members, viewOf } from '../../entities/entity.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Client, ClientChange } from '../../repositories/clients/clients.ts';
import type { Repositories } from '../../repositories/store.ts';

/** Refuses a client that would admit no user. @throws OAuthError invalid_request */
export function requireGroups(change: ClientChange, before?: Client): void {
  if (change.access === undefined && change.access_groups === undefined) return;
  const groups = change.access_groups ?? before?.accessGroups ?? [];
  if ((change.access ?? before?.access) === 'groups' && groups.length === 0)
    throw invalidRequest(refusal('access-groups', 'access_groups'));
}

/** Refuses a connection that does not exist. One that has been deleted since may stay: without it, the client could be open to all. @throws OAuthError invalid_request */
export async function requireConnections(
  { connections }: Pick<Repositories, 'connections'>,
  change: ClientChange,
  before?: Client,
): Promise<void> {
  for (const [name, { refers }] of Object.entries<Members[string]>(clientSettings)) {
    if (refers !== 'connections') continue;
    const former = new Set(before && (viewOf(clientSettings, before)[name] as string[]));
    for (const id of (change as Record<string, string[] | undefined>)[name] ?? [])
      if (!former.has(id) && !(await connections.find(id))) throw invalidRequest(refusal('connection.unknown', name));
  }
}
