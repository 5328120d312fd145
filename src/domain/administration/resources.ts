// Creates, changes and deletes resources, a part of administration.ts.
import { isDeepStrictEqual } from 'node:util';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { ResourceMembers } from '../../oauth/resource-shape.ts';
import { requireFreeWords } from './claims.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import type { NewResource, Resource } from '../../repositories/resources/resources.ts';
import type { Repositories, Store } from '../../repositories/store.ts';

type Members = Omit<NewResource, 'resource'>;

/** The names of the members in the admin routes and in the audit trail. */
const names = {
  name: 'name',
  clientId: 'client_id',
  scopes: 'scopes',
  clients: 'clients',
  accessTokenFormat: 'access_token_format',
  accessTokenSigningAlg: 'access_token_signing_alg',
  accessTokenLifetime: 'access_token_lifetime',
  requiredAcr: 'required_acr',
  binding: 'binding',
  public: 'public',
  tokenClaims: 'token_claims',
} as const satisfies Record<keyof Members, string>;

/** The members after a change; null removes one, and undefined keeps it. */
function changed(before: Members, change: ResourceMembers): Members {
  const { name, client_id, scopes, clients, access_token_lifetime } = change;
  return {
    name: name ?? before.name,
    clientId: client_id === undefined ? before.clientId : (client_id ?? undefined),
    scopes: scopes
      ? Object.fromEntries(scopes.map(({ value, description }) => [value, description ?? {}]))
      : before.scopes,
    clients: clients ?? before.clients,
    accessTokenFormat: change.access_token_format ?? before.accessTokenFormat,
    accessTokenSigningAlg: change.access_token_signing_alg ?? before.accessTokenSigningAlg,
    accessTokenLifetime:
      access_token_lifetime === undefined ? before.accessTokenLifetime : (access_token_lifetime ?? undefined),
    requiredAcr: change.required_acr === undefined ? before.requiredAcr : (change.required_acr ?? undefined),
    binding: change.binding ?? before.binding,
    public: change.public ?? before.public,
    tokenClaims: change.token_claims ?? before.tokenClaims,
  };
}

export function resourceOperations(store: Store) {
  const record = (
    { auditEvents }: Repositories,
    by: Actor,
    type: AuditEvent['type'],
    { resource, clientId }: Pick<Resource, 'resource' | 'clientId'>,
    detail: AuditEvent['detail'] = {},
  ) => auditEvents.insert({ ...by, type, outcome: 'success', clientId, detail: { resource, ...detail } });
  const locked = async ({ resources }: Repositories, name: string): Promise<Resource> => {
    const found = await resources.lock(name);
    if (!found) throw notFound('there is no such resource');
    return found;
  };
  const requireClient = async ({ clients }: Repositories, clientId: string | undefined) => {
    if (clientId !== undefined && !(await clients.find(clientId)))
      throw invalidRequest(refusal('unknown', 'client_id'));
  };

  return {
    /** @throws OAuthError conflict if a resource has an equal URI */
    createResource: (by: Actor, resource: string, members: ResourceMembers & { name: string }): Promise<Resource> =>
      store.transaction(async (repositories) => {
        const start: Members = {
          name: '',
          clientId: undefined,
          scopes: {},
          clients: 'listed',
          accessTokenFormat: 'opaque',
          accessTokenSigningAlg: 'RS256',
          accessTokenLifetime: undefined,
          requiredAcr: undefined,
          binding: 'none',
          public: false,
          tokenClaims: [],
        };
        const wanted = changed(start, members);
        await requireClient(repositories, wanted.clientId);
        await requireFreeWords(repositories, Object.keys(wanted.scopes));
        const made = await repositories.resources.insert({ resource, ...wanted });
        if (!made) throw conflict('a resource with this URI, or an equal one, exists already');
        await record(repositories, by, 'resource.created', made, { name: made.name });
        return made;
      }),
    /** @param name the id or the URI @throws OAuthError not_found */
    changeResource: (by: Actor, name: string, change: ResourceMembers): Promise<Resource> =>
      store.transaction(async (repositories) => {
        const before = await locked(repositories, name);
        const after = changed(before, change);
        const members = (Object.keys(names) as (keyof Members)[]).filter(
          (member) => !isDeepStrictEqual(before[member], after[member]),
        );
        if (members.length === 0) return before;
        if (members.includes('scopes')) await requireFreeWords(repositories, Object.keys(after.scopes));
        if (members.includes('clientId')) await requireClient(repositories, after.clientId);
        const made = (await repositories.resources.update(before.id, after))!;
        await record(repositories, by, 'resource.changed', made, { members: members.map((member) => names[member]) });
        return made;
      }),
    /** @param name the id or the URI @throws OAuthError not_found */
    deleteResource: (by: Actor, name: string): Promise<Resource> =>
      store.transaction(async (repositories) => {
        const found = await locked(repositories, name);
        await repositories.resources.delete(found.id);
        await record(repositories, by, 'resource.deleted', found);
        return found;
      }),
  };
}
