// Applies the operations of a PATCH (RFC 7644 3.5.2), also as Entra and Okta write them: names of operations in any case, names with dots or URNs in
// a value without a path, and values to remove in a list.
import { isDeepStrictEqual } from 'node:util';
import { invalidPath, invalidSyntax, invalidValue, noTarget } from './errors.ts';
import { type AttributePath, type Filter, fits, parsePath, type PatchPath, partOf } from './filter.ts';
import {
  attributeIn,
  attributeOf,
  extensionOf,
  isIgnored,
  isObject,
  mostMembers,
  mostValues,
  partIn,
  readMembers,
  requireWritable,
  singleValue,
  valueOf,
  type Values,
} from './resource.ts';
import type { Attribute, ResourceType } from './schemas.ts';

const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const mostOperations = 100;

export interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: string | undefined;
  value: unknown;
}

/** What a PATCH does to the members of a group: one set of ids is added and one removed, after all were replaced if `all` is set. */
export interface MemberChange {
  all: boolean;
  add: Set<string>;
  remove: Set<string>;
}

export interface Patched {
  /** The id of the resource. */
  id: string;
  resource: Values;
  /** Undefined if no operation names members. */
  members: MemberChange | undefined;
}

/** @throws ScimError invalidSyntax */
export function readOperations(body: unknown): Operation[] {
  const schemas = isObject(body) ? partOf(body, 'schemas') : undefined;
  const given = isObject(body) ? partOf(body, 'Operations') : undefined;
  if (!Array.isArray(schemas) || !schemas.includes(patchSchema))
    throw invalidSyntax(`schemas must have ${patchSchema}`);
  if (!Array.isArray(given) || given.length === 0) throw invalidSyntax('Operations must be a list');
  if (given.length > mostOperations) throw invalidSyntax(`send at most ${mostOperations} operations`);
  return given.map((one: unknown) => {
    const op = isObject(one) ? partOf(one, 'op') : undefined;
    const name = typeof op === 'string' ? op.toLowerCase() : '';
    if (!isObject(one) || (name !== 'add' && name !== 'replace' && name !== 'remove'))
      throw invalidSyntax('op must be add, replace or remove');
    const path = partOf(one, 'path');
    if (path !== undefined && path !== null && typeof path !== 'string') throw invalidPath('path must be a text');
    return { op: name, path: path ?? undefined, value: partOf(one, 'value') };
  });
}

/** Applies all operations to a copy, or none. @param id that of the resource @throws ScimError */
export function applyOperations(
  type: ResourceType,
  id: string,
  resource: Values,
  operations: readonly Operation[],
): Patched {
  const patched: Patched = { id, resource: structuredClone(resource), members: undefined };
  for (const operation of operations) apply(type, patched, operation);
  return patched;
}

function apply(type: ResourceType, patched: Patched, { op, path, value }: Operation): void {
  if (path !== undefined) return applyTo(type, patched, op, path, value);
  if (op === 'remove') throw noTarget('remove needs a path');
  if (!isObject(value)) throw invalidValue('without a path the value must be an object');
  for (const [name, one] of Object.entries(value)) {
    // Okta repeats the id beside the name of a group, which changes nothing
    if (name.toLowerCase() === 'id' && one === patched.id) continue;
    const extension = extensionOf(type, name);
    if (extension && isObject(one))
      for (const [part, each] of Object.entries(one)) applyTo(type, patched, op, `${extension.id}:${part}`, each);
    else applyTo(type, patched, op, name, one);
  }
}

interface Target {
  /** Where the attribute is: the resource, or the values of an extension. */
  holder(make: boolean): Values | undefined;
  attribute: Attribute;
}

function applyTo(type: ResourceType, patched: Patched, op: Operation['op'], text: string, value: unknown): void {
  const extension = extensionOf(type, text);
  if (extension) {
    if (op !== 'remove' && !isObject(value)) throw invalidValue(`${extension.id} must be an object`);
    if (op !== 'add') patched.resource = without(patched.resource, extension.id);
    if (op !== 'remove') apply(type, patched, { op: 'add', path: undefined, value: { [extension.id]: value } });
    return;
  }
  const path = parsePath(text);
  // a value of an extension may repeat the list of schemas
  if (path.path.schema === undefined ? isIgnored(path.path.name) : path.path.name === 'schemas') return;
  const target = targetOf(type, patched.resource, path.path);
  if (!target) throw invalidPath(`there is no attribute ${text.slice(0, 100)}`);
  const { attribute } = target;
  requireWritable(attribute);
  if (attribute.name === 'members') return applyToMembers(patched, op, path, value);
  if (path.filter) {
    if (!attribute.multiValued) throw invalidPath(`${attribute.name} is no list`);
    return applyToValues(target, op, path.filter, path.path.sub, value);
  }
  if (path.path.sub !== undefined) return applyToPart(target, op, path.path.sub, value);
  applyToAttribute(target, op, value);
  requirePresent(target);
}

function targetOf(type: ResourceType, resource: Values, path: AttributePath): Target | undefined {
  const { schema, name } = path;
  if (schema === undefined || schema.toLowerCase() === type.schema.id.toLowerCase()) {
    const attribute = attributeOf(type, name);
    if (attribute) return { attribute, holder: () => resource };
  }
  // Entra writes the manager without the URN of the extension, too
  const extension =
    schema === undefined ? type.extensions.find((one) => attributeIn(one, name)) : extensionOf(type, schema);
  const attribute = extension && attributeIn(extension, name);
  return (
    attribute && {
      attribute,
      holder(make) {
        const found = resource[extension.id];
        if (isObject(found)) return found;
        const made: Values = {};
        if (make) resource[extension.id] = made;
        return make ? made : undefined;
      },
    }
  );
}

/** A user keeps the name, and a group too. */
function requirePresent({ attribute, holder }: Target): void {
  if (attribute.required && holder(false)?.[attribute.name] === undefined)
    throw invalidValue(`${attribute.name} is required`);
}

const set = ({ attribute, holder }: Target, value: unknown): void => {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) delete holder(false)?.[attribute.name];
  else holder(true)![attribute.name] = value;
};
const valuesIn = ({ attribute, holder }: Target): Values[] => {
  const found = holder(false)?.[attribute.name];
  return Array.isArray(found) ? (found as Values[]) : [];
};

function applyToAttribute(target: Target, op: Operation['op'], value: unknown): void {
  const { attribute, holder } = target;
  if (attribute.multiValued) return applyToList(target, op, value);
  if (op === 'remove') return set(target, undefined);
  const read = singleValue(attribute, value);
  const found = holder(false)?.[attribute.name];
  set(target, isObject(read) && isObject(found) ? { ...found, ...read } : read);
}

/** Remove takes a list of values (Entra), and replace all of them. */
function applyToList(target: Target, op: Operation['op'], value: unknown): void {
  const { attribute } = target;
  if (op === 'remove' && (value === undefined || value === null)) return set(target, undefined);
  const read = (valueOf(attribute, value) ?? []) as Values[];
  if (op === 'replace') return set(target, read);
  if (op === 'remove') {
    const gone = read.map((one) => one['value']);
    return set(
      target,
      valuesIn(target).filter((one) => !gone.includes(one['value'])),
    );
  }
  setList(target, withNew(valuesIn(target), read));
}

/** A new primary value takes that from the others (RFC 7644 3.5.2). */
function withNew(before: readonly Values[], read: readonly Values[]): Values[] {
  const added = read.filter((one) => !before.some((other) => isDeepStrictEqual(other, one)));
  const hasPrimary = added.some((one) => one['primary'] === true);
  return [...before.map((one) => (hasPrimary && one['primary'] === true ? { ...one, primary: false } : one)), ...added];
}

function setList(target: Target, values: Values[]): void {
  if (values.length > mostValues) throw invalidValue(`${target.attribute.name} has more than ${mostValues} values`);
  set(target, values);
}

/** A part of an attribute, or of all values of a list. */
function applyToPart(target: Target, op: Operation['op'], name: string, value: unknown): void {
  const { attribute, holder } = target;
  const part = partIn(attribute, name);
  if (!part) throw invalidPath(`${attribute.name} has no part ${name.slice(0, 100)}`);
  requireWritable(part);
  const read = op === 'remove' ? undefined : singleValue(part, value);
  if (attribute.multiValued) {
    const all = valuesIn(target);
    return setList(target, (all.length === 0 && op !== 'remove' ? [{}] : all).map(withPart(part, read)).filter(isAny));
  }
  const found = holder(false)?.[attribute.name];
  const changed = withPart(part, read)(isObject(found) ? found : {});
  set(target, isAny(changed) ? changed : undefined);
}

const without = (values: Values, name: string): Values =>
  Object.fromEntries(Object.entries(values).filter(([each]) => each !== name));
const withPart =
  ({ name }: Attribute, value: unknown) =>
  (values: Values): Values =>
    value === undefined ? without(values, name) : { ...values, [name]: value };
const isAny = (value: Values): boolean => Object.keys(value).length > 0;

/** The values of a list that fit a filter. What replace and add name is made, if none fits: emails[type eq "work"].value (Entra). */
function applyToValues(
  target: Target,
  op: Operation['op'],
  filter: Filter,
  name: string | undefined,
  value: unknown,
): void {
  const { attribute } = target;
  requireParts(attribute, filter);
  const part = name === undefined ? undefined : partIn(attribute, name);
  if (name !== undefined && !part) throw invalidPath(`${attribute.name} has no part ${name.slice(0, 100)}`);
  const all = valuesIn(target);
  if (op === 'remove') {
    const left = all.flatMap((one) => (!fits(filter, one) ? [one] : part ? [withPart(part, undefined)(one)] : []));
    return setList(target, left.filter(isAny));
  }
  const change = (one: Values): Values => {
    if (part) return withPart(part, singleValue(part, value))(one);
    const read = singleValue(attribute, value);
    return { ...one, ...(isObject(read) ? read : {}) };
  };
  if (all.some((one) => fits(filter, one))) {
    const changed = all.map((one) => (fits(filter, one) ? change(one) : one));
    const primary = changed.findLastIndex((one, index) => one['primary'] === true && all[index]!['primary'] !== true);
    const kept = changed.map((one, index) =>
      primary >= 0 && index !== primary && one['primary'] === true ? { ...one, primary: false } : one,
    );
    return setList(target, kept.filter(isAny));
  }
  const made = namedBy(attribute, filter);
  if (!made) throw noTarget(`no value of ${attribute.name} fits the filter`);
  setList(target, withNew(all, [change(made)].filter(isAny)));
}

/** The parts that a filter of equalities names; undefined for another filter. */
function namedBy(attribute: Attribute, filter: Filter): Values | undefined {
  if (filter.kind === 'compare' && filter.comparison === 'eq') {
    const part = partIn(attribute, filter.path.name);
    return part && { [part.name]: singleValue(part, filter.value) };
  }
  if (filter.kind !== 'and') return undefined;
  const parts = filter.parts.map((one) => namedBy(attribute, one));
  return parts.every((one) => one !== undefined)
    ? Object.fromEntries(parts.flatMap((one) => Object.entries(one)))
    : undefined;
}

/** @throws ScimError invalidPath for a name that the values do not have */
function requireParts(attribute: Attribute, filter: Filter): void {
  if ('parts' in filter) for (const part of filter.parts) requireParts(attribute, part);
  else if (filter.kind === 'not') requireParts(attribute, filter.part);
  else if (filter.path.sub !== undefined || !partIn(attribute, filter.path.name))
    throw invalidPath(`${attribute.name} has no part ${filter.path.name.slice(0, 100)}`);
}

function applyToMembers(patched: Patched, op: Operation['op'], { path, filter }: PatchPath, value: unknown): void {
  const members = (patched.members ??= { all: false, add: new Set(), remove: new Set() });
  if (filter) {
    if (op !== 'remove' || path.sub !== undefined) throw invalidPath('only remove takes members by a filter');
    for (const id of idsOf(filter)) move(id, members.add, members.remove);
    return;
  }
  if (path.sub !== undefined) throw invalidPath('members are changed as a whole');
  if (op === 'remove' && value !== undefined && value !== null)
    for (const id of readMembers(value)) move(id, members.add, members.remove);
  else if (op === 'add') for (const id of readMembers(value)) move(id, members.remove, members.add);
  else patched.members = { all: true, add: new Set(op === 'remove' ? [] : readMembers(value)), remove: new Set() };
  if (Math.max(patched.members!.add.size, patched.members!.remove.size) > mostMembers)
    throw invalidValue(`name at most ${mostMembers} members`);
}

function move(id: string, from: Set<string>, to: Set<string>): void {
  from.delete(id);
  to.add(id);
}

/** The ids of a filter such as value eq "1" or value eq "2". @throws ScimError invalidPath */
function idsOf(filter: Filter): string[] {
  if (filter.kind === 'or') return filter.parts.flatMap(idsOf);
  if (
    filter.kind !== 'compare' ||
    filter.comparison !== 'eq' ||
    filter.path.name.toLowerCase() !== 'value' ||
    typeof filter.value !== 'string'
  )
    throw invalidPath('name members by value eq "ID"');
  return [filter.value];
}
