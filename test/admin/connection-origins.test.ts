// Tests that an address of a connection which is changed to another origin does not get the secret of the present one (security R162).
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { addConnection } from '../helpers/connections.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let [honest, other]: Provider[] = [];
let token: string;

beforeAll(async () => {
  [honest, other] = [await startProvider(), await startProvider()];
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: `${honest.host},${other.host}`,
      CONNECTIONS_ALLOW: 'ldap.example:636,other.example:636',
    },
  });
  await addConnection(service, honest, 'moved');
  token = await adminToken(service);
});
afterAll(async () => {
  await service?.stop();
  await honest?.stop();
  await other?.stop();
});

const api = (path = '') => `${service.issuer}/admin/api/connections${path}`;
const change = (id: string, body: object) => call(api(`/${id}`), { token, method: 'PATCH', body });
const secretOf = async (id: string) =>
  (
    await service.database.sql<{ secret: string | null; key: string | null }>(
      `SELECT encode(secret_encrypted, 'hex') AS secret, key_public ->> 'kid' AS key FROM connections WHERE id = $1`,
      [id],
    )
  )[0]!;

test('an issuer at another origin demands the secret anew, by route, command and console (security R162)', async () => {
  const before = await secretOf('moved');
  const settings = { issuer: other!.issuer };
  const refused = await change('moved', { settings });
  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect(refused.body['error_description']).toContain('enter the secret again');
  const command = await runCommand(service, ['connection', 'change', 'moved', '--settings', `issuer=${other!.issuer}`]);
  expect([command.code, command.stderr]).toEqual([1, expect.stringContaining('enter the secret again')]);
  const { agent } = await openConsole(service, await service.createUser({ username: 'moving', admin: true }));
  const path = '/admin/connections/moved/edit';
  const page = await agent.get(path);
  const typed = { ...formOf(page, path), display_name: 'Moved', client_id: 'gatehouse', issuer: other!.issuer };
  const more = { status: 'enabled', linking: 'ask', provisioning: 'off', logout: 'local', position: '0' };
  const form = await agent.post(path, { ...typed, ...more, token_endpoint_auth_method: 'client_secret_basic' });
  expect(form.status).toBe(400);
  expect(form.body).toContain('Enter the secret again, because a URL now leads to another site');
  expect(await secretOf('moved')).toEqual(before);
  expect((await change('moved', { settings: { ...settings, scope: 'openid' }, secret: 'a new secret' })).status).toBe(
    200,
  );
  // a change beside the address needs none
  expect((await change('moved', { settings: { scope: 'openid email' } })).status).toBe(200);
});

test('an endpoint of an OAuth provider at another origin demands the secret anew (security R162)', async () => {
  const settings = {
    authorization_endpoint: `${honest!.issuer}/authorize`,
    token_endpoint: `${honest!.issuer}/token`,
    userinfo_endpoint: `${honest!.issuer}/userinfo`,
    client_id: 'gatehouse',
    subject_claim: 'sub',
  };
  const made = await call(api(), {
    token,
    body: { id: 'plain', kind: 'oauth', display_name: 'Plain', secret: 's', settings },
  });
  expect(made.status).toBe(201);
  for (const name of ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint']) {
    const moved = { settings: { [name]: `${other!.issuer}/x` } };
    expect((await change('plain', moved)).status, name).toBe(400);
    // a URL may begin with spaces and control characters
    for (const before of [' ', '\t', '\n', '\u0001'])
      expect((await change('plain', { settings: { [name]: `${before}${other!.issuer}/x` } })).status, name).toBe(400);
  }
  expect((await change('plain', { settings: { token_endpoint: `${honest!.issuer}/token2` } })).status).toBe(200);
});

test('a directory at another address demands its password anew (security R162)', async () => {
  const settings = { url: 'ldaps://ldap.example', bind_dn: 'cn=admin,dc=x', base: 'dc=x', preset: 'openldap' };
  const made = await call(api(), {
    token,
    body: { id: 'staff', kind: 'ldap', display_name: 'S', secret: 's', settings },
  });
  expect(made.status).toBe(201);
  expect((await change('staff', { settings: { url: 'ldaps://other.example' } })).status).toBe(400);
  expect((await change('staff', { settings: { url: 'ldaps://other.example' }, secret: 't' })).status).toBe(200);
});

test("a new origin renews the service's own key, and drops a secret that is not in use (security R162)", async () => {
  await addConnection(service, honest!, 'keyed');
  const toKey = { settings: { token_endpoint_auth_method: 'private_key_jwt' } };
  expect((await change('keyed', toKey)).status).toBe(200);
  const before = await secretOf('keyed');
  expect(before).toEqual({ secret: expect.any(String), key: expect.any(String) });
  expect((await change('keyed', { settings: { issuer: other!.issuer } })).status).toBe(200);
  const after = await secretOf('keyed');
  expect(after.key).not.toBe(before.key);
  expect(after.secret).toBeNull();
  const back = await change('keyed', {
    status: 'enabled',
    settings: { token_endpoint_auth_method: 'client_secret_basic' },
  });
  expect(back.status).toBe(400);
});
