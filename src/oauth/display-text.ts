// Holds the rules for what pages show of a client: a text, and the address of a page or a picture (security R48).
import { z } from 'zod';
import { isLegible } from './legible.ts';
import { isWebUri } from './redirect-uri.ts';
import { rule } from './refusals.ts';

/** Characters of a text that pages show to users. */
export const maxDisplayText = 100;
const displayLength = rule('length', { most: String(maxDisplayText) });
/** Text that pages show to users: in Unicode's composed form, short and visible (security R48). */
export const displayText = z
  .string(rule('string'))
  .transform((text) => text.normalize('NFC').trim())
  .refine((text) => text.length >= 1 && [...text].length <= maxDisplayText, displayLength)
  // one character can decompose into many, and names are compared in their decomposed form
  .refine((text) => [...text.normalize('NFKD')].length <= 2 * maxDisplayText, displayLength)
  .refine(isLegible, rule('characters'));

/** A name in an address, where programs take `.` and `..` for folders. */
export const isNoFolder = (name: string): boolean => name !== '.' && name !== '..';
/** The name of a noun that administrators also use in addresses. */
export const nounName = displayText.refine(isNoFolder, rule('dots'));

export const webUri = z.string(rule('string')).refine(isWebUri, rule('web-address'));
