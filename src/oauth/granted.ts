// Defines what a user grants to a client, compares it with what a request asks for, and unites grants.
import { isDeepStrictEqual } from 'node:util';
import type { Detail } from './authorization-details.ts';
import { claimsOfScopes } from './scope.ts';

export interface Granted {
  /** The scopes of this service. */
  readonly scope: readonly string[];
  /** Single claims beside those of the scopes. */
  readonly claims: readonly string[];
  /** The scope values of each resource, by its id. */
  readonly resources: Readonly<Record<string, readonly string[]>>;
  /** Authorization details (RFC 9396 2), each as a whole. */
  readonly details?: readonly Detail[];
}

export const nothing: Granted = { scope: [], claims: [], resources: {} };

/** What is asked for and not granted. A scope covers each of its claims. */
export function lacking(granted: Granted, asked: Granted): Granted {
  const claims = [...granted.claims, ...claimsOfScopes(granted.scope)];
  const resources = Object.entries(asked.resources).flatMap(([id, values]) => {
    const missing = values.filter((value) => !granted.resources[id]?.includes(value));
    return missing.length > 0 ? [[id, missing]] : [];
  });
  const details = asked.details?.filter((one) => !granted.details?.some((held) => isDeepStrictEqual(held, one)));
  return {
    scope: asked.scope.filter((value) => !granted.scope.includes(value)),
    claims: asked.claims.filter((claim) => !claims.includes(claim)),
    resources: Object.fromEntries(resources),
    ...(details && details.length > 0 && { details }),
  };
}

/** Whether everything that is asked for is granted. */
export const covers = (granted: Granted, asked: Granted): boolean => isNothing(lacking(granted, asked));

export const isNothing = ({ scope, claims, resources, details }: Granted): boolean =>
  scope.length + claims.length + Object.keys(resources).length + (details?.length ?? 0) === 0;

/** Both together: the readable form of add_to_grant.sql, which stores it; a property test holds the two equal. */
export function unite(granted: Granted, added: Granted): Granted {
  const ids = Object.keys({ ...granted.resources, ...added.resources });
  const details = [...(granted.details ?? []), ...(lacking(granted, added).details ?? [])];
  return {
    scope: union(granted.scope, added.scope),
    claims: union(granted.claims, added.claims),
    resources: Object.fromEntries(ids.map((id) => [id, union(granted.resources[id] ?? [], added.resources[id] ?? [])])),
    ...(details.length > 0 && { details }),
  };
}

const union = (one: readonly string[], other: readonly string[]): string[] => [...new Set([...one, ...other])];
