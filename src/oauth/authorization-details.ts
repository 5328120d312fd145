// Defines authorization details as requests and tokens have them (RFC 9396 2).
import { z } from 'zod';
import { rule } from './refusals.ts';

/** One object, whose `type` decides about its other members. */
export type Detail = Readonly<Record<string, unknown>> & { readonly type: string };

/** The name of a type, which may be a URI. */
export const detailType = /^[\x21\x23-\x5b\x5d-\x7e]{1,255}$/;

/** The types of a client. */
export const detailTypes = z
  .array(z.string().regex(detailType, rule('detail-types')))
  .max(50, rule('entries', { most: '50' }))
  .optional()
  .describe('The types of authorization details that the client may request (RFC 9396 10).');
