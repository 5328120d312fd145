// Keeps in memory what the metadata of the service says of what administrators declare: the public resources (RFC 9728 4), whether tokens of connections are
// kept, and the nouns that offer a grant type.
import { isDeepStrictEqual } from 'node:util';
import type { Store } from '../../repositories/store.ts';

export interface PublicResources {
  /** The URIs of the resources. */
  resources: readonly string[];
  /** The scope values of all of them, each once. */
  scopes: readonly string[];
  /** Whether a connection keeps tokens, which clients can read. */
  keepsTokens: boolean;
  /** The nouns with enabled rows, which offer grant types (oauth/registrable-values.ts). */
  offering: readonly string[];
  /** The enabled types of authorization details (RFC 9396 10). */
  detailTypes: readonly string[];
}

export type PublicResourcesService = ReturnType<typeof createPublicResources>;

export function createPublicResources({
  resources,
  connections,
  exchangePolicies,
  trustedIssuers,
  authorizationDetailsTypes,
}: Pick<Store, 'resources' | 'connections' | 'exchangePolicies' | 'trustedIssuers' | 'authorizationDetailsTypes'>) {
  let current: PublicResources = { resources: [], scopes: [], keepsTokens: false, offering: [], detailTypes: [] };
  let [reads, newest] = [0, 0];
  return {
    /** Reads the resources again; until the first time there is none. */
    async refresh(): Promise<void> {
      const turn = ++reads;
      const [found, keepsTokens, exchanges, issuers, detailTypes] = await Promise.all([
        resources.listPublic(),
        connections.keepTokens(),
        exchangePolicies.any(),
        trustedIssuers.any(),
        authorizationDetailsTypes.names(),
      ]);
      // a read that began later has found at least as much
      if (turn < newest) return;
      newest = turn;
      const next = {
        resources: found.map(({ resource }) => resource),
        scopes: [...new Set(found.flatMap(({ scopes }) => Object.keys(scopes)))],
        keepsTokens,
        offering: [...(exchanges ? ['exchange_policies'] : []), ...(issuers ? ['trusted_issuers'] : [])],
        detailTypes,
      };
      // the documents are written again when the object changes
      if (!isDeepStrictEqual(next, current)) current = next;
    },
    current: (): PublicResources => current,
  };
}
