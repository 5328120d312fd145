// Checks the values of attributes against their stored definitions, and keeps those of unique attributes apart.
import { conflict, invalidRequest } from '../../oauth/errors.ts';
import { type Attribute, type AttributeFault, attributeFault, attributeOfText } from '../../rules/claims/attributes.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Repositories } from '../../repositories/store.ts';

/** Values by the names of attributes; null removes one. */
export type AttributeValues = Record<string, unknown>;

/** Values that fit. */
export interface CheckedValues {
  /** To be merged into the claims of the user; null removes one. */
  values: AttributeValues;
  /** The names of those whose values no two users share. */
  unique: string[];
}

/** The faults of values by the names of their attributes. */
export type AttributeFaults = Record<string, AttributeFault>;

/** Compares values with definitions. An empty list is no value; a text is read as the type of the attribute. */
export function checkValues(
  definitions: readonly Attribute[],
  given: AttributeValues,
): CheckedValues & { faults: AttributeFaults } {
  const known = new Map(definitions.map((one) => [one.name, one]));
  const result: CheckedValues & { faults: AttributeFaults } = { values: {}, unique: [], faults: {} };
  for (const [name, typed] of Object.entries(given)) {
    if (typed === undefined) continue;
    const attribute = known.get(name);
    const value = attribute && typeof typed === 'string' ? (attributeOfText(attribute.type, typed) ?? null) : typed;
    const removes = value === null || (Array.isArray(value) && value.length === 0);
    const fault = attribute && removes ? undefined : attributeFault(attribute, value);
    if (fault) result.faults[/^[\w-]{1,64}$/.test(name) ? name : 'a member'] = fault;
    else {
      result.values[name] = removes ? null : value;
      if (attribute!.unique) result.unique.push(name);
    }
  }
  return result;
}

/**
 * Checks values in the transaction that stores them, as every door does that stores attributes: console, routes, account page and import.
 * @throws OAuthError invalid_request that names the first value that does not fit
 */
export async function checkedAttributes(
  { attributes }: Pick<Repositories, 'attributes'>,
  given: AttributeValues | undefined,
): Promise<CheckedValues> {
  if (given === undefined || Object.keys(given).length === 0) return { values: {}, unique: [] };
  const { faults, ...checked } = checkValues(await attributes.listForUse(), given);
  const [first] = Object.entries(faults);
  if (first) throw invalidRequest(refusal(`attribute.${first[1]}`, `attributes.${first[0]}`));
  return checked;
}

/** Keeps unique values apart, after the values of a user are stored. @throws OAuthError conflict if another user has one of them */
export async function keepUnique(
  { attributes }: Pick<Repositories, 'attributes'>,
  sub: string,
  { unique }: CheckedValues,
): Promise<void> {
  if (!(await attributes.keepUnique([sub], unique)))
    throw conflict(`another user has the same value of a unique attribute: ${unique.join(', ')}`);
}

/** Claims after a change: null removes one. */
export function withoutNulls(claims: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null && value !== undefined));
}

/** Whether an object of a change has no defined member. */
export function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((member) => member === undefined);
}
