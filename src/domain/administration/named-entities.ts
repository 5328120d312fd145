// Requires that what an entity names exists, and keeps it until the transaction ends.
import { type Entity, view } from '../../entities/entity.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Repositories } from '../../repositories/store.ts';

/** @param members those that are new or changed @throws OAuthError invalid_request */
export async function requireNamed(
  repositories: Repositories,
  of: Entity,
  after: object,
  members: readonly string[],
): Promise<void> {
  for (const name of members) {
    const { refers } = of.members[name]!;
    if (refers === undefined) continue;
    for (const each of [view(of, after)[name] ?? []].flat() as string[]) {
      // a noun that is no entity has a repository of the store, which lies above the declaration
      const { references, [refers as 'clients']: others } = repositories;
      if (!((await references.keep(refers, each)) ?? (await others.find(each))))
        throw invalidRequest(refusal('unknown', name));
    }
  }
}
