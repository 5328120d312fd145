// Whom a token is for, when the client names a resource (RFC 8707, decisions section 2), and where such a token serves.
import type { FastifyRequest } from 'fastify';
import { invalidScope, invalidTarget, invalidToken } from '../oauth/errors.ts';
import { isAtIssuer, isForeign, isOwnResource, servesAt } from '../oauth/own-resource.ts';
import { isAdministratorScope, withoutAdministration } from '../oauth/scope.ts';
import type { Repositories } from '../repositories/store.ts';

/**
 * The one resource of a request; several would widen a token to all of their servers.
 * @throws OAuthError invalid_target
 */
export function oneResource<R extends string | undefined>(resource: R): R {
  if (resource?.includes(' ')) throw invalidTarget('name one resource: get a token of its own for each');
  return resource;
}

/**
 * The audience of a token for a resource: its URI, and the client that is its server where the service itself is not.
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
 * What a token may hold of the scopes that the client may have: for a resource of another server nothing that this service
 * administers by (security R115).
 * @param asked whether the client named the scopes
 * @throws OAuthError invalid_scope
 */
export function scopeFor(audience: readonly string[] | undefined, scopes: string[], asked: boolean): string[] {
  if (!isForeign(audience)) return scopes;
  if (asked && scopes.some(isAdministratorScope))
    throw invalidScope('the scopes admin and metrics are for this service only: leave them out, or leave out resource');
  return withoutAdministration(scopes);
}

/**
 * Refuses a token that was issued for another resource than the address that it was brought to (security R115).
 * @throws OAuthError invalid_token
 */
export function requireAudience(
  issuer: string,
  { restrictedTo }: { restrictedTo: readonly string[] | undefined },
  request: FastifyRequest,
): void {
  // mostly undefined: a token without resource serves everywhere, and what follows costs something
  if (restrictedTo !== undefined && !servesAt(issuer, restrictedTo, request.url, request.routeOptions.url))
    throw invalidToken('the token was issued for another resource: get one for this address, or one without resource');
}
