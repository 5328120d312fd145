// Specification section 6: tests events, which the decisions make an audit trail of every security-relevant operation.
import { beforeAll, expect, test } from 'vitest';
import { approveClient, call, obtainCode, redeem, refresh } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import { runCommand } from '../helpers/command-line.ts';
import { authorizationUrl, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import {
  basic,
  endSessionAddress,
  form,
  manage,
  register,
  runCodeFlow,
  second,
  useService,
  wholeClient,
} from './kit.ts';

const service = useService({ LIMIT_SIGN_IN_PER_ACCOUNT: '1' });
let admin: TestClient;
let token: string;
beforeAll(async () => {
  admin = await service().createClient({ redirect_uris: [], grant_types: ['client_credentials'], scope: 'admin' });
  const { body } = await tokenRequest(service().issuer, admin, { grant_type: 'client_credentials' });
  token = body['access_token'] as string;
});

/** The members that a row of the trail and a line of the log share; the address is that of the tests. */
interface Event {
  type: string;
  outcome: string;
  actor?: string;
  client_id?: string;
  sub?: string;
  address?: string;
}
const local = expect.stringMatching(/^(127\.0\.0\.1|::1)$/) as string;
const failures = /failed|locked_out|reused|replayed|misused|burned/;
const event = (type: string, of: Omit<Event, 'type' | 'outcome'>): Event => ({
  type,
  outcome: failures.test(type) ? 'failure' : 'success',
  address: local,
  ...of,
});
/** The rows of a subject, a client or a type, oldest first, as an administrator reads them at the second instance. */
async function rows(of: Record<string, string>): Promise<(Event & { at: string; detail: Record<string, unknown> })[]> {
  const query = new URLSearchParams({ ...of, limit: '100' }).toString();
  const { body } = await call(`${second(service())}/admin/api/audit?${query}`, { token });
  const found = body['events'] as Awaited<ReturnType<typeof rows>>;
  // users and clients that these tests need are created directly, not through the service
  return found.reverse().filter(({ type, actor }) => type !== 'token.issued' && actor !== 'test');
}
const members = ['outcome', 'actor', 'client_id', 'sub', 'address'] as const;
const said = (type: unknown, by: object): Event =>
  Object.fromEntries([
    ['type', type],
    ...Object.entries(by).filter(([name]) => members.some((member) => member === name)),
  ]) as Event;
/** Exactly these events, one row and one line of the log each, with the same members. */
async function expectEvents(
  of: Partial<Record<'client_id' | 'sub' | 'type', string>>,
  expected: Event[],
): Promise<void> {
  const stored = (await rows(of)).map((row) => said(row.type, row));
  expect(stored).toEqual(expected);
  const lines = service().logs.filter(
    (line) =>
      line['msg'] === 'audit' &&
      Object.entries(of).every(([name, value]) => line[name === 'type' ? 'event' : name] === value),
  );
  expect(lines.map((line) => said(line['event'], line))).toEqual(stored);
}
const adminCall = (method: string, path: string, body?: unknown) =>
  call(`${service().issuer}/admin/api${path}`, { method, token, ...(body !== undefined && { body }) });

test('6 events of an End-User: sign-in, failure, lockout, consent, logout, change and disabling have one row each (decisions 7)', async () => {
  const username = `user-${Date.now()}`;
  const password = 'correct horse battery staple';
  const made = await adminCall('POST', '/users', { username, password });
  const sub = made.body['sub'] as string;
  const client = await service().createClient(wholeClient);
  const { clientId: client_id } = client;
  const agent = new UserAgent(service());
  await agent.authorize(client, { username, password }, { scope: 'openid profile' });
  await agent.submit(await agent.get('/account/applications'), { withdraw: client_id });
  const denied = await agent.follow(await agent.get(authorizationUrl(service().issuer, client, { scope: 'openid' })));
  await agent.submit(denied, { decision: 'deny' });
  await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
  const wrong = { username, password: 'wrong password' };
  for (let times = 0; times < 2; times++) await new UserAgent(service()).signIn(wrong);
  await adminCall('PATCH', `/users/${sub}`, { groups: ['crew'] });
  await adminCall('PATCH', `/users/${sub}`, { password: 'another horse battery staple' });
  await adminCall('PATCH', `/users/${sub}`, { status: 'disabled' });
  await adminCall('DELETE', `/users/${sub}`);
  const own = { actor: sub, sub };
  const others = { actor: admin.clientId, sub };
  await expectEvents({ sub }, [
    event('user.created', others),
    event('user.signed_in', { ...own, client_id }),
    ...['consent.granted', 'consent.withdrawn', 'consent.denied'].map((type) => event(type, { ...own, client_id })),
    event('user.signed_out', own),
    event('user.sign_in_failed', { sub }),
    event('user.locked_out', { sub }),
    event('user.sign_in_failed', { sub }),
    ...['user.changed', 'user.password_changed', 'user.disabled', 'user.deleted'].map((type) => event(type, others)),
  ]);
});

test('6 events of a client: registration, approval, update, renewal, failed authentication, disabling and deletion have one row each (decisions 7)', async () => {
  const { body: client } = await register(service());
  const client_id = client['client_id']!;
  await approveClient(service().issuer, token, client_id);
  await manage(client, 'PUT', { client_id, redirect_uris: ['https://rp.example.com/callback'] });
  await manage(client, 'PUT', { client_id, redirect_uris: ['https://other.example.com/callback'] });
  const { version } = (await adminCall('GET', `/clients/${client_id}`)).body;
  await adminCall('POST', `/clients/${client_id}/refuse`, { version, reason: 'Not yours.' });
  await adminCall('PATCH', `/clients/${client_id}`, { first_party: true });
  const wrong = { basic: basic(client_id, 'wrong') };
  await tokenRequest(service().issuer, wrong, { grant_type: 'client_credentials' });
  const proof = { authorization: `Bearer ${client['registration_access_token']}` };
  const { body: renewed } = await register(service(), {}, proof);
  for (let times = 0; times < 2; times++) await adminCall('POST', `/clients/${client_id}/disable`);
  await manage(renewed, 'DELETE');
  const own = { actor: client_id, client_id };
  const others = { actor: admin.clientId, client_id };
  await expectEvents({ client_id }, [
    event('client.registered', own),
    event('client.approved', others),
    event('client.updated', own),
    event('client.updated', own),
    event('client.refused', others),
    event('client.updated', others),
    event('client.authentication_failed', { client_id }),
    event('client.credentials_renewed', own),
    event('client.disabled', others),
    event('client.deleted', own),
  ]);
  const tool = { redirect_uris: [], grant_types: ['client_credentials'], introspect: 'any', client_name: 'Tool' };
  const { body: made } = await adminCall('POST', '/clients', tool);
  const of = { client_id: made['client_id'] as string };
  await expectEvents(of, [event('client.created', { ...of, actor: admin.clientId })]);
});

test('6 events of tokens and keys: revocation, refresh reuse, replayed code, end-session and key rotation have one row each (decisions 7)', async () => {
  const client = await service().createClient(wholeClient);
  const { clientId: client_id, redirectUri: redirect_uri } = client;
  const expected: Event[] = [];
  const visited = async () => {
    const found = await runCodeFlow(service(), client);
    const { sub } = found.user;
    for (const type of ['user.signed_in', 'consent.granted'])
      expected.push(event(type, { actor: sub, sub, client_id }));
    return found;
  };
  const happened = (type: string, { sub }: { sub: string }) =>
    expected.push(event(type, { actor: client_id, sub, client_id }));

  const reused = await visited();
  await refresh(service().issuer, client, reused.tokens.refresh_token);
  await service().database.sql(`UPDATE refresh_tokens SET spent_at = spent_at - interval '1 minute'`);
  await refresh(service().issuer, client, reused.tokens.refresh_token);
  happened('refresh_token.reused', reused.user);

  const replayed = await visited();
  await service().database.sql(`UPDATE authorization_codes SET redeemed_at = redeemed_at - interval '1 minute'`);
  const fields = { grant_type: 'authorization_code', code: replayed.code, redirect_uri };
  await tokenRequest(service().issuer, client, fields);
  happened('code.replayed', replayed.user);

  const code = await obtainCode(service(), client, undefined, { scope: 'openid' }, replayed.agent);
  for (let times = 0; times < 6; times++)
    await redeem(service().issuer, client, code, { redirect_uri: 'https://rp.example.com/wrong' });
  happened('code.burned', replayed.user);

  const revoked = await visited();
  await form(`${service().issuer}/revoke`, { token: revoked.tokens.access_token }, { authorization: client.basic });
  happened('token.revoked', revoked.user);
  await revoked.agent.get(await endSessionAddress(service(), client));
  happened('client_session.ended', revoked.user);
  await expectEvents({ client_id }, expected);

  const { sub } = reused.user;
  const { body } = await adminCall('GET', `/sessions?sub=${sub}`);
  await adminCall('DELETE', `/sessions/${(body['sessions'] as { id: string }[])[0]!.id}`);
  await expectEvents({ type: 'session.ended' }, [event('session.ended', { actor: admin.clientId, sub })]);
  await adminCall('POST', '/keys', {});
  await expectEvents({ type: 'keys.rotated' }, [event('keys.rotated', { actor: admin.clientId })]);
  await adminCall('POST', '/registration-tokens', {});
  await expectEvents({ type: 'registration_token.created' }, [
    event('registration_token.created', { actor: admin.clientId }),
  ]);
});

test('6 event: it has time, actor, client, subject, address and outcome, is also a log line, and contains no secret (decisions 7)', async () => {
  const { user, client, tokens } = await runCodeFlow(service(), await service().createClient(wholeClient));
  const [granted] = (await rows({ sub: user.sub })).filter(({ type }) => type === 'consent.granted');
  const { sub } = user;
  expect(granted).toMatchObject(event('consent.granted', { actor: sub, sub, client_id: client.clientId }));
  expect(Math.abs(Date.parse(granted!.at) - Date.now())).toBeLessThan(60_000);
  const [line, ...more] = service().logs.filter((line) => line['event'] === 'consent.granted' && line['sub'] === sub);
  expect(more).toEqual([]);
  // a fact of the detail is in the detail, and in no other place
  expect(line).toMatchObject({ time: expect.any(Number), detail: granted!.detail });
  expect(line).not.toHaveProperty('scope');
  const written = JSON.stringify([await rows({}), service().logs]);
  for (const secret of [user.password, client.clientSecret, tokens.access_token, tokens.refresh_token])
    expect(written).not.toContain(secret);
});

test('6 event, ways: an operation by the command line or by SQL has one row, like any other (decisions 2, 7)', async () => {
  const { clientId: client_id } = await service().createClient();
  const { sub, username } = await service().createUser();
  for (let times = 0; times < 2; times++) {
    await runCommand(service(), ['client', 'disable', client_id]);
    await service().database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [sub]);
  }
  await service().database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [client_id]);
  await runCommand(service(), ['user', 'set-password', username, '--password-stdin'], {
    stdin: 'another long password',
  });
  const of = (list: Event[]) => list.map(({ type, actor, address }) => [type, actor, address]);
  expect(of(await rows({ client_id }))).toEqual([
    ['client.disabled', 'command line', undefined],
    ['client.approved', 'sql', undefined],
  ]);
  expect(of(await rows({ sub }))).toEqual([
    ['user.disabled', 'sql', undefined],
    ['user.password_changed', 'command line', undefined],
  ]);
});

test('6 audit trail: it is append-only, and an admin route and the command line read it (decisions 7)', async () => {
  const { database } = service();
  await expect(database.sql('DELETE FROM audit_events')).rejects.toThrow();
  await expect(database.sql(`UPDATE audit_events SET outcome = 'success'`)).rejects.toThrow();
  const { code, stdout } = await runCommand(service(), ['audit', 'list', '--json']);
  expect(code).toBe(0);
  expect(stdout).toContain('user.signed_in');
});
