// Keeps the resources that administrators marked public in memory, for the metadata of the service (RFC 9728 4).
import { isDeepStrictEqual } from 'node:util';
import type { Store } from '../repositories/store.ts';

export interface PublicResources {
  /** The URIs of the resources. */
  resources: readonly string[];
  /** The scope values of all of them, each once. */
  scopes: readonly string[];
}

export type PublicResourcesService = ReturnType<typeof createPublicResources>;

export function createPublicResources({ resources }: Pick<Store, 'resources'>) {
  let current: PublicResources = { resources: [], scopes: [] };
  let [reads, newest] = [0, 0];
  return {
    /** Reads the resources again; until the first time there is none. */
    async refresh(): Promise<void> {
      const turn = ++reads;
      const found = await resources.listPublic();
      // a read that began later has found at least as much
      if (turn < newest) return;
      newest = turn;
      const next = {
        resources: found.map(({ resource }) => resource),
        scopes: [...new Set(found.flatMap(({ scopes }) => Object.keys(scopes)))],
      };
      // the documents are written again when the object changes
      if (!isDeepStrictEqual(next, current)) current = next;
    },
    current: (): PublicResources => current,
  };
}
