// Prepares what pages show of an API: its name, its host, and scopes with their descriptions.
import type { Resource, ResourceScopes } from '../entities/resources.ts';
import type { ApiView } from './views/parts.ts';

export const apiView = (
  { resource, name, scopes: descriptions }: Pick<Resource, 'resource' | 'name'> & { scopes: ResourceScopes },
  scopes: readonly string[],
): ApiView => ({
  name,
  host: (URL.canParse(resource) && new URL(resource).host) || resource,
  scopes: scopes.map((scope) => ({ scope, description: descriptions[scope] ?? {} })),
});
