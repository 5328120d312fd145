// Clients may register http URIs on localhost, as on the loopback addresses, unless LOOPBACK_LOCALHOST is false.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const uri = 'http://localhost:5173/callback';
const advice = 'use http://127.0.0.1 or http://[::1] instead of http://localhost';

describe.each([true, false])('with LOOPBACK_LOCALHOST=%s', (allowed) => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    const environment = { ...withoutLimits, REGISTRATION_APPROVAL: 'automatic' };
    // the default is true
    service = await startTestService({
      environment: allowed ? environment : { ...environment, LOOPBACK_LOCALHOST: 'false' },
    });
    token = await adminToken(service);
  });
  afterAll(() => service?.stop());

  test('a localhost redirect URI is accepted or refused by every operation that writes it (security R24)', async () => {
    const body = { redirect_uris: [uri] };
    const safe = { redirect_uris: ['http://127.0.0.1:5173/callback'] };
    const registered = await call(`${service.issuer}/register`, { body: safe });
    const { client_id, registration_client_uri, registration_access_token } = registered.body as Record<string, string>;
    const registrationToken = registration_access_token!;
    const answers = [
      await call(`${service.issuer}/register`, { body }),
      await call(`${service.issuer}/register`, { body: { ...body, application_type: 'native' } }),
      await call(registration_client_uri!, { method: 'PUT', token: registrationToken, body: { ...body, client_id } }),
      await call(`${service.issuer}/admin/api/clients`, { token, body }),
      await call(`${service.issuer}/admin/api/clients/${client_id}`, { method: 'PATCH', token, body }),
    ];
    for (const answer of answers) {
      if (allowed) expect([200, 201]).toContain(answer.status);
      else
        expect(answer).toMatchObject({
          status: 400,
          body: { error: 'invalid_redirect_uri', error_description: expect.stringContaining(advice) },
        });
    }
    const created = await runCommand(
      service,
      ['client', 'create', '--name', 'Harbour', '--redirect-uri', uri, '--application-type', 'native', '--json'],
      allowed ? {} : { environment: { LOOPBACK_LOCALHOST: 'false' } },
    );
    if (allowed) expect(JSON.parse(created.stdout)).toMatchObject({ application_type: 'native', redirect_uris: [uri] });
    else expect(created).toMatchObject({ code: 1, stderr: expect.stringContaining(advice) });
  });

  test.each([
    { post_logout_redirect_uris: ['http://localhost:5173/'] },
    { request_uris: ['http://localhost:5173/request'] },
    { client_uri: 'http://localhost:5173/' },
    { logo_uri: 'http://localhost:5173/logo.png' },
    { policy_uri: 'http://localhost:5173/policy' },
    { tos_uri: 'http://localhost:5173/terms' },
    { jwks_uri: 'http://localhost:5173/jwks' },
    { backchannel_logout_uri: 'http://localhost:5173/backchannel' },
  ])('the same rule applies to %j (security R25)', async (member) => {
    const body = { redirect_uris: ['http://127.0.0.1:5173/callback'], ...member };
    const answer = await call(`${service.issuer}/register`, { body });
    if (allowed) expect(answer).toMatchObject({ status: 201, body: member });
    else
      expect(answer).toMatchObject({
        status: 400,
        body: { error: 'invalid_client_metadata', error_description: expect.stringContaining('127.0.0.1') },
      });
  });

  test('its port is variable for a native client only (RFC 8252 7.3, security R23)', async () => {
    const user = await service.createUser();
    const agent = new UserAgent(service);
    // the client was created before the setting changed
    const native = await service.createClient(
      { application_type: 'native', redirect_uris: [uri] },
      { firstParty: true },
    );
    await agent.authorize(native, user);
    const web = await service.createClient({ redirect_uris: [uri] }, { firstParty: true });
    const refused = `${service.issuer}/login?problem=client`;
    const at = async ({ clientId }: { clientId: string }, redirectUri: string) =>
      agent.get(authorizationUrl(service.issuer, { clientId, redirectUri }));
    expect(responseParameters(await at(native, uri))['code']).toBeDefined();
    expect(responseParameters(await at(web, uri))['code']).toBeDefined();
    const elsewhere = await at(native, 'http://localhost:49152/callback');
    if (allowed) expect(responseParameters(elsewhere)['code']).toBeDefined();
    else expect(elsewhere.location).toBe(refused);
    expect((await at(web, 'http://localhost:49152/callback')).location).toBe(refused);
    expect((await at(native, 'http://127.0.0.1:5173/callback')).location).toBe(refused);
  });

  test('the console names the setting at the field, and localhost itself serves the console (security R24)', async () => {
    const { agent, page: overview } = await openConsole(service, await service.createUser({ admin: true }));
    expect(overview.status).toBe(200);
    const page = await agent.post('/admin/clients/new/web', {
      ...formOf(await agent.get('/admin/clients/new/web'), '/admin/clients/new/web'),
      application_type: 'web',
      redirect_uris: uri,
      'grant_types.0': 'on',
      'response_types.0': 'on',
      'scope.0': 'on',
      token_endpoint_auth_method: 'client_secret_basic',
      subject_type: 'public',
      id_token_signed_response_alg: 'RS256',
      introspect: 'own',
      client_name: 'Pier',
    });
    expect(page.status).toBe(allowed ? 200 : 400);
    if (!allowed) expect(page.body).toContain('LOOPBACK_LOCALHOST');
  });
});

test('the command line says what to use instead of a refused URI (security R24)', async () => {
  const service = await startTestService();
  try {
    const create = (...args: string[]) => runCommand(service, ['client', 'create', '--name', 'Harbour', ...args]);
    expect(await create('--redirect-uri', 'http://app.example/cb')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('use https'),
    });
    expect(await create('--redirect-uri', 'com.example.app:/cb')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('application_type native'),
    });
    expect(await create('--redirect-uri', 'com.example.app:/cb', '--application-type', 'native')).toMatchObject({
      code: 0,
    });
    expect(await create('--redirect-uri', uri, '--application-type', 'desktop')).toMatchObject({ code: 1 });
  } finally {
    await service.stop();
  }
});
