// Declares the operations on accounts whose address was confirmed by a word only, in the domains over which a connection has authority.
import { z } from 'zod';
import { wordConfirmations } from '../../domain/administration/confirmations.ts';
import { text } from '../../oauth/text.ts';
import { findConnection } from './connections.ts';
import { operation } from './operation.ts';
import { table } from './text-table.ts';

const path = '/admin/api/connections/:id/word-confirmations';
const section = { permission: 'connections', tag: 'connections' } as const;
const byConnection = z.object({ id: text(40) });

/** How many accounts one answer lists. */
const mostListed = 500;

export const listWordConfirmations = operation({
  method: 'GET',
  path,
  ...section,
  summary:
    'Lists the accounts with an address in a domain that the connection owns, which only another system confirmed',
  params: byConnection,
  answer: 'WordConfirmations',
  handler: async ({ store }, { params: { id } }) =>
    wordConfirmations(store, await findConnection(store, id), mostListed),
  view: ({ accounts, count }) => ({ accounts: accounts.map((account) => ({ ...account })), count }),
  command: {
    name: 'connection word-confirmed',
    text: ({ accounts, count }) =>
      table(
        ['USERNAME', 'EMAIL', 'SUB'],
        accounts.map(({ username, email, sub }) => [username, email, sub]),
      ) + (count > accounts.length ? `\nThese are ${accounts.length} of ${count}.` : ''),
  },
});

export const takeBackConfirmations = operation({
  method: 'DELETE',
  path,
  ...section,
  summary:
    'Marks addresses in the domains that the connection owns as not verified, if only another system confirmed them',
  params: byConnection,
  status: 200,
  answer: 'TakenBack',
  handler: ({ administration }, { params: { id }, actor }) => administration.takeBackConfirmations(actor, id),
  view: (count) => ({ count }),
  command: {
    name: 'connection take-back-confirmations',
    text: (count) => (count === 1 ? 'Marked 1 address as not verified.' : `Marked ${count} addresses as not verified.`),
  },
});

export const confirmationOperations = [listWordConfirmations, takeBackConfirmations];
