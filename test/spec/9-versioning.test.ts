// Specification section 9: tests the standards that the service conforms to, and where versions appear.
import { expect, test } from 'vitest';
import { adminToken, call } from '../helpers/grants.ts';
import { second, useService } from './kit.ts';

const service = useService();
const metadata = async (name = 'openid-configuration') =>
  (await call(`${second(service())}/.well-known/${name}`)).body as Record<string, string & string[]>;

test('9 OpenID Connect Core 1.0: discovery contains every required member, for the issuer (decisions 1)', async () => {
  const document = await metadata();
  expect(document['issuer']).toBe(service().issuer);
  for (const member of ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri'])
    expect(document[member]).toMatch(`${service().issuer}/`);
  expect(document['scopes_supported']).toContain('openid');
  expect(document['subject_types_supported']).toEqual(['public', 'pairwise']);
  expect(document['id_token_signing_alg_values_supported']).toContain('RS256');
});

test('9 RFC 6749: discovery names the supported grants, and the token endpoint refuses all others (decisions 3)', async () => {
  const document = await metadata();
  expect(document['response_types_supported']).toEqual(
    expect.arrayContaining(['code', 'id_token', 'id_token token', 'code id_token', 'code token', 'none']),
  );
  expect(document['grant_types_supported']).toEqual(
    expect.arrayContaining(['authorization_code', 'refresh_token', 'client_credentials', 'implicit']),
  );
  const client = await service().createClient();
  const response = await fetch(`${second(service())}/token`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams({ grant_type: 'password', username: 'u', password: 'p' }),
  });
  expect(await response.json()).toMatchObject({ error: 'unsupported_grant_type' });
});

test('9 RFC 6750, 7592 and 7662: the metadata contains their addresses (decisions 1)', async () => {
  const document = await metadata('oauth-authorization-server');
  const addresses = {
    userinfo_endpoint: '/user/info',
    registration_endpoint: '/register',
    introspection_endpoint: '/introspect',
    revocation_endpoint: '/revoke',
    authentication_endpoint: '/authenticate',
  };
  for (const [name, path] of Object.entries(addresses)) expect(document[name]).toBe(service().issuer + path);
});

test('9 drafts: the metadata contains no feature that does not exist yet (decisions 3)', async () => {
  const document = await metadata();
  for (const member of [
    'device_authorization_endpoint',
    'backchannel_authentication_endpoint',
    'introspection_signing_alg_values_supported',
  ])
    expect(document[member]).toBeUndefined();
});

test('9 version identifiers: no protocol path has one, and a header of the admin API has one (decisions 1)', async () => {
  const addresses = Object.entries(await metadata('oauth-authorization-server'));
  for (const [name, value] of addresses) if (/_(endpoint|uri)$/.test(name)) expect(value, name).not.toMatch(/\/v\d/);
  const token = await adminToken(service());
  const { headers } = await call(`${second(service())}/admin/api/clients`, { token });
  expect(headers.get('api-version')).toMatch(/^\d+\.\d+$/);
});
