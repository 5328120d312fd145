// An administrator registers APIs with scopes of their own; clients get tokens that are good at one of them only (RFC 8707).
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resourceKey } from '../../src/oauth/resource-key.ts';
import { adminToken, call, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

let service: TestService;
let token: string;
let server: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
  server = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
});
afterAll(() => service?.stop());

let number = 0;
const newUri = () => `https://api-${(number += 1)}.example/v1`;
const admin = (path: string, method = 'GET', body?: unknown) =>
  call(`${service.issuer}/admin/api/resources${path}`, { method, token, body });
const at = (uri: string) => `/${encodeURIComponent(uri)}`;
/** A resource whose server is the client of this file. */
async function resource(members: Record<string, unknown> = {}): Promise<string> {
  const uri = newUri();
  const made = await admin('', 'POST', { resource: uri, name: 'Notes', client_id: server.clientId, ...members });
  expect(made.status).toBe(201);
  return uri;
}
const machineWith = (scope?: string) =>
  service.createClient({ redirect_uris: [], grant_types: ['client_credentials'], ...(scope && { scope }) });
const credentials = (client: TestClient, fields: Record<string, string> = {}) =>
  tokenRequest(service.issuer, client, { grant_type: 'client_credentials', ...fields });
const seen = async (access: unknown, by = server) => (await introspect(service.issuer, by, String(access))).body;

describe('the registry', () => {
  test('an administrator creates, shows, changes and deletes a resource, and each is an event (protocols 1.1)', async () => {
    const uri = newUri();
    const scopes = [{ value: 'notes.read', description: { en: 'Read your notes', de: 'Ihre Notizen lesen' } }];
    const made = await admin('', 'POST', { resource: uri, name: 'Notes', client_id: server.clientId, scopes });
    expect(made).toMatchObject({
      status: 201,
      body: { resource: uri, name: 'Notes', client_id: server.clientId, clients: 'listed', registered: false, scopes },
    });
    expect((await admin(at(uri))).body).toEqual(made.body);
    expect((await admin(`/${String(made.body['id'])}`)).body).toEqual(made.body);
    expect((await admin('?limit=1')).body).toMatchObject({ resources: [{ resource: uri }] });
    const changed = await admin(at(uri), 'PATCH', { clients: 'approved', access_token_lifetime: 60, client_id: null });
    expect(changed.body).toMatchObject({ clients: 'approved', access_token_lifetime: 60, scopes });
    expect(changed.body).not.toHaveProperty('client_id');
    expect((await admin(at(uri), 'DELETE')).status).toBe(204);
    expect((await admin(at(uri))).status).toBe(404);
    const events = await service.database.sql<{ type: string; detail: Record<string, unknown> }>(
      `SELECT type, detail FROM audit_events WHERE detail ->> 'resource' = $1 ORDER BY id`,
      [uri],
    );
    expect(events.map(({ type }) => type)).toEqual(['resource.created', 'resource.changed', 'resource.deleted']);
    expect(events[1]!.detail['members']).toEqual(
      ['clientId', 'clients', 'accessTokenLifetime'].map((name) =>
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      ),
    );
  });

  test.each([
    ['a relative URI', { resource: '/v1' }],
    ['a fragment', { resource: 'https://api.example/#x' }],
    ['a URI of 513 characters', { resource: `https://api.example/${'a'.repeat(493)}` }],
    ['a scope of this service', { scopes: [{ value: 'openid' }] }],
    ['an administrator scope', { scopes: [{ value: 'admin' }] }],
    ['a scope with a space', { scopes: [{ value: 'a b' }] }],
    ['a scope twice', { scopes: [{ value: 'a' }, { value: 'a' }] }],
    ['a description without a language', { scopes: [{ value: 'a', description: { '': 'A' } }] }],
    ['an unknown client', { client_id: 'nobody' }],
    ['an unknown member', { token_format: 'jwt' }],
  ])('%s is refused (RFC 8707 2, RFC 6749 3.3)', async (_what, members) => {
    const made = await admin('', 'POST', { resource: newUri(), name: 'Notes', ...members });
    expect(made).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });

  test('no address of the service becomes a resource of an administrator (security R115)', async () => {
    for (const uri of [service.issuer, `${service.issuer}/user/info`])
      expect((await admin('', 'POST', { resource: uri, name: 'Own' })).status).toBe(400);
  });

  test('a URI that is equal to that of another resource is a conflict (RFC 3986 6.2.2, 6.2.3)', async () => {
    const host = `equal-${(number += 1)}.example`;
    expect((await admin('', 'POST', { resource: `https://${host}`, name: 'First' })).status).toBe(201);
    for (const uri of [`https://${host}/`, `HTTPS://${host.toUpperCase()}:443`, `https://${host}:443/`])
      expect((await admin('', 'POST', { resource: uri, name: 'Second' })).status, uri).toBe(409);
    for (const uri of [`https://${host}/x`, `https://${host}:8443`, `http://${host}`, `https://${host}/?`])
      expect((await admin('', 'POST', { resource: uri, name: 'Other' })).status, uri).toBe(201);
  });

  test('the database compares URIs as the readable rule does (RFC 3986 6.2.2, 6.2.3)', async () => {
    const part = (...values: string[]) => fc.constantFrom(...values);
    const uri = fc
      .tuple(
        part('https', 'HTTPS', 'http', 'custom', 'urn'),
        part('://', ':'),
        part('', 'user@', 'a:b@c@'),
        part('api.example', 'API.Example', '[::1]', ''),
        part('', ':', ':443', ':80', ':8443'),
        part('', '/', '/One', '?q', '/?q:x', '//', '/a@b'),
      )
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(uri, { minLength: 20, maxLength: 20 }), async (uris) => {
        const rows = await service.database.sql<{ key: string }>(
          'SELECT resource_key(uri) AS key FROM unnest($1::text[]) WITH ORDINALITY AS given (uri, place) ORDER BY place',
          [uris],
        );
        expect(rows.map(({ key }) => key)).toEqual(uris.map(resourceKey));
      }),
      { numRuns: 40 },
    );
  });
});

describe('a token of a client itself', () => {
  test('has the resource and its server as audience, and only its scopes (RFC 8707 2.2, security R139)', async () => {
    const uri = await resource({ scopes: [{ value: 'jobs.run' }, { value: 'jobs.list' }] });
    const machine = await machineWith('jobs.run jobs.list');
    const { status, body } = await credentials(machine, { resource: uri, scope: 'jobs.run' });
    expect({ status, scope: body['scope'] }).toEqual({ status: 200, scope: 'jobs.run' });
    expect(await seen(body['access_token'])).toMatchObject({
      active: true,
      scope: 'jobs.run',
      aud: [uri, server.clientId],
    });
    // without the parameter it gets all of the scopes that it is registered for
    expect((await credentials(machine, { resource: uri })).body['scope']).toBe('jobs.run jobs.list');
  });

  test('is shown to its server and its client, and to no other (RFC 7662 4, security R76, R139)', async () => {
    const uri = await resource({ clients: 'approved' });
    const machine = await machineWith();
    const { body } = await credentials(machine, { resource: uri });
    expect(await seen(body['access_token'], machine)).toMatchObject({ active: true });
    expect(await seen(body['access_token'])).toMatchObject({ active: true });
    expect(await seen(body['access_token'], await machineWith())).toEqual({ active: false });
    expect((await userinfo(service.issuer, String(body['access_token']))).status).toBe(401);
  });

  test('needs a registration for a scope of a listed resource, and none for an approved one (security R12)', async () => {
    const listed = await resource({ scopes: [{ value: 'listed.use' }] });
    const open = await resource({ scopes: [{ value: 'open.use' }], clients: 'approved' });
    const machine = await machineWith();
    expect(await credentials(machine, { resource: listed })).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    });
    expect(await credentials(machine, { scope: 'listed.use' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_scope' },
    });
    expect(await credentials(machine, { resource: open, scope: 'open.use' })).toMatchObject({
      status: 200,
      body: { scope: 'open.use' },
    });
    expect(await credentials(machine, { resource: open, scope: 'listed.use' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_scope' },
    });
  });

  test('goes to the resource of its scope when the request names none (protocols 1.1)', async () => {
    const uri = await resource({ scopes: [{ value: 'implied.use' }] });
    const machine = await machineWith('implied.use');
    const { body } = await credentials(machine, { scope: 'implied.use' });
    expect(await seen(body['access_token'])).toMatchObject({ active: true, aud: [uri, server.clientId] });
    // and so it does for the registered scope
    expect(await seen((await credentials(machine)).body['access_token'])).toMatchObject({
      aud: [uri, server.clientId],
    });
  });

  test('a scope of two resources is invalid_scope without resource, and names the one that resource says (protocols 1.1)', async () => {
    const [one, two] = [
      await resource({ scopes: [{ value: 'shared' }] }),
      await resource({ scopes: [{ value: 'shared' }] }),
    ];
    const machine = await machineWith('shared');
    expect(await credentials(machine, { scope: 'shared' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_scope' },
    });
    for (const uri of [one, two]) {
      const { body } = await credentials(machine, { scope: 'shared', resource: uri });
      expect(await seen(body['access_token'])).toMatchObject({ aud: [uri, server.clientId], scope: 'shared' });
    }
  });

  test('scopes of several resources need one token request each (RFC 8707 2)', async () => {
    const one = await resource({ scopes: [{ value: 'several.one' }] });
    await resource({ scopes: [{ value: 'several.two' }] });
    const machine = await machineWith('several.one several.two');
    expect(await credentials(machine, { scope: 'several.one several.two' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    });
    expect(await credentials(machine, { scope: 'several.one several.two', resource: one })).toMatchObject({
      status: 400,
      body: { error: 'invalid_scope' },
    });
    expect((await credentials(machine, { resource: one })).body['scope']).toBe('several.one');
  });

  test('is refused with the value at each endpoint, cut if it is long, and not if it is no plain address (RFC 8707 2, security A17, reports D)', async () => {
    const long = `https://unknown.example/${'x'.repeat(300)}`;
    const client = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
    const refusalOf = async (form: Record<string, string>) =>
      (await tokenRequest(service.issuer, client, { grant_type: 'client_credentials', ...form })).body;
    const unknown = await refusalOf({ resource: 'https://unknown.example/a?b=c' });
    expect(unknown).toMatchObject({ error: 'invalid_target' });
    expect(unknown['error_description']).toMatch(/: https:\/\/unknown\.example\/a\?b=c$/);
    expect((await refusalOf({ resource: long }))['error_description']).toMatch(
      /: https:\/\/unknown\.example\/x{76}\.\.\.$/,
    );
    expect((await refusalOf({ resource: 'https://a.example/<b>' }))['error_description']).not.toContain('<');
    expect((await refusalOf({ grant_type: 'urn:example:teleport' }))['error_description']).toMatch(
      /: urn:example:teleport$/,
    );
    expect((await refusalOf({ grant_type: 'password' }))['error_description']).toMatch(/: password$/);
    expect((await refusalOf({ grant_type: 'refresh_token' }))['error_description']).toMatch(/: refresh_token$/);
  });

  test('names the resource in any equal spelling, and the audience is the registered one (RFC 3986 6.2.2, 6.2.3)', async () => {
    const host = `spelled-${(number += 1)}.example`;
    await admin('', 'POST', {
      resource: `https://${host}`,
      name: 'Spelled',
      client_id: server.clientId,
      clients: 'approved',
    });
    for (const uri of [`https://${host}/`, `HTTPS://${host.toUpperCase()}:443`]) {
      const { body } = await credentials(await machineWith(), { resource: uri });
      expect(await seen(body['access_token'])).toMatchObject({ aud: [`https://${host}`, server.clientId] });
    }
  });

  test('a resource without a client has tokens that no address of the service takes (RFC 8707 2.2, security R139)', async () => {
    const uri = await resource({ clients: 'approved', client_id: null });
    const machine = await machineWith('admin');
    // many at once, since such requests share a statement
    const answers = await Promise.all(Array.from({ length: 8 }, () => credentials(machine, { resource: uri })));
    for (const { status, body } of answers) {
      expect({ status, scope: body['scope'] }).toEqual({ status: 200, scope: undefined });
      expect(await seen(body['access_token'], machine)).toMatchObject({ active: true, aud: [uri] });
      expect((await userinfo(service.issuer, String(body['access_token']))).status).toBe(401);
      expect((await call(`${service.issuer}/admin/api/clients`, { token: String(body['access_token']) })).status).toBe(
        401,
      );
    }
  });

  test('lives no longer than the resource says (RFC 6749 5.1)', async () => {
    const uri = await resource({ clients: 'approved', access_token_lifetime: 30 });
    const { body } = await credentials(await machineWith(), { resource: uri });
    expect(body['expires_in']).toBe(30);
    const { exp, iat } = (await seen(body['access_token'])) as { exp: number; iat: number };
    expect(exp - iat).toBe(30);
    expect((await credentials(await machineWith())).body['expires_in']).toBeGreaterThan(30);
  });

  test('a deleted resource, and one whose server is disabled, get no tokens (RFC 8707 2)', async () => {
    const other = await machineWith();
    const uri = await resource({ clients: 'approved', client_id: other.clientId });
    const machine = await machineWith();
    await service.database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [other.clientId]);
    expect(await credentials(machine, { resource: uri })).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    });
    await admin(at(uri), 'PATCH', { client_id: null });
    expect((await credentials(machine, { resource: uri })).status).toBe(200);
    await admin(at(uri), 'DELETE');
    expect(await credentials(machine, { resource: uri })).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    });
  });
});

describe('registration', () => {
  const register = (scope: string) =>
    call(`${service.issuer}/register`, { body: { redirect_uris: ['https://rp.example/cb'], scope } });

  test('a client registers the scopes of resources that are open to all, and of no other (protocols 1.1, security R12)', async () => {
    await resource({ scopes: [{ value: 'closed.use' }] });
    await resource({ scopes: [{ value: 'free.use' }], clients: 'approved' });
    expect(await register('openid free.use')).toMatchObject({ status: 201, body: { scope: 'openid free.use' } });
    for (const scope of ['openid closed.use', 'openid nowhere.use'])
      expect(await register(scope)).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
  });

  test('an administrator gives a client the scopes of any resource, and of nothing else (protocols 1.1, security R12)', async () => {
    await resource({ scopes: [{ value: 'given.use' }] });
    const client = await service.createClient({});
    const path = `${service.issuer}/admin/api/clients/${client.clientId}`;
    const give = (scope: string) => call(path, { method: 'PATCH', token, body: { scope } });
    expect(await give('openid given.use')).toMatchObject({ status: 200, body: { scope: 'openid given.use' } });
    expect((await give('openid nowhere.use')).status).toBe(400);
  });

  test('resource_uris become resources when the client is approved, and end when it gives them up (protocols 1.1)', async () => {
    const uri = newUri();
    const made = await service.createClient({ client_name: 'Boats', resource_uris: [uri] });
    expect((await admin(at(uri))).body).toMatchObject({
      name: 'Boats',
      client_id: made.clientId,
      clients: 'approved',
      registered: true,
    });
    const path = `${service.issuer}/admin/api/clients/${made.clientId}`;
    await call(path, { method: 'PATCH', token, body: { resource_uris: [] } });
    expect((await admin(at(uri))).status).toBe(404);
    // a resource that an administrator changed is that of the administrator
    await call(path, { method: 'PATCH', token, body: { resource_uris: [uri] } });
    await admin(at(uri), 'PATCH', { scopes: [{ value: 'sail' }] });
    await call(path, { method: 'DELETE', token });
    expect((await admin(at(uri))).body).toMatchObject({ registered: false, scopes: [{ value: 'sail' }] });
    expect((await admin(at(uri))).body).not.toHaveProperty('client_id');
  });

  test('a registration that waits makes no resource, and says nothing about those of others (protocols 1.1)', async () => {
    const [free, taken] = [newUri(), await resource()];
    const answers = [];
    for (const uri of [free, taken])
      answers.push(
        await call(`${service.issuer}/register`, {
          body: { redirect_uris: ['https://rp.example/cb'], resource_uris: [uri] },
        }),
      );
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect((await admin(at(free))).status).toBe(404);
  });
});
