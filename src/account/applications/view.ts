// Prepares what the applications page shows of each client with access.
import type { Pages } from '../../pages/views/index.ts';
import { apiView } from '../../pages/api-view.ts';
import { allowedDetailView } from '../../pages/detail-view.ts';
import { logoOf } from '../../rules/images/address.ts';
import type { ListedGrant } from '../../repositories/clients/grants.ts';
import type { SettingOutline } from '../../repositories/users/user-settings.ts';

export function grantsView(
  grants: readonly ListedGrant[],
  settings: readonly SettingOutline[],
): Pages['account-applications']['grants'] {
  return grants.map((grant) => ({
    clientId: grant.clientId,
    name: grant.clientName,
    logo: logoOf(grant),
    scopes: grant.scope,
    apis: grant.apis.map(({ scope, ...api }) => apiView(api, scope)),
    claims: grant.claims,
    details: (grant.details ?? []).map((detail) => allowedDetailView(detail, grant.detailTypes)),
    since: grant.createdAt,
    settings: settings
      .filter(({ clientId }) => clientId === grant.clientId)
      .map(({ key, value, size }) => (value === undefined ? { key, size } : { key, value, size })),
  }));
}
