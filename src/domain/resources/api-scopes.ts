// Finds the scopes of resources that a client may register.
import { isServiceScope, splitScope } from '../../oauth/scope.ts';
import type { Repositories } from '../../repositories/store.ts';

/**
 * Those of the values of a scope that belong to resources. A registrant may register those of resources that are open to every client; an
 * administrator gives a client any.
 * @param kept values that the client has already, which an update names again
 */
export async function registrableApiScopes(
  { resources, scopes }: Pick<Repositories, 'resources' | 'scopes'>,
  scope: unknown,
  { admin, kept = '' }: { admin: boolean; kept?: string | undefined },
): Promise<string[]> {
  const values = typeof scope === 'string' ? splitScope(scope).filter((value) => !isServiceScope(value)) : [];
  // a scope without values of APIs needs no query
  if (values.length === 0) return [];
  // the scopes of an operator for claims: an administrator gives them, and a client keeps those that it has (federation 7, FR40)
  const own = admin ? await scopes.namesAmong(values) : [];
  return [...splitScope(kept), ...own, ...(await resources.findScopes(values, { admin }))];
}
