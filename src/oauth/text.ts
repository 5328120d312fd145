// Declares text that PostgreSQL can store and that a header can carry once encoded: no NUL, no lone surrogates (security R107).
import { z } from 'zod';
import { rule } from './refusals.ts';

/**
 * The end of a sentence that refuses a value of a request: it repeats a value that is a plain name or address, and none that could be markup
 * (security A17). A long one is cut, so that it does not hide the sentence.
 */
export function repeated(value: string): string {
  if (!/^[\w.~:/?#@!$&()*+,;=%-]+$/.test(value)) return '';
  return `: ${value.length > 100 ? `${value.slice(0, 100)}...` : value}`;
}

export const text = (max: number) =>
  z
    .string(rule('string'))
    .max(max, rule('too-long'))
    .refine((value) => !value.includes('\0') && value.isWellFormed(), rule('text'));
