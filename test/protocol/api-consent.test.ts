// A user allows a client to use APIs: the request names resources and their scopes, the consent page shows them, and tokens hold them (RFC 8707).
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  adminToken,
  call,
  obtainCode,
  obtainTokens,
  redeem,
  refresh,
  userinfo,
  withoutLimits,
} from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

const notes = 'https://notes.example/v1';
const mail = 'https://mail.example';

let service: TestService;
let token: string;
let server: TestClient;
let mailServer: TestClient;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
  server = await service.createClient();
  mailServer = await service.createClient();
  const english = (value: string, en: string, de?: string) => ({ value, description: { en, ...(de && { de }) } });
  await admin('/resources', {
    resource: notes,
    name: 'Notebook',
    client_id: server.clientId,
    access_token_lifetime: 60,
    scopes: [
      english('notes.read', 'Read your notes', 'Ihre Notizen lesen'),
      english('notes.write', 'Write notes'),
      { value: 'sync' },
    ],
  });
  await admin('/resources', {
    resource: mail,
    name: 'Letters',
    client_id: mailServer.clientId,
    clients: 'approved',
    scopes: [english('mail.send', 'Send mail'), { value: 'sync' }],
  });
  client = await service.createClient({ scope: 'openid email offline_access notes.read notes.write sync' });
});
afterAll(() => service?.stop());

const admin = (path: string, body: unknown, method = 'POST') =>
  call(`${service.issuer}/admin/api${path}`, { method, token, body });
const seen = async (access: string, by = server) => (await introspect(service.issuer, by, access)).body;
const at = (uri: string) => `/resources/${encodeURIComponent(uri)}`;
/** The code of a request with several resources, which the user allows. */
async function codeFor(
  agent: UserAgent,
  scope: string,
  resources: string[],
  of: TestClient = client,
): Promise<Record<string, string | undefined>> {
  const url = new URL(authorizationUrl(service.issuer, of, { scope }));
  for (const uri of resources) url.searchParams.append('resource', uri);
  const page = await agent.follow(await agent.get(url.pathname + url.search));
  return responseParameters(
    page.url.includes('/consent')
      ? await agent
          .post('/consent', { ...hiddenFields(page.body), decision: 'allow' })
          .then((next) => agent.follow(next))
      : page,
  );
}

describe('the consent page', () => {
  test('shows the name and the host of the API above its scopes, in the language of the user (protocols 1.1)', async () => {
    const agent = new UserAgent(service);
    await agent.signIn(await service.createUser());
    const ask = (parameters: Record<string, string>) =>
      agent
        .get(
          new URL(authorizationUrl(service.issuer, client, parameters)).pathname +
            new URL(authorizationUrl(service.issuer, client, parameters)).search,
        )
        .then((page) => agent.follow(page));
    const page = await ask({ scope: 'openid notes.read sync', resource: notes });
    const text = page.body.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
    expect(text).toMatch(
      /It wants to use Notebook on your behalf An API at notes\.example Read your notes Use the permission sync/,
    );
    const german = await ask({ scope: 'openid notes.read', resource: notes, ui_locales: 'de' });
    expect(german.body).toContain('Ihre Notizen lesen');
    expect(german.body).toContain('notes.example');
  });

  test('is remembered for each resource: the same scope of another API is asked for (protocols 1.1)', async () => {
    const agent = new UserAgent(service);
    const user = await service.createUser();
    await obtainCode(service, client, user, { scope: 'openid sync', resource: notes }, agent);
    const silently = async (parameters: Record<string, string>) =>
      responseParameters(await agent.authorize(client, undefined, { prompt: 'none', ...parameters }));
    expect(await silently({ scope: 'openid sync', resource: notes })).toHaveProperty('code');
    expect(await silently({ scope: 'openid sync', resource: mail })).toMatchObject({ error: 'consent_required' });
    expect(await silently({ scope: 'openid notes.read', resource: notes })).toMatchObject({
      error: 'consent_required',
    });
    // only what is new is asked for
    const page = await agent.follow(
      await agent.get(
        `/authorize?${new URL(authorizationUrl(service.issuer, client, { scope: 'openid sync notes.read', resource: notes })).searchParams}`,
      ),
    );
    expect(page.body).toContain('Read your notes');
    expect(page.body).not.toContain('<b>sync</b>');
  });

  test('a granted API stands on the page of applications and in the administrator’s list, and a withdrawal ends its tokens (protocols 1.1)', async () => {
    const agent = new UserAgent(service);
    const user = await service.createUser();
    const { access_token } = await obtainTokens(
      service,
      client,
      user,
      { scope: 'openid notes.read', resource: notes },
      agent,
    );
    const page = await agent.get('/account/applications');
    expect(page.body).toMatch(/Notebook<\/bdi>: <bdi>Read your notes/);
    const listed = await call(`${service.issuer}/admin/api/users/${user.sub}/grants`, { token });
    expect(listed.body).toMatchObject({
      grants: [{ scope: 'openid', resources: [{ resource: notes, name: 'Notebook', scope: 'notes.read' }] }],
    });
    await call(`${service.issuer}/admin/api/users/${user.sub}/grants/${client.clientId}`, { method: 'DELETE', token });
    expect(await seen(access_token)).toEqual({ active: false });
  });

  test('the event of the consent names the API and the scope (security R101)', async () => {
    const user = await service.createUser();
    await obtainCode(service, client, user, { scope: 'openid notes.write', resource: notes });
    const [event] = await service.database.sql<{ detail: Record<string, unknown> }>(
      `SELECT detail FROM audit_events WHERE sub = $1 AND type = 'consent.granted'`,
      [user.sub],
    );
    expect(event!.detail).toMatchObject({ scope: ['openid'], resources: [`${notes} notes.write`] });
  });
});

describe('an authorization for one API', () => {
  test('has tokens with its audience and scopes, and no use at our own addresses (RFC 8707 2.2, security R139)', async () => {
    const tokens = await obtainTokens(service, client, await service.createUser(), {
      scope: 'openid email notes.read',
      resource: notes,
    });
    expect(tokens.scope.split(' ').sort()).toEqual(['email', 'notes.read', 'openid']);
    expect(await seen(tokens.access_token)).toMatchObject({
      active: true,
      aud: [notes, server.clientId],
      scope: tokens.scope,
    });
    expect(await seen(tokens.access_token, mailServer)).toEqual({ active: false });
    expect(await userinfo(service.issuer, tokens.access_token)).toMatchObject({
      status: 401,
      body: { error: 'invalid_token' },
    });
    expect(tokens.id_token).toBeDefined();
  });

  test('follows from its scopes without resource, and needs no openid (RFC 6749 3.3, protocols 1.1)', async () => {
    const tokens = await obtainTokens(service, client, await service.createUser(), { scope: 'notes.read' });
    expect(tokens).toMatchObject({ scope: 'notes.read' });
    expect(tokens.id_token).toBeUndefined();
    expect(await seen(tokens.access_token)).toMatchObject({ active: true, aud: [notes, server.clientId] });
  });

  test('lives no longer than the resource says, also after a refresh (RFC 6749 5.1)', async () => {
    const tokens = await obtainTokens(service, client, await service.createUser(), {
      scope: 'openid notes.read',
      resource: notes,
    });
    expect(tokens.expires_in).toBe(60);
    const { body } = await refresh(service.issuer, client, tokens.refresh_token);
    expect(body).toMatchObject({ expires_in: 60, scope: tokens.scope });
    for (const each of [tokens.access_token, String(body['access_token'])]) {
      const { exp, iat } = (await seen(each)) as { exp: number; iat: number };
      expect(exp - iat).toBe(60);
    }
  });

  test('is possible by a pushed request and in any equal spelling (RFC 9126 2, RFC 3986 6.2.3)', async () => {
    const user = await service.createUser();
    const pushed = await fetch(`${service.issuer}/par`, {
      method: 'POST',
      headers: { authorization: client.basic },
      body: new URL(
        authorizationUrl(service.issuer, client, { scope: 'openid sync', resource: 'HTTPS://Mail.example:443/' }),
      ).searchParams,
    });
    const { request_uri } = (await pushed.json()) as { request_uri: string };
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const page = await agent.follow(
      await agent.get(`/authorize?${new URLSearchParams({ client_id: client.clientId, request_uri })}`),
    );
    const done = await agent.follow(await agent.post('/consent', { ...hiddenFields(page.body), decision: 'allow' }));
    const { body } = await redeem(service.issuer, client, responseParameters(done)['code']!, { resource: `${mail}/` });
    expect(await seen(String(body['access_token']), mailServer)).toMatchObject({
      aud: [mail, mailServer.clientId],
      scope: 'openid sync',
    });
  });
});

describe('an authorization for several APIs', () => {
  test('gives each token request one of them, with the scopes of that one (RFC 8707 2.2, security R139)', async () => {
    const agent = new UserAgent(service);
    await agent.signIn(await service.createUser());
    const { code } = await codeFor(agent, 'openid offline_access notes.read mail.send sync', [
      notes,
      mail,
      service.issuer,
    ]);
    const first = await redeem(service.issuer, client, code!, { resource: notes });
    expect(first).toMatchObject({
      status: 200,
      body: { scope: 'openid offline_access notes.read sync', expires_in: 60 },
    });
    expect(await seen(String(first.body['access_token']))).toMatchObject({ aud: [notes, server.clientId] });
    expect(await seen(String(first.body['access_token']), mailServer)).toEqual({ active: false });
    const more = (resource: string) => refresh(service.issuer, client, refreshToken, { resource });
    let refreshToken = String(first.body['refresh_token']);
    const second = await more(mail);
    expect(second.body).toMatchObject({ scope: 'openid offline_access mail.send sync' });
    expect(second.body['expires_in']).toBeGreaterThan(60);
    expect(await seen(String(second.body['access_token']), mailServer)).toMatchObject({
      aud: [mail, mailServer.clientId],
    });
    refreshToken = String(second.body['refresh_token']);
    const own = await more(service.issuer);
    expect(own.body).toMatchObject({ scope: 'openid offline_access' });
    expect((await userinfo(service.issuer, String(own.body['access_token']))).status).toBe(200);
    expect((await userinfo(service.issuer, String(second.body['access_token']))).status).toBe(401);
    refreshToken = String(own.body['refresh_token']);
    expect(await refresh(service.issuer, client, refreshToken)).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    });
    // a narrower scope than that of the API
    expect(
      (await refresh(service.issuer, client, refreshToken, { resource: notes, scope: 'notes.read' })).body,
    ).toMatchObject({ scope: 'notes.read' });
  });

  test('is refused for a token that a browser passes on (RFC 8707 2)', async () => {
    const browser = await service.createClient({
      scope: 'openid sync',
      response_types: ['code', 'id_token token'],
      grant_types: ['authorization_code', 'implicit'],
    });
    const agent = new UserAgent(service);
    await agent.signIn(await service.createUser());
    const url = new URL(
      authorizationUrl(service.issuer, browser, { scope: 'openid sync', response_type: 'id_token token', nonce: 'n' }),
    );
    for (const uri of [notes, mail]) url.searchParams.append('resource', uri);
    const page = await agent.follow(await agent.get(url.pathname + url.search));
    expect(page.location).toMatch(/#error=invalid_target&/);
  });
});

describe('what a client may ask for (security R12)', () => {
  test('a scope of two APIs is invalid_scope without resource (protocols 1.1)', async () => {
    const agent = new UserAgent(service);
    await agent.signIn(await service.createUser());
    expect(responseParameters(await agent.authorize(client, undefined, { scope: 'openid sync' }))).toMatchObject({
      error: 'invalid_scope',
    });
  });

  test('a client without a scope of a listed API gets invalid_target, and the scopes of an approved one are open to it', async () => {
    const plain = await service.createClient({ scope: 'openid' });
    const agent = new UserAgent(service);
    await agent.signIn(await service.createUser());
    const ask = async (parameters: Record<string, string>) =>
      responseParameters(await agent.authorize(plain, undefined, parameters));
    expect(await ask({ scope: 'openid notes.read', resource: notes })).toMatchObject({ error: 'invalid_target' });
    const tokens = await obtainTokens(
      service,
      plain,
      undefined,
      { scope: 'openid mail.send notes.read', resource: mail },
      agent,
    );
    expect(tokens.scope).toBe('openid mail.send');
  });

  test('what registration, resource or grant no longer allow is gone at the next refresh (security R12)', async () => {
    const own = await service.createClient({ scope: 'openid notes.read notes.write' });
    const tokens = await obtainTokens(service, own, await service.createUser(), {
      scope: 'openid notes.read notes.write',
      resource: notes,
    });
    await call(`${service.issuer}/admin/api/clients/${own.clientId}`, {
      method: 'PATCH',
      token,
      body: { scope: 'openid notes.read' },
    });
    const next = await refresh(service.issuer, own, tokens.refresh_token);
    expect(next.body).toMatchObject({ scope: 'openid notes.read' });
    expect(
      await refresh(service.issuer, own, String(next.body['refresh_token']), { scope: 'notes.write' }),
    ).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
  });

  test.each<[string, (uri: string, sub: string) => Promise<unknown>]>([
    ['the resource', (uri) => admin(at(uri), { scopes: [{ value: 'ledger.read' }] }, 'PATCH')],
    [
      'the grant',
      (_uri, sub) =>
        service.database.sql(
          `UPDATE grants SET granted = jsonb_set(granted, '{resources}', (SELECT jsonb_object_agg(key, value - 'ledger.write') FROM jsonb_each(granted -> 'resources')))
            WHERE sub = $1`,
          [sub],
        ),
    ],
  ])('what %s no longer has is gone at the next refresh, too (security R12, R139)', async (of, narrow) => {
    const uri = `https://ledger.example/${encodeURIComponent(of)}`;
    const scopes = [{ value: 'ledger.read' }, { value: 'ledger.write' }];
    const made = await admin('/resources', { resource: uri, name: 'Ledger', clients: 'approved', scopes });
    expect(made.status).toBe(201);
    const asked = { scope: 'openid ledger.read ledger.write', resource: uri };
    const user = await service.createUser();
    const tokens = await obtainTokens(service, client, user, asked);
    expect(tokens.scope).toBe('openid ledger.read ledger.write');
    await narrow(uri, user.sub);
    const next = await refresh(service.issuer, client, tokens.refresh_token);
    expect(next.body).toMatchObject({ scope: 'openid ledger.read' });
    expect(
      await refresh(service.issuer, client, String(next.body['refresh_token']), { scope: 'ledger.write' }),
    ).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
    await admin(at(uri), undefined, 'DELETE');
  });

  test('a resource that requires two factors gets no token of a user who has shown one (RFC 9470 5, protocols 1.1)', async () => {
    const resource = 'https://vault.example';
    const members = { resource, name: 'Vault', clients: 'approved', scopes: [{ value: 'vault.open' }] };
    await admin('/resources', { ...members, required_acr: 'urn:gatehouse:acr:mfa' });
    const agent = new UserAgent(service);
    await agent.signIn(await service.createUser());
    const ask = async (parameters: Record<string, string>) =>
      responseParameters(await agent.authorize(client, undefined, { prompt: 'none', ...parameters }));
    expect(await ask({ scope: 'openid vault.open', resource })).toMatchObject({ error: 'login_required' });
    // the other resources of the client demand nothing
    expect(await ask({ scope: 'openid notes.read', resource: notes })).toMatchObject({ error: 'consent_required' });
    await admin(at(resource), { required_acr: null }, 'PATCH');
    expect(await ask({ scope: 'openid vault.open', resource })).toMatchObject({ error: 'consent_required' });
  });

  test('a deleted resource gives no more tokens, by code or by refresh token (RFC 8707 2)', async () => {
    const uri = 'https://gone.example';
    await admin('/resources', { resource: uri, name: 'Gone', clients: 'approved', scopes: [{ value: 'gone.use' }] });
    const user = await service.createUser();
    const agent = new UserAgent(service);
    const tokens = await obtainTokens(service, client, user, { scope: 'openid gone.use', resource: uri }, agent);
    const code = await obtainCode(service, client, undefined, { scope: 'openid gone.use', resource: uri }, agent);
    await admin(at(uri), undefined, 'DELETE');
    expect(await redeem(service.issuer, client, code)).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    });
    expect(await refresh(service.issuer, client, tokens.refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    });
    // another API at the same address has no consent from before
    await admin('/resources', { resource: uri, name: 'New', clients: 'approved', scopes: [{ value: 'gone.use' }] });
    expect(
      responseParameters(
        await agent.authorize(client, undefined, { scope: 'openid gone.use', resource: uri, prompt: 'none' }),
      ),
    ).toMatchObject({ error: 'consent_required' });
    expect(await refresh(service.issuer, client, tokens.refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    });
  });
});

test('a request without resource and without scopes of APIs has the tokens that it always had (protocols 1.1)', async () => {
  const tokens = await obtainTokens(service, client, await service.createUser(), { scope: 'openid email' });
  expect(await seen(tokens.access_token, client)).toMatchObject({ aud: [client.clientId], scope: 'openid email' });
  expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(200);
  const [row] = await service.database.sql('SELECT resources, audience FROM client_sessions ORDER BY id DESC LIMIT 1');
  expect(row).toEqual({ resources: null, audience: null });
});

test('a token costs one statement at introspection and at UserInfo, with a resource or without one (architecture, hot paths)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  const plain = await obtainTokens(service, client, user, { scope: 'openid email' }, agent);
  const narrowed = await obtainTokens(service, client, undefined, { scope: 'notes.read', resource: notes }, agent);
  const sent = async (work: () => Promise<unknown>) => {
    const before = service.ofRequests.length;
    await work();
    return service.ofRequests.slice(before).filter((name) => !name.startsWith('clients.'));
  };
  expect(await sent(() => seen(plain.access_token, client))).toEqual(['access_tokens.find']);
  expect(await sent(() => seen(narrowed.access_token))).toEqual(['access_tokens.find']);
  expect(await sent(() => userinfo(service.issuer, plain.access_token))).toEqual(['access_tokens.find']);
});
