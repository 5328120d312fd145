// Checks a change of who may use a client, a part of administration.ts.
import { clientSettings } from '../../entities/client-settings.ts';
import { type Members, viewOf } from '../../entities/entity.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { StoredKind } from '../../rules/clients/kinds.ts';
import { refuseSamlMembers, refuseWrittenNameId } from './saml-application.ts';
import type { Client, ClientChange } from '../../repositories/clients/clients.ts';
import type { Repositories } from '../../repositories/store.ts';

/** Checks the settings of a change by the rules that need other members or other nouns. @throws OAuthError invalid_request */
export async function requireSettings(
  repositories: Pick<Repositories, 'attributes' | 'connections' | 'references'>,
  kind: StoredKind,
  change: ClientChange,
  before?: Client,
): Promise<void> {
  requireGroups(change, before);
  refuseSamlMembers(kind, change);
  await refuseWrittenNameId(repositories, change, before);
  await requireNamed(repositories, change, before);
}

/** Refuses a client that would admit no user. @throws OAuthError invalid_request */
function requireGroups(change: ClientChange, before?: Client): void {
  if (change.access === undefined && change.access_groups === undefined) return;
  const groups = change.access_groups ?? before?.accessGroups ?? [];
  if ((change.access ?? before?.access) === 'groups' && groups.length === 0)
    throw invalidRequest(refusal('access-groups', 'access_groups'));
}

/**
 * Refuses a SCIM source that does not exist, and a connection. A connection that has been deleted since may stay: without it, the client could be open
 * to all.
 * @throws OAuthError invalid_request
 */
async function requireNamed(
  { connections, references }: Pick<Repositories, 'connections' | 'references'>,
  change: ClientChange,
  before?: Client,
): Promise<void> {
  const { scim_source: source } = change;
  if (source && !(await references.keep('scim_sources', source)))
    throw invalidRequest(refusal('unknown', 'scim_source'));
  for (const [name, { refers }] of Object.entries<Members[string]>(clientSettings)) {
    if (refers !== 'connections') continue;
    const former = new Set(before && (viewOf(clientSettings, before)[name] as string[]));
    for (const id of (change as Record<string, string[] | undefined>)[name] ?? [])
      if (!former.has(id) && !(await connections.find(id))) throw invalidRequest(refusal('connection.unknown', name));
  }
}
