// Declares the operations on SCIM sources: those of every entity, and those on their tokens (federation 8).
import { z } from 'zod';
import { scimSourceAdministration } from '../../domain/administration/scim-sources.ts';
import { type ScimSource, scimSources } from '../../entities/scim-sources.ts';
import { text } from '../../oauth/text.ts';
import type { ScimToken } from '../../repositories/scim/scim-sources.ts';
import { entityOperations } from './entities.ts';
import { operation, pageOperation } from './operation.ts';
import { table } from './text-table.ts';

const named = 'The id.';
const path = '/admin/api/scim-sources/:scim_source/tokens';
const section = { permission: 'scim_sources', tag: 'scim_sources' } as const;
const bySource = z.object({ scim_source: text(40).describe(named) });

export const scimSourceActs = entityOperations(scimSources, {
  says: {
    list: 'Lists SCIM sources',
    create: 'Creates a SCIM source: a directory that writes its users and groups here',
    show: 'Shows a SCIM source',
    change: 'Changes a SCIM source; its id stays',
    delete: 'Deletes a SCIM source with its tokens and the memberships that it gave; its users and groups stay',
  },
  named,
  most: 40,
  answers: { one: 'ScimSource', page: 'ScimSourcePage' },
  columns: {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    STATUS: ({ status }) => status,
    CONNECTION: ({ connectionId }) => connectionId ?? '',
    ADOPT: ({ adopt }) => adopt,
  },
  done: {
    create: ({ id }) => `Created the SCIM source ${id}. Make a token for it: bin/gatehouse scim-source add-token ${id}`,
    change: ({ id, status }) => `Changed the SCIM source ${id}: it is ${status}.`,
    delete: ({ id }) => `Deleted the SCIM source ${id}. Its users and groups stay.`,
  },
  repository: ({ store }) => store.scimSources,
  administration: ({ store }) => scimSourceAdministration(store),
});

/** To enter at the directory. */
const addressOf = (issuer: string, id: string): string => `${issuer}/scim/v2/${id}`;

/** What the page of a source shows beside it. */
export const scimSourcePage = pageOperation('scim_sources', 'read', async ({ config, store }, { id }: ScimSource) => ({
  address: addressOf(config.issuer, id),
  tokens: await store.scimSources.tokens(id),
}));

const tokenView = ({ id, createdAt, lastUsedAt }: ScimToken) => ({
  id,
  created_at: createdAt.toISOString(),
  last_used_at: lastUsedAt?.toISOString(),
});

export const listScimTokens = operation({
  ...section,
  method: 'GET',
  path,
  summary: 'Lists the tokens of a SCIM source with their last use, without their values',
  params: bySource,
  answer: 'ScimTokens',
  handler: async (context, { params: { scim_source: id } }) => {
    await scimSourceActs.find(context, id);
    return context.store.scimSources.tokens(id);
  },
  view: (tokens) => ({ tokens: tokens.map(tokenView) }),
  command: {
    name: 'scim-source tokens',
    text: (tokens) =>
      table(
        ['ID', 'CREATED', 'LAST USED'],
        tokens.map(({ id, createdAt, lastUsedAt }) => [id, createdAt.toISOString(), lastUsedAt?.toISOString() ?? '']),
      ),
    json: (tokens) => tokens.map(tokenView),
  },
});

export const addScimToken = operation({
  ...section,
  method: 'POST',
  path,
  summary: 'Makes a token for a SCIM source, which is shown once; a source has at most two, so that one can be renewed',
  params: bySource,
  status: 201,
  answer: 'NewScimToken',
  handler: async ({ store, config }, { params: { scim_source: id }, actor }) => ({
    ...(await scimSourceAdministration(store).createToken(actor, id)),
    address: addressOf(config.issuer, id),
  }),
  view: ({ token, address, ...made }) => ({ ...tokenView(made), address, token }),
  command: {
    name: 'scim-source add-token',
    text: ({ token, address }) => `Address: ${address}\nToken, which is shown only now: ${token}`,
  },
});

export const removeScimToken = operation({
  ...section,
  method: 'DELETE',
  path: `${path}/:token`,
  summary: 'Deletes a token of a SCIM source: it is refused at once',
  params: bySource.extend({ token: text(64).describe('The id of the token.') }),
  handler: ({ store }, { params: { scim_source: id, token }, actor }) =>
    scimSourceAdministration(store).removeToken(actor, id, token),
  command: {
    name: 'scim-source remove-token',
    text: (_done, { params: { token } }) => `Deleted the token ${token}.`,
    json: (_done, { params }) => params,
  },
});

export const scimSourceOperations = [...scimSourceActs.all, listScimTokens, addScimToken, removeScimToken];
