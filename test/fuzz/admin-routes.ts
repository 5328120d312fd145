// Makes the routes of operations and of the pages of entities from their declarations: valid values of their parameters, and the statuses that each may answer.
import { z } from 'zod';
import { entityPlugins } from '../../src/admin/admin.ts';
import { adminRoutes as declared } from '../../src/admin/api/routes.ts';
import { type Operation, takesBody } from '../../src/admin/operations/operation.ts';
import { starts, view } from '../../src/entities/entity.ts';
import { formOf } from '../../src/entities/form.ts';
import { written } from '../../src/entities/field.ts';
import { entityRoutes } from '../helpers/entities.ts';
import { png } from '../helpers/images.ts';
import { metadata, type Route } from './route.ts';

/** At the console; sometimes a user who is not an administrator. */
export const byAdministrator = ['@console', '@console', '@console', '@cookies'];

/** What the parameters of paths name, by the segment before them. */
const named: Record<string, readonly string[]> = {
  'attributes/:attribute': ['department'],
  'clients/:id': ['@victim'],
  'connections/:connection': ['none'],
  'connections/:id': ['none'],
  'access/:client_id': ['@client_id'],
  'grants/:client_id': ['@client_id'],
  'groups/:name': ['staff', 'crew'],
  'keys/:kid': ['none'],
  'look-alikes/:other': ['@client_id'],
  'refusals/:reference': ['0a1b2c3d'],
  'resources/:resource': ['https://api.example/'],
  'roles/:role': ['admin'],
  'saml-keys/:id': ['none'],
  'scopes/:scope': ['staff'],
  'second-factors/:id': ['none'],
  'sessions/:id': ['@session_id'],
  'sign-up-links/:sign_up_link': ['@sign_up_link_id'],
  'users/:sub': ['@sub'],
  'webhooks/:webhook': ['none'],
  'secrets/:secret': ['secret', 'second_secret'],
  'scim-sources/:scim_source': ['none'],
  'authorization-details-types/:authorization_details_type': ['none'],
  'exchange-policies/:exchange_policy': ['none'],
  'trusted-issuers/:trusted_issuer': ['none'],
  'connected-servers/:connected_server': ['none'],
  'tokens/:token': ['none'],
  'provisioning-targets/:provisioning_target': ['none'],
};

/** Values of members whose rules demand more than their schemas say, or that name what the world has; by the member, or by it and its tag. */
const values: Record<string, readonly unknown[]> = {
  ...Object.fromEntries(Object.entries(metadata).map(([name, all]) => [name.replace('?', ''), all])),
  picture: [png.toString('base64'), 'AAAA'],
  'clients.logo': [png.toString('base64'), 'AAAA'],
  'connections.logo': [png.toString('base64'), 'AAAA'],
  reason: ['not now'],
  limit: ['1', '200'],
  cursor: ['@cursor'],
  lifetime: [60],
  sub: ['@sub'],
  client_id: ['@client_id'],
  version: [1, 2],
  q: ['harb', 'ada', "o'h\\ & :* !(", "o'brien & !(x):*", 'مح'],
  address: ['127.0.0.1'],
  since: ['2026-01-01T00:00:00Z'],
  until: ['9999-12-31T23:59:59+14:00'],
  group: ['staff'],
  groups: [['staff'], []],
  access_groups: [['staff'], []],
  claim_rules: [[{ claim: 'dept', from: 'groups', into: ['userinfo'] }], []],
  connections: [['nowhere'], []],
  networks: [['192.0.2.0/24', '::1'], []],
  required_acr: ['urn:gatehouse:acr:password', null],
  start_uri: ['https://rp.example.com/start', null],
  access_token_lifetime: [60, null],
  // the service would have an administrator more
  'users.admin': [false],
  'users.username': ['ada', 'bob', '@new_name', '@new_name'],
  'users.email': ['ada@example.com', null],
  'users.password': ['correct horse battery staple'],
  'users.claims': [{ name: 'Ada', address: { country: 'NL' } }, { name: null }],
  'users.users': [['@sub']],
  'roles.users': [['@sub']],
  add: [['@sub'], ['nobody']],
  remove: [['@sub'], []],
  secrets: [['client_secret'], ['shared_secret']],
  'clients.clients': [[{ client_id: 'nobody', version: 1 }], [{ client_id: 'nobody', version: 2 }]],
  'groups.name': ['crew', 'staff'],
  'attributes.name': ['department', 'floor'],
  'attributes.label': [{ en: 'Department', de: 'Abteilung' }],
  'scopes.name': ['staff'],
  'scopes.text': [{ en: 'See your department' }],
  'scopes.claims': [['department', 'groups']],
  'resources.resource': ['https://api.example/', 'urn:example:api'],
  'resources.name': ['Notes'],
  'resources.scopes': [[{ value: 'notes.read', description: { en: 'Read your notes' } }]],
  'sign_up_links.name': ['Harbour crew'],
  'sign_up_links.groups': [['crew'], []],
  'sign_up_links.domain': ['example.org', null],
  'sign_up_links.expires_at': [new Date(Date.now() + 86_400_000).toISOString()],
  'connections.id': ['honest', 'manual'],
  'connections.display_name': ['Honest'],
  'connections.settings': [
    { issuer: 'http://127.0.0.1:1', client_id: 'x' },
    { client_id: 'x', tenants: ['common'], organizations: 'a b', base: 'https://github.com' },
  ],
  'connections.authoritative_domains': [['corp.example']],
  'connections.group_rules': [[{ equals: 'a', group: 'b' }]],
  'connections.secret': ['secret', null],
  'webhooks.name': ['Hook', 'Other hook'],
  'webhooks.url': ['https://hooks.example/x'],
  'webhooks.events': [['user.*'], ['group.created', '*']],
  'webhooks.secret': [`whsec_${Buffer.alloc(32).toString('base64')}`],
  'webhooks.second_secret': [`whsec_${Buffer.alloc(24).toString('base64')}`, null],
  'webhooks.event': ['1'],
  'authorization_details_types.type': ['payment'],
  'authorization_details_types.schema': [
    { type: 'object', properties: { amount: { type: 'string' } } },
    { type: 'object', pattern: 'x' },
  ],
  'authorization_details_types.text': [{ en: 'Pay {amount}' }, { en: '{' }],
  'authorization_details_types.resources': [['https://api.example/'], []],
  'exchange_policies.name': ['Gateway'],
  'exchange_policies.client_id': ['@client_id'],
  'exchange_policies.subject_clients': [['@client_id'], []],
  'exchange_policies.resources': [['https://api.example/']],
  'exchange_policies.authorization_details_types': [['payment'], []],
  'exchange_policies.scopes': [['read'], ['read', 'write']],
  'provisioning_targets.client': ['@client_id', 'nowhere'],
  'provisioning_targets.base_url': ['https://app.example/scim/v2'],
  'provisioning_targets.token_endpoint': ['https://app.example/token', null],
  'provisioning_targets.groups': [[], ['staff']],
  'trusted_issuers.name': ['Partner'],
  'trusted_issuers.issuer': ['https://partner.example'],
  'trusted_issuers.jwks_uri': ['https://partner.example/jwks', null],
  'trusted_issuers.jwks': [
    { keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] },
    null,
  ],
  'trusted_issuers.links': [[{ subject: 'x', user: '@sub' }], []],
  'trusted_issuers.email_domains': [['partner.example'], []],
  'trusted_issuers.clients': [['@client_id'], []],
  'trusted_issuers.resources': [['https://api.example/']],
  'trusted_issuers.scopes': [['read']],
  'connected_servers.name': ['Partner'],
  'connected_servers.issuer': ['https://partner.example'],
  'connected_servers.clients': [[{ client: '@client_id', id: 'x', scopes: ['read'] }]],
  'connected_servers.resources': [['https://api.example/'], []],
  'scim_sources.id': ['entra', 'x1'],
  'scim_sources.name': ['Entra'],
  'scim_sources.connection_id': ['nowhere', null],
  'scim_sources.group_prefix': ['', 'Entra '],
  algorithms: [['ES256'], ['EdDSA', 'EdDSA']],
  accent_color: ['#0c4a43', null],
  support_url: ['https://help.example/', 'mailto:help@example.com', null],
  logo: [null],
  logo_dark: [null],
  favicon: [null],
};

const uri = 'https://rp.example.com/';

interface Schema {
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  minimum?: number;
}

/** Values that a schema allows. */
function samplesOf(schema: Schema): readonly unknown[] {
  const { type, anyOf, items, properties = {}, required = [] } = schema;
  if (schema.const !== undefined) return [schema.const];
  if (schema.enum) return schema.enum;
  if (anyOf) return anyOf.flatMap(samplesOf);
  if (type === 'null') return [null];
  if (type === 'boolean') return [true, false];
  if (type === 'integer' || type === 'number') return [Math.max(schema.minimum ?? 1, 1)];
  if (type === 'array') return [[], ...samplesOf(items ?? {}).map((one) => [one])];
  if (type !== 'object') return ['x'];
  return [Object.fromEntries(required.map((name) => [name, samplesOf(properties[name] ?? {})[0]]))];
}

/** The members of a schema with valid values; one that may be missing, and is seldom sent, has a name that ends in `?`. */
function membersOf(schema: z.ZodType, tag: string): Record<string, readonly unknown[]> {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;
  return Object.fromEntries(
    Object.entries(properties).map(([name, rule]) => [
      required.includes(name) || name in metadata ? name : `${name}?`,
      values[`${tag}.${name}`] ?? values[name] ?? (name.endsWith('_uri') ? [uri] : samplesOf(rule)),
    ]),
  );
}
const texts = (members: Record<string, readonly unknown[]>) =>
  Object.fromEntries(Object.entries(members).map(([name, all]) => [name, all.map(String)]));

const parametersOf = (path: string): Record<string, readonly string[]> =>
  Object.fromEntries([...path.matchAll(/[\w-]+\/:(\w+)/g)].map(([segments, name]) => [name!, named[segments]!]));

function routeOf(operation: Operation): Route {
  const { path, tag, media, status } = operation;
  const input = operation.documentedInput ?? operation.input?.({ passwordMinLength: 8 });
  return {
    path: parametersOf(path),
    authorization: ['@admin'],
    ...(input && (takesBody(operation) ? { json: membersOf(input, tag) } : { query: texts(membersOf(input, tag)) })),
    // a body that is not a file: the files themselves have a test of their own
    statuses: media?.body.length ? [status, 401, 415] : [status, 401, 404, 409],
  };
}

/** The pages of an entity: its forms have the fields of its members. */
const pagesOf = ({ of, hasPage }: (typeof entityPlugins)[number]): [string, Route][] =>
  entityRoutes(of, hasPage).map((route): [string, Route] => {
    const [method, path] = route.split(' ') as [string, string];
    const isNew = path.endsWith('/new');
    const fields = formOf(of, isNew ? undefined : view(of, starts(of))).filter(({ fixed }) => !fixed);
    const samples = membersOf(
      z.object(Object.fromEntries(fields.map(({ name }) => [name, of.members[name]!.rule]))),
      of.table,
    );
    const form = path.endsWith('/delete')
      ? {
          typed: [
            ...named[`${of.table.replaceAll('_', '-')}/:${of.one}`]!,
            ...(values[`${of.table}.${of.called}`] as string[]),
          ],
        }
      : Object.fromEntries(
          fields.map((field) => [
            field.required ? field.name : `${field.name}?`,
            (samples[field.name] ?? samples[`${field.name}?`])!.map((value) => written(field, value)),
          ]),
        );
    const statuses = [...(method === 'GET' ? [200] : []), 303, 403, ...(path.includes(':') ? [404] : [])];
    return [
      route,
      {
        path: parametersOf(path),
        ...(method === 'GET' ? { query: { 'cursor?': ['x'] } } : { form }),
        cookies: byAdministrator,
        statuses,
      },
    ];
  });

const order: readonly string[] = ['GET', 'POST', 'PATCH', 'DELETE'];
/** Deletions are last, so that the other requests find what they name. */
const inOrder = declared().sort((one, other) => order.indexOf(one.method) - order.indexOf(other.method));

export const adminRoutes: Record<string, Route> = Object.fromEntries([
  ...inOrder.map((one) => [`${one.method} ${one.path}`, routeOf(one)] as const),
  ...entityPlugins.flatMap(pagesOf),
]);
