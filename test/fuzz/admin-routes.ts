// Makes the routes of operations and of the pages of entities from their declarations: valid values of their parameters, and the statuses that each may answer.
import { z } from 'zod';
import { entityPlugins } from '../../src/admin/admin.ts';
import { adminRoutes as declared } from '../../src/admin/api/routes.ts';
import { type Operation, takesBody } from '../../src/admin/operations/operation.ts';
import { starts, view } from '../../src/entities/entity.ts';
import { formOf } from '../../src/entities/form.ts';
import { written } from '../../src/entities/field.ts';
import { entityRoutes } from '../helpers/entities.ts';
import { metadata, type Route } from './route.ts';

/** At the console; sometimes a user who is not an administrator. */
export const byAdministrator = ['@console', '@console', '@console', '@cookies'];

/** What the parameters of paths name, by the segment before them. */
const named: Record<string, readonly string[]> = {
  'attributes/:attribute': ['department'],
  'clients/:id': ['@victim'],
  'connections/:connection': ['none'],
  'connections/:id': ['none'],
  'grants/:client_id': ['@client_id'],
  'groups/:name': ['staff', 'crew'],
  'keys/:kid': ['none'],
  'look-alikes/:other': ['@client_id'],
  'refusals/:reference': ['0a1b2c3d'],
  'resources/:resource': ['https://api.example/'],
  'roles/:role': ['admin'],
  'scopes/:scope': ['staff'],
  'second-factors/:id': ['none'],
  'sessions/:id': ['@session_id'],
  'users/:sub': ['@sub'],
};

/** Values of members whose rules demand more than their schemas say, or that name what the world has; by the member, or by it and its tag. */
const values: Record<string, readonly unknown[]> = {
  ...Object.fromEntries(Object.entries(metadata).map(([name, all]) => [name.replace('?', ''), all])),
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
  'connections.id': ['honest', 'manual'],
  'connections.display_name': ['Honest'],
  'connections.settings': [
    { issuer: 'http://127.0.0.1:1', client_id: 'x' },
    { client_id: 'x', tenants: ['common'], organizations: 'a b', base: 'https://github.com' },
  ],
  'connections.authoritative_domains': [['corp.example']],
  'connections.group_rules': [[{ equals: 'a', group: 'b' }]],
  'connections.secret': ['secret', null],
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
      ? { typed: [...named[`${of.table}/:${of.one}`]!, ...(values[`${of.table}.${of.called}`] as string[])] }
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
