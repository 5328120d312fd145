// The metadata member id_token_claims adds the claims of the scopes to the ID Tokens of the token endpoint.
import {
  compactDecrypt,
  createRemoteJWKSet,
  decodeJwt,
  exportJWK,
  generateKeyPair,
  type JWTPayload,
  jwtVerify,
} from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import {
  type Answer,
  adminToken,
  approveClient,
  call,
  obtainTokens,
  redeem,
  refresh,
  userinfo,
} from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const scope = 'openid profile email groups';
const ofScopes = { name: 'Ada', preferred_username: 'ada', email: 'ada@example.com', email_verified: false };
const groups = ['staff'];

let service: TestService;
let user: TestUser;
let token: string;
beforeAll(async () => {
  service = await startTestService();
  user = await service.createUser({ username: 'ada', email: 'ada@example.com', groups, claims: { name: 'Ada' } });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const createClient = (metadata: Record<string, unknown> = {}) =>
  service.createClient({ scope, id_token_claims: true, ...metadata }, { firstParty: true });
const idTokenOf = ({ body }: Answer): JWTPayload => decodeJwt(body['id_token'] as string);
const claimNames = ['name', 'email', 'email_verified', 'preferred_username', 'updated_at', 'groups'];

describe('of a client with id_token_claims', () => {
  test('the ID Tokens of a code and of a refresh contain the claims that UserInfo returns (decisions section 2)', async () => {
    const client = await createClient();
    const tokens = await obtainTokens(service, client, user, { scope, nonce: 'n' });
    const { body: released } = await userinfo(service.issuer, tokens.access_token);
    expect(released).toMatchObject({ ...ofScopes, groups });
    const { payload } = await jwtVerify(tokens.id_token, createRemoteJWKSet(new URL(`${service.issuer}/jwks`)));
    expect(payload).toMatchObject({ ...released, aud: client.clientId, nonce: 'n', at_hash: expect.any(String) });
    await service.database.sql(`UPDATE users SET claims = claims || '{"name": "Ada L."}' WHERE sub = $1`, [user.sub]);
    try {
      const renewed = idTokenOf(await refresh(service.issuer, client, tokens.refresh_token));
      expect(renewed).toMatchObject({ ...ofScopes, name: 'Ada L.', groups, sub: user.sub });
    } finally {
      await service.database.sql(`UPDATE users SET claims = claims || '{"name": "Ada"}' WHERE sub = $1`, [user.sub]);
    }
  });

  test('the ID Token contains only claims of the granted scope, also after a refresh with a narrower scope (RFC 6749 6, security R12)', async () => {
    const client = await createClient();
    const tokens = await obtainTokens(service, client, user, { scope: 'openid email profile' });
    expect(decodeJwt(tokens.id_token)).toMatchObject(ofScopes);
    expect(decodeJwt(tokens.id_token)).not.toHaveProperty('groups');
    const narrow = idTokenOf(await refresh(service.issuer, client, tokens.refresh_token, { scope: 'openid email' }));
    expect(narrow).toMatchObject({ email: 'ada@example.com' });
    expect(narrow).not.toHaveProperty('name');
  });

  test('the ID Token that the browser receives beside a code contains none of them (decisions section 2)', async () => {
    const client = await createClient({
      response_types: ['code id_token'],
      grant_types: ['authorization_code', 'implicit'],
    });
    const page = await new UserAgent(service).authorize(client, user, {
      scope,
      response_type: 'code id_token',
      nonce: 'n',
    });
    const response = new URLSearchParams(new URL(page.location!).hash.slice(1));
    const passed = decodeJwt(response.get('id_token')!);
    expect(passed.sub).toBe(user.sub);
    for (const name of claimNames) expect(passed).not.toHaveProperty(name);
    expect(idTokenOf(await redeem(service.issuer, client, response.get('code')!))).toMatchObject(ofScopes);
  });

  test('a pairwise subject stays pairwise (OpenID Connect Core 8)', async () => {
    const client = await createClient({ subject_type: 'pairwise', scope: 'openid email' });
    const tokens = await obtainTokens(service, client, user, { scope: 'openid email' });
    const claims = decodeJwt(tokens.id_token);
    expect(claims).toMatchObject({ email: 'ada@example.com' });
    expect(claims.sub).not.toBe(user.sub);
    expect(JSON.stringify(claims)).not.toContain(user.sub);
    expect(claims).not.toHaveProperty('preferred_username');
  });

  test('an encrypted ID Token contains them, too (OpenID Connect Core 10.2)', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ECDH-ES', { extractable: true });
    const client = await createClient({
      id_token_encrypted_response_alg: 'ECDH-ES',
      jwks: { keys: [{ ...(await exportJWK(publicKey)), use: 'enc' }] },
    });
    const tokens = await obtainTokens(service, client, user, { scope });
    expect(tokens.id_token.split('.')).toHaveLength(5);
    const { plaintext } = await compactDecrypt(tokens.id_token, privateKey);
    expect(decodeJwt(new TextDecoder().decode(plaintext))).toMatchObject(ofScopes);
  });
});

test.each([
  ['without id_token_claims', {}],
  ['stored before id_token_claims existed', { id_token_claims: undefined }],
])('for a client %s, UserInfo alone returns scope claims (OpenID Connect Core 5.4)', async (_which, metadata) => {
  const client = await service.createClient({ scope }, { firstParty: true });
  if ('id_token_claims' in metadata)
    await service.database.sql(`UPDATE clients SET metadata = metadata - 'id_token_claims' WHERE client_id = $1`, [
      client.clientId,
    ]);
  const tokens = await obtainTokens(service, client, user, { scope });
  for (const name of claimNames) expect(decodeJwt(tokens.id_token)).not.toHaveProperty(name);
  const renewed = idTokenOf(await refresh(service.issuer, client, tokens.refresh_token));
  for (const name of claimNames) expect(renewed).not.toHaveProperty(name);
});

describe('id_token_claims', () => {
  const base = { redirect_uris: ['https://rp.example.com/cb'], client_name: 'Harbour' };
  const register = (body: Record<string, unknown> = {}) =>
    call(`${service.issuer}/register`, { method: 'POST', body: { ...base, ...body } });

  test('may be set by the registrant, and is false by default (decisions section 2)', async () => {
    expect((await register()).body['id_token_claims']).toBe(false);
    expect((await register({ id_token_claims: true })).body['id_token_claims']).toBe(true);
    expect(await register({ id_token_claims: 'yes' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_client_metadata', error_description: expect.stringContaining('id_token_claims') },
    });
  });

  test('needs no approval, since UserInfo gives the client the same claims (decisions section 2, security R45)', async () => {
    const { body: client } = await register();
    const clientId = client['client_id'] as string;
    await approveClient(service.issuer, token, clientId);
    const updated = await call(client['registration_client_uri'] as string, {
      method: 'PUT',
      token: client['registration_access_token'] as string,
      body: { ...base, client_id: clientId, id_token_claims: true },
    });
    expect(updated).toMatchObject({ status: 200, body: { id_token_claims: true } });
    expect(updated.body).not.toHaveProperty('pending_changes');
  });

  test('may be set by an administrator through the admin API and the command line (decisions section 2)', async () => {
    const createdByRoute = await call(`${service.issuer}/admin/api/clients`, {
      method: 'POST',
      token,
      body: { ...base, id_token_claims: true },
    });
    expect(createdByRoute).toMatchObject({ status: 201, body: { id_token_claims: true } });
    const path = `${service.issuer}/admin/api/clients/${createdByRoute.body['client_id'] as string}`;
    const changed = await call(path, { method: 'PATCH', token, body: { id_token_claims: false } });
    expect(changed).toMatchObject({ status: 200, body: { id_token_claims: false } });
    const command = ['client', 'create', '--name', 'Quay', '--redirect-uri', base.redirect_uris[0]!, '--json'];
    const created = await runCommand(service, [...command, '--id-token-claims']);
    expect(JSON.parse(created.stdout)).toMatchObject({ id_token_claims: true });
  });
});
