// Writes what a user reads about an authorization detail: the values of the sentence of its type, and every member in full (security R142).
import type { Detail } from '../../oauth/authorization-details.ts';
import { namedPaths, type Schema } from './schema.ts';

const placeholder = /\{([^{}]*)\}/g;

/** The first thing in braces that is no value of the schema, or a brace alone; undefined for a good template. */
export function templateFault(template: string, schema: Schema): string | undefined {
  const paths = namedPaths(schema);
  for (const [whole, path = ''] of template.matchAll(placeholder)) if (!paths.includes(path)) return whole;
  return /[{}]/.exec(template.replaceAll(placeholder, ''))?.[0];
}

/** The values that a sentence can name, by their paths. A value that the object lacks is a dash. */
export const valuesOf = (schema: Schema, detail: Detail): Record<string, string> =>
  Object.fromEntries(namedPaths(schema).map((path) => [path, written(valueAt(detail, path))]));

function valueAt(detail: Detail, path: string): unknown {
  let value: unknown = detail;
  for (const name of path.split('.'))
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Readonly<Record<string, unknown>>)[name]
        : undefined;
  return value;
}

const written = (value: unknown): string => (value === undefined || typeof value === 'object' ? '–' : String(value));

/** Every value of an object with its path, in the order of the request; none is left out. */
export function membersOf(detail: Detail): { path: string; value: string }[] {
  return Object.entries(detail).flatMap(([name, value]) => (name === 'type' ? [] : leaves(value, name)));
}

function leaves(value: unknown, path: string): { path: string; value: string }[] {
  if (typeof value !== 'object' || value === null) return [{ path, value: String(value) }];
  const entries = Array.isArray(value)
    ? value.map((item: unknown, index) => [String(index + 1), item] as const)
    : Object.entries(value);
  if (entries.length === 0) return [{ path, value: '–' }];
  return entries.flatMap(([name, member]) => leaves(member, path === '' ? name : `${path}.${name}`));
}
