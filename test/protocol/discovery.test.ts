// GET /.well-known/… serves both discovery documents, which describe what the service does.
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminToken, call, eventually, obtainTokens } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenExchangeGrant } from '../../src/oauth/registrable-values.ts';
import { authorizationUrl, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let below: TestService;
beforeAll(async () => {
  service = await startTestService();
  below = await startTestService({ basePath: '/idp/one' });
});
afterAll(async () => {
  await service?.stop();
  await below?.stop();
});

const documents = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];
const read = async (target: TestService, path: string) => call(target.issuer + path);

/** Endpoints that no standard defines (decisions section 1). */
const ownEndpoints = [
  'authentication_endpoint',
  'client_end_session_endpoint',
  'user_address_endpoint',
  'user_info_endpoint',
  'user_settings_endpoint',
  'user_scope_endpoint',
];

test('a grant type that rows of an administrator offer is listed while there is one, and its clients get the registered error otherwise (protocols P93)', async () => {
  const token = await adminToken(service);
  const api = (path: string, body?: unknown, method?: string) =>
    call(`${service.issuer}/admin/api/${path}`, { token, body, ...(method && { method }) });
  const offered = async () =>
    ((await read(service, documents[0]!)).body['grant_types_supported'] as string[]).includes(tokenExchangeGrant);
  expect(await offered()).toBe(false);
  const client = await service.createClient({ redirect_uris: [], grant_types: [tokenExchangeGrant] });
  const form = { grant_type: tokenExchangeGrant, subject_token: 'x', subject_token_type: 'y' };
  for (const of of [client, await service.createClient()])
    expect((await tokenRequest(service.issuer, of, form)).status).toBe(400);
  await api('resources', { resource: 'https://api.example/', name: 'API' });
  const made = await api('exchange-policies', {
    name: 'First',
    client_id: client.clientId,
    resources: ['https://api.example/'],
    scopes: ['read'],
  });
  await eventually(offered, (is) => is);
  await api(`exchange-policies/${String(made.body['id'])}`, { status: 'disabled' }, 'PATCH');
  await eventually(offered, (is) => !is);
});

describe.each(documents)('%s', (path) => {
  test('contains the issuer and the URLs of the endpoints below it (OpenID Connect Discovery 3, RFC 8414 2)', async () => {
    for (const target of [service, below]) {
      const answer = await read(target, path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      expect(answer.body).toMatchObject({
        issuer: target.issuer,
        authorization_endpoint: `${target.issuer}/authorize`,
        token_endpoint: `${target.issuer}/token`,
        userinfo_endpoint: `${target.issuer}/user/info`,
        jwks_uri: `${target.issuer}/jwks`,
        registration_endpoint: `${target.issuer}/register`,
        end_session_endpoint: `${target.issuer}/logout`,
        revocation_endpoint: `${target.issuer}/revoke`,
        introspection_endpoint: `${target.issuer}/introspect`,
      });
      for (const [name, value] of Object.entries(answer.body))
        if (/_(endpoint|uri)$/.test(name)) expect(value).toMatch(new RegExp(`^${target.issuer}/`));
    }
  });

  test('contains no null, no empty list and no empty string (OpenID Connect Discovery 4.2)', async () => {
    const { body } = await read(service, path);
    for (const [name, value] of Object.entries(body)) {
      expect(value, name).not.toBeNull();
      expect(value, name).not.toEqual([]);
      expect(value, name).not.toBe('');
      if (Array.isArray(value)) expect(new Set(value).size, name).toBe(value.length);
    }
  });

  test('contains the members that the standard requires (OpenID Connect Discovery 3)', async () => {
    const { body } = await read(service, path);
    expect(body).toMatchObject({
      subject_types_supported: ['public', 'pairwise'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      request_parameter_supported: true,
      request_uri_parameter_supported: true,
      require_request_uri_registration: true,
    });
    const lists: Record<string, string[]> = {
      response_types_supported: ['code'],
      response_modes_supported: ['query', 'fragment', 'form_post'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      scopes_supported: ['openid', 'profile', 'email', 'address', 'phone', 'scope', 'groups', 'offline_access'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256', 'EdDSA', 'PS256', 'HS256'],
      id_token_encryption_alg_values_supported: ['RSA-OAEP-256', 'ECDH-ES'],
      id_token_encryption_enc_values_supported: ['A128CBC-HS256', 'A256GCM'],
      userinfo_signing_alg_values_supported: ['RS256', 'ES256', 'EdDSA', 'PS256', 'HS256'],
      userinfo_encryption_alg_values_supported: ['RSA-OAEP-256', 'ECDH-ES'],
      userinfo_encryption_enc_values_supported: ['A128CBC-HS256', 'A256GCM'],
      token_endpoint_auth_methods_supported: [
        'client_secret_basic',
        'client_secret_post',
        'client_secret_jwt',
        'private_key_jwt',
        'none',
      ],
      claims_supported: ['sub', 'name', 'email', 'email_verified', 'address', 'phone_number', 'groups', 'updated_at'],
    };
    for (const [name, values] of Object.entries(lists))
      expect(body[name], name).toEqual(expect.arrayContaining(values));
    expect(body['scopes_supported']).not.toContain('admin');
    // no connection keeps tokens (reports F5)
    expect(body['scopes_supported']).not.toContain('upstream_token');
    expect(body['id_token_signing_alg_values_supported']).not.toContain('none');
  });

  test('may be cached, and scripts of any origin may read it (security R97)', async () => {
    const answer = await call(service.issuer + path, { headers: { origin: 'https://app.example' } });
    expect(answer.headers.get('cache-control')).toMatch(/^public, max-age=\d+$/);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
  });

  test('does not depend on the host names in the request (security A116, R98)', async () => {
    const { body } = await read(service, path);
    const poisoned = await call(service.issuer + path, {
      headers: {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example;proto=https',
      },
    });
    expect(poisoned.body).toEqual(body);
  });

  test('names only endpoints that answer (OpenID Connect Discovery 4)', async () => {
    for (const target of [service, below]) {
      const { body } = await read(target, path);
      for (const [name, value] of Object.entries(body)) {
        if (!/_(endpoint|uri)$/.test(name)) continue;
        const response = await fetch((value as string).replace('{sub}', 'me'), { redirect: 'manual' });
        expect(response.status, name).not.toBe(404);
        await response.arrayBuffer();
      }
    }
  });
});

test('only the OAuth document contains the endpoints that no standard defines (decisions section 1)', async () => {
  const [openid, oauth] = await Promise.all(documents.map((path) => read(service, path)));
  for (const name of ownEndpoints) {
    expect(openid!.body, name).not.toHaveProperty(name);
    expect(oauth!.body, name).toHaveProperty(name);
  }
  for (const name of ownEndpoints.filter((address) => address.startsWith('user_')))
    expect(oauth!.body[name], name).toContain('/user/{sub}/');
  expect(oauth!.body).toMatchObject(openid!.body);
});

test('signed_metadata is a JWT of every other member, which is used as nothing else (RFC 8414 2.1, protocols P40)', async () => {
  const [openid, oauth] = await Promise.all(documents.map((path) => read(below, path)));
  expect(openid!.body).not.toHaveProperty('signed_metadata');
  const { signed_metadata: jwt, ...members } = oauth!.body as { signed_metadata: string };
  const keys = createRemoteJWKSet(new URL(`${below.issuer}/jwks`));
  const { payload } = await jwtVerify(jwt, keys, {
    issuer: below.issuer,
    typ: 'oauth-metadata+jwt',
    algorithms: ['RS256'],
  });
  const { iss, iat, exp, ...signed } = payload;
  expect(iss).toBe(below.issuer);
  expect(exp! - iat!).toBe(24 * 3600);
  expect(signed).toEqual(members);

  const client = await below.createClient();
  expect(await call(`${below.issuer}/user/info`, { token: jwt })).toMatchObject({ status: 401 });
  const agent = new UserAgent(below);
  await agent.signIn(await below.createUser());
  for (const change of [{ id_token_hint: jwt }, { request: jwt }] as Record<string, string>[])
    expect(responseParameters(await agent.get(authorizationUrl(below.issuer, client, change)))).toMatchObject({
      error: 'id_token_hint' in change ? 'invalid_request' : 'invalid_request_object',
    });
});

test('signed_metadata is signed by the new key after a rotation, and stays the same until then (RFC 8414 2.1)', async () => {
  const kid = async () =>
    decodeProtectedHeader((await read(service, documents[1]!)).body['signed_metadata'] as string).kid;
  const [before, again] = [await read(service, documents[1]!), await read(service, documents[1]!)];
  expect(again.body).toEqual(before.body);
  const old = await kid();
  const rotation = await call(`${service.issuer}/admin/api/keys`, {
    token: await adminToken(service),
    body: { immediate: true },
  });
  expect(rotation.status).toBeLessThan(300);
  await eventually(kid, (current) => current !== old);
});

test('the metadata of an issuer with a path is also served at the origin, before the path, to any origin (RFC 8414 3.1)', async () => {
  const { origin } = new URL(below.issuer);
  const path = '/.well-known/oauth-authorization-server/idp/one';
  const answer = await call(origin + path, { headers: { origin: 'https://app.example' } });
  const expected = await read(below, '/.well-known/oauth-authorization-server');
  expect(answer).toMatchObject({ status: 200, body: expected.body });
  expect(answer.body['issuer']).toBe(below.issuer);
  for (const name of ['content-type', 'cache-control', 'access-control-allow-origin', 'x-content-type-options'])
    expect(answer.headers.get(name), name).toBe(
      (
        await call(`${below.issuer}/.well-known/oauth-authorization-server`, {
          headers: { origin: 'https://a.example' },
        })
      ).headers.get(name),
    );
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  for (const other of [
    `${origin}/.well-known/openid-configuration/idp/one`,
    `${origin}${path}/`,
    `${origin}/.well-known/oauth-authorization-server/idp`,
    `${service.issuer}${path}`,
  ]) {
    const { status, headers } = await call(other, { headers: { origin: 'https://app.example' } });
    expect(status, other).toBe(404);
    expect(headers.get('access-control-allow-origin'), other).toBeNull();
  }
});

test('a service below a base path serves nothing outside it, and a whole flow stays below it (decisions section 1)', async () => {
  const root = below.issuer.replace('/idp/one', '');
  for (const path of [
    ...documents,
    '/jwks',
    '/authorize',
    '/token',
    '/user/info',
    '/register',
    '/login',
    '/health/live',
  ])
    expect((await fetch(root + path)).status, path).toBe(404);
  const agent = new UserAgent(below);
  const user = await below.createUser();
  const tokens = await obtainTokens(below, await below.createClient(), user, { scope: 'openid profile' }, agent);
  expect(await call(`${below.issuer}/user/info`, { token: tokens.access_token })).toMatchObject({
    status: 200,
    body: { sub: user.sub },
  });
  const page = await agent.get('/logout');
  expect(page.status).toBe(200);
  expect(page.body).not.toMatch(/(href|action|src)="\/(?!idp\/one\/)/);
});
