// Declares exchange policies: which client gets tokens in exchange for tokens of users (RFC 8693).
import { z } from 'zod';
import { detailType } from '../oauth/authorization-details.ts';
import { nounName } from '../oauth/display-text.ts';
import { rule } from '../oauth/refusals.ts';
import { isAdministratorScope } from '../oauth/scope.ts';
import { text } from '../oauth/text.ts';
import { entity, type EntityOf, member } from './entity.ts';

const maxEntries = 100;
/** Whether no entry is there twice. */
export const distinct = (all: readonly string[]) => new Set(all).size === all.length;
/** A list of texts, as long as a policy may have one. */
export const entriesOf = (each: z.ZodType<string>) =>
  z.array(each).max(maxEntries, rule('entries', { most: String(maxEntries) }));

/** No exchange gives a scope for administrators, or access without the user. */
const isScopeOfToken = (word: string): boolean =>
  /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(word) && !isAdministratorScope(word) && word !== 'offline_access';

/** A scope that a token by a policy may have. */
export const tokenScope = z.string(rule('string')).refine((word) => isScopeOfToken(word), rule('exchange-scope'));

export const exchangePolicies = entity({
  table: 'exchange_policies',
  one: 'exchange_policy',
  permission: 'resources',
  section: 'resources',
  called: 'name',
  order: [
    'name',
    'client_id',
    'mode',
    'subject_clients',
    'resources',
    'scopes',
    'authorization_details_types',
    'status',
  ],
  find: 'id = $1 OR name = $1',
  versioned: true,
  notifies: true,
  members: {
    name: member('What administrators call it. If several policies apply, the first by name decides.', nounName, {
      required: true,
      fixed: true,
      form: 'text',
      list: true,
    }),
    client_id: member('The client that may exchange tokens. It cannot be a public client.', text(255), {
      required: true,
      fixed: true,
      refers: 'clients',
      option: 'client',
      form: 'text',
      list: true,
    }),
    mode: member(
      'How the client acts: delegate names it in the new token as the actor (act), impersonate does not.',
      z.enum(['delegate', 'impersonate']),
      { start: 'delegate', trust: true, form: { kind: 'radio', choices: ['delegate', 'impersonate'] }, list: 'tag' },
    ),
    subject_clients: member(
      'The other clients whose tokens it may present. Its own tokens it may always present.',
      entriesOf(text(255)).refine(distinct, rule('clients-twice')),
      {
        start: [],
        trust: true,
        refers: 'clients',
        released: true,
        option: 'subject-client',
        form: { kind: 'lines', lines: 3, writing: 'ltr' },
      },
    ),
    resources: member(
      'The URIs of the resources for which it gets tokens, or the address of UserInfo.',
      entriesOf(text(512)).min(1, rule('empty')),
      {
        required: true,
        trust: true,
        option: 'resource',
        form: { kind: 'lines', lines: 3, picks: 'resources', writing: 'ltr' },
        list: (uris: string[]) => uris.join(' '),
      },
    ),
    scopes: member(
      'The scopes that the new tokens may have. A token has those of them that the presented token has, too.',
      entriesOf(tokenScope).min(1, rule('empty')),
      { required: true, trust: true, option: 'scope', form: { kind: 'lines', lines: 3, writing: 'ltr' } },
    ),
    authorization_details_types: member(
      'The types of authorization details that the new tokens may have. A token has those of the presented token that are of these types and for its resource, if the client is registered for the type.',
      entriesOf(z.string(rule('string')).regex(detailType, rule('detail-types'))).refine(
        distinct,
        rule('detail-type-twice'),
      ),
      {
        start: [],
        trust: true,
        option: 'authorization-details-type',
        form: { kind: 'lines', lines: 3, writing: 'ltr' },
      },
    ),
    status: member('Whether tokens are issued by it.', z.enum(['enabled', 'disabled']), {
      start: 'enabled',
      form: { kind: 'radio', choices: ['enabled', 'disabled'] },
      list: 'tag',
    }),
  },
});

export type ExchangePolicy = EntityOf<typeof exchangePolicies>;
