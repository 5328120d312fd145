// A device without a browser gets codes, polls, and gets tokens once its user has approved (RFC 8628).
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deviceGrant } from '../../src/oauth/registrable-values.ts';
import { allowPolls, askForCodes, decide, deviceCodes, deviceMetadata, poll } from '../helpers/device.ts';
import { adminToken, call, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
let user: TestUser;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, DEVICE_GRANT: 'on' } });
  client = await service.createClient(deviceMetadata);
  user = await service.createUser({ email: 'ada@example.org', claims: { name: 'Ada Lovelace' } });
  agent = await signedIn();
});
afterAll(() => service?.stop());

async function signedIn(as = user): Promise<UserAgent> {
  const browser = new UserAgent(service);
  await browser.signIn(as);
  return browser;
}
const ask = (parameters: Record<string, string> = {}, of = client) => askForCodes(service.issuer, of, parameters);
const codes = (parameters: Record<string, string> = {}, of = client) => deviceCodes(service.issuer, of, parameters);
const errorOf = async (answer: ReturnType<typeof poll>) => {
  const { status, body } = await answer;
  return [status, body['error']];
};
const publicClient = () => service.createClient({ ...deviceMetadata, token_endpoint_auth_method: 'none' });

describe('the device authorization endpoint', () => {
  test('it answers with two codes, the page and the interval, which no cache stores (RFC 8628 3.2)', async () => {
    const { status, headers, body } = await ask({ scope: 'openid profile' });
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toEqual({
      device_code: expect.stringMatching(/^ghdc_[\w-]{49}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${service.issuer}/device`,
      verification_uri_complete: `${service.issuer}/device?user_code=${String(body['user_code'])}`,
      expires_in: 600,
      interval: 5,
    });
  });

  test('it needs the credentials of a client with the grant type, and knows an enabled public client by its name (RFC 8628 3.1)', async () => {
    const wrong = await askForCodes(service.issuer, { ...client, basic: 'Basic eDp5' });
    expect(wrong).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
    expect(await ask({}, await service.createClient())).toMatchObject({
      status: 400,
      body: { error: 'unauthorized_client' },
    });
    expect((await ask({}, await publicClient())).status).toBe(200);
    const waiting = await service.createClient(deviceMetadata, { status: 'disabled' });
    expect(await ask({}, waiting)).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } });
  });

  test('it grants the registered scopes of the request, by default all, and refuses a request without any (RFC 6749 3.3)', async () => {
    const scopeOf = async (parameters: Record<string, string>) => {
      const given = await codes(parameters);
      await decide(agent, given);
      return (await poll(service.issuer, client, given)).body['scope'];
    };
    expect(await scopeOf({})).toBe('openid profile email offline_access');
    expect(await scopeOf({ scope: 'openid phone email' })).toBe('openid email');
    for (const scope of ['phone', 'openid "', 'admin'])
      expect(await ask({ scope })).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
  });

  test('the tokens are for the resource that the request names, and a poll cannot name another (RFC 8707 2)', async () => {
    const resource = 'https://api.example.com/';
    const server = await service.createClient({ resource_uris: [resource] });
    const given = await codes({ scope: 'profile', resource });
    await decide(agent, given);
    const other = await poll(service.issuer, client, given, { resource: 'https://other.example.com/' });
    expect(other).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
    const { body } = await poll(service.issuer, client, given, { resource });
    const answer = await fetch(`${service.issuer}/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token: String(body['access_token']) }),
      headers: { authorization: server.basic },
    });
    expect(await answer.json()).toMatchObject({ active: true, scope: 'profile', sub: user.sub });
    expect(await ask({ resource: 'https://nobody.example.com/' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    });
  });

  test('a JWT for a resource ends when its row ends: after five minutes unless the resource says otherwise (RFC 9068 4)', async () => {
    const resource = 'https://jwt.example.com/';
    const made = await call(`${service.issuer}/admin/api/resources`, {
      token: await adminToken(service),
      body: {
        resource,
        name: 'Notebook',
        clients: 'approved',
        access_token_format: 'jwt',
        scopes: [{ value: 'notes' }],
      },
    });
    expect(made.status).toBe(201);
    const given = await codes({ scope: 'notes', resource });
    await decide(agent, given);
    const { body } = await poll(service.issuer, client, given);
    expect(body['expires_in']).toBe(300);
    const { exp, iat } = decodeJwt(String(body['access_token']));
    expect(exp! - iat!).toBe(300);
  });

  test('a public client has at most 100 undecided requests from one network, any client 1000, and each decision makes room (RFC 8628 5.1)', async () => {
    const open = await publicClient();
    const fill = (count: number, { clientId }: TestClient, network: string | null) =>
      service.database.sql(
        `INSERT INTO device_authorizations (device_code_hash, user_code_hash, client_id, scope, network, poll_interval, expires_at)
         SELECT sha256(($2 || n)::bytea), sha256(($2 || n)::bytea), $2, 'openid', $3, 5, now() + interval '1 minute'
           FROM generate_series(1, $1::int) AS n`,
        [count, clientId, network],
      );
    await service.database.sql('DELETE FROM device_authorizations');
    const given = await codes({}, open);
    await fill(99, open, '127.0.0.0/24');
    const full = await ask({}, open);
    expect(full).toMatchObject({ status: 429, body: { error: 'temporarily_unavailable' } });
    expect(full.headers.get('retry-after')).toBe('60');
    expect((await ask()).status).toBe(200);
    await decide(agent, given, 'deny');
    expect((await ask({}, open)).status).toBe(200);
    const busy = await service.createClient(deviceMetadata);
    await fill(999, busy, null);
    expect((await ask({}, busy)).status).toBe(200);
    expect((await ask({}, busy)).status).toBe(429);
  });

  test('discovery names the endpoint and the grant type only where DEVICE_GRANT is on, and else both do not exist (RFC 8628 4, protocols P93)', async () => {
    const metadataOf = async ({ issuer }: TestService) =>
      (await call(`${issuer}/.well-known/openid-configuration`)).body as Record<string, unknown>;
    expect(await metadataOf(service)).toMatchObject({
      device_authorization_endpoint: `${service.issuer}/device_authorization`,
      grant_types_supported: expect.arrayContaining([deviceGrant]),
    });
    const off = await startTestService();
    try {
      const metadata = await metadataOf(off);
      expect(metadata).not.toHaveProperty('device_authorization_endpoint');
      expect(metadata['grant_types_supported']).not.toContain(deviceGrant);
      const registered = await off.createClient(deviceMetadata);
      expect(await askForCodes(off.issuer, registered)).toMatchObject({ status: 404, body: { error: 'not_found' } });
      expect(await poll(off.issuer, registered, { device_code: 'x' })).toMatchObject({
        status: 400,
        body: { error: 'unsupported_grant_type' },
      });
      expect((await new UserAgent(off).get('/device')).status).toBe(404);
      // the answer of an address that does not exist, whatever the method (reports F5)
      for (const path of ['/device_authorization', '/device', '/sign-up', '/sign-up/complete'])
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
          const headers = { 'content-type': 'application/x-www-form-urlencoded' };
          const answer = await fetch(off.issuer + path, { method, redirect: 'manual', headers });
          expect(answer.status, `${method} ${path}`).toBe(404);
          if (path === '/device_authorization') expect(answer.headers.get('access-control-allow-origin')).toBe('*');
        }
    } finally {
      await off.stop();
    }
  });
});

describe('a poll', () => {
  test('it is answered by authorization_pending until the user allows it, then once by tokens that work (RFC 8628 3.5)', async () => {
    const given = await codes();
    expect(await errorOf(poll(service.issuer, client, given))).toEqual([400, 'authorization_pending']);
    await decide(agent, given);
    const { status, headers, body } = await poll(service.issuer, client, given);
    expect({ status, cache: headers.get('cache-control') }).toEqual({ status: 200, cache: 'no-store' });
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 600, refresh_token: expect.any(String) });
    expect(decodeJwt(body['id_token'] as string)).toMatchObject({ sub: user.sub, aud: client.clientId, amr: ['pwd'] });
    expect((await userinfo(service.issuer, body['access_token'] as string)).body).toMatchObject({
      sub: user.sub,
      name: 'Ada Lovelace',
      email: 'ada@example.org',
    });
    expect((await refresh(service.issuer, client, body['refresh_token'] as string)).status).toBe(200);
    expect(await errorOf(poll(service.issuer, client, given))).toEqual([400, 'invalid_grant']);
  });

  test('one that comes too soon gets slow_down, and the interval grows by five seconds each time (RFC 8628 3.5)', async () => {
    const given = await codes();
    const intervals = async () =>
      (
        await service.database.sql<{ poll_interval: number }>(
          'SELECT poll_interval FROM device_authorizations WHERE client_id = $1 ORDER BY created_at DESC LIMIT 1',
          [client.clientId],
        )
      )[0]!.poll_interval;
    expect(await errorOf(poll(service.issuer, client, given))).toEqual([400, 'authorization_pending']);
    expect(await errorOf(poll(service.issuer, client, given))).toEqual([400, 'slow_down']);
    expect(await errorOf(poll(service.issuer, client, given))).toEqual([400, 'slow_down']);
    expect(await intervals()).toBe(15);
    await allowPolls(service);
    expect(await errorOf(poll(service.issuer, client, given))).toEqual([400, 'authorization_pending']);
    expect(await intervals()).toBe(15);
  });

  test('it is answered by access_denied once the user refused, and by expired_token once the codes expired (RFC 8628 3.5)', async () => {
    const [refused, late, approved] = [await codes(), await codes(), await codes()];
    await decide(agent, refused, 'deny');
    expect(await errorOf(poll(service.issuer, client, refused))).toEqual([400, 'access_denied']);
    await decide(agent, approved);
    await service.database.sql(
      `UPDATE device_authorizations SET expires_at = now() WHERE client_id = $1 AND decision IS DISTINCT FROM 'denied'`,
      [client.clientId],
    );
    for (const given of [late, approved])
      expect(await errorOf(poll(service.issuer, client, given))).toEqual([400, 'expired_token']);
    const page = await agent.get(late.verification_uri_complete);
    expect(page.status).toBe(400);
  });

  test('a code that is unknown, malformed or missing is refused (RFC 6749 5.2)', async () => {
    const { device_code: code } = await codes();
    for (const device_code of ['x', `${code.slice(0, -1)}~`, code.replace('ghdc_', 'ghac_'), 'a'.repeat(500)])
      expect(await errorOf(poll(service.issuer, client, { device_code }))).toEqual([400, 'invalid_grant']);
    const missing = tokenRequest(service.issuer, client, { grant_type: deviceGrant });
    expect(await errorOf(missing)).toEqual([400, 'invalid_request']);
  });

  test.each<[string, (of: { client: TestClient; user: TestUser; agent: UserAgent }) => Promise<unknown>]>([
    [
      'the session ended',
      ({ agent: browser }) => browser.get('/logout').then((page) => browser.submit(page, { decision: 'sign-out' })),
    ],
    [
      'the user was disabled',
      ({ user: { sub } }) => service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [sub]),
    ],
    [
      'the session was idle for too long',
      ({ user: { sub } }) => service.database.sql('UPDATE sessions SET idle_expires_at = now() WHERE sub = $1', [sub]),
    ],
    [
      'the consent was revoked',
      async ({ agent: browser, client: { clientId } }) =>
        browser.submit(await browser.get('/account/applications'), { withdraw: clientId }),
    ],
    [
      'the client was disabled and enabled again',
      async ({ client: { clientId } }) => {
        for (const status of ['disabled', 'enabled'])
          await service.database.sql('UPDATE clients SET status = $2 WHERE client_id = $1', [clientId, status]);
      },
    ],
  ])('an approved request gives no tokens after %s (CVE-2026-88770)', async (_what, change) => {
    const of = await service.createClient(deviceMetadata);
    const person = await service.createUser();
    const browser = await signedIn(person);
    const given = await codes({}, of);
    await decide(browser, given);
    await change({ client: of, user: person, agent: browser });
    expect(await errorOf(poll(service.issuer, of, given))).toEqual([400, 'invalid_grant']);
  });

  test('the tokens end with the session that approved, unless offline_access was granted (OpenID Connect Core 11)', async () => {
    const person = await service.createUser();
    const browser = await signedIn(person);
    const tokensOf = async (scope: string) => {
      const given = await codes({ scope });
      await decide(browser, given);
      return (await poll(service.issuer, client, given)).body;
    };
    const [bound, offline] = [await tokensOf('openid'), await tokensOf('openid offline_access')];
    await browser.submit(await browser.get('/logout'), { decision: 'sign-out' });
    const again = (tokens: Record<string, unknown>) =>
      refresh(service.issuer, client, tokens['refresh_token'] as string);
    expect((await again(bound)).status).toBe(400);
    expect((await again(offline)).status).toBe(200);
  });
});

test('a client registers for the grant type without redirect URIs and response types, with refresh tokens (RFC 7591 2)', async () => {
  const body = { ...deviceMetadata, token_endpoint_auth_method: 'none' };
  expect(await call(`${service.issuer}/register`, { body })).toMatchObject({
    status: 201,
    body: { grant_types: deviceMetadata.grant_types, redirect_uris: [], response_types: [] },
  });
});

test('the request and both decisions are in the audit trail (decisions 7)', async () => {
  const of = await service.createClient(deviceMetadata);
  await decide(agent, await codes({ scope: 'openid' }, of));
  await decide(agent, await codes({ scope: 'openid' }, of), 'deny');
  const rows = await service.database.sql(
    `SELECT type, actor, sub, address IS NOT NULL AS located, detail FROM audit_events WHERE client_id = $1 AND type LIKE 'device.%' ORDER BY id`,
    [of.clientId],
  );
  const detail = { scope: ['openid'] };
  const asked = { type: 'device.requested', actor: of.clientId, sub: null, located: true, detail };
  const own = { actor: user.sub, sub: user.sub, located: true, detail };
  expect(rows).toEqual([asked, { type: 'device.approved', ...own }, asked, { type: 'device.denied', ...own }]);
});
