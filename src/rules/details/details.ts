// Reads the authorization details of a request, and checks each by its type (RFC 9396 5, security R142).
import { isDeepStrictEqual } from 'node:util';
import type { Detail } from '../../oauth/authorization-details.ts';
import { invalidAuthorizationDetails, OAuthError } from '../../oauth/errors.ts';
import { parseJson } from '../../oauth/json-text.ts';
import { resourceKey } from '../../oauth/resource-key.ts';
import { repeated } from '../../oauth/text.ts';
import { maxDepth, type Schema, valueFault } from './schema.ts';

const maxObjects = 20;
/** Bytes. */
const maxSize = 16 * 1024;
const maxMembers = 1000;
const name = 'authorization_details';

/** A type, as far as the check needs it. */
export interface CheckedType {
  type: string;
  schema: Schema;
  /** The URIs of the resources that understand it; none if any does. */
  resources: readonly string[];
}

/**
 * The objects of the parameter; each has a type, and nothing else is checked yet.
 * @throws OAuthError invalid_authorization_details
 */
export function readDetails(text: string): Detail[] {
  if (Buffer.byteLength(text) > maxSize) throw invalidAuthorizationDetails(`${name} has more than ${maxSize} bytes`);
  const value = parsed(text);
  if (!Array.isArray(value) || value.length === 0)
    throw invalidAuthorizationDetails(`${name} must be a list of objects`);
  if (value.length > maxObjects) throw invalidAuthorizationDetails(`${name} has more than ${maxObjects} objects`);
  const details = value.map((one: unknown, index) => {
    if (!isDetail(one)) throw fault(index, 'must be an object with a type');
    return one;
  });
  const twice = details.findIndex((one, index) =>
    details.slice(0, index).some((earlier) => isDeepStrictEqual(earlier, one)),
  );
  if (twice >= 0) throw fault(twice, 'is there twice');
  return details;
}

function parsed(text: string): unknown {
  try {
    // the list is a level of its own
    return parseJson(text, { depth: maxDepth + 1, members: maxMembers }, name);
  } catch (error) {
    if (error instanceof OAuthError) throw invalidAuthorizationDetails(error.description);
    throw error;
  }
}

const isDetail = (one: unknown): one is Detail =>
  typeof one === 'object' && one !== null && 'type' in one && typeof one.type === 'string';

const fault = (index: number, what: string) => invalidAuthorizationDetails(`${name}[${index}] ${what}`);

/** The types that the details name, each once. */
export const typesOf = (details: readonly Detail[]): string[] => [...new Set(details.map(({ type }) => type))];

/**
 * Checks each object by its type.
 * @param types the enabled ones of those that the details name
 * @param registered the types of the client
 * @throws OAuthError invalid_authorization_details, which names the object by its index
 */
export function checkDetails<T extends CheckedType>(
  details: readonly Detail[],
  types: readonly T[],
  registered: readonly string[] = [],
): { detail: Detail; type: T }[] {
  return details.map((detail, index) => {
    const type = types.find((known) => known.type === detail.type);
    // the same for an unknown type and for one of other clients
    if (!type || !registered.includes(type.type)) throw fault(index, 'has a type that is not open to this client');
    const { locations } = detail;
    const members = Object.entries(detail).filter(([member]) => member !== 'type' && member !== 'locations');
    const wrong = valueFault(type.schema, Object.fromEntries(members));
    if (wrong !== undefined) throw fault(index, `does not follow the schema of its type${repeated(wrong)}`);
    if (locations !== undefined && !areLocations(locations, type.resources))
      throw fault(index, 'has locations that are no resources of its type');
    return { detail, type };
  });
}

function areLocations(locations: unknown, resources: readonly string[]): locations is string[] {
  if (!Array.isArray(locations) || locations.length === 0 || locations.length > resources.length) return false;
  const keys = resources.map(resourceKey);
  return locations.every((uri: unknown) => typeof uri === 'string' && keys.includes(resourceKey(uri)));
}

/** The resources that an object is for: its locations, or all of its type. */
export const resourcesOf = (detail: Detail, { resources }: Pick<CheckedType, 'resources'>): readonly string[] => {
  const { locations } = detail;
  if (!Array.isArray(locations)) return resources;
  const keys = locations.map((uri) => resourceKey(String(uri)));
  return resources.filter((uri) => keys.includes(resourceKey(uri)));
};

/** Which of the objects a token for a resource has: token_details.sql decides the same for codes and refresh tokens. */
export const detailsFor = (
  checked: readonly { detail: Detail; type: Pick<CheckedType, 'resources'> }[],
  resource: string | undefined,
): Detail[] =>
  checked
    .filter(({ detail, type }) => {
      const uris = resourcesOf(detail, type);
      return uris.length === 0 || (resource !== undefined && uris.map(resourceKey).includes(resourceKey(resource)));
    })
    .map(({ detail }) => detail);
