// The OpenAPI document of the admin routes is complete and well-formed, and describes the real answers.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { answers, type AnswerName } from '../../src/admin/operations/answers.ts';
import { installedVersion } from '../../src/config/version.ts';
import { missing } from '../../src/admin/api/examples.ts';
import { adminRoutes } from '../../src/admin/api/routes.ts';
import { errorCodes } from '../../src/oauth/errors.ts';
import { auditEventTypes } from '../../src/repositories/audit/audit-events.ts';
import { openEncryption } from '../../src/domain/keys/encryption-at-rest.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { png } from '../helpers/images.ts';
import { routesOf } from '../helpers/route-map.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  parameters?: { name: string; in: string; required: boolean; schema: Json; example?: unknown }[];
  requestBody?: { required: boolean; content: { 'application/json': Content } };
  responses: Record<string, { $ref?: string; description?: string; content?: { 'application/json': Content } }>;
}
interface Content {
  schema: Json;
  example?: unknown;
}
type Json = Record<string, unknown>;
interface Document {
  openapi: string;
  info: Json;
  servers: { url: string }[];
  tags: { name: string }[];
  security: Record<string, string[]>[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json>; securitySchemes: Json } & Json;
}

let service: TestService;
let provider: Provider;
let token: string;
let document: Document;
beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      PASSWORD_MIN_LENGTH: '14',
      OUTBOUND_ALLOW: provider.host,
      CONNECTIONS_ALLOW: 'localhost:1',
    },
  });
  token = await adminToken(service);
  document = (await call(`${service.issuer}/admin/api/openapi.json`, { token })).body as unknown as Document;
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

test('the document is readable only with a token of the admin routes (decisions section 8)', async () => {
  const address = `${service.issuer}/admin/api/openapi.json`;
  expect(await call(address)).toMatchObject({ status: 401 });
  const { access_token } = await obtainTokens(service, await service.createClient(), await service.createUser());
  expect(await call(address, { token: access_token })).toMatchObject({
    status: 403,
    body: { error: 'insufficient_scope' },
  });
  const answer = await call(address, { token });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  const headers = document.components['headers'] as { ApiVersion: { schema: Json } };
  expect(answer.headers.get('api-version')).toBe(headers.ApiVersion.schema['const']);
});

test('/openapi.json is the same document without a token, and 404 with OPENAPI=off (decisions section 8)', async () => {
  const answer = await fetch(`${service.issuer}/openapi.json`);
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'public, max-age=300']);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(await answer.json()).toEqual(document);
  const closed = await startTestService({ environment: { OPENAPI: 'off' } });
  try {
    expect((await fetch(`${closed.issuer}/openapi.json`)).status).toBe(404);
  } finally {
    await closed.stop();
  }
});

test('each operation has examples of its path, its body and its answer, and each example fits its schema (decisions section 8)', () => {
  for (const { path, method, operation } of operations()) {
    const { operationId: id, parameters = [], requestBody, responses } = operation;
    const [answer] = Object.values(responses);
    const contents = [requestBody?.content, answer!.content].flatMap((each) => Object.values<Content>(each ?? {}));
    const examples = [...contents, ...parameters.filter((parameter) => parameter.in === 'path')];
    // one without any needs none: it takes and answers nothing
    if (examples.length === 0) expect(answer, id).not.toHaveProperty('content');
    for (const { schema, example } of examples) {
      expect(example, id).toBeDefined();
      // src/admin/api/examples.ts has a value for each name
      expect(JSON.stringify(example), id).not.toContain(`"${missing}"`);
      const read = z.fromJSONSchema(standalone(schema) as never).safeParse(example);
      expect(read.error?.issues, `${id}: ${JSON.stringify(example)}`).toBeUndefined();
    }
    const body = requestBody?.content['application/json']?.example;
    if (body === undefined) continue;
    // src/admin/api/example-bodies.ts has the body of a change
    expect(Object.keys(body as object), id).not.toEqual([]);
    const route = adminRoutes().find((one) => one.method.toLowerCase() === method && template(one.path) === path)!;
    expect(route.input!({ passwordMinLength: 14 }).safeParse(body).error?.issues, id).toBeUndefined();
  }
});

test('the document lists exactly the admin routes of the route map (decisions section 8)', () => {
  const documented = operations().map(
    ({ path, method }) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
  );
  const real = routesOf(service.apps[0]!).filter((route) => route.includes(' /admin/api/'));
  expect(documented.sort()).toEqual(real);
});

test('every route of the document refuses a request without a token (decisions section 8)', async () => {
  for (const { path, method, operation } of operations()) {
    const answer = await call(`${service.issuer}${path.replace(/\{\w+\}/g, 'x')}`, {
      method: method.toUpperCase(),
      ...(operation.requestBody && { body: {} }),
    });
    expect(answer.status, operation.operationId).toBe(401);
  }
});

test('the document is well-formed OpenAPI 3.1 (OpenAPI 3.1 section 4)', () => {
  expect(document.openapi).toMatch(/^3\.1\.\d+$/);
  expect(document.info).toMatchObject({ title: expect.any(String), version: installedVersion() });
  expect(document.servers).toEqual([{ url: service.issuer }]);
  expect(Object.keys(document.security[0]!)).toEqual(Object.keys(document.components.securitySchemes));
  const ids = operations().map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const tags = document.tags.map((tag) => tag.name);
  for (const { path, method, operation } of operations()) {
    expect(path).toMatch(/^\/[a-z_/{}.-]+$/);
    expect(['get', 'post', 'patch', 'delete']).toContain(method);
    expect(operation.operationId).toMatch(/^[a-z_]+$/);
    expect(operation.summary.length).toBeGreaterThan(5);
    expect(tags).toEqual(expect.arrayContaining(operation.tags));
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const parameters = operation.parameters ?? [];
    expect(parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name)).toEqual(
      inPath,
    );
    for (const parameter of parameters) {
      expect(parameter.required).toBe(parameter.in === 'path');
      expect(parameter.schema).toMatchObject({ type: expect.any(String) });
    }
    if (method === 'get' || method === 'delete') expect(operation).not.toHaveProperty('requestBody');
    expect(Object.keys(operation.responses)).toEqual([expect.stringMatching(/^20[014]$/), 'default']);
  }
  const references: string[] = [];
  walk(document, (name, value) => {
    if (name === '$ref') references.push(value as string);
    // these keywords belong to separate documents
    expect(['$schema', '$id', '$defs']).not.toContain(name);
  });
  expect(references.length).toBeGreaterThan(20);
  for (const reference of new Set(references)) {
    expect(reference).toMatch(/^#\//);
    let target: unknown = document;
    for (const step of reference.slice(2).split('/')) target = (target as Json)[step];
    expect(target, reference).toBeTypeOf('object');
  }
  // every named schema is valid JSON Schema
  for (const [name, schema] of Object.entries(document.components.schemas))
    expect(() => z.fromJSONSchema(standalone(schema) as never), name).not.toThrow();
});

test("the document states the rules of the validation: bounds, enumerations, and this service's shortest password (decisions section 8)", () => {
  const operation = (method: string, path: string) => document.paths[`/admin/api${path}`]![method]!;
  const body = (method: string, path: string) =>
    operation(method, path).requestBody!.content['application/json'].schema as { properties: Record<string, Json> };
  const description = expect.any(String) as string;
  const optional = { in: 'query', required: false };
  const flag = { type: 'string', enum: ['true', 'false'], description };
  expect(operation('get', '/clients').parameters).toEqual([
    { name: 'limit', ...optional, schema: { type: 'integer', minimum: 1, maximum: 200, default: 50, description } },
    { name: 'cursor', ...optional, schema: { type: 'string', maxLength: 2000, description } },
    { name: 'status', ...optional, schema: { type: 'string', enum: ['enabled', 'disabled'], description } },
    { name: 'waiting', ...optional, schema: flag },
    { name: 'self_registered', ...optional, schema: flag },
    { name: 'q', ...optional, schema: { type: 'string', maxLength: 200, description } },
  ]);
  expect(body('post', '/users')).toMatchObject({
    required: ['username'],
    additionalProperties: false,
    properties: { password: { type: 'string', minLength: 14, maxLength: 128 } },
  });
  expect(body('post', '/clients').properties).toMatchObject({
    scope: { default: 'openid profile email' },
    first_party: { type: 'boolean' },
  });
  // a change has no defaults: an omitted member stays; a rule for claims has a member of that name
  const withoutRules = (key: string, value: unknown) => (key === 'claim_rules' ? undefined : value);
  expect(JSON.stringify(body('patch', '/clients/{id}'), withoutRules)).not.toContain('"default"');
  expect(body('patch', '/clients/{id}')).not.toHaveProperty('required');
  expect(operation('post', '/clients/{id}/approve').requestBody!.required).toBe(true);
  expect(operation('post', '/keys').requestBody!.required).toBe(false);
  expect(operation('post', '/clients/{id}/disable')).not.toHaveProperty('requestBody');
  expect(document.components.schemas['Error']).toMatchObject({ properties: { error: { enum: errorCodes } } });
  expect(document.components.schemas['AuditEvent']).toMatchObject({
    properties: { type: { enum: [...auditEventTypes, 'token.issued'] } },
  });
});

describe('the answers of real requests', () => {
  const seen = new Set<string>();

  /** Sends a request, and checks its answer against the document and, without additional members, against the schema. */
  async function check(method: string, path: string, template: string, body?: unknown): Promise<Json> {
    const answer = await call(`${service.issuer}/admin/api${path}`, {
      method,
      token,
      ...(body !== undefined && { body }),
    });
    const operation = document.paths[`/admin/api${template}`]![method.toLowerCase()]!;
    seen.add(operation.operationId);
    expect(Object.keys(operation.responses)).toContain(String(answer.status));
    const schema = operation.responses[answer.status]!.content?.['application/json'].schema;
    if (schema === undefined) {
      expect(answer.status).toBe(204);
      return {};
    }
    const name = (schema['$ref'] as string).split('/').at(-1) as AnswerName;
    expect(z.fromJSONSchema(standalone(schema) as never).safeParse(answer.body), name).toMatchObject({ success: true });
    if (name !== 'OpenApi') expect(undocumented(answers[name], answer.body), name).toEqual([]);
    return answer.body;
  }

  test('the answers about users, sessions and grants match their schemas (decisions section 8)', async () => {
    const user = await check('POST', '/users', '/users', {
      username: 'Ada',
      email: 'ada@example.com',
      password: 'correct horse battery staple',
      groups: ['staff'],
      claims: { name: 'Ada', address: { country: 'NL' } },
    });
    const guest = await check('POST', '/users', '/users', { username: 'guest', invite: true });
    expect(guest).toHaveProperty('invitation_uri');
    const invitation = `/users/${guest['sub'] as string}/invitation`;
    await check('POST', invitation, '/users/{sub}/invitation');
    await check('DELETE', invitation, '/users/{sub}/invitation');
    const path = `/users/${user['sub'] as string}`;
    await check('GET', path, '/users/{sub}');
    await check('PATCH', path, '/users/{sub}', { claims: { name: null }, email: null });
    await check('POST', `${path}/recovery-link`, '/users/{sub}/recovery-link', { lifetime: 60 });
    await check('GET', '/users?limit=1', '/users');
    const other = await service.createUser();
    const client = await service.createClient();
    await obtainTokens(service, client, other);
    const { sessions } = await check('GET', `/sessions?sub=${other.sub}`, '/sessions');
    expect(sessions).toHaveLength(1);
    await check('DELETE', `/sessions/${(sessions as Json[])[0]!['id'] as string}`, '/sessions/{id}');
    await check('DELETE', `/users/${other.sub}/sessions`, '/users/{sub}/sessions');
    await check('GET', `/users/${other.sub}/access/${client.clientId}`, '/users/{sub}/access/{client_id}');
    const { grants } = await check('GET', `/users/${other.sub}/grants`, '/users/{sub}/grants');
    expect(grants).toHaveLength(1);
    await check('DELETE', `/users/${other.sub}/grants/${client.clientId}`, '/users/{sub}/grants/{client_id}');
    await check('DELETE', `${path}/sign-in-failures`, '/users/{sub}/sign-in-failures');
    const id = await authenticatorOf(user['sub'] as string);
    const { second_factors } = await check('GET', `${path}/second-factors`, '/users/{sub}/second-factors');
    expect(second_factors).toMatchObject([{ id, kind: 'authenticator', name: 'Telephone' }]);
    await check('DELETE', `${path}/second-factors/${id}`, '/users/{sub}/second-factors/{id}');
    await check('DELETE', `${path}/second-factors`, '/users/{sub}/second-factors');
    await check('DELETE', path, '/users/{sub}');
  });

  test('the answers about sign-up links match their schemas (pages, sign-up links)', async () => {
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const made = { name: 'Crew', uses: 3, expires_at, domain: 'example.com', groups: [] };
    await check('POST', '/sign-up-links', '/sign-up-links', made);
    await check('GET', '/sign-up-links?limit=1', '/sign-up-links');
    await check('GET', '/sign-up-links/Crew', '/sign-up-links/{sign_up_link}');
    await check('PATCH', '/sign-up-links/Crew', '/sign-up-links/{sign_up_link}', { domain: null });
    await check('DELETE', '/sign-up-links/Crew', '/sign-up-links/{sign_up_link}');
  });

  test('the answers about resources match their schemas (protocols 1.1)', async () => {
    const scopes = [{ value: 'notes.read', description: { en: 'Read your notes' } }];
    const made = { resource: 'https://notes.example/', name: 'Notes', scopes, access_token_lifetime: 60 };
    await check('POST', '/resources', '/resources', made);
    await check('GET', '/resources?limit=1', '/resources');
    const path = `/resources/${encodeURIComponent(made.resource)}`;
    await check('GET', path, '/resources/{resource}');
    await check('GET', `${path}/metadata`, '/resources/{resource}/metadata');
    await check('PATCH', path, '/resources/{resource}', { clients: 'approved' });
    await check('DELETE', path, '/resources/{resource}');
  });

  test('the answers about attributes match their schemas (federation 7)', async () => {
    await check('POST', '/attributes', '/attributes', { name: 'floor', type: 'number', label: { en: 'Floor' } });
    await check('PATCH', '/attributes/floor', '/attributes/{attribute}', { person: 'read', max: 9 });
    await check('GET', '/attributes', '/attributes');
    const user = await service.createUser();
    await check('PATCH', `/users/${user.sub}`, '/users/{sub}', { attributes: { floor: 3 } });
    await check('DELETE', '/attributes/floor', '/attributes/{attribute}');
  });

  test('the answers about connections and links match their schemas, and show no secret (federation 4, FR17)', async () => {
    const secret = 'canary of the secret';
    const made = {
      id: 'honest',
      kind: 'oidc',
      display_name: 'Honest',
      settings: provider.settings,
      secret,
      status: 'enabled',
    };
    await check('POST', '/connections', '/connections', made);
    const listed = [
      await check('GET', '/connections', '/connections'),
      await check('GET', '/connections/honest', '/connections/{id}'),
      await check('PATCH', '/connections/honest', '/connections/{id}', { provisioning: 'on', version: 1 }),
    ];
    expect(JSON.stringify(listed)).not.toContain(secret);
    expect(listed[2]).toMatchObject({ secret: { set: true }, version: 2 });
    const { sub } = await service.createUser();
    await check('POST', `/users/${sub}/connections`, '/users/{sub}/connections', {
      connection: 'honest',
      subject: 'x',
    });
    await check('POST', `/users/${sub}/break-glass`, '/users/{sub}/break-glass', { marked: true });
    await check('GET', `/users/${sub}/connections`, '/users/{sub}/connections');
    await check('POST', `/users/${sub}/connections/honest/keep`, '/users/{sub}/connections/{connection}/keep');
    await check('DELETE', `/users/${sub}/connections/honest`, '/users/{sub}/connections/{connection}');
    for (const method of ['GET', 'DELETE'])
      await check(method, '/connections/honest/word-confirmations', '/connections/{id}/word-confirmations');
    await check('DELETE', '/connections/honest', '/connections/{id}');
  });

  test('the answers about directories and their imports match their schemas, and show no secret (federation 6, FR17)', async () => {
    const secret = 'canary of the secret';
    const settings = { url: 'ldaps://localhost:1', bind_dn: 'cn=x,dc=example', base: 'dc=example', import: 60 };
    const made = { id: 'company', kind: 'ldap', display_name: 'Company', settings, secret, status: 'enabled' };
    const shown = [
      await check('POST', '/connections', '/connections', made),
      await check('POST', '/connections/company/test', '/connections/{id}/test'),
      await check('POST', '/connections/test', '/connections/test', { settings, secret }),
      await check('GET', '/connections/company/import', '/connections/{id}/import'),
    ];
    // the lease of another run keeps the service's own from changing it
    await service.database.sql(
      `INSERT INTO directory_imports AS i (connection_id) VALUES ('company') ON CONFLICT (connection_id) DO UPDATE SET holder = NULL`,
    );
    await service.database.sql(
      `UPDATE directory_imports SET state = 'held', counts = '{"disabled": 7}', finished_at = now(), holder = 'another run',
         held_until = now() + interval '1 hour'`,
    );
    shown.push(await check('GET', '/connections/company/import', '/connections/{id}/import'));
    shown.push(await check('POST', '/connections/company/import/approve', '/connections/{id}/import/approve'));
    expect(shown.at(-1)).toEqual({ disabled: 7 });
    await check('POST', '/connections/company/import', '/connections/{id}/import', { full: true });
    expect(JSON.stringify(shown)).not.toContain(secret);
    await check('DELETE', '/connections/company', '/connections/{id}');
  });

  test('the answers about scopes for claims, roles and rules match their schemas (federation 7)', async () => {
    await check('POST', '/scopes', '/scopes', { name: 'staff', text: { en: 'See more' }, claims: ['groups'] });
    await check('PATCH', '/scopes/staff', '/scopes/{scope}', { claims: ['groups', 'email'] });
    await check('GET', '/scopes', '/scopes');
    await check('DELETE', '/scopes/staff', '/scopes/{scope}');
    const { clientId } = await service.createClient();
    const user = await service.createUser();
    const roles = `/clients/${clientId}/roles`;
    await check('POST', roles, '/clients/{id}/roles', { name: 'admin', description: 'All' });
    await check('POST', `${roles}/admin/give`, '/clients/{id}/roles/{role}/give', { users: [user.sub] });
    await check('GET', roles, '/clients/{id}/roles');
    await check('PATCH', `${roles}/admin`, '/clients/{id}/roles/{role}', { description: 'Nothing' });
    await check('POST', `${roles}/admin/take`, '/clients/{id}/roles/{role}/take', { users: [user.sub] });
    await check('DELETE', `${roles}/admin`, '/clients/{id}/roles/{role}');
    const claim_rules = [{ claim: 'g', from: 'groups', as: 'joined', into: ['userinfo'] }];
    await check('PATCH', `/clients/${clientId}`, '/clients/{id}', { claim_rules });
  });

  test('the answers about groups match their schemas (decisions 8)', async () => {
    const user = await service.createUser();
    await check('POST', '/groups', '/groups', { name: 'crew', description: 'On board' });
    await check('GET', '/groups?limit=1', '/groups');
    await check('POST', '/groups/crew/members', '/groups/{name}/members', { add: [user.sub], remove: ['nobody'] });
    await check('GET', '/groups/crew', '/groups/{name}');
    await check('PATCH', '/groups/crew', '/groups/{name}', { name: 'sailors' });
    await check('DELETE', '/groups/sailors', '/groups/{name}');
  });

  test('the import and the exports of users and events answer with the documented media types (decisions 8)', async () => {
    for (const [method, path, type] of [
      ['POST', '/users/import', 'application/jsonl'],
      ['GET', '/users/export', 'application/jsonl'],
      ['GET', '/audit/export', 'application/jsonl'],
    ] as const) {
      const answer = await fetch(`${service.issuer}/admin/api${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(method === 'POST' && { 'content-type': 'text/csv' }) },
        ...(method === 'POST' && { body: 'username\nfrom a file\n' }),
      });
      expect(answer.headers.get('content-type')).toContain(type);
      for (const line of (await answer.text()).split('\n').filter(Boolean)) JSON.parse(line);
      const operation = document.paths[`/admin/api${path}`]![method.toLowerCase()]!;
      expect(Object.keys(operation.responses['200']!.content!)).toContain(type);
      if (method === 'POST')
        expect(Object.keys(operation.requestBody!.content)).toEqual(['text/csv', 'application/jsonl']);
      seen.add(operation.operationId);
    }
  });

  test('a plan of a configuration file has the documented media types, and its application the documented answer (decisions 8, federation 10)', async () => {
    const answer = await fetch(`${service.issuer}/admin/api/config/plan`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/yaml' },
      body: 'apiVersion: gatehouse/v1\nname: document\nattributes:\n  deck:\n    type: number\n',
    });
    expect(answer.headers.get('content-type')).toContain('application/json');
    const { operationId, requestBody, responses } = document.paths['/admin/api/config/plan']!['post']!;
    expect(Object.keys(requestBody!.content)).toEqual(['application/yaml']);
    expect(Object.keys(responses['200']!.content!)).toEqual(['application/json']);
    seen.add(operationId);
    await check('POST', '/config/apply', '/config/apply', (await answer.json()) as object);
    await check('POST', '/config/take-over', '/config/take-over', { section: 'attributes', key: 'deck' });
  });

  test('the answers about clients match their schemas (decisions section 8)', async () => {
    const metadata = { redirect_uris: ['https://rp.example.com/cb'], contacts: ['a@example.com'] };
    await check('POST', '/clients', '/clients', { ...metadata, access_token_lifetime: 60, status: 'disabled' });
    await check('POST', '/clients', '/clients', { grant_types: ['client_credentials'], scope: 'admin' });
    const registered = await call(`${service.issuer}/register`, { body: metadata });
    const path = `/clients/${registered.body['client_id'] as string}`;
    const { version } = await check('GET', path, '/clients/{id}');
    const refused = await check('POST', `${path}/refuse`, '/clients/{id}/refuse', { version, reason: 'not now' });
    expect(refused['refusal_reason']).toBe('not now');
    await check('POST', '/clients/decide', '/clients/decide', {
      decision: 'refuse',
      reason: 'not now',
      clients: [{ client_id: 'nobody', version: 1 }],
    });
    await check('POST', `${path}/approve`, '/clients/{id}/approve', { version: refused['version'] });
    const changed = await check('PATCH', path, '/clients/{id}', { token_endpoint_auth_method: 'client_secret_jwt' });
    expect(changed).toHaveProperty('client_secret');
    await check('PATCH', path, '/clients/{id}', { client_name: 'Harbour' });
    const { clientId: other } = await service.createClient({ client_name: 'Harbours' });
    const dismissal = '/clients/{id}/look-alikes/{other}/dismiss';
    await check('POST', `${path}/look-alikes/${other}/dismiss`, dismissal, { other_name: 'Harbours' });
    await check('POST', `${path}/secrets`, '/clients/{id}/secrets', { secrets: ['shared_secret'] });
    await check('POST', `${path}/disable`, '/clients/{id}/disable');
    await check('GET', '/clients?limit=1', '/clients');
    await check('DELETE', path, '/clients/{id}');
  });

  test('the answer about a client with pending changes matches its schema (decisions section 2)', async () => {
    const client = await service.createClient();
    const update = await call(`${service.issuer}/register/${client.clientId}`, {
      method: 'PUT',
      token: client.registrationAccessToken,
      body: { client_id: client.clientId, redirect_uris: ['https://rp.example.com/more'] },
    });
    expect(update.body).toHaveProperty('pending_changes');
    expect(await check('GET', `/clients/${client.clientId}`, '/clients/{id}')).toHaveProperty('pending_changes');
  });

  test('the answers about keys, audit events, registration tokens and the document match their schemas (decisions section 8)', async () => {
    await check('POST', '/registration-tokens', '/registration-tokens', {});
    await check('GET', '/keys', '/keys');
    const { keys } = (await check('POST', '/keys', '/keys', {})) as { keys: { kid: string; state: string }[] };
    await check('DELETE', `/keys/${keys.find((key) => key.state === 'waiting')!.kid}`, '/keys/{kid}');
    await check('POST', '/saml-keys', '/saml-keys', {});
    await check('GET', '/saml-keys', '/saml-keys');
    const saml = (await check('POST', '/saml-keys', '/saml-keys', {})) as { keys: { id: string; state: string }[] };
    const [former, next] = ['signing', 'waiting'].map((state) => saml.keys.find((key) => key.state === state)!.id);
    await check('POST', `/saml-keys/${next}/activate`, '/saml-keys/{id}/activate', {});
    await check('DELETE', `/saml-keys/${former}`, '/saml-keys/{id}');
    await check('GET', '/audit?limit=200', '/audit');
    const refused = await new UserAgent(service).get('/authorize?client_id=unknown');
    await check('GET', `/refusals/${refused.reference}`, '/refusals/{reference}');
    await service.database.sql(`INSERT INTO logout_deliveries (client_id, sub, sid) VALUES ('gone', 'alice', 's')`);
    expect(await check('GET', '/logout-deliveries', '/logout-deliveries')).toMatchObject({
      logout_deliveries: [{ client_id: 'gone' }],
    });
    await check('GET', '/openapi.json', '/openapi.json');
  });

  test('the answers about webhooks match their schemas (federation 14)', async () => {
    const made = { name: 'Harbour', url: 'https://hooks.example/x', events: ['group.*'], status: 'disabled' };
    expect(await check('POST', '/webhooks', '/webhooks', made)).toHaveProperty('new_secret');
    await check('GET', '/webhooks?limit=1', '/webhooks');
    const one = '/webhooks/Harbour';
    expect(await check('GET', one, '/webhooks/{webhook}')).not.toHaveProperty('new_secret');
    await check('PATCH', one, '/webhooks/{webhook}', { events: ['group.*', 'webhook.*'] });
    await check('POST', `${one}/secrets`, '/webhooks/{webhook}/secrets');
    await check('DELETE', `${one}/secrets/secret`, '/webhooks/{webhook}/secrets/{secret}');
    const [event] = await eventsOf(service, { type: 'webhook.created' });
    await check('POST', `${one}/replay`, '/webhooks/{webhook}/replay', { event: event!.id });
    expect(await check('GET', `${one}/deliveries?limit=1`, '/webhooks/{webhook}/deliveries')).toMatchObject({
      deliveries: [{ event: event!.id, status: 'waiting', attempts: 0 }],
    });
    await check('DELETE', one, '/webhooks/{webhook}');
  });

  test('the answers about exchange policies match their schemas (protocols 6.3)', async () => {
    const resource = 'https://exchange.example/';
    await check('POST', '/resources', '/resources', { resource, name: 'Exchange' });
    const { clientId } = await service.createClient();
    const policy = { name: 'Exchange', client_id: clientId, resources: [resource], scopes: ['read'] };
    await check('POST', '/exchange-policies', '/exchange-policies', policy);
    await check('GET', '/exchange-policies?limit=1', '/exchange-policies');
    const one = '/exchange-policies/Exchange';
    const documented = '/exchange-policies/{exchange_policy}';
    await check('GET', one, documented);
    await check('PATCH', one, documented, { mode: 'impersonate' });
    await check('DELETE', one, documented);
  });

  test('the answers about types of authorization details match their schemas (protocols 5.6)', async () => {
    const path = '/authorization-details-types';
    const schema = { type: 'object', properties: { amount: { type: 'string' } } };
    await check('POST', path, path, { type: 'payment', schema, text: { en: 'Pay {amount}' } });
    await check('GET', `${path}?limit=1`, path);
    const documented = `${path}/{authorization_details_type}`;
    await check('GET', `${path}/payment`, documented);
    await check('PATCH', `${path}/payment`, documented, { removable: true, required_acr: 'urn:gatehouse:acr:mfa' });
    await check('DELETE', `${path}/payment`, documented);
  });

  test('the answers about trusted issuers match their schemas (protocols 6.4)', async () => {
    const resource = 'https://issued.example/';
    await check('POST', '/resources', '/resources', { resource, name: 'Issued' });
    const jwks = { keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] };
    const issuer = {
      name: 'Partner',
      issuer: 'https://partner.example',
      jwks,
      resources: [resource],
      scopes: ['read'],
    };
    await check('POST', '/trusted-issuers', '/trusted-issuers', issuer);
    await check('GET', '/trusted-issuers?limit=1', '/trusted-issuers');
    const one = '/trusted-issuers/Partner';
    const documented = '/trusted-issuers/{trusted_issuer}';
    await check('GET', one, documented);
    await check('PATCH', one, documented, { max_lifetime: 60 });
    await check('DELETE', one, documented);
  });

  test('the answers about connected servers match their schemas (protocols 6.5)', async () => {
    const { clientId } = await service.createClient();
    const clients = [{ client: clientId, id: 'there', scopes: ['read'] }];
    const server = { name: 'Server', issuer: 'https://server.example', clients };
    await check('POST', '/connected-servers', '/connected-servers', server);
    await check('GET', '/connected-servers?limit=1', '/connected-servers');
    const one = '/connected-servers/Server';
    const documented = '/connected-servers/{connected_server}';
    await check('GET', one, documented);
    await check('PATCH', one, documented, { subject: 'pairwise' });
    await check('DELETE', one, documented);
  });

  test('the answers about SCIM sources match their schemas (federation 8)', async () => {
    const one = '/scim-sources/entra';
    const documented = '/scim-sources/{scim_source}';
    await check('POST', '/scim-sources', '/scim-sources', { id: 'entra', name: 'Entra ID' });
    await check('GET', '/scim-sources?limit=1', '/scim-sources');
    await check('GET', one, documented);
    await check('PATCH', one, documented, { name: 'Entra' });
    const { id } = await check('POST', `${one}/tokens`, `${documented}/tokens`);
    expect(await check('GET', `${one}/tokens`, `${documented}/tokens`)).toMatchObject({ tokens: [{ id }] });
    await check('DELETE', `${one}/tokens/${String(id)}`, `${documented}/tokens/{token}`);
    await check('DELETE', one, documented);
  });

  test('the answers about provisioning targets match their schemas (federation 8)', async () => {
    const { clientId } = await service.createClient();
    const given = { client: clientId, base_url: 'https://app.example/scim/v2', bearer_token: 'x' };
    const all = '/provisioning-targets';
    const documented = `${all}/{provisioning_target}`;
    const { id } = await check('POST', all, all, given);
    await check('GET', `${all}?limit=1`, all);
    const one = `${all}/${String(id)}`;
    expect(await check('GET', one, documented)).toMatchObject({ state: 'held', bearer_token: { set: true } });
    await check('PATCH', one, documented, { leave: 'nothing' });
    await check('POST', `${one}/approve`, `${documented}/approve`, {});
    await check('POST', `${one}/reconcile`, `${documented}/reconcile`);
    await check('GET', `${one}/users?failing=true`, `${documented}/users`);
    await check('DELETE', one, documented);
  });

  test('the answers about the appearance and the test email match their schemas (decisions 8)', async () => {
    const change = { product_name: 'Harbour ID', accent_color: '#0b57d0', logo: png.toString('base64') };
    expect(await check('PATCH', '/appearance', '/appearance', change)).toHaveProperty('accent_color_dark');
    await check('GET', '/appearance', '/appearance');
    const { sub } = await service.createUser({ admin: true, email: 'ops@example.com' });
    await check('POST', '/mail/test', '/mail/test', { sub });
  });

  test('the answers about uploaded images match their schemas (decisions 8)', async () => {
    const { sub } = await service.createUser();
    const { clientId } = await service.createClient();
    const made = { id: 'with-logo', kind: 'oauth', preset: 'github', display_name: 'x', settings: { client_id: 'x' } };
    await check('POST', '/connections', '/connections', made);
    for (const [path, documented, member] of [
      [`/users/${sub}`, '/users/{sub}', 'picture'],
      [`/clients/${clientId}`, '/clients/{id}', 'logo'],
      ['/connections/with-logo', '/connections/{id}', 'logo'],
    ] as const) {
      const image = { [member]: png.toString('base64') };
      expect(await check('POST', `${path}/${member}`, `${documented}/${member}`, image)).toMatchObject({
        type: 'image/png',
      });
      await check('GET', path, documented);
      await check('DELETE', `${path}/${member}`, `${documented}/${member}`);
    }
  });

  test('refusals match their schema (decisions section 7)', async () => {
    for (const [method, path, body] of [
      ['GET', '/clients/none', undefined],
      ['POST', '/users', {}],
      ['GET', '/audit?cursor=x', undefined],
    ] as const) {
      const answer = await call(`${service.issuer}/admin/api${path}`, { method, token, ...(body && { body }) });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(undocumented(answers.Error, answer.body)).toEqual([]);
    }
  });

  test('these tests called every route of the document (decisions section 8)', () => {
    expect([...seen].sort()).toEqual(
      operations()
        .map(({ operation }) => operation.operationId)
        .sort(),
    );
    expect(seen.size).toBe(adminRoutes().length);
  });
});

/** Returns a schema of the document together with the schemas that it refers to. */
const template = (path: string) => path.replace(/:(\w+)/g, '{$1}');

function standalone(schema: Json): Json {
  return JSON.parse(
    JSON.stringify({ ...schema, $defs: document.components.schemas }).replaceAll('#/components/schemas/', '#/$defs/'),
  ) as Json;
}

/** Lists what an answer holds beyond its schema, at any depth. */
function undocumented(schema: z.ZodType, value: unknown): string[] {
  const parsed = strict(schema).safeParse(value);
  return parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${JSON.stringify(issue)}`);
}

function strict(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return strict(schema.unwrap() as z.ZodType).optional();
  if (schema instanceof z.ZodArray) return z.array(strict(schema.element as z.ZodType));
  if (schema instanceof z.ZodObject && !(schema.def.catchall instanceof z.ZodUnknown)) {
    const shape: Record<string, z.ZodType> = schema.shape;
    return z.strictObject(Object.fromEntries(Object.entries(shape).map(([name, rule]) => [name, strict(rule)])));
  }
  return schema;
}

function walk(value: unknown, visit: (name: string, value: unknown) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    visit(name, member);
    walk(member, visit);
  }
}

/** Stores an authenticator app of a user; the key is not used. */
async function authenticatorOf(sub: string): Promise<string> {
  const secretEncrypted = (await openEncryption(service.store, [service.secretKey])).secretBox.seal('key', 'test');
  await service.store.totpAuthenticators.insert({ id: 'one', sub, name: 'Telephone', secretEncrypted, lastStep: 0 });
  return 'one';
}
