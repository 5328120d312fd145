// Holds the rules for attributes: for their definitions, and for the values of each (federation 7).
import { storableClaims, supportedClaims } from '../../oauth/claim-names.ts';
import { mayMakeClaim } from './reserved-claims.ts';

export const attributeTypes = ['string', 'number', 'boolean', 'date', 'string_list'] as const;
export type AttributeType = (typeof attributeTypes)[number];

/** The rights of users over their own value on the account pages. */
export const personRights = ['none', 'read', 'write'] as const;

export interface Attribute {
  name: string;
  type: AttributeType;
  /** By language. */
  label: Record<string, string>;
  /** The only values that are allowed; undefined for any. */
  choices: string[] | undefined;
  /** Characters of a text, entries of a list, or the largest number; undefined for the limits of the service. */
  max: number | undefined;
  person: (typeof personRights)[number];
  unique: boolean;
}

/** The most attributes. */
export const maxAttributes = 100;
/** Characters of a text, and of an entry of a list. */
export const maxTextLength = 1000;
/** Entries of a list. */
export const maxEntries = 100;

/** Whether an attribute may have this name. A claim that the service states or stores itself has another meaning. */
export const isAttributeName = (name: string): boolean =>
  /^[a-z][a-z0-9_]{0,49}$/.test(name) &&
  mayMakeClaim(name) &&
  ![...storableClaims, ...supportedClaims, 'roles', 'organization', 'organization_roles', 'constant'].includes(name);

/** Why a value does not fit its attribute. The page shows the text `attribute.fault.{fault}`. */
export type AttributeFault = 'unknown' | 'type' | 'date' | 'text' | 'long' | 'many' | 'large' | 'choice';

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.isWellFormed() && !/[^\P{Cc}\n]/u.test(value) && value.trim() !== '';

const isDay = (value: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(value) &&
  !Number.isNaN(Date.parse(value)) &&
  new Date(value).toISOString().slice(0, 10) === value;

/** Returns why a value does not fit its attribute; undefined if it does. */
export function attributeFault(attribute: Attribute | undefined, value: unknown): AttributeFault | undefined {
  if (!attribute) return 'unknown';
  const { type, choices, max } = attribute;
  const textFault = (text: unknown, most: number): AttributeFault | undefined => {
    if (typeof text !== 'string') return 'type';
    if (!isText(text)) return 'text';
    if ([...text].length > most) return 'long';
    return choices && !choices.includes(text) ? 'choice' : undefined;
  };
  switch (type) {
    case 'string':
      return textFault(value, Math.min(max ?? maxTextLength, maxTextLength));
    case 'number':
      if (typeof value !== 'number' || !Number.isFinite(value)) return 'type';
      if (Math.abs(value) > Number.MAX_SAFE_INTEGER || value > (max ?? Number.MAX_SAFE_INTEGER)) return 'large';
      return choices && !choices.includes(String(value)) ? 'choice' : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'type';
    case 'date':
      return typeof value === 'string' && isDay(value) ? undefined : 'date';
    case 'string_list': {
      if (!Array.isArray(value)) return 'type';
      if (value.length > Math.min(max ?? maxEntries, maxEntries)) return 'many';
      for (const entry of value) {
        const fault = textFault(entry, maxTextLength);
        if (fault) return fault;
      }
      return undefined;
    }
  }
}

/** Reads a value that a user typed, or that is a cell of a table; undefined for none. A text that does not fit stays text, and is refused later. */
export function attributeOfText(type: AttributeType, text: string): unknown {
  const tidy = text.replace(/\r\n?/g, '\n').trim();
  if (tidy === '') return undefined;
  switch (type) {
    case 'number':
      return /^-?\d{1,16}(\.\d{1,10})?$/.test(tidy) ? Number(tidy) : tidy;
    case 'boolean':
      return { true: true, yes: true, '1': true, false: false, no: false, '0': false }[tidy.toLowerCase()] ?? tidy;
    case 'string_list':
      return [
        ...new Set(
          tidy
            .split('\n')
            .map((entry) => entry.trim())
            .filter(Boolean),
        ),
      ];
    default:
      return tidy;
  }
}

/** The text from which attributeOfText() reads the value. */
export function textOfAttribute(value: unknown): string {
  if (value === undefined || value === null) return '';
  return Array.isArray(value) ? value.join('\n') : typeof value === 'string' ? value : JSON.stringify(value);
}

/** The attributes among the stored claims of a user. */
export const attributesOf = (claims: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => !storableClaims.some((claim) => claim === name)));

/** The standard claims among the stored claims of a user. */
export const standardClaimsOf = (claims: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => storableClaims.some((claim) => claim === name)));

/** Whether choices and uniqueness suit the type. */
export const fitsType = ({ type, choices, unique }: Pick<Attribute, 'type' | 'choices' | 'unique'>): boolean =>
  !(unique && !['string', 'number'].includes(type)) && !(choices && ['boolean', 'date'].includes(type));

/** A value that can be chosen: short text. */
export const isChoice = (value: string): boolean => isText(value) && [...value].length <= 255;
