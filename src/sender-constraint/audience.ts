// Finds the resources for which a request may get tokens, and their scopes that the client may have (RFC 8707, security R12, R115, R139).
import { invalidScope, invalidTarget } from '../oauth/errors.ts';
import type { Granted } from '../oauth/granted.ts';
import { type Audience, isAtIssuer, isForeign, isOwnResource } from '../oauth/own-resource.ts';
import { repeated } from '../oauth/text.ts';
import { resourceKey } from '../oauth/resource-key.ts';
import {
  administratorScopes,
  isAdministratorScope,
  isServiceScopeOf,
  splitScope,
  withoutAdministration,
} from '../oauth/scope.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Resource } from '../entities/resources.ts';
import type { Repositories } from '../repositories/store.ts';
import type { AuthorizedResource, JwtFormat } from '../repositories/tokens/authorization-codes.ts';

/** How many resources an authorization request may name. */
const maxResources = 10;

/** A resource for which a request may get tokens. */
export interface Target {
  audience: Audience;
  /** The requested scope values that belong to the resource and that the client may have; none for a resource of this service. */
  scope: string[];
  /** Undefined for a resource of this service. */
  api: Resource | undefined;
}

/** The request, as far as it decides about resources. */
export interface TargetRequest {
  client: Pick<Client, 'metadata' | 'ownScopes'>;
  /** The resources that the request names, separated by spaces. */
  resource: string | undefined;
  /** The requested scope. */
  scope: readonly string[];
}

/**
 * The one resource of a token request: a token for several would be good at all of their servers.
 * @throws OAuthError invalid_target
 */
export function oneResource<R extends string | undefined>(resource: R): R {
  if (resource?.includes(' ')) throw invalidTarget('name one resource: request a separate token for each');
  return resource;
}

/**
 * The resources that the request names. If it names none, those to which its scope belongs; none where its scope is of this service only: most
 * requests are so, and need no promise.
 * @throws OAuthError invalid_target, invalid_scope
 */
export const findTargets = (
  store: Pick<Repositories, 'resources'>,
  issuer: string,
  request: TargetRequest,
): Target[] | Promise<Target[]> =>
  request.resource === undefined && request.scope.every(isServiceScopeOf(request.client))
    ? []
    : findResources(store, issuer, request);

async function findResources(
  store: Pick<Repositories, 'resources'>,
  issuer: string,
  { client, resource, scope }: TargetRequest,
): Promise<Target[]> {
  const isOfService = isServiceScopeOf(client);
  const named = distinct(splitScope(resource ?? ''));
  if (named.length > maxResources) throw invalidTarget(`name at most ${maxResources} resources`);
  const apiScope = scope.filter((value) => !isOfService(value));
  const registered = splitScope(client.metadata.scope);
  const mayHave = ({ clients }: Resource, value: string) => clients === 'approved' || registered.includes(value);
  const target = (api: Resource): Target => ({
    // RFC 8707 2.2: one token, one resource; its server is there, too, for introspection
    audience: [api.resource, api.clientId ?? null],
    scope: apiScope.filter((value) => Object.hasOwn(api.scopes, value) && mayHave(api, value)),
    api,
  });
  if (named.length === 0) {
    const found = apiScope.length === 0 ? [] : (await store.resources.findByScopes(apiScope)).map(target);
    const targets = found.filter(({ scope: values }) => values.length > 0);
    const values = targets.flatMap((each) => each.scope);
    const ambiguous = values.find((value, index) => values.indexOf(value) < index);
    if (ambiguous !== undefined)
      throw invalidScope(`the scope ${ambiguous} belongs to several resources: name one of them with resource`);
    return targets;
  }
  const foreign = named.filter((uri) => !isOwnResource(issuer, uri));
  // no API is at an address of the service, whatever a client once registered (security R115)
  if (foreign.some((uri) => isAtIssuer(issuer, uri)))
    throw invalidTarget(
      `the resources of this service are ${issuer}, ${issuer}/user/info and ${issuer}/admin/api, spelled like this, and not as requested${repeated(foreign.find((uri) => isAtIssuer(issuer, uri))!)}`,
    );
  const known = new Map(
    (foreign.length === 0 ? [] : await store.resources.findUsable(foreign)).map((api) => [
      resourceKey(api.resource),
      api,
    ]),
  );
  return named.map((uri) => {
    if (isOwnResource(issuer, uri)) return { audience: [uri], scope: [], api: undefined };
    const api = known.get(resourceKey(uri));
    // the same for an unknown resource and for one of others: a client must not find out which resources exist
    if (!api || !(api.clients === 'approved' || registered.some((value) => Object.hasOwn(api.scopes, value))))
      throw invalidTarget(`no resource with this URI is open to this client${repeated(uri)}`);
    return target(api);
  });
}

/** Leaves out URIs that are equal to an earlier one. */
const distinct = (uris: readonly string[]): string[] =>
  [...new Map(uris.toReversed().map((uri) => [resourceKey(uri), uri])).values()].toReversed();

/** What the client session of an authorization stores of its resources: nothing more than the audience for one resource of this service. */
export const authorizedFor = (
  targets: readonly Target[],
): { audience: (string | null)[] | undefined; resources: AuthorizedResource[] } => ({
  audience: targets.length === 0 ? undefined : targets.flatMap(({ audience }) => audience),
  resources:
    targets.length > 1 || targets.some(({ api }) => api)
      ? targets.map(({ api, audience, scope }) => ({ id: api?.id, audience, scope }))
      : [],
});

/** The most seconds for which a JWT access token is valid, and how many without a setting: a resource that verifies it learns of no revocation. */
const jwtLifetime = { most: 3600, usual: 300 };

/** What the token of a target needs to know; the stored function token_resource() decides the same for codes and refresh tokens. */
export function formatOf(
  target: Target | undefined,
  { metadata }: Pick<Client, 'metadata'>,
): { accessTokenLifetime: number | undefined; jwt: JwtFormat | undefined } {
  const { api } = target ?? {};
  if (api?.accessTokenFormat !== 'jwt') return { accessTokenLifetime: api?.accessTokenLifetime, jwt: undefined };
  const accessTokenLifetime = Math.min(api.accessTokenLifetime ?? jwtLifetime.usual, jwtLifetime.most);
  // the subject that the resource knows would be the same for two clients with pairwise subjects (RFC 9068 6)
  const isPairwise = metadata.subject_type === 'pairwise';
  const { accessTokenSigningAlg: alg, resource: audience, clientId: server = null, tokenClaims: claims } = api;
  const jwt = { alg, audience, server, claims };
  return { accessTokenLifetime, jwt: isPairwise ? undefined : jwt };
}

/** The subject of a user in a JWT access token: the one by which the client of the resource knows the user. */
export async function subjectAt(
  { server }: JwtFormat,
  { clients, pairwiseSubjects }: Pick<Repositories, 'clients' | 'pairwiseSubjects'>,
  sub: string,
): Promise<string> {
  const client = server === null ? undefined : await clients.find(server);
  return (client && (await pairwiseSubjects.obtain(client.metadata, sub))) ?? sub;
}

/** The scope values of APIs that a grant has to cover, by the id of the resource. */
export const resourceGrants = (targets: readonly Target[]): Granted['resources'] =>
  Object.fromEntries(targets.flatMap(({ api, scope }) => (api && scope.length > 0 ? [[api.id, scope]] : [])));

/**
 * What a request gets of the scope that it asks for; the grant limits it further when tokens are issued (security R12).
 * @param asked whether the client named the scope
 * @throws OAuthError invalid_scope
 */
export function permittedScope(
  client: Pick<Client, 'metadata' | 'ownScopes'>,
  targets: readonly Target[],
  scope: readonly string[],
  asked: boolean,
): string[] {
  const { metadata } = client;
  const registered = splitScope(metadata.scope);
  const isOfService = isServiceScopeOf(client);
  const offline = metadata.grant_types.includes('refresh_token');
  const ofApis = targets.flatMap((target) => target.scope);
  const permitted = (value: string) =>
    isOfService(value) ? registered.includes(value) && (offline || value !== 'offline_access') : ofApis.includes(value);
  if (asked) scopeFor(targets, [...scope], true);
  return scopeFor(targets, scope.filter(permitted), false);
}

/**
 * What tokens for these resources may have of a scope of the service, which the client may have: for a resource of another server no
 * administrator scope (security R115).
 * @param asked whether the client named the scopes
 * @throws OAuthError invalid_scope
 */
export function scopeFor(targets: readonly Target[], scopes: string[], asked: boolean): string[] {
  if (!targets.some(({ audience }) => isForeign(audience))) return scopes;
  if (asked && scopes.some(isAdministratorScope))
    throw invalidScope(
      `the scopes ${administratorScopes.join(', ')} are only for this service: leave them out, or leave out resource`,
    );
  return withoutAdministration(scopes);
}
