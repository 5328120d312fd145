// Declares the operations on resources: those of every entity, and the metadata that the host of a resource publishes.
import { z } from 'zod';
import { type Resource, resources } from '../../entities/resources.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { isAtIssuer } from '../../oauth/own-resource.ts';
import { refusal } from '../../oauth/refusals.ts';
import { resourceMetadata, resourceMetadataUri } from '../../oauth/resource-metadata.ts';
import { text } from '../../oauth/text.ts';
import { entityOperations } from './entities.ts';
import { operation, pageOperation } from './operation.ts';

const named = 'The id, or the URI.';

/** Turns the pairs of a command, value=description, into scopes. A description is English text, or an object by languages. */
function scopesOfPairs({ scopes, ...given }: Record<string, unknown>): Record<string, unknown> {
  if (scopes === undefined) return given;
  const described = (description: unknown) => (typeof description === 'string' ? { en: description } : description);
  return {
    ...given,
    scopes: Object.entries(scopes as object).map(([value, description]: [string, unknown]) => ({
      value,
      ...(description !== '' && { description: described(description) }),
    })),
  };
}

export const resourceActs = entityOperations(resources, {
  says: {
    list: 'Lists resources, newest first',
    create: 'Creates a resource: an API for which clients request tokens',
    show: 'Shows a resource',
    change: 'Changes a resource, but neither its URI nor tokens that were already issued',
    delete:
      'Deletes a resource: clients can no longer get tokens for it, and tokens that were already issued stay valid until they expire',
  },
  named,
  answers: { one: 'Resource', page: 'ResourcePage' },
  columns: {
    RESOURCE: ({ resource }) => resource,
    NAME: ({ name }) => name,
    CLIENT_ID: ({ clientId }) => clientId ?? '',
    CLIENTS: ({ clients }) => clients,
    SCOPES: ({ scopes }) => Object.keys(scopes).join(' '),
  },
  done: {
    create: ({ resource, scopes }) =>
      `Created the resource ${resource}. Its scopes are ${Object.keys(scopes).join(' ') || 'none yet'}: give them to clients, or open the resource to all.`,
    change: ({ resource }) => `Changed the resource ${resource}.`,
    delete: ({ resource }) => `Deleted the resource ${resource}.`,
  },
  repository: ({ store }) => store.resources,
  administration: ({ administration }) => administration.resources,
  before({ config }, { resource }) {
    if (isAtIssuer(config.issuer, String(resource))) throw invalidRequest(refusal('own-resource', 'resource'));
  },
  prepare: scopesOfPairs,
});

/** The document that the host of a resource publishes, and its address there. */
const metadataOf = (issuer: string, { resource, name, scopes, binding }: Resource) => ({
  uri: resourceMetadataUri(resource),
  document: resourceMetadata(issuer, { resource, name, scopes: Object.keys(scopes), binding }),
});

const showMetadata = operation({
  permission: 'resources',
  method: 'GET',
  path: '/admin/api/resources/:resource/metadata',
  tag: 'resources',
  summary: 'Shows the metadata that the host of a resource publishes, so that clients find this service (RFC 9728)',
  params: z.object({ resource: text(2000).describe(named) }),
  answer: 'ResourceMetadata',
  handler: async (context, { params: { resource } }) =>
    metadataOf(context.config.issuer, await resourceActs.find(context, resource)),
  view: ({ uri, document }) => ({ ...(uri !== undefined && { metadata_uri: uri }), document }),
  command: {
    name: 'resource metadata',
    text: ({ uri, document }) =>
      `${uri === undefined ? 'The resource has no web address, at which it could publish this:' : `Publish this at ${uri}:`}\n${JSON.stringify(document, null, 2)}`,
  },
});

const { list, create, show, change, remove } = resourceActs;
/** What the page of a resource shows beside it: the metadata that its host publishes, and the client that introspects its tokens. */
export const resourcePage = pageOperation('resources', 'read', async ({ config, store }, resource: Resource) => ({
  ...metadataOf(config.issuer, resource),
  server: resource.clientId === undefined ? undefined : await store.clients.find(resource.clientId),
}));

/** When resources were last used, by id. */
export const resourceUses = pageOperation('resources', 'read', ({ store }, ids: readonly string[]) =>
  store.uses.list('resources', ids),
);

export const resourceOperations = [list, create, show, showMetadata, change, remove];
