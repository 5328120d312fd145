// The scope `groups` releases the names of the user's groups, and nothing else.
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, obtainTokens, userinfo } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const scope = 'openid groups';
const groups = ['harbour', 'staff'];

let service: TestService;
let client: TestClient;
let user: TestUser;
beforeAll(async () => {
  service = await startTestService();
  client = await service.createClient({
    scope,
    response_types: ['code', 'id_token'],
    grant_types: ['authorization_code', 'refresh_token', 'implicit', 'client_credentials'],
  });
  user = await service.createUser({ groups, claims: { name: 'Ada' } });
});
afterAll(() => service?.stop());

describe('the scope groups', () => {
  test('releases the claim groups only, at UserInfo and info (decisions section 5)', async () => {
    const { access_token: token, scope: granted } = await obtainTokens(service, client, user, { scope });
    expect(granted).toBe(scope);
    expect((await userinfo(service.issuer, token)).body).toEqual({ sub: user.sub, groups });
    expect((await call(`${service.issuer}/user/me/info`, { token })).body).toEqual({ sub: user.sub, groups });
  });

  test('shows the groups at introspection, and no user name for a pairwise subject (decisions section 4)', async () => {
    const ownClient = await service.createClient({ scope, subject_type: 'pairwise' }, { firstParty: true });
    const { access_token: token } = await obtainTokens(service, ownClient, user, { scope });
    const response = await fetch(`${service.issuer}/introspect`, {
      method: 'POST',
      headers: { authorization: ownClient.basic },
      body: new URLSearchParams({ token }),
    });
    const body = (await response.json()) as { extended_claims: Record<string, unknown> };
    expect(body).toMatchObject({ active: true, scope, extended_claims: { groups } });
    expect(body.extended_claims).not.toHaveProperty('preferred_username');
    expect(body).not.toHaveProperty('username');
  });

  test('adds the claim to the ID Tokens that contain the claims of the scopes (OpenID Connect Core 5.4)', async () => {
    const flow = await obtainTokens(service, client, user, { scope });
    expect(decodeJwt(flow.id_token)).not.toHaveProperty('groups');
    const agent = new UserAgent(service);
    const page = await agent.authorize(client, user, { scope, response_type: 'id_token', nonce: 'n' });
    const response = new URLSearchParams(new URL(page.location!).hash.slice(1));
    expect(decodeJwt(response.get('id_token')!)).toMatchObject({ sub: user.sub, groups });
  });

  test('does not allow the scope query, which requires the scope `scope` (decisions section 5)', async () => {
    const { access_token: token } = await obtainTokens(service, client, user, { scope });
    expect(await call(`${service.issuer}/user/me/scope`, { token })).toMatchObject({
      status: 403,
      body: { error: 'insufficient_scope' },
    });
  });

  test('allows a request for the claim by name (OpenID Connect Core 5.5)', async () => {
    const claims = JSON.stringify({ id_token: { groups: null } });
    const { id_token } = await obtainTokens(service, client, user, { scope: 'openid', claims });
    expect(decodeJwt(id_token)).toMatchObject({ groups });
  });

  test('applies to users, and a client cannot obtain it with its own credentials (RFC 6749 4.4)', async () => {
    const grant = { grant_type: 'client_credentials' };
    expect(await tokenRequest(service.issuer, client, { ...grant, scope: 'groups' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_scope' },
    });
    expect((await tokenRequest(service.issuer, client, grant)).body).not.toHaveProperty('scope');
  });

  test('appears on the consent page with the names of the groups (security R11)', async () => {
    const ask = async (as: typeof user, language: string) => {
      const agent = new UserAgent(service);
      const ownClient = await service.createClient({ scope });
      const page = await agent.follow(
        await agent.get(authorizationUrl(service.issuer, ownClient, { scope, ui_locales: language })),
      );
      return (await agent.signIn(as, page)).body;
    };
    const english = await ask(user, 'en');
    expect(english).toContain('See your groups');
    expect(english).toContain('harbour, staff');
    expect(await ask(user, 'de')).toContain('Ihre Gruppen sehen');
    expect(await ask(user, 'ar')).toContain('الاطّلاع على مجموعاتك');
    const withoutGroups = await ask(await service.createUser(), 'en');
    expect(withoutGroups).not.toContain('<dt>Groups</dt>');
  });
});

describe('a registration', () => {
  const register = (target: TestService, body: Record<string, unknown>) =>
    call(`${target.issuer}/register`, {
      method: 'POST',
      body: { redirect_uris: ['https://rp.example.com/cb'], ...body },
    });

  test('may request the scope groups, and the discovery document lists it (decisions section 2)', async () => {
    expect((await register(service, { scope })).body).toMatchObject({ status: 'disabled', scope });
    const { body } = await call(`${service.issuer}/.well-known/openid-configuration`);
    expect(body['scopes_supported']).toContain('groups');
    expect(body['claims_supported']).toContain('groups');
  });

  test('without a scope gets neither `groups` nor `scope` (decisions section 2)', async () => {
    expect((await register(service, {})).body['scope']).toBe('openid profile email');
    const automatic = await startTestService({ environment: { REGISTRATION_APPROVAL: 'automatic' } });
    try {
      expect((await register(automatic, {})).body['scope']).toBe('openid profile email address phone offline_access');
    } finally {
      await automatic.stop();
    }
  });
});
