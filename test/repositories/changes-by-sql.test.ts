// Tests that an administrator's change by SQL has exactly one row in the audit trail, like a change made in any other way.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, approveClient, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const sql = (text: string, ...values: unknown[]) => service.database.sql(text, values);
interface Row {
  type: string;
  outcome: string;
  actor: string | null;
  client_id: string | null;
  sub: string | null;
  detail: Record<string, unknown>;
}
/** The rows that `work` added to the audit trail. */
async function rowsOf(work: () => Promise<unknown>): Promise<Row[]> {
  const [last] = await service.database.sql<{ id: string }>('SELECT coalesce(max(id), 0) AS id FROM audit_events');
  await work();
  return service.database.sql<Row>(
    'SELECT type, outcome, actor, client_id, sub, detail FROM audit_events WHERE id > $1 ORDER BY id',
    [last!.id],
  );
}
const register = async (metadata: Record<string, unknown> = {}) =>
  (
    await call(`${service.issuer}/register`, {
      method: 'POST',
      body: { redirect_uris: ['https://rp.example.com/callback'], ...metadata },
    })
  ).body as Record<string, string>;

test.each([
  ['approval', `UPDATE clients SET status = 'enabled' WHERE client_id = $1`, 'client.approved', undefined],
  ['a change', 'UPDATE clients SET first_party = true WHERE client_id = $1', 'client.updated', ['first_party']],
  [
    'a change of metadata',
    `UPDATE clients SET metadata = metadata || '{"client_name": "By SQL", "contacts": []}' WHERE client_id = $1`,
    'client.updated',
    ['client_name', 'contacts'],
  ],
  [
    'a new secret',
    `UPDATE clients SET client_secret_hash = sha256('x'), shared_secret_encrypted = substr(shared_secret_encrypted, 1, 9) || 'secretly'::bytea WHERE client_id = $1`,
    'client.updated',
    ['client_secret', 'shared_secret'],
  ],
  [
    'a refusal',
    `UPDATE clients SET refused_at = now(), refusal_reason = 'No.' WHERE client_id = $1`,
    'client.refused',
    undefined,
  ],
  ['a deletion', 'DELETE FROM clients WHERE client_id = $1', 'client.deleted', undefined],
])('%s of a client by SQL is one row (decisions section 7)', async (_what, text, type, members) => {
  const { client_id } = await register();
  const rows = await rowsOf(() => sql(text, client_id));
  expect(rows).toMatchObject([{ type, outcome: 'success', actor: 'sql', client_id, sub: null }]);
  expect(rows[0]!.detail['members']).toEqual(members);
  expect(rows[0]!.detail['database_role']).toBe(service.database.connection.user);
  expect(JSON.stringify(rows)).not.toMatch(/secretly|[0-9a-f]{32}/);
});

test('the disabling and re-enabling of a client by SQL, its pending values, and an approval that is collected later each have one row (decisions section 7)', async () => {
  const client = await service.createClient();
  const { clientId, redirectUri } = client;
  const set = (status: string) => sql('UPDATE clients SET status = $2 WHERE client_id = $1', clientId, status);
  const types = async (work: () => Promise<unknown>) => (await rowsOf(work)).map(({ type }) => type);
  expect(await types(() => set('disabled'))).toEqual(['client.disabled']);
  expect(await types(() => set('disabled'))).toEqual([]);
  expect(await types(() => set('enabled'))).toEqual(['client.approved']);
  await call(`${service.issuer}/register/${clientId}`, {
    method: 'PUT',
    token: client.registrationAccessToken,
    body: { client_id: clientId, redirect_uris: [redirectUri, 'https://other.example/cb'] },
  });
  const [approved] = await rowsOf(() => set('enabled'));
  expect(approved).toMatchObject({ type: 'client.approved', actor: 'sql' });
  expect(approved!.detail['members']).toContain('redirect_uris');
  expect(await types(() => set('enabled'))).toEqual([]);
  const { registration_code } = await register({ registration_mode: ['approval'] });
  expect(registration_code).toBeDefined();
  const approve = () => sql(`UPDATE clients SET status = 'enabled' WHERE uncollected`);
  expect(await types(approve)).toEqual(['client.approved']);
  expect(await types(approve)).toEqual([]);
});

test('granting the scope admin by SQL shows the previous scopes (decisions section 7)', async () => {
  const { clientId, metadata } = await service.createClient();
  const grantAdmin = `UPDATE clients SET metadata = jsonb_set(metadata, '{scope}', '"openid admin"') WHERE client_id = $1`;
  const [row] = await rowsOf(() => sql(grantAdmin, clientId));
  expect(row!.detail).toMatchObject({ members: ['scope'], scope: 'openid admin', scope_before: metadata.scope });
});

test.each([
  ['a new administrator', 'UPDATE users SET admin = true WHERE sub = $1', 'user.changed', ['admin']],
  ['new groups', `UPDATE users SET groups = '{crew}' WHERE sub = $1`, 'user.changed', ['groups']],
  [
    'a new name and claim',
    `UPDATE users SET username = username || 'x', claims = '{"nickname": "x"}' WHERE sub = $1`,
    'user.changed',
    ['nickname', 'username'],
  ],
  [
    'a new password',
    `UPDATE users SET password_hash = 'secretly' WHERE sub = $1`,
    'user.password_changed',
    ['password'],
  ],
  ['a disabling', `UPDATE users SET status = 'disabled' WHERE sub = $1`, 'user.disabled', ['status']],
  ['a deletion', 'DELETE FROM users WHERE sub = $1', 'user.deleted', undefined],
])('%s of a user with a session by SQL is one row (decisions section 7)', async (_what, text, type, members) => {
  const user = await service.createUser();
  await new UserAgent(service).signIn(user);
  const rows = await rowsOf(() => sql(text, user.sub));
  expect(rows).toMatchObject([{ type, outcome: 'success', actor: 'sql', sub: user.sub, client_id: null }]);
  expect(rows[0]!.detail['members']).toEqual(members);
  expect(JSON.stringify(rows)).not.toContain('secretly');
});

test('two users that are created, two sessions that are ended, and two operations of one transaction have two rows each (decisions section 7)', async () => {
  const made = await rowsOf(() => sql(`INSERT INTO users (username) VALUES ('by-sql-1'), ('by-sql-2')`));
  expect(made).toMatchObject([{ type: 'user.created', detail: { admin: false } }, {}]);
  expect(made).toHaveLength(2);
  const user = await service.createUser();
  for (let times = 0; times < 2; times++) await new UserAgent(service).signIn(user);
  const ended = await rowsOf(() => sql('DELETE FROM sessions WHERE sub = $1', user.sub));
  const { sub } = user;
  expect(ended).toMatchObject([{ type: 'session.ended', actor: 'sql', sub }, { type: 'session.ended' }]);
  expect(ended).toHaveLength(2);
  const { clientId } = await service.createClient();
  const both = `DO $$ BEGIN
    UPDATE clients SET status = 'disabled' WHERE client_id = '${clientId}';
    UPDATE clients SET status = 'enabled' WHERE client_id = '${clientId}';
  END $$`;
  expect((await rowsOf(() => sql(both))).map(({ type }) => type)).toEqual(['client.disabled', 'client.approved']);
  expect(await rowsOf(() => sql(`UPDATE sessions SET idle_expires_at = now() - interval '1 s'`))).toEqual([]);
});

test('an operation made in another way has no second row, and a sign-in has none for its stronger hash (decisions section 7)', async () => {
  const all = await rowsOf(async () => {
    const { client_id } = await register();
    await approveClient(service.issuer, token, client_id!);
    await call(`${service.issuer}/admin/api/clients/${client_id}`, {
      method: 'PATCH',
      token,
      body: { client_name: 'x', self_managed: true, scope: 'openid' },
    });
    await runCommand(service, ['client', 'disable', client_id!]);
    await call(`${service.issuer}/admin/api/clients/${client_id}`, { method: 'DELETE', token });
    const user = await service.createUser();
    const other = await service.createUser();
    const agent = new UserAgent(service);
    await obtainTokens(service, await service.createClient(), user, {}, agent);
    await agent.signIn(other);
    await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
    await service.store.users.rehash(user.sub, user.passwordHash!, 'stronger');
    for (const body of [{ password: 'another horse battery' }, { status: 'disabled' }])
      await call(`${service.issuer}/admin/api/users/${user.sub}`, { method: 'PATCH', token, body });
    await call(`${service.issuer}/admin/api/users/${user.sub}`, { method: 'DELETE', token });
  });
  expect(all.filter(({ actor }) => actor === 'sql')).toEqual([]);
  expect(all.map(({ type }) => type).sort()).toEqual([
    'client.approved',
    'client.created',
    'client.deleted',
    'client.disabled',
    'client.registered',
    'client.updated',
    'consent.granted',
    'session.ended',
    'user.created',
    'user.created',
    'user.deleted',
    'user.disabled',
    'user.password_changed',
    'user.signed_in',
    'user.signed_in',
    'user.signed_out',
  ]);
});
