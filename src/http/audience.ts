// Whom a token is for, when the client names a resource (RFC 8707, decisions section 2).
import { invalidTarget } from '../oauth/errors.ts';
import type { Repositories } from '../repositories/index.ts';

/**
 * The one resource of a request; several would widen a token to all of their servers.
 * @throws OAuthError invalid_target
 */
export function oneResource<R extends string | undefined>(resource: R): R {
  if (resource?.includes(' ')) throw invalidTarget('name one resource: get a token of its own for each');
  return resource;
}

/**
 * The audience of a token for a resource: its URI and the client that is its server.
 * @throws OAuthError invalid_target when no enabled client registered the URI
 */
export async function audienceOf(store: Pick<Repositories, 'clients'>, resource: string): Promise<string[]> {
  const server = await store.clients.findByResource(oneResource(resource));
  if (server === undefined) throw invalidTarget('no enabled client is registered as the server of this resource');
  return [resource, server];
}
