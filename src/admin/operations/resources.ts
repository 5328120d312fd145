// Declares the operations on resources: APIs with scopes of their own (RFC 8707).
import { z } from 'zod';
import { resourceView } from '../../domain/administrator-views.ts';
import { pageOf, pageShape, readCursor } from '../../domain/paging.ts';
import { invalidRequest, notFound } from '../../oauth/errors.ts';
import { isAtIssuer } from '../../oauth/own-resource.ts';
import { refusal } from '../../oauth/refusals.ts';
import { resourceMetadata, resourceMetadataUri } from '../../oauth/resource-metadata.ts';
import { newResourceShape, resourceChangeShape } from '../../oauth/resource-shape.ts';
import { text } from '../../oauth/text.ts';
import type { Resource } from '../../repositories/resources/resources.ts';
import type { Store } from '../../repositories/store.ts';
import { operation } from './operation.ts';
import { facts, table } from './text-table.ts';

const path = '/admin/api/resources';
const tag = 'resources';
const byResource = z.object({ resource: text(2000).describe('The id, or the URI.') });
const options = {
  name: 'name',
  client: 'client_id',
  scope: 'scopes',
  clients: 'clients',
  'access-token-format': 'access_token_format',
  'access-token-signing-alg': 'access_token_signing_alg',
  'access-token-lifetime': 'access_token_lifetime',
  'required-acr': 'required_acr',
  binding: 'binding',
  'token-claim': 'token_claims',
  public: 'public',
};

/** @param name the id or the URI @throws OAuthError not_found */
export async function findResource({ resources }: Pick<Store, 'resources'>, name: string): Promise<Resource> {
  const found = name.includes('\0') ? undefined : await resources.find(name);
  if (!found) throw notFound('there is no such resource');
  return found;
}

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

const listResources = operation({
  method: 'GET',
  path,
  tag,
  summary: 'Lists resources, newest first',
  input: () => pageShape,
  answer: 'ResourcePage',
  async handler({ store }, { input: { limit, cursor } }) {
    return { limit, resources: await store.resources.list({ limit, after: readCursor(cursor) }) };
  },
  view: ({ limit, resources }) =>
    pageOf('resources', resources, limit, resourceView, ({ id, createdAt }) => ({ at: createdAt, id })),
  command: {
    name: 'resource list',
    text: ({ resources }) =>
      table(
        ['RESOURCE', 'NAME', 'CLIENT_ID', 'CLIENTS', 'SCOPES'],
        resources.map((one) => [
          one.resource,
          one.name,
          one.clientId ?? '',
          one.clients,
          Object.keys(one.scopes).join(' '),
        ]),
      ),
    json: ({ resources }) => resources.map(resourceView),
  },
});

export const createResource = operation({
  method: 'POST',
  path,
  tag,
  summary: 'Creates a resource: an API for which clients request tokens',
  input: () => newResourceShape,
  status: 201,
  answer: 'Resource',
  refusals: {
    conflict: 'taken',
    resource: 'resource',
    'own-resource': 'own',
    name: 'name',
    client_id: 'client',
    unknown: 'client',
    scopes: 'scopes',
    access_token_lifetime: 'lifetime',
    token_claims: 'claims',
  },
  handler({ administration, config }, { input: { resource, ...members }, actor }) {
    if (isAtIssuer(config.issuer, resource)) throw invalidRequest(refusal('own-resource', 'resource'));
    return administration.createResource(actor, resource, members);
  },
  view: resourceView,
  command: {
    name: 'resource create',
    arguments: ['resource'],
    options,
    prepare: scopesOfPairs,
    text: ({ resource, scopes }) =>
      `Created the resource ${resource}. Its scopes are ${Object.keys(scopes).join(' ') || 'none yet'}: give them to clients, or open the resource to all.`,
  },
});

const showResource = operation({
  method: 'GET',
  path: `${path}/:resource`,
  tag,
  summary: 'Shows a resource',
  params: byResource,
  answer: 'Resource',
  handler: ({ store }, { params: { resource } }) => findResource(store, resource),
  view: resourceView,
  command: { name: 'resource show', text: (resource) => facts(resourceView(resource)) },
});

/** The document that the host of a resource publishes, and its address there. */
export const metadataOf = (issuer: string, { resource, name, scopes, binding }: Resource) => ({
  uri: resourceMetadataUri(resource),
  document: resourceMetadata(issuer, { resource, name, scopes: Object.keys(scopes), binding }),
});

const showMetadata = operation({
  method: 'GET',
  path: `${path}/:resource/metadata`,
  tag,
  summary: 'Shows the metadata that the host of a resource publishes, so that clients find this service (RFC 9728)',
  params: byResource,
  answer: 'ResourceMetadata',
  handler: async ({ store, config }, { params: { resource } }) =>
    metadataOf(config.issuer, await findResource(store, resource)),
  view: ({ uri, document }) => ({ ...(uri !== undefined && { metadata_uri: uri }), document }),
  command: {
    name: 'resource metadata',
    text: ({ uri, document }) =>
      `${uri === undefined ? 'The resource has no web address, at which it could publish this:' : `Publish this at ${uri}:`}\n${JSON.stringify(document, null, 2)}`,
  },
});

export const changeResource = operation({
  method: 'PATCH',
  path: `${path}/:resource`,
  tag,
  summary: 'Changes a resource, but neither its URI nor tokens that were already issued',
  params: byResource,
  input: () => resourceChangeShape,
  answer: 'Resource',
  refusals: {
    name: 'name',
    client_id: 'client',
    unknown: 'client',
    scopes: 'scopes',
    access_token_lifetime: 'lifetime',
    token_claims: 'claims',
  },
  handler: ({ administration }, { params: { resource }, input, actor }) =>
    administration.changeResource(actor, resource, input),
  view: resourceView,
  command: {
    name: 'resource change',
    options,
    prepare: scopesOfPairs,
    text: ({ resource }) => `Changed the resource ${resource}.`,
  },
});

export const deleteResource = operation({
  method: 'DELETE',
  path: `${path}/:resource`,
  tag,
  summary:
    'Deletes a resource: clients can no longer get tokens for it, and tokens that were already issued stay valid until they expire',
  params: byResource,
  handler: ({ administration }, { params: { resource }, actor }) => administration.deleteResource(actor, resource),
  command: {
    name: 'resource delete',
    text: ({ resource }) => `Deleted the resource ${resource}.`,
    json: ({ resource }) => ({ resource }),
  },
});

export const resourceOperations = [
  listResources,
  createResource,
  showResource,
  showMetadata,
  changeResource,
  deleteResource,
];
