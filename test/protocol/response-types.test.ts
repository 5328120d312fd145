// Response types other than code: the implicit flow, the hybrid flow, and none (OpenID Connect Core 3.2, 3.3).
import { createHash } from 'node:crypto';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, type Page, pkce, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const types = ['id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token', 'none'];

let service: TestService;
let client: TestClient;
let user: TestUser;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
  client = await service.createClient({
    response_types: ['code', ...types],
    grant_types: ['authorization_code', 'implicit', 'refresh_token'],
    scope: 'openid profile email scope offline_access',
  });
  user = await service.createUser({ email: 'ada@example.com', groups: ['staff'], claims: { name: 'Ada' } });
});
afterAll(() => service?.stop());

const fragment = (page: Page) => Object.fromEntries(new URLSearchParams(new URL(page.location!).hash.slice(1)));
const half = (value: string) => createHash('sha256').update(value).digest().subarray(0, 16).toString('base64url');

async function verify(token: string) {
  const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(`${service.issuer}/jwks`)), {
    issuer: service.issuer,
    audience: client.clientId,
  });
  return payload;
}

test.each(types)(
  'the response type %s returns exactly its parts in the fragment (OpenID Connect Core 3.2.2.5, 3.3.2.5)',
  async (type) => {
    const page = await new UserAgent(service).authorize(client, user, {
      response_type: type,
      scope: 'openid profile email',
      nonce: 'n',
      state: 's',
    });
    expect(page.status).toBe(302);
    const url = new URL(page.location!);
    const response = type === 'none' ? Object.fromEntries(url.searchParams) : fragment(page);
    if (type === 'none') expect(url.hash).toBe('');
    else expect(url.search).toBe('');
    const values = type.split(' ');
    const expected = ['iss', 'session_state', 'state'];
    if (values.includes('code')) expected.push('code');
    if (values.includes('id_token')) expected.push('id_token');
    if (values.includes('token')) expected.push('access_token', 'token_type', 'expires_in', 'scope');
    expect(Object.keys(response).sort()).toEqual(expected.sort());
    expect(response).toMatchObject({ state: 's', iss: service.issuer });

    if (response['id_token']) {
      const payload = await verify(response['id_token']);
      expect(payload).toMatchObject({ sub: user.sub, nonce: 'n', azp: payload.aud });
      expect(payload['at_hash']).toBe(response['access_token'] && half(response['access_token']));
      expect(payload['c_hash']).toBe(response['code'] && half(response['code']));
      // an ID Token without code and access token contains the claims; otherwise UserInfo returns them
      expect(payload['name']).toBe(type === 'id_token' ? 'Ada' : undefined);
      expect(payload['email']).toBe(type === 'id_token' ? 'ada@example.com' : undefined);
    }
    if (response['access_token']) {
      const userinfo = await fetch(`${service.instances[1]}/user/info`, {
        headers: { authorization: `Bearer ${response['access_token']}` },
      });
      expect(await userinfo.json()).toMatchObject({ sub: user.sub, name: 'Ada' });
    }
    if (response['code']) {
      const redeemed = await tokenRequest(service.instances[1]!, client, {
        grant_type: 'authorization_code',
        code: response['code'],
        redirect_uri: client.redirectUri,
      });
      expect(redeemed.status).toBe(200);
      expect(await verify(redeemed.body['id_token'] as string)).toMatchObject({ sub: user.sub, nonce: 'n' });
    }
  },
);

test('the scope query returns the groups for the access token of the authorization response (decisions section 3)', async () => {
  const page = await new UserAgent(service).authorize(client, user, {
    response_type: 'token id_token',
    scope: 'openid scope',
    nonce: 'n',
  });
  const { access_token } = fragment(page);
  const answer = await fetch(`${service.instances[1]}/user/me/scope`, {
    headers: { authorization: `Bearer ${access_token}` },
  });
  expect(await answer.json()).toEqual({ sub: user.sub, username: user.username, scope: ['staff'] });
});

test('form_post sends them in a form (Form Post Response Mode 1.0)', async () => {
  const page = await new UserAgent(service).authorize(client, user, {
    response_type: 'code id_token token',
    response_mode: 'form_post',
    nonce: 'n',
    state: '"><b>',
  });
  expect(page.status).toBe(200);
  const fields = hiddenFields(page.body);
  expect(Object.keys(fields).sort()).toEqual([
    'access_token',
    'code',
    'expires_in',
    'id_token',
    'iss',
    'scope',
    'session_state',
    'state',
    'token_type',
  ]);
  expect(fields['state']).toBe('"><b>');
});

test.each([
  ['no nonce for an ID Token from the authorization endpoint', { response_type: 'id_token' }, 'invalid_request'],
  ['no nonce in a hybrid request', { response_type: 'code id_token' }, 'invalid_request'],
  [
    'the response mode query for tokens',
    { response_type: 'id_token token', nonce: 'n', response_mode: 'query' },
    'invalid_request',
  ],
])(
  '%s is an error in the fragment (OpenID Connect Core 3.2.2.6, Multiple Response Types 5)',
  async (_, parameters, error) => {
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const page = await agent.authorize(client, undefined, { ...parameters, state: 's' });
    expect(new URL(page.location!).search).toBe('');
    expect(fragment(page)).toMatchObject({ error, state: 's', iss: service.issuer });
  },
);

test('a response type that the client did not register is refused (security R6, A18)', async () => {
  const plainClient = await service.createClient();
  const agent = new UserAgent(service);
  await agent.signIn(user);
  const page = await agent.authorize(plainClient, undefined, { response_type: 'id_token', nonce: 'n' });
  expect(fragment(page)).toMatchObject({ error: 'unauthorized_client' });
  const unknown = await agent.authorize(client, undefined, { response_type: 'code magic' });
  expect(new URL(unknown.location!).searchParams.get('error')).toBe('unsupported_response_type');
});

test('a code that is redeemed twice ends the tokens of the authorization response, too (security R17)', async () => {
  const { code_verifier, ...challenge } = pkce();
  const page = await new UserAgent(service).authorize(client, user, { response_type: 'code token', ...challenge });
  const { code, access_token } = fragment(page);
  const form = { grant_type: 'authorization_code', code: code!, redirect_uri: client.redirectUri, code_verifier };
  expect((await tokenRequest(service.issuer, client, form)).status).toBe(200);
  await service.database.sql(
    `UPDATE authorization_codes SET redeemed_at = redeemed_at - interval '1 minute' WHERE redeemed_at IS NOT NULL`,
  );
  expect((await tokenRequest(service.issuer, client, form)).status).toBe(400);
  const userinfo = await fetch(`${service.instances[1]}/user/info`, {
    headers: { authorization: `Bearer ${access_token}` },
  });
  expect(userinfo.status).toBe(401);
});

test('registration requires the grant types of the response types (OpenID Connect Registration 2)', async () => {
  const register = async (body: Record<string, unknown>) => {
    const response = await fetch(`${service.issuer}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://rp.example.com/cb'], ...body }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  expect(await register({ response_types: ['token id_token'] })).toMatchObject({
    status: 201,
    body: { response_types: ['id_token token'], grant_types: ['implicit'] },
  });
  expect(await register({ response_types: ['code id_token'], grant_types: ['authorization_code'] })).toMatchObject({
    status: 400,
    body: { error: 'invalid_client_metadata' },
  });
});

test.each(['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256'])(
  'at_hash and c_hash use the hash of %s, at both endpoints (OpenID Connect Core 3.3.2.11)',
  async (alg) => {
    const signed = await service.createClient({
      response_types: ['code id_token token'],
      grant_types: ['authorization_code', 'implicit'],
      id_token_signed_response_alg: alg,
    });
    const leftHalf = (value: string) => {
      // Ed25519 hashes with SHA-512 (RFC 8032 5.1)
      const digest = createHash(alg === 'EdDSA' ? 'sha512' : 'sha256')
        .update(value)
        .digest();
      return digest.subarray(0, digest.length / 2).toString('base64url');
    };
    const page = await new UserAgent(service).authorize(signed, user, {
      response_type: 'code id_token token',
      nonce: 'n',
    });
    const response = fragment(page);
    expect(decodeProtectedHeader(response['id_token']!).alg).toBe(alg);
    expect(decodeJwt(response['id_token']!)).toMatchObject({
      at_hash: leftHalf(response['access_token']!),
      c_hash: leftHalf(response['code']!),
    });
    const { body } = await tokenRequest(service.issuer, signed, {
      grant_type: 'authorization_code',
      code: response['code']!,
      redirect_uri: signed.redirectUri,
    });
    expect(decodeJwt(body['id_token'] as string)).toMatchObject({ at_hash: leftHalf(body['access_token'] as string) });
  },
);
