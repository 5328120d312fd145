// Finds the audience of a token whose client names a resource, and the scope that such a token may have (RFC 8707, decisions section 2).
import { invalidScope, invalidTarget } from '../oauth/errors.ts';
import { isAtIssuer, isForeign, isOwnResource } from '../oauth/own-resource.ts';
import { isAdministratorScope, withoutAdministration } from '../oauth/scope.ts';
import type { Repositories } from '../repositories/store.ts';

/**
 * The one resource of a request: a token for several would be good at all of their servers.
 * @throws OAuthError invalid_target
 */
export function oneResource<R extends string | undefined>(resource: R): R {
  if (resource?.includes(' ')) throw invalidTarget('name one resource: request a separate token for each');
  return resource;
}

/**
 * The audience of a token for a resource: its URI, and the client that is its server unless the service itself is.
 * @throws OAuthError invalid_target when no enabled client registered the URI
 */
export async function audienceOf(
  store: Pick<Repositories, 'clients'>,
  issuer: string,
  resource: string,
): Promise<string[]> {
  if (isOwnResource(issuer, oneResource(resource))) return [resource];
  // no client is the server of an address of the service, whatever it once registered (security R115)
  if (isAtIssuer(issuer, resource))
    throw invalidTarget(
      `the resources of this service are ${issuer}, ${issuer}/user/info and ${issuer}/admin/api, spelled like this`,
    );
  const server = await store.clients.findByResource(resource);
  if (server === undefined) throw invalidTarget('no enabled client is registered as the server of this resource');
  return [resource, server];
}

/**
 * What a token may have of the scopes that the client may have: for a resource of another server no administrator scope of this
 * service (security R115).
 * @param asked whether the client named the scopes
 * @throws OAuthError invalid_scope
 */
export function scopeFor(audience: readonly string[] | undefined, scopes: string[], asked: boolean): string[] {
  if (!isForeign(audience)) return scopes;
  if (asked && scopes.some(isAdministratorScope))
    throw invalidScope('the scopes admin and metrics are only for this service: leave them out, or leave out resource');
  return withoutAdministration(scopes);
}
