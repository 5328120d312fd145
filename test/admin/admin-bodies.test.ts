// Which members the bodies of the admin routes may have: no unknown one, and those of the service itself only as they were shown.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { adminRoutes } from '../../src/admin/api/routes.ts';
import { takesBody } from '../../src/admin/operations/operation.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

type Json = Record<string, unknown>;
const admin = (path: string, method = 'GET', body?: unknown) =>
  call(`${service.issuer}${path}`, { method, token, ...(body !== undefined && { body }) });
const made = async (path: string, body: Json) => {
  const { status, body: answer } = await admin(`/admin/api/${path}`, 'POST', body);
  expect(status).toBe(201);
  return answer;
};

test('every admin route with a body refuses a member that it does not know, by its name (decisions 8)', async () => {
  const routes = adminRoutes().filter((route) => takesBody(route) && route.input);
  expect(routes.length).toBeGreaterThan(30);
  for (const { method, path } of routes) {
    const answer = await admin(path.replaceAll(/:\w+/g, 'x'), method, { no_such_member: true });
    expect([method, path, answer.status, answer.body['error_description']]).toEqual([
      method,
      path,
      400,
      'no_such_member is unknown',
    ]);
  }
});

/** The schemas of objects in a schema, with their places. */
function objectsOf(schema: unknown, place: string): [string, Json][] {
  if (typeof schema !== 'object' || schema === null) return [];
  // an example is no schema
  const parts = Object.entries(schema).filter(([name]) => name !== 'example' && name !== 'examples');
  const found = parts.flatMap(([name, inner]) => objectsOf(inner, `${place}.${name}`));
  return (schema as Json)['type'] === 'object' ? [[place, schema as Json], ...found] : found;
}

test('the OpenAPI document says of every object of a body that it has no other members (decisions 8)', async () => {
  const { body } = await admin('/admin/api/openapi.json');
  const open = Object.entries(body['paths'] as Record<string, Record<string, Json>>).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, one]) =>
      objectsOf(one['requestBody'], `${method} ${path}`)
        .filter(([, schema]) => schema['additionalProperties'] === undefined || schema['additionalProperties'] === true)
        .map(([place]) => place),
    ),
  );
  // a key may have members that this service does not know (RFC 7517 4), and each kind of connection checks its own settings
  const allowed =
    /\.jwks\.properties\.keys\.items$|\.jwks\.anyOf\.0\.properties\.keys\.items$|\.settings$|\.attributes$/;
  expect(open.filter((place) => !allowed.test(place))).toEqual([]);
  const patch = (body['paths'] as Record<string, Record<string, Json>>)['/admin/api/clients/{id}']!['patch']!;
  const { schema } = (patch['requestBody'] as { content: { 'application/json': { schema: Json } } }).content[
    'application/json'
  ];
  expect(schema).toMatchObject({ additionalProperties: false, properties: { created_at: { readOnly: true } } });
});

test('a client is not created with a member that only the service sets (decisions 8)', async () => {
  const client = { client_name: 'Ledger', redirect_uris: ['https://ledger.example/cb'] };
  for (const member of ['created_at', 'approved_by', 'registration_access_token'])
    expect(await admin('/admin/api/clients', 'POST', { ...client, [member]: 'given' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_description: `${member} is set by the service: leave it out` },
    });
  expect(
    await admin('/admin/api/clients', 'POST', { ...client, redirect_uri: 'https://ledger.example/cb' }),
  ).toMatchObject({
    status: 400,
    body: { error_description: 'redirect_uri is unknown' },
  });
  expect((await admin('/admin/api/clients?q=ledger')).body['clients']).toEqual([]);
});

test.each<[string, () => Promise<string>]>([
  ['a user', async () => `users/${String((await made('users', { username: 'ada', claims: { name: 'Ada' } }))['sub'])}`],
  [
    'a client',
    async () => {
      const body = { client_name: 'App', redirect_uris: ['https://app.example/cb'], claim_rules: [] };
      return `clients/${String((await made('clients', body))['client_id'])}`;
    },
  ],
  ['a group', async () => `groups/${String((await made('groups', { name: 'crew' }))['name'])}`],
  [
    'a resource',
    async () =>
      `resources/${String((await made('resources', { resource: 'https://api.example/', name: 'API' }))['id'])}`,
  ],
  [
    'a connection',
    async () => {
      const body = { id: 'hub', kind: 'oauth', preset: 'github', display_name: 'Hub', settings: { client_id: 'x' } };
      return `connections/${String((await made('connections', { ...body, secret: 'hush' }))['id'])}`;
    },
  ],
  ['the appearance', () => Promise.resolve('appearance')],
])(
  'what was shown of %s can be sent back, and what only the service sets cannot be changed (decisions 8)',
  async (_, make) => {
    const path = `/admin/api/${await make()}`;
    const shown = (await admin(path)).body;
    const back = await admin(path, 'PATCH', shown);
    expect([back.status, back.body['error_description']]).toEqual([200, undefined]);
    const route = adminRoutes().find((one) => one.method === 'PATCH' && path.startsWith(one.path.split('/:')[0]!))!;
    const input = (route.documentedInput ?? route.input!({ passwordMinLength: 8 })) as z.ZodObject;
    const readOnly = Object.keys(shown).filter((member) => !Object.hasOwn(input.shape, member));
    expect(readOnly.length).toBeGreaterThan(0);
    for (const member of readOnly)
      expect(await admin(path, 'PATCH', { [member]: 'another' }), member).toMatchObject({
        status: 400,
        body: { error_description: `${member} is set by the service: leave it out, or send it as it was shown` },
      });
  },
);

test('the same holds for a scope and an attribute, which only lists show (decisions 8)', async () => {
  const things = {
    scopes: [{ name: 'team', claims: ['email'] }, 'team'],
    attributes: [{ name: 'floor', type: 'string' }, 'floor'],
  } as const;
  for (const [list, [body, name]] of Object.entries(things)) {
    const shown = await made(list, body);
    expect((await admin(`/admin/api/${list}/${name}`, 'PATCH', shown)).status, list).toBe(200);
    expect(await admin(`/admin/api/${list}/${name}`, 'PATCH', { ...shown, name: 'other' }), list).toMatchObject({
      status: 400,
      body: { error_description: 'name is set by the service: leave it out, or send it as it was shown' },
    });
  }
});
