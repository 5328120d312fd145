// Reads resources from bodies: attributes by their declared names, values of their declared types, and nothing else (RFC 7643 2.1).
import { invalidSyntax, invalidValue, mutability } from './errors.ts';
import { partOf } from './filter.ts';
import { type Attribute, commonAttributes, ignoredAttributes, type ResourceType, type Schema } from './schemas.ts';

export type Values = Record<string, unknown>;

/** Characters of a text, and values of a list other than the members of a group. */
export const mostCharacters = 1_000;
export const mostValues = 100;
export const mostMembers = 10_000;

export const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const findIn = (attributes: readonly Attribute[], name: string): Attribute | undefined => {
  const lower = name.toLowerCase();
  return attributes.find((one) => one.name.toLowerCase() === lower);
};

export const attributeOf = ({ schema }: ResourceType, name: string): Attribute | undefined =>
  findIn(schema.attributes, name) ?? findIn(commonAttributes, name);
export const partIn = ({ subAttributes = [] }: Attribute, name: string): Attribute | undefined =>
  findIn(subAttributes, name);
export const extensionOf = ({ extensions }: ResourceType, id: string): Schema | undefined =>
  extensions.find((one) => one.id.toLowerCase() === id.toLowerCase());
export const attributeIn = ({ attributes }: Schema, name: string): Attribute | undefined => findIn(attributes, name);
export const isIgnored = (name: string): boolean => ignoredAttributes.includes(name.toLowerCase());

/** A value of an attribute, or of one value of a list; undefined for none. @throws ScimError invalidValue */
export function singleValue(attribute: Attribute, given: unknown): unknown {
  if (given === null || given === undefined) return undefined;
  switch (attribute.type ?? 'string') {
    case 'boolean':
      // Entra writes booleans as texts
      if (typeof given === 'string' && /^(true|false)$/i.test(given)) return given.toLowerCase() === 'true';
      if (typeof given !== 'boolean') throw invalidValue(`${attribute.name} must be true or false`);
      return given;
    case 'complex':
      return complexValue(attribute, given);
    default: {
      const text = typeof given === 'number' || typeof given === 'boolean' ? String(given) : given;
      if (typeof text !== 'string') throw invalidValue(`${attribute.name} must be a text`);
      if ([...text].length > mostCharacters)
        throw invalidValue(`${attribute.name} has more than ${mostCharacters} characters`);
      // an empty text is no value (RFC 7643 2.5)
      return text === '' ? undefined : text;
    }
  }
}

function complexValue(attribute: Attribute, all: unknown): Values | undefined {
  // Entra writes the manager as its id alone, or as a list of one
  const given: unknown = Array.isArray(all) && all.length === 1 ? all[0] : all;
  const parts = isObject(given) ? given : findIn(attribute.subAttributes!, 'value') && { value: given };
  if (!parts || Array.isArray(given)) throw invalidValue(`${attribute.name} must be an object`);
  const read: Values = {};
  for (const part of attribute.subAttributes!) {
    const value = part.mutability === 'readOnly' ? undefined : singleValue(part, partOf(parts, part.name));
    if (value !== undefined) read[part.name] = value;
  }
  return Object.keys(read).length === 0 ? undefined : read;
}

/** The value of an attribute: a list has all its values, and at most one primary one. @throws ScimError invalidValue */
export function valueOf(attribute: Attribute, given: unknown): unknown {
  if (!attribute.multiValued) return singleValue(attribute, given);
  if (given === null || given === undefined) return undefined;
  const all = (Array.isArray(given) ? given : [given]) as unknown[];
  if (all.length > mostValues) throw invalidValue(`${attribute.name} has more than ${mostValues} values`);
  const read = all.map((one) => singleValue(attribute, one)).filter((one) => one !== undefined);
  if (read.filter((one) => isObject(one) && one['primary'] === true).length > 1)
    throw invalidValue(`${attribute.name} has more than one primary value`);
  return read.length === 0 ? undefined : read;
}

function readAttributes(
  attributes: readonly Attribute[],
  given: Values,
  skip: (attribute: Attribute) => boolean,
): Values {
  const read: Values = {};
  for (const attribute of attributes) {
    if (skip(attribute)) continue;
    const value = valueOf(attribute, partOf(given, attribute.name));
    if (value !== undefined) read[attribute.name] = value;
  }
  return read;
}

/** A resource of a body, without read-only attributes, and without `members`, which are read by readMembers(). @throws ScimError */
export function readResource(type: ResourceType, body: unknown): Values {
  if (!isObject(body)) throw invalidSyntax('the body must be an object');
  requireSchemas(type, body);
  const all = [...type.schema.attributes, ...commonAttributes];
  const read = readAttributes(all, body, ({ name, mutability }) => mutability === 'readOnly' || name === 'members');
  for (const extension of type.extensions) {
    const given = partOf(body, extension.id);
    if (given === undefined || given === null) continue;
    if (!isObject(given)) throw invalidValue(`${extension.id} must be an object`);
    const values = readAttributes(extension.attributes, given, () => false);
    if (Object.keys(values).length > 0) read[extension.id] = values;
  }
  for (const { name, required } of type.schema.attributes)
    if (required && name !== 'active' && read[name] === undefined) throw invalidValue(`${name} is required`);
  return read;
}

function requireSchemas({ schema }: ResourceType, body: Values): void {
  const schemas = partOf(body, 'schemas');
  const named = Array.isArray(schemas) && schemas.every((one) => typeof one === 'string') ? schemas : undefined;
  if (!named?.some((one) => one.toLowerCase() === schema.id.toLowerCase()))
    throw invalidSyntax(`schemas must have ${schema.id}`);
}

/** The ids of members, each once. @throws ScimError invalidValue */
export function readMembers(given: unknown): string[] {
  if (given === undefined || given === null) return [];
  const all = (Array.isArray(given) ? given : [given]) as unknown[];
  if (all.length > mostMembers) throw invalidValue(`name at most ${mostMembers} members`);
  const ids = all.map((member) => {
    const value = isObject(member) ? partOf(member, 'value') : member;
    const type = isObject(member) ? partOf(member, 'type') : undefined;
    if (typeof type === 'string' && type.toLowerCase() !== 'user')
      throw invalidValue('a member must be a user: groups have no groups as members');
    if (typeof value !== 'string' || value === '' || value.length > 255)
      throw invalidValue('a member must have the id of a user as its value');
    return value;
  });
  return [...new Set(ids)];
}

/** Refuses a change of what only the service sets. @throws ScimError mutability */
export function requireWritable({ name, mutability: says }: Attribute): void {
  if (says === 'readOnly') throw mutability(`${name} cannot be changed`);
}

/** The attributes that an answer has (RFC 7644 3.9). @param names of the query, separated by commas */
export function selected(type: ResourceType, resource: Values, attributes?: string, excluded?: string): Values {
  const namesIn = (names: string) => names.split(',').map((name) => shortName(type, name.trim()).toLowerCase());
  const always = ['schemas', 'id'];
  if (attributes !== undefined) {
    const wanted = namesIn(attributes);
    return pick(resource, (path) =>
      always.includes(path) || wanted.some((one) => one === path || path.startsWith(`${one}.`))
        ? 'whole'
        : wanted.some((one) => one.startsWith(`${path}.`))
          ? 'parts'
          : 'none',
    );
  }
  if (excluded === undefined) return resource;
  const unwanted = namesIn(excluded).filter((one) => !always.includes(one));
  return pick(resource, (path) =>
    unwanted.includes(path) ? 'none' : unwanted.some((one) => one.startsWith(`${path}.`)) ? 'parts' : 'whole',
  );
}

/** Whether an answer would have an attribute, so that it need not be read otherwise. */
export function isSelected(type: ResourceType, name: string, attributes?: string, excluded?: string): boolean {
  return name in selected(type, { [name]: {} }, attributes, excluded);
}

/** A name without the URN of the core schema, and with a dot before the part of an extension. */
function shortName({ schema, extensions }: ResourceType, name: string): string {
  const lower = name.toLowerCase();
  if (lower.startsWith(`${schema.id.toLowerCase()}:`)) return name.slice(schema.id.length + 1);
  const extension = extensions.find(({ id }) => lower.startsWith(`${id.toLowerCase()}:`));
  return extension ? `${extension.id}.${name.slice(extension.id.length + 1)}` : name;
}

function pick(resource: Values, choose: (path: string) => 'whole' | 'parts' | 'none', before = ''): Values {
  const picked: Values = {};
  for (const [name, value] of Object.entries(resource)) {
    const path = before + name.toLowerCase();
    const choice = choose(path);
    if (choice === 'whole') picked[name] = value;
    else if (choice === 'parts' && Array.isArray(value))
      picked[name] = value.map((one) => (isObject(one) ? pick(one, choose, `${path}.`) : one));
    else if (choice === 'parts' && isObject(value)) picked[name] = pick(value, choose, `${path}.`);
  }
  return picked;
}
