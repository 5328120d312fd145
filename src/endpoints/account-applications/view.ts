// What the page of applications shows of each with access.
import type { Pages } from '../../http/views/index.ts';
import type { Grant } from '../../repositories/grants.ts';
import type { SettingOutline } from '../../repositories/user-settings.ts';

export function grantsView(
  grants: readonly Grant[],
  settings: readonly SettingOutline[],
): Pages['account-applications']['grants'] {
  return grants.map((grant) => ({
    clientId: grant.clientId,
    name: grant.clientName,
    scopes: grant.scope,
    claims: grant.claims,
    since: grant.createdAt,
    settings: settings
      .filter(({ clientId }) => clientId === grant.clientId)
      .map(({ key, value, size }) => (value === undefined ? { key, size } : { key, value, size })),
  }));
}
