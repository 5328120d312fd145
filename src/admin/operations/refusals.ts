// Declares the operation that tells what is behind a refusal, by the reference that its page shows.
import { z } from 'zod';
import { notFound } from '../../oauth/errors.ts';
import { rule } from '../../oauth/refusals.ts';
import type { KeptRefusal } from '../../repositories/refusals/refusals.ts';
import { operation } from './operation.ts';
import { facts } from './text-table.ts';

const byReference = z.object({
  reference: z
    .string()
    .regex(/^[0-9a-f]{8}$/, rule('reference'))
    .describe('The reference that the page showed.'),
});

const viewOf = ({ reference, refusedAt, facts: known }: KeptRefusal) => ({
  reference,
  at: refusedAt.toISOString(),
  ...known,
});

const readRefusal = operation({
  permission: 'audit',
  method: 'GET',
  path: '/admin/api/refusals/:reference',
  tag: 'audit',
  summary: 'Explains a refusal by the reference that its page showed',
  params: byReference,
  answer: 'Refusal',
  async handler({ store }, { params: { reference } }) {
    const kept = await store.refusals.find(reference);
    if (!kept)
      throw notFound(
        'no refusal is stored with this reference: the service stores refusals for 24 hours, and at most 10 per minute and network; search its log for the reference',
      );
    return kept;
  },
  view: viewOf,
  command: { name: 'why', text: (kept) => facts(viewOf(kept)) },
});

export const refusalOperations = [readRefusal];
