// Holds the rule for a language tag (BCP 47), by which texts are kept for several languages.
import { z } from 'zod';
import { rule } from './refusals.ts';

export const languageTag = z.string().regex(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$/, rule('language'));
