// Specification section 6: events, which the decisions make an audit trail of every security-relevant act.
import { beforeAll, expect, test } from 'vitest';
import { adminToken, approveClient, call, refresh } from '../helpers/grants.ts';
import { runCommand } from '../helpers/command-line.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { basic, endSessionAddress, form, manage, register, second, useService, visit, wholeClient } from './kit.ts';

const service = useService({ LIMIT_SIGN_IN_PER_ACCOUNT: '1' });
let token: string;
beforeAll(async () => {
  token = await adminToken(service());
});

interface Event {
  type: string;
  outcome: string;
  actor?: string;
  sub?: string;
  client_id?: string;
  address?: string;
  at?: string;
}
/** The newest events of a subject or a client, as an administrator reads them at the second instance. */
async function events(of: Record<string, string>): Promise<Event[]> {
  const query = new URLSearchParams({ ...of, limit: '50' }).toString();
  const { body } = await call(`${second(service())}/admin/api/audit?${query}`, { token });
  return body['events'] as Event[];
}
const types = (list: Event[]) => new Set(list.map(({ type }) => type));

test('6 events of an End-User: sign-in, failure, lockout, consent, logout, change and disabling are one row each (decisions 7)', async () => {
  const { user, agent, client } = await visit(service(), await service().createClient(wholeClient));
  await agent.submit(await agent.get('/account'), { withdraw: client.clientId });
  await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
  const wrong = { username: user.username, password: 'wrong password' };
  for (let times = 0; times < 2; times++) await new UserAgent(service()).signIn(wrong);
  for (const change of [{ password: 'another horse battery staple' }, { status: 'disabled' }])
    await call(`${service().issuer}/admin/api/users/${user.sub}`, { method: 'PATCH', token, body: change });
  expect(types(await events({ sub: user.sub }))).toEqual(
    new Set([
      ...['user.created', 'user.signed_in', 'user.signed_out', 'user.password_changed', 'user.disabled'],
      ...['user.sign_in_failed', 'user.locked_out', 'consent.granted', 'consent.withdrawn'],
    ]),
  );
});

test('6 events of a client: registration, approval, update, renewal, failed authentication, disabling and deletion (decisions 7)', async () => {
  const { body: client } = await register(service());
  const client_id = client['client_id']!;
  await approveClient(service().issuer, token, client_id);
  await manage(client, 'PUT', { client_id, redirect_uris: ['https://rp.example.com/callback'] });
  const wrong = { basic: basic(client_id, 'wrong') };
  await tokenRequest(service().issuer, wrong, { grant_type: 'client_credentials' });
  const proof = { authorization: `Bearer ${client['registration_access_token']}` };
  const { body: renewed } = await register(service(), {}, proof);
  await call(`${service().issuer}/admin/api/clients/${client_id}/disable`, { method: 'POST', token });
  await manage(renewed, 'DELETE');
  expect(types(await events({ client_id }))).toEqual(
    new Set([
      ...['client.registered', 'client.approved', 'client.updated', 'client.authentication_failed'],
      ...['client.credentials_renewed', 'client.disabled', 'client.deleted'],
    ]),
  );
});

test('6 events of tokens and keys: revocation, refresh reuse, replayed code, end-session and key rotation (decisions 7)', async () => {
  const client = await service().createClient(wholeClient);
  const reused = await visit(service(), client);
  await refresh(service().issuer, client, reused.tokens.refresh_token);
  await service().database.sql(`UPDATE refresh_tokens SET spent_at = spent_at - interval '1 minute'`);
  await refresh(service().issuer, client, reused.tokens.refresh_token);
  const replayed = await visit(service(), client);
  await service().database.sql(`UPDATE authorization_codes SET redeemed_at = redeemed_at - interval '1 minute'`);
  const { redirectUri: redirect_uri } = client;
  const fields = { grant_type: 'authorization_code', code: replayed.code, redirect_uri };
  await tokenRequest(service().issuer, client, fields);
  const revoked = await visit(service(), client);
  const { access_token } = revoked.tokens;
  await form(`${service().issuer}/revoke`, { token: access_token }, { authorization: client.basic });
  await revoked.agent.get(await endSessionAddress(service(), client));
  await call(`${service().issuer}/admin/api/keys`, { method: 'POST', token, body: {} });
  const found = types([...(await events({ client_id: client.clientId })), ...(await events({ type: 'keys.rotated' }))]);
  for (const type of ['refresh_token.reused', 'code.replayed', 'token.revoked', 'client_session.ended', 'keys.rotated'])
    expect(found, type).toContain(type);
});

test('6 event: it holds time, actor, client, subject, address and outcome, is one log line too, and never a secret (decisions 7)', async () => {
  const { user, client, tokens } = await visit(service(), await service().createClient(wholeClient));
  const [event] = (await events({ sub: user.sub })).filter(({ type }) => type === 'consent.granted');
  expect(event).toMatchObject({ outcome: 'success', actor: user.sub, sub: user.sub, client_id: client.clientId });
  expect(event).toHaveProperty('at');
  expect(event!.address).toMatch(/^(127\.0\.0\.1|::1)$/);
  const lines = service().logs.filter((line) => line['event'] === 'consent.granted' && line['sub'] === user.sub);
  expect(lines).toHaveLength(1);
  const written = JSON.stringify([await events({}), service().logs]);
  for (const secret of [user.password, client.clientSecret, tokens.access_token, tokens.refresh_token])
    expect(written).not.toContain(secret);
});

test('6 audit trail: it is append-only, and read by admin route and by command line (decisions 7)', async () => {
  const { database } = service();
  await expect(database.sql('DELETE FROM audit_events')).rejects.toThrow();
  await expect(database.sql(`UPDATE audit_events SET outcome = 'success'`)).rejects.toThrow();
  const { code, stdout } = await runCommand(service(), ['audit', 'list', '--json']);
  expect(code).toBe(0);
  expect(stdout).toContain('user.signed_in');
});
