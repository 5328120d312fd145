// Declares text that PostgreSQL can store and that a header can carry once encoded: no NUL, no lone surrogates (security R107).
import { z } from 'zod';
import { rule } from './refusals.ts';

export const text = (max: number) =>
  z
    .string(rule('string'))
    .max(max, rule('too-long'))
    .refine((value) => !value.includes('\0') && value.isWellFormed(), rule('text'));
