// POST /revoke-user: a client with the right for it ends everything that a user has (draft-ietf-oauth-global-token-revocation).
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventsOf } from '../helpers/events.ts';
import { call, obtainTokens, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

let service: TestService;
let app: TestClient;
let alice: TestUser;
let monitor: string;
const metadata = { redirect_uris: [], grant_types: ['client_credentials'] };
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  app = await service.createClient({
    scope: 'openid offline_access',
    grant_types: ['authorization_code', 'refresh_token'],
  });
  alice = await service.createUser({ username: 'alice', email: 'alice@example.com', emailVerified: true });
  monitor = await tokenOf({ scope: 'revoke.global' });
});
afterAll(() => service?.stop());

async function tokenOf(more: object): Promise<string> {
  const client = await service.createClient({ ...metadata, ...more });
  const { body } = await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' });
  return String(body['access_token']);
}
const send = (subject: unknown, token: string | undefined = monitor) =>
  call(`${service.issuer}/revoke-user`, { body: { sub_id: subject }, token });
const bySub = () => ({ format: 'iss_sub', iss: service.issuer, sub: alice.sub });

test.each([
  ['subject', bySub],
  ['confirmed address', () => ({ format: 'email', email: alice.email })],
])(
  'by the %s all sessions and tokens end at once, also those that outlive the session (RFC 9493 3.2)',
  async (_by, name) => {
    const given = await obtainTokens(service, app, alice, { scope: 'openid offline_access' });
    expect((await userinfo(service.issuer, given.access_token)).status).toBe(200);
    const answer = await send(name());
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([204, 'no-store']);
    for (const base of service.instances) expect((await userinfo(base, given.access_token)).status).toBe(401);
    expect(await refresh(service.instances[1]!, app, given.refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    expect(await service.database.sql('SELECT FROM sessions WHERE sub = $1', [alice.sub])).toEqual([]);
    expect(await eventsOf(service, { type: 'session.ended', sub: alice.sub })).not.toEqual([]);
  },
);

test('an unknown user is told only to a client with the right (draft-ietf-oauth-global-token-revocation)', async () => {
  const other = await service.createUser({ email: 'bob@example.com', emailVerified: false });
  for (const subject of [
    { format: 'iss_sub', iss: service.issuer, sub: 'nobody' },
    { format: 'iss_sub', iss: 'https://other.example', sub: alice.sub },
    { format: 'email', email: 'nobody@example.com' },
    { format: 'email', email: other.email },
  ]) {
    expect((await send(subject)).status).toBe(404);
    expect(await send(subject, await tokenOf({}))).toMatchObject({
      status: 403,
      body: { error: 'insufficient_scope' },
    });
  }
});

test('a token without the right, and a token of a user, ends nothing (draft-ietf-oauth-global-token-revocation)', async () => {
  const given = await obtainTokens(service, app, alice, { scope: 'openid' });
  expect((await call(`${service.issuer}/revoke-user`, { body: { sub_id: bySub() } })).status).toBe(401);
  for (const token of [given.access_token, await tokenOf({ scope: 'metrics' })])
    expect(await send(bySub(), token)).toMatchObject({ status: 403 });
  expect((await userinfo(service.issuer, given.access_token)).status).toBe(200);
});

test('no registrant can register the scope (security R44)', async () => {
  const body = { redirect_uris: ['https://rp.example.com/callback'], scope: 'openid revoke.global' };
  const answer = await call(`${service.issuer}/register`, { body });
  expect(String(answer.body['scope'] ?? '')).not.toContain('revoke.global');
});

test.each([
  [{ format: 'opaque', id: 'x' }, 422],
  [{ format: 'iss_sub', iss: 'x' }, 422],
  [{ format: 'email', email: 'a@example.com', more: 'x' }, 422],
  ['alice', 400],
  [undefined, 400],
])('a subject identifier %j is refused with %i (RFC 9493 3)', async (subject, status) => {
  expect((await send(subject)).status).toBe(status);
});
