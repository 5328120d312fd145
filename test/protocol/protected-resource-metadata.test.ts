// The service publishes the metadata of its own protected resources, and names the resources that an administrator marked public (RFC 9728).
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminToken, approveClient, call, eventually, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

let service: TestService;
let below: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  below = await startTestService({ basePath: '/idp/one' });
});
afterAll(async () => {
  await service?.stop();
  await below?.stop();
});

const paths = ['', '/user/info', '/admin/api'];
const wellKnown = '/.well-known/oauth-protected-resource';
/** Where the metadata of a resource are: the well-known part comes before the path (RFC 9728 3.1). */
const addressOf = (resource: string) => {
  const { origin, pathname } = new URL(resource);
  return `${origin}${wellKnown}${pathname === '/' ? '' : pathname}`;
};
const challengeOf = (headers: Headers) =>
  Object.fromEntries(
    [...(headers.get('www-authenticate') ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
  );

describe('the metadata of the service’s own resources', () => {
  test.each(paths)('of %s stand before the path of the issuer, and name the issuer (RFC 9728 2, 3.1)', async (path) => {
    for (const target of [service, below]) {
      const resource = target.issuer + path;
      const answer = await call(addressOf(resource), { headers: { origin: 'https://app.example' } });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('cache-control')).toMatch(/^public, max-age=\d+$/);
      expect(answer.body).toMatchObject({
        resource,
        authorization_servers: [target.issuer],
        bearer_methods_supported: ['header'],
        dpop_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256'],
      });
      // tokens that are not bound are good here, too
      expect(answer.body).not.toHaveProperty('dpop_bound_access_tokens_required');
      const scopes = answer.body['scopes_supported'] as string[];
      expect(scopes).toContain(path === '/admin/api' ? 'admin' : 'openid');
      expect(scopes).not.toContain('offline_access');
    }
  });

  test('signed_metadata is a JWT of every other member (RFC 9728 2.2)', async () => {
    const resource = `${below.issuer}/user/info`;
    const { signed_metadata: jwt, ...members } = (await call(addressOf(resource))).body as { signed_metadata: string };
    const { payload } = await jwtVerify(jwt, createRemoteJWKSet(new URL(`${below.issuer}/jwks`)), {
      issuer: below.issuer,
      typ: 'oauth-metadata+jwt',
      algorithms: ['RS256'],
    });
    const { iss, iat, exp, ...signed } = payload;
    expect(signed).toEqual(members);
    expect({ iss, lifetime: exp! - iat! }).toEqual({ iss: below.issuer, lifetime: 24 * 3600 });
    expect((await call(resource, { token: jwt })).status).toBe(401);
  });

  test('no other address below the well-known part has a document (RFC 9728 3.1)', async () => {
    const { origin } = new URL(below.issuer);
    for (const address of [
      `${below.issuer}${wellKnown}`,
      `${origin}${wellKnown}`,
      `${origin}${wellKnown}/user/info`,
      `${service.issuer}${wellKnown}/`,
      `${service.issuer}${wellKnown}/token`,
    ])
      expect((await call(address)).status, address).toBe(404);
  });

  test('a script of any origin may send the header of a Model Context Protocol client (RFC 9728 3.1)', async () => {
    for (const target of [service, below]) {
      const preflight = await fetch(addressOf(target.issuer), {
        method: 'OPTIONS',
        headers: {
          origin: 'https://app.example',
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'mcp-protocol-version',
        },
      });
      expect(preflight.headers.get('access-control-allow-headers')).toContain('mcp-protocol-version');
    }
  });
});

describe('a refused request', () => {
  test.each([
    ['/user/info', '/user/info', 'openid'],
    ['/admin/api/clients', '/admin/api', 'admin'],
    ['/user/me/info', '', 'openid'],
    ['/user/me/address', '', 'address'],
    ['/user/me/scope', '', 'scope'],
  ])(
    'at %s is told where the metadata are, and which scope it needs (RFC 9728 5.1, RFC 6750 3)',
    async (path, resource, scope) => {
      for (const target of [service, below])
        for (const token of [undefined, 'unknown']) {
          const answer = await call(target.issuer + path, token === undefined ? {} : { token });
          expect(answer.status).toBe(401);
          const challenge = challengeOf(answer.headers);
          expect(challenge).toMatchObject({ resource_metadata: addressOf(target.issuer + resource), scope });
          expect(challenge['error']).toBe(token === undefined ? undefined : 'invalid_token');
          expect((await call(challenge['resource_metadata']!)).body['resource']).toBe(target.issuer + resource);
        }
    },
  );

  test('with a token that lacks the scope is told so, too (RFC 6750 3.1)', async () => {
    const machine = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
    const { body } = await tokenRequest(service.issuer, machine, { grant_type: 'client_credentials' });
    const answer = await call(`${service.issuer}/admin/api/clients`, { token: String(body['access_token']) });
    expect(answer.status).toBe(403);
    expect(challengeOf(answer.headers)).toMatchObject({
      error: 'insufficient_scope',
      scope: 'admin',
      resource_metadata: addressOf(`${service.issuer}/admin/api`),
    });
  });

  test('by another scheme than Bearer has no part of a bearer challenge (RFC 6750 3)', async () => {
    const answer = await call(`${service.issuer}/user/me/info`, { headers: { authorization: 'Basic bm86bm8=' } });
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
    expect(answer.headers.get('www-authenticate')).not.toContain('resource_metadata');
  });
});

const setStatus = ({ clientId }: TestClient, status: string) =>
  service.database.sql('UPDATE clients SET status = $2 WHERE client_id = $1', [clientId, status]);

describe('a public resource', () => {
  const documents = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];
  const shown = async (base: string, document: string) => {
    const { protected_resources, scopes_supported } = (await call(base + document)).body;
    return { resources: (protected_resources ?? []) as string[], scopes: scopes_supported as string[] };
  };
  const everywhere = async (check: (of: { resources: string[]; scopes: string[] }) => boolean) => {
    for (const base of service.instances)
      for (const document of documents) await eventually(() => shown(base, document), check);
  };

  test('is named in the metadata with its scopes, on every instance, until it is hidden (RFC 9728 4, RFC 8414 2, protocols P93)', async () => {
    const token = await adminToken(service);
    const resource = 'https://notes.example/v1';
    const scopes = [{ value: 'notes.read' }, { value: 'notes.write' }];
    const admin = (method: string, path: string, body?: unknown) =>
      call(`${service.issuer}/admin/api/resources${path}`, { method, token, body });
    const server = await service.createClient();
    const made = await admin('POST', '', { resource, name: 'Notes', scopes, client_id: server.clientId });
    expect(made.body).toMatchObject({ public: false, token_claims: [] });
    const path = `/${String(made.body['id'])}`;
    const before = await call(service.issuer + documents[0]!);
    expect(before.body).not.toHaveProperty('protected_resources');
    expect(before.body['scopes_supported']).not.toContain('notes.read');

    expect((await admin('PATCH', path, { public: true })).body).toMatchObject({ public: true });
    await everywhere((of) => of.resources.includes(resource) && of.scopes.includes('notes.write'));
    const { signed_metadata: jwt } = (await call(service.issuer + documents[1]!)).body;
    const { payload } = await jwtVerify(String(jwt), createRemoteJWKSet(new URL(`${service.issuer}/jwks`)));
    expect(payload['protected_resources']).toEqual([resource]);

    // the resource of a disabled client gets no tokens, so nobody is sent to it
    await setStatus(server, 'disabled');
    await everywhere((of) => of.resources.length === 0 && !of.scopes.includes('notes.read'));
    await setStatus(server, 'enabled');
    await everywhere((of) => of.resources.includes(resource));
    await admin('PATCH', path, { public: false });
    await everywhere((of) => of.resources.length === 0 && !of.scopes.includes('notes.read'));
    await admin('PATCH', path, { public: true });
    await everywhere((of) => of.resources.length === 1);
    await admin('DELETE', path);
    await everywhere((of) => of.resources.length === 0);
  });

  test('is a decision of an administrator: no registration makes one (RFC 9728 4, decisions section 2)', async () => {
    const token = await adminToken(service);
    const registered = await call(`${service.issuer}/register`, {
      body: { redirect_uris: ['https://rp.example/cb'], resource_uris: ['https://own.example'], public: true },
    });
    const { client_id: clientId } = registered.body;
    await approveClient(service.issuer, token, String(clientId));
    const { body } = await call(`${service.issuer}/admin/api/resources/${encodeURIComponent('https://own.example')}`, {
      token,
    });
    expect(body).toMatchObject({ registered: true, public: false });
  });
});

test('an administrator gets the document that the host of a resource publishes (RFC 9728 3.3)', async () => {
  const token = await adminToken(service);
  const make = (resource: string) =>
    call(`${service.issuer}/admin/api/resources`, {
      token,
      body: { resource, name: 'Files', scopes: [{ value: 'files.read' }] },
    });
  const documentOf = async (resource: string) => {
    const { body } = await make(resource);
    return (await call(`${service.issuer}/admin/api/resources/${String(body['id'])}/metadata`, { token })).body;
  };
  expect(await documentOf('https://files.example:8443/v1')).toEqual({
    metadata_uri: `https://files.example:8443${wellKnown}/v1`,
    document: {
      resource: 'https://files.example:8443/v1',
      resource_name: 'Files',
      authorization_servers: [service.issuer],
      scopes_supported: ['files.read'],
      bearer_methods_supported: ['header'],
    },
  });
  expect((await documentOf('https://files.example/'))['metadata_uri']).toBe(`https://files.example${wellKnown}`);
  expect(await documentOf('urn:files')).not.toHaveProperty('metadata_uri');
});

test.each<[string, Record<string, unknown>]>([
  ['none', {}],
  ['any', { dpop_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256'] }],
  ['dpop', { dpop_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256'], dpop_bound_access_tokens_required: true }],
])(
  'the document of a resource with the binding %s says what its proofs need (RFC 9728 2)',
  async (binding, members) => {
    const token = await adminToken(service);
    const resources = `${service.issuer}/admin/api/resources`;
    const body = { resource: `https://${binding}.example`, name: 'Bound', binding };
    const { id } = (await call(resources, { token, body })).body;
    const documentNow = async () =>
      (await call(`${resources}/${String(id)}/metadata`, { token })).body['document'] as Record<string, unknown>;
    const ofDpop = (document: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(document).filter(([name]) => name.startsWith('dpop_')));
    expect(ofDpop(await documentNow())).toEqual(members);
    // it follows a change
    await call(`${resources}/${String(id)}`, { token, method: 'PATCH', body: { binding: 'none' } });
    expect(ofDpop(await documentNow())).toEqual({});
  },
);
