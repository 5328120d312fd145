// Checks authorization details by the schema of their type: a subset of JSON Schema 2020-12 whose check cannot run long, since it has no patterns.
import { z } from 'zod';
import { isLegible } from '../../oauth/legible.ts';

const kinds = ['object', 'array', 'string', 'number', 'integer', 'boolean'] as const;
const formats = ['date', 'uri', 'iban', 'currency'] as const;

/** Levels of objects and lists. */
export const maxDepth = 8;
const maxNodes = 300;
/** Characters of a text whose schema names no maxLength. */
const usualLength = 1000;

/** The members that the service sets or checks itself. */
export const ownMembers = ['type', 'locations', 'id'];

const count = z.int().min(0).max(10_000);
const simple = z.union([z.string(), z.number(), z.boolean()]);
const memberName = /^[A-Za-z_][\w-]{0,63}$/;

/** A schema of one value. */
export interface Schema {
  type?: (typeof kinds)[number] | undefined;
  title?: string | undefined;
  description?: string | undefined;
  const?: string | number | boolean | undefined;
  enum?: (string | number | boolean)[] | undefined;
  properties?: Record<string, Schema> | undefined;
  required?: string[] | undefined;
  additionalProperties?: false | undefined;
  items?: Schema | undefined;
  minItems?: number | undefined;
  maxItems?: number | undefined;
  minLength?: number | undefined;
  maxLength?: number | undefined;
  format?: (typeof formats)[number] | undefined;
  minimum?: number | undefined;
  maximum?: number | undefined;
  exclusiveMinimum?: number | undefined;
  exclusiveMaximum?: number | undefined;
}

const node: z.ZodType<Schema> = z.strictObject({
  type: z.enum(kinds).optional(),
  title: z.string().max(200).optional(),
  description: z.string().max(1000).optional(),
  const: simple.optional(),
  enum: z.array(simple).min(1).max(100).optional(),
  properties: z.lazy(() => z.record(z.string().regex(memberName), node)).optional(),
  required: z.array(z.string()).max(100).optional(),
  additionalProperties: z.literal(false).optional(),
  items: z.lazy(() => node).optional(),
  minItems: count.optional(),
  maxItems: count.optional(),
  minLength: count.optional(),
  maxLength: count.optional(),
  format: z.enum(formats).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  exclusiveMaximum: z.number().optional(),
});

/** The keywords that are meant for each kind of value. */
const keywords: Record<(typeof kinds)[number], readonly (keyof Schema)[]> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength', 'format', 'const', 'enum'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'const', 'enum'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'const', 'enum'],
  boolean: ['const', 'enum'],
};
const general: readonly (keyof Schema)[] = ['type', 'title', 'description'];

const at = (path: string, name: string) => (path === '' ? name : `${path}.${name}`);

/** Where a text is no schema that the service can check: the path of the first fault, such as `properties.amount.pattern`; undefined for a good one. */
export function schemaFault(value: unknown): string | undefined {
  if (depthOf(value) > 2 * maxDepth) return 'properties';
  const parsed = node.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
    return [...issue.path, ...unknown].map(String).join('.') || 'type';
  }
  const schema = parsed.data;
  if (schema.type !== 'object') return 'type';
  const own = Object.keys(schema.properties ?? {}).find((name) => ownMembers.includes(name));
  if (own !== undefined) return `properties.${own}`;
  const left = { nodes: maxNodes };
  return nodeFault(schema, '', 1, left);
}

function nodeFault(schema: Schema, path: string, depth: number, left: { nodes: number }): string | undefined {
  const { type, properties = {}, required = [], items } = schema;
  if (--left.nodes < 0) return path;
  // each value is described
  if (type === undefined) return at(path, 'type');
  const unfit = Object.keys(schema).find((name) => ![...general, ...keywords[type]].some((known) => known === name));
  if (unfit !== undefined) return at(path, unfit);
  const missing = required.find((name) => !Object.hasOwn(properties, name));
  if (missing !== undefined) return at(path, 'required');
  if (depth >= maxDepth && (type === 'object' || type === 'array')) return path;
  if (type === 'array' && items === undefined) return at(path, 'items');
  for (const [name, member] of Object.entries(properties)) {
    const fault = nodeFault(member, at(path, `properties.${name}`), depth + 1, left);
    if (fault !== undefined) return fault;
  }
  return items && nodeFault(items, at(path, 'items'), depth + 1, left);
}

/** Levels, at most a few more than a schema may have. */
function depthOf(value: unknown, depth = 0): number {
  if (typeof value !== 'object' || value === null || depth > 3 * maxDepth) return depth;
  return Math.max(depth, ...Object.values(value).map((member) => depthOf(member, depth + 1)));
}

/** Where a value does not follow its schema: the path of the first fault; undefined if it does. */
export function valueFault(schema: Schema, value: unknown, path = ''): string | undefined {
  const { type, enum: choices } = schema;
  const fault = path === '' ? 'the object' : path;
  if (schema.const !== undefined && value !== schema.const) return fault;
  if (choices && !choices.some((choice) => choice === value)) return fault;
  switch (type) {
    case 'object':
      return objectFault(schema, value, path);
    case 'array':
      return arrayFault(schema, value, path);
    case 'string':
      return isText(schema, value) ? undefined : fault;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : fault;
    default:
      return isNumber(schema, value) ? undefined : fault;
  }
}

function objectFault({ properties = {}, required = [] }: Schema, value: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return path;
  const given: Record<string, unknown> = { ...value };
  const missing = required.find((name) => !Object.hasOwn(given, name));
  if (missing !== undefined) return at(path, missing);
  for (const [name, member] of Object.entries(given)) {
    // no member that the schema does not name
    const fault = Object.hasOwn(properties, name)
      ? valueFault(properties[name]!, member, at(path, name))
      : at(path, name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function arrayFault({ items, minItems = 0, maxItems = 100 }: Schema, value: unknown, path: string): string | undefined {
  if (!Array.isArray(value) || value.length < minItems || value.length > maxItems) return path;
  for (const [index, item] of value.entries()) {
    const fault = valueFault(items!, item, at(path, String(index)));
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isText({ minLength = 0, maxLength = usualLength, format }: Schema, value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const length = [...value].length;
  // the user reads the text, which must not show as another one (security R48)
  return length >= minLength && length <= maxLength && isLegible(value) && (!format || isOfFormat[format](value));
}

function isNumber(schema: Schema, value: unknown): boolean {
  if (typeof value !== 'number' || !Number.isFinite(value)) return false;
  if (schema.type === 'integer' && !Number.isInteger(value)) return false;
  const { minimum = value, maximum = value, exclusiveMinimum, exclusiveMaximum } = schema;
  if (value < minimum || value > maximum) return false;
  return !(
    (exclusiveMinimum !== undefined && value <= exclusiveMinimum) ||
    (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
  );
}

const currencies = new Set(Intl.supportedValuesOf('currency'));

const isOfFormat: Record<(typeof formats)[number], (value: string) => boolean> = {
  date(value) {
    const day = /^\d{4}-\d{2}-\d{2}$/.test(value) ? new Date(`${value}T00:00:00Z`) : undefined;
    return day !== undefined && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value);
  },
  uri: (value) => /^[A-Za-z][A-Za-z0-9+.-]*:[!-~]+$/.test(value),
  iban: isIban,
  currency: (value) => currencies.has(value),
};

/** ISO 13616: the check digits are those of the account. */
function isIban(value: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(value)) return false;
  let remainder = 0;
  for (const character of value.slice(4) + value.slice(0, 4))
    for (const digit of String(Number.parseInt(character, 36))) remainder = (remainder * 10 + Number(digit)) % 97;
  return remainder === 1;
}

/** The paths of the values that a sentence can name: those of objects, and no list. */
export function namedPaths({ type, properties = {} }: Schema, path = ''): string[] {
  if (type === 'array') return [];
  if (type !== 'object') return [path];
  return Object.entries(properties).flatMap(([name, member]) => namedPaths(member, at(path, name)));
}
