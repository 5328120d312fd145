// Holds the rules for attributes: which definitions there can be, and which values each takes (federation 7).
import { z } from 'zod';
import { storableClaims, supportedClaims } from '../../oauth/claim-names.ts';
import { displayText } from '../../oauth/client-metadata.ts';
import { languageTag } from '../../oauth/language-tag.ts';
import { rule } from '../../oauth/refusals.ts';
import { mayMakeClaim } from './reserved-claims.ts';

export const attributeTypes = ['string', 'number', 'boolean', 'date', 'string_list'] as const;
export type AttributeType = (typeof attributeTypes)[number];

/** What users may do with the value of their own on the account pages. */
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

/** The most attributes that there can be. */
export const maxAttributes = 100;
/** Characters of a text, and of an entry of a list. */
export const maxTextLength = 1000;
/** Entries of a list. */
export const maxEntries = 100;

/** Whether an attribute may have this name: not that of a claim that the service states or stores by itself. */
export const isAttributeName = (name: string): boolean =>
  /^[a-z][a-z0-9_]{0,49}$/.test(name) &&
  mayMakeClaim(name) &&
  ![...storableClaims, ...supportedClaims, 'roles', 'organization', 'organization_roles', 'constant'].includes(name);

/** Why a value does not fit: a key of the catalogue under `attribute.fault.`. */
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

/** Reads a value that was typed or that is a cell of a table; undefined for none. A text that does not fit stays text, which is then refused. */
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

const members = {
  label: z.record(languageTag, displayText).optional().describe('What the attribute is called, by language.'),
  choices: z
    .array(z.string(rule('string')).refine((one) => isText(one) && [...one].length <= 255, rule('text')))
    .min(1, rule('empty'))
    .max(200, rule('entries', { most: '200' }))
    .nullable()
    .optional()
    .describe('The only values that are allowed, for texts, numbers and lists.'),
  max: z
    .int(rule('whole-number'))
    .min(1, rule('positive'))
    .max(2_147_483_647, rule('positive'))
    .nullable()
    .optional()
    .describe('The most characters of a text, entries of a list, or the largest number.'),
  person: z
    .enum(personRights)
    .optional()
    .describe('What users may do with their own value on the account pages: none, read or write.'),
  unique: z.boolean().optional().describe('Whether no two users may have the same value, for texts and numbers.'),
};

const fits = ({ type, choices, unique }: { type?: string; choices?: unknown; unique?: boolean | undefined }) =>
  !(unique && !['string', 'number'].includes(type ?? 'string')) &&
  !(choices && ['boolean', 'date'].includes(type ?? 'string'));

/** Whether choices and uniqueness suit the type. */
export const fitsType = (attribute: Pick<Attribute, 'type' | 'choices' | 'unique'>): boolean => fits(attribute);

export const newAttributeShape = z.strictObject({
  name: z
    .string(rule('string'))
    .refine(isAttributeName, rule('attribute-name'))
    .describe('Lower-case letters, digits and underscores; not the name of a standard or reserved claim.'),
  type: z.enum(attributeTypes).describe('The type of the values; it stays.'),
  ...members,
});

/** Name and type stay: values of users are stored under them. */
export const attributeChangeShape = z.strictObject(members);
export type AttributeMembers = z.infer<typeof attributeChangeShape>;
