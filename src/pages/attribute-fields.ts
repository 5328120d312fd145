// Prepares the fields for values of attributes, and reads what a form sent; the console and the account pages share them.
import { isDeepStrictEqual } from 'node:util';
import { type AttributeFaults, type AttributeValues, checkValues } from '../domain/users/attributes.ts';
import { type Attribute, maxAttributes, textOfAttribute } from '../rules/claims/attributes.ts';
import { usualParameters } from '../server/parameters.ts';
import type { AttributeField } from './views/attribute-field.ts';

type Typed = Readonly<Record<string, string | undefined>>;

/** The most fields of a form that has attributes beside its own fields. */
export const fieldsWithAttributes = usualParameters + maxAttributes;

const fieldOf = (name: string) => `attribute.${name}`;

/** @param typed the values of a refused form; without it the fields show the stored values */
export const attributeFields = (
  attributes: readonly Attribute[],
  claims: Record<string, unknown>,
  typed?: Typed,
  faults: Record<string, AttributeField['fault']> = {},
): AttributeField[] =>
  attributes.map(({ name, label, type, choices }) => ({
    name,
    label,
    type,
    value: typed ? (typed[fieldOf(name)] ?? '') : textOfAttribute(claims[name]),
    ...(choices && (type === 'string' || type === 'number') && { choices }),
    ...(faults[name] && { fault: faults[name] }),
  }));

/** Returns the changed values, null for one that is removed, and the faults. An unchanged field is neither checked nor a change. */
export function readAttributeForm(
  attributes: readonly Attribute[],
  typed: Typed,
  claims: Record<string, unknown>,
): { change: AttributeValues; faults: AttributeFaults } {
  const asked: AttributeValues = {};
  for (const { name } of attributes) {
    const text = (typed[fieldOf(name)] ?? '').replace(/\r\n?/g, '\n').trim();
    if (text !== textOfAttribute(claims[name])) asked[name] = text === '' ? null : text;
  }
  const { values, faults } = checkValues(attributes, asked);
  const change = Object.entries(values).filter(([name, value]) => !isDeepStrictEqual(value, claims[name] ?? null));
  return { change: Object.fromEntries(change), faults };
}
