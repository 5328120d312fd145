// Adds the rules of exchange policies to their creation and change: the client is no public one, and the resources exist.
import { exchangePolicies } from '../../entities/exchange-policies.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { userinfoResource } from '../../oauth/own-resource.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { entityAdministration } from './entities.ts';

/** Requires that each URI names a resource, or UserInfo. @throws OAuthError invalid_request */
export async function requireResources(
  { resources }: Pick<Repositories, 'resources'>,
  issuer: string,
  uris: readonly string[],
): Promise<void> {
  for (const uri of uris)
    if (uri !== userinfoResource(issuer) && (uri.includes('\0') || !(await resources.find(uri))))
      throw invalidRequest(refusal('exchange-resource', 'resources', { resource: uri }));
}

export const exchangePolicyAdministration = (store: Store, issuer: string) =>
  entityAdministration(store, exchangePolicies, {
    repository: (repositories) => repositories.exchangePolicies,
    taken: refusal('exchange-policy.taken', 'name'),
    facts: ({ name, clientId, mode }, act) => ({
      clientId,
      detail: { exchange_policy: name, ...(act === 'created' && { mode }) },
    }),
    async check({ clients, resources }, { clientId, resources: uris }, members) {
      if (members.includes('client_id') && (await clients.find(clientId))?.rules.isPublic)
        throw invalidRequest(refusal('exchange-client', 'client_id'));
      if (members.includes('resources')) await requireResources({ resources }, issuer, uris);
    },
  });
