// Finds the one resource for which an exchange, or a grant by an assertion, issues its token, by `resource` or `audience` (RFC 8693 2.1, RFC 8707 2).
import type { Resource } from '../../entities/resources.ts';
import { invalidTarget, OAuthError } from '../../oauth/errors.ts';
import { userinfoResource } from '../../oauth/own-resource.ts';
import { resourceKey } from '../../oauth/resource-key.ts';
import { registrableScopes } from '../../oauth/scope.ts';
import { repeated } from '../../oauth/text.ts';
import type { Store } from '../../repositories/store.ts';
import { type Policy, policyAt } from '../../rules/exchange/exchange.ts';
import type { Target } from '../../sender-constraint/audience.ts';

/** What an administrator allows for some resources: an exchange policy, or a trusted issuer. */
type Offer = Pick<Policy, 'resources'>;

/** A resource with all of its scopes. */
export type OfferedTarget = Target;

const nowhere = (named: string) =>
  invalidTarget(`no policy of this client issues tokens for this resource${repeated(named)}`);

/** The URIs of the policies, each once. */
const urisOf = (policies: readonly Offer[]): string[] => [
  ...new Map(policies.flatMap(({ resources }) => resources).map((uri) => [resourceKey(uri), uri])).values(),
];

/**
 * The resource that the request names, or the only one of the policies. `audience` names it by the id of the resource or of its client.
 * @returns the refusal, with the policy otherwise
 */
export async function findTarget<P extends Offer>(
  { resources }: Pick<Store, 'resources'>,
  issuer: string,
  policies: readonly P[],
  { resource, audience }: { resource: string | undefined; audience: string | undefined },
): Promise<{ policy: P; target: OfferedTarget } | OAuthError> {
  const uris = urisOf(policies);
  const found = await resources.findUsable(uris);
  const named = uriNamed(uris, found, { resource, audience });
  if (named instanceof OAuthError) return named;
  const policy = policyAt(policies, named);
  const target = targetAt(issuer, found, named);
  return policy && target ? { policy, target } : nowhere(named);
}

function uriNamed(
  uris: readonly string[],
  found: readonly Resource[],
  { resource, audience }: { resource: string | undefined; audience: string | undefined },
): string | OAuthError {
  const meant =
    audience === undefined
      ? []
      : found
          .filter(({ id, clientId, resource: uri }) => [id, clientId, uri].includes(audience))
          .map((api) => api.resource);
  if (resource !== undefined) {
    if (audience !== undefined && !meant.some((uri) => resourceKey(uri) === resourceKey(resource)))
      return invalidTarget('audience and resource name different resources');
    return resource;
  }
  const possible = audience === undefined ? uris : meant;
  const [only, ...others] = possible;
  if (only === undefined) return nowhere(audience ?? '');
  return others.length === 0 ? only : invalidTarget('name one of several resources with resource');
}

function targetAt(issuer: string, found: readonly Resource[], named: string): OfferedTarget | undefined {
  if (named === userinfoResource(issuer))
    return {
      audience: [named],
      scope: registrableScopes().filter((scope) => scope !== 'offline_access'),
      api: undefined,
    };
  const api = found.find(({ resource }) => resourceKey(resource) === resourceKey(named));
  return api && { audience: [api.resource, api.clientId ?? null], scope: Object.keys(api.scopes), api };
}
