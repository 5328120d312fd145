// Checks a change of who may use a client, a part of administration.ts.
import { invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Client, ClientChange } from '../../repositories/clients/clients.ts';
import type { Repositories } from '../../repositories/store.ts';

/** Refuses a client that would admit no user. @throws OAuthError invalid_request */
export function requireGroups(change: ClientChange, before?: Client): void {
  if (change.access === undefined && change.accessGroups === undefined) return;
  const groups = change.accessGroups ?? before?.accessGroups ?? [];
  if ((change.access ?? before?.access) === 'groups' && groups.length === 0)
    throw invalidRequest(refusal('access-groups', 'access_groups'));
}

/** Refuses a connection that does not exist. One that has been deleted since may stay: without it, the client could be open to all. @throws OAuthError invalid_request */
export async function requireConnections(
  { connections }: Pick<Repositories, 'connections'>,
  change: ClientChange,
  before?: Client,
): Promise<void> {
  const members = { connections: 'connections', upstreamTokens: 'upstream_tokens' } as const;
  for (const [member, name] of Object.entries(members) as [keyof typeof members, string][]) {
    const added = (change[member] ?? []).filter((id) => !before?.[member].includes(id));
    for (const id of added)
      if (!(await connections.find(id))) throw invalidRequest(refusal('connection.unknown', name));
  }
}
