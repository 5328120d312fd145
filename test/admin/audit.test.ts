// GET /admin/api/audit lists audit events and issued tokens together, filtered, page by page.
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, obtainTokens, refresh, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

interface Event {
  id: string;
  at: string;
  type: string;
  outcome: string;
  client_id?: string;
  sub?: string;
  detail: { kind?: string; scope?: string };
}

async function audit(filter: Record<string, string> = {}): Promise<Event[]> {
  const query = new URLSearchParams({ limit: '200', ...filter }).toString();
  const { status, body } = await call(`${service.issuer}/admin/api/audit?${query}`, { token });
  expect(status).toBe(200);
  return body['events'] as Event[];
}

/** Creates a user and a client, and obtains every token of a code flow and a refresh. */
async function obtainAllTokens() {
  const client = await service.createClient({ uma_profile: true });
  const user = await service.createUser();
  const tokens = await obtainTokens(service, client, user, { scope: 'openid email' });
  const { body } = await refresh(service.issuer, client, tokens.refresh_token);
  return { client, user, tokens, refreshed: body as Record<string, string> };
}

test('the audit view lists issued tokens among the audit events, by client and by subject (decisions section 7)', async () => {
  const { client, user } = await obtainAllTokens();
  const kinds = ['access_token', 'access_token', 'authorization_code', 'client_session_handle'];
  for (const filter of [{ client_id: client.clientId }, { sub: user.sub }] as Record<string, string>[]) {
    const events = await audit(filter);
    const issued = events.filter(({ type }) => type === 'token.issued');
    expect(issued.map(({ detail }) => detail.kind).sort()).toEqual([...kinds, 'refresh_token', 'refresh_token']);
    for (const event of issued) {
      expect(event).toMatchObject({ outcome: 'success', actor: client.clientId, client_id: client.clientId });
      expect(event).toMatchObject({ sub: user.sub, detail: { scope: 'openid email' } });
    }
    expect(events.map(({ type }) => type)).toContain('consent.granted');
    expect(await audit({ ...filter, type: 'token.issued' })).toEqual(issued);
    expect(await audit({ ...filter, type: 'consent.granted' })).toHaveLength(1);
  }
});

test("the audit view lists a client's own token without a subject, and no token that was revoked or has expired (decisions section 7)", async () => {
  const client = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'], scope: 'admin' });
  const { body } = await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' });
  const [event] = await audit({ client_id: client.clientId, type: 'token.issued' });
  expect(event).toMatchObject({ actor: client.clientId, detail: { kind: 'access_token', scope: 'admin' } });
  expect(event).not.toHaveProperty('sub');
  await fetch(`${service.issuer}/revoke`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams({ token: body['access_token'] as string }),
  });
  expect(await audit({ client_id: client.clientId, type: 'token.issued' })).toEqual([]);
});

test('the audit view holds no part of a token that would let a reader use it (security R26)', async () => {
  const { client, tokens, refreshed } = await obtainAllTokens();
  const text = JSON.stringify(await audit({ client_id: client.clientId }));
  for (const secret of [tokens.access_token, tokens.refresh_token, refreshed['access_token']!, client.clientSecret])
    expect(text).not.toContain(secret.slice(5, 20));
});

test('each page of the audit view continues where the previous one ended, also among events with equal times (decisions section 8)', async () => {
  const { client } = await obtainAllTokens();
  await service.database.sql('UPDATE access_tokens SET issued_at = $1', [new Date('2026-01-01')]);
  await service.database.sql('UPDATE refresh_tokens SET issued_at = $1', [new Date('2026-01-01')]);
  await service.database.sql(
    `INSERT INTO audit_events (at, type, outcome, client_id) SELECT $1, 'token.revoked', 'success', $2 FROM generate_series(1, 12)`,
    [new Date('2026-01-01'), client.clientId],
  );
  const whole = await audit({ client_id: client.clientId });
  expect(whole.length).toBeGreaterThan(16);
  for (const limit of ['1', '3', '7']) {
    const found: Event[] = [];
    let cursor: string | undefined;
    do {
      const query = new URLSearchParams({ client_id: client.clientId, limit, ...(cursor && { cursor }) }).toString();
      const { body } = await call(`${service.issuer}/admin/api/audit?${query}`, { token });
      found.push(...(body['events'] as Event[]));
      cursor = body['next_cursor'] as string | undefined;
    } while (cursor !== undefined);
    expect(found).toEqual(whole);
  }
});

test('the audit view is filtered by outcome, time, address, actor and type, and combines all filters (decisions section 7)', async () => {
  const { client, user } = await obtainAllTokens();
  await tokenRequest(
    service.issuer,
    { basic: `Basic ${btoa(`${client.clientId}:wrong`)}` },
    { grant_type: 'refresh_token' },
  );
  const of = { client_id: client.clientId };
  expect((await audit({ ...of, outcome: 'failure' })).map(({ type }) => type)).toEqual([
    'client.authentication_failed',
  ]);
  expect((await audit({ ...of, outcome: 'success' })).length).toBe((await audit(of)).length - 1);
  expect(await audit({ ...of, type: 'token.issued', outcome: 'failure' })).toEqual([]);
  expect(await audit({ ...of, sub: 'somebody-else' })).toEqual([]);
  const [signedIn] = await audit({ sub: user.sub, type: 'user.signed_in' });
  const { address } = signedIn as unknown as { address: string };
  expect((await audit({ address, sub: user.sub })).map(({ type }) => type)).toContain('user.signed_in');
  expect(await audit({ address: '192.0.2.1', sub: user.sub })).toEqual([]);
  // the client that gets a token is the actor, and has no address here
  expect((await audit({ actor: client.clientId, type: 'token.issued' })).length).toBeGreaterThan(0);
  expect(await audit({ address, type: 'token.issued' })).toEqual([]);
  expect((await audit({ actor: user.sub })).every((event) => 'actor' in event && event.actor === user.sub)).toBe(true);
  const all = await audit({ sub: user.sub });
  const middle = all[3]!.at;
  const since = await audit({ sub: user.sub, since: middle });
  const until = await audit({ sub: user.sub, until: middle });
  expect(since.every(({ at }) => at >= middle)).toBe(true);
  expect(until.every(({ at }) => at < middle)).toBe(true);
  expect(since.length + until.length).toBe(all.length);
});

test.each([
  'since=yesterday',
  'until=2026-13-01T00:00:00Z',
  'outcome=maybe',
  'type=foo',
  'since=999999-01-01T00:00:00Z',
  'address=nowhere',
  'type=%00',
])('an invalid filter is refused: %s (security A123)', async (query) => {
  const answer = await call(`${service.issuer}/admin/api/audit?${query}`, { token });
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
});

test('an administrator exports all matching events by admin route and command line, as CSV or JSON Lines, and each export is recorded (decisions section 7)', async () => {
  const { client, user } = await obtainAllTokens();
  const of = { client_id: client.clientId, sub: user.sub };
  const trail = (await audit(of)).filter(({ type }) => type !== 'token.issued');
  await service.database.sql(
    `INSERT INTO audit_events (type, outcome, client_id, sub) SELECT 'token.revoked', 'failure', $1, $2 FROM generate_series(1, 1200)`,
    [of.client_id, of.sub],
  );
  const exported = async (filter: Record<string, string>) => {
    const answer = await fetch(`${service.issuer}/admin/api/audit/export?${new URLSearchParams(filter).toString()}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  };
  const events = (text: string) =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Event);
  const lines = await exported({ ...of, since: '2026-01-01T00:00:00Z' });
  expect(lines.type).toMatch(/^application\/jsonl/);
  expect(events(lines.text)).toHaveLength(1200 + trail.length);
  expect(events(lines.text).slice(1200)).toEqual(trail);
  const table = await exported({ ...of, outcome: 'failure', format: 'csv' });
  expect(table.type).toMatch(/^text\/csv/);
  expect(table.text.trim().split('\r\n')).toHaveLength(1201);
  const exports = () => audit({ type: 'audit_events.exported' });
  expect((await exports())[0]!.detail).toEqual({ format: 'csv', outcome: 'failure', ...of });
  // a type that no stored event has, and an invalid filter, are refused before the export is recorded
  for (const [member, wrong] of Object.entries({
    type: 'token.issued',
    address: 'nowhere',
    format: 'xml',
    since: 'soon',
  }))
    expect((await exported({ [member]: wrong })).status).toBe(400);
  expect(await exports()).toHaveLength(2);

  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-audit-'));
  try {
    const file = join(folder, 'trail.jsonl');
    const named = ['--client', of.client_id, '--sub', of.sub];
    const written = await runCommand(service, ['audit', 'export', file, ...named, '--since', '2026-01-01']);
    expect(written).toMatchObject({ code: 0, stdout: `Exported the events to ${file}.\n`, stderr: '' });
    expect(await readFile(file, 'utf8')).toBe(lines.text);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const again = await runCommand(service, ['audit', 'export', file]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is not overwritten') });
    const shown = await runCommand(service, ['audit', 'export', '--format', 'csv', '--outcome', 'failure', ...named]);
    expect(shown.stdout.trim()).toBe(table.text.trim());
    const [last] = await exports();
    expect(last).toMatchObject({ actor: 'command line', detail: { format: 'csv', outcome: 'failure', ...of } });
    for (const wrong of ['--type=token.issued', '--type=nothing', '--until=later', '--format=xml'])
      expect((await runCommand(service, ['audit', 'export', '--format', 'csv', wrong])).code).toBe(1);
  } finally {
    await rm(folder, { recursive: true });
  }
});
