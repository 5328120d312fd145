// The console's pages about the service show the overview, sessions, keys and the audit trail.
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let admin: Awaited<ReturnType<TestService['createUser']>>;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  admin = await service.createUser({ admin: true, username: 'ann' });
  ({ agent } = await openConsole(service, admin));
});
afterAll(() => service?.stop());

/** Exports the events that a query finds. */
const exported = async (query: string, format: string) => {
  const form = formOf(await agent.get(`/admin/audit?${query}`), '/admin/audit/export');
  return agent.post('/admin/audit/export', { ...form, format });
};
const path = (page: Page) => page.location?.replace(service.issuer, '');
const texts = (page: Page) => page.body.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
/** Reads the figure above a label on the overview, which is singular at 1. */
const figure = (page: Page, words: string) =>
  Number(
    new RegExp(`<b>([\\d,]+)</b> <span[^>]*>${words.replace(/s\b/g, 's?')}<`).exec(page.body)?.[1]?.replaceAll(',', ''),
  );
const ageSignIn = (sub: string) =>
  service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '1 hour' WHERE sub = $1`, [sub]);
const renewSignIn = (sub: string) =>
  service.database.sql(`UPDATE sessions SET auth_time = auth_time + interval '1 hour' WHERE sub = $1`, [sub]);

test('the overview shows waiting clients, activity, totals and the state of the service (pages, audit)', async () => {
  const before = await agent.get('/admin');
  expect(before.status).toBe(200);
  expect(texts(before)).toContain('Nothing is pending.');
  const client = await service.createClient();
  const user = await service.createUser();
  for (let count = 0; count < 3; count++) await obtainTokens(service, client, user);
  await new UserAgent(service).signIn({ ...user, password: 'wrong' });
  await service.createClient({ client_name: 'Harbour' }, { status: 'disabled' });
  const after = await agent.get('/admin');
  for (const [words, more] of [
    ['sign-ins', 3],
    ['failed sign-ins', 1],
    ['refused requests in total', 1],
    ['token responses', 3],
    ['users', 1],
    ['clients', 2],
    ['active sessions', 3],
  ] as const)
    expect([words, figure(after, words)]).toEqual([words, figure(before, words) + more]);
  expect(texts(after)).toMatch(/Harbour rp\.example\.com .* 1 pending approval /);
  expect(texts(after)).toMatch(/PostgreSQL \d+.*, response time [\d.]+ ms/);
  // the chart, its text and its table agree
  const total = figure(after, 'sign-ins');
  expect(after.body).toContain(`sign-ins ${total}, failed`);
  expect(after.body).toMatch(new RegExp(`<tbody>\\s*<tr><th scope="row">[^<]*</th><td>${total}</td>`));
  // a figure links to its list
  const [, uri] = /href="([^"]*)"><b>[^<]*<\/b> <span[^>]*>failed sign-ins?/.exec(after.body)!;
  const listed = await agent.get(uri!.replaceAll('&amp;', '&'));
  expect(listed.body.match(/<tr>\s*<td/g)).toHaveLength(figure(after, 'failed sign-ins'));
});

test('an administrator finds sessions by user and address, and ends one of them or all; each event names the administrator (security R54)', async () => {
  const user = await service.createUser({ username: 'zoe' });
  const agents = [new UserAgent(service), new UserAgent(service), new UserAgent(service)];
  for (const one of agents) await one.signIn(user);
  // ending sessions must never wait for a recent sign-in
  await ageSignIn(admin.sub);
  const page = await agent.get('/admin/sessions?user=ZOE');
  const sids = [...page.body.matchAll(/name="end" value="([^"]*)"/g)].map(([, sid]) => sid!);
  expect(sids).toHaveLength(3);
  expect((await agent.get('/admin/sessions?user=zoe&address=192.0.2.9')).body).not.toContain('name="end"');
  for (const query of ['user=nobody-of-this-name', 'address=300.1.1.1']) {
    const refused = await agent.get(`/admin/sessions?${query}`);
    expect(refused.status).toBe(400);
    expect(refused.body).toMatch(/class="fault" id="(?:user|address)-fault">/);
  }
  // the filter form has the same address
  const form = formOf({ ...page, body: page.body.slice(page.body.indexOf('<form id="ending"')) }, '/admin/sessions');
  const done = await agent.post('/admin/sessions', { ...form, end: sids[0]! });
  expect(path(done)).toBe('/admin/sessions?user=ZOE&done=session-ended');
  expect((await agent.get(done.location!)).body).toContain('Session ended.');
  const confirmation = await agent.get(`/admin/sessions/end?sub=${user.sub}`);
  expect(texts(confirmation)).toContain('2 sessions will end.');
  const all = { ...formOf(confirmation, '/admin/sessions/end'), typed: 'zoe' };
  expect((await agent.post('/admin/sessions/end', { ...all, sub: admin.sub })).status).toBe(400);
  expect(path(await agent.post('/admin/sessions/end', all))).toBe('/admin/sessions?done=sessions-ended');
  for (const one of agents) expect((await one.get('/account')).status).toBe(303);
  expect(
    await service.database.sql(`SELECT actor FROM audit_events WHERE type = 'session.ended' AND sub = $1`, [user.sub]),
  ).toEqual([{ actor: admin.sub }, { actor: admin.sub }]);
  await renewSignIn(admin.sub);
});

test('an administrator makes new keys for chosen algorithms, and withdraws a key by typing the start of its kid, after a recent sign-in only (security R91)', async () => {
  const kids = async () =>
    await service.database.sql<{ kid: string; alg: string }>(
      'SELECT kid, alg FROM signing_keys ORDER BY created_at, kid',
    );
  const before = await kids();
  const form = formOf(await agent.get('/admin/keys/rotate'), '/admin/keys/rotate');
  await ageSignIn(admin.sub);
  expect((await agent.get('/admin/keys/rotate')).location).toContain('max_age=900');
  expect((await agent.post('/admin/keys/rotate', { ...form, alg_EdDSA: 'on' })).location).toContain('/authorize?');
  await renewSignIn(admin.sub);
  const none = await agent.post('/admin/keys/rotate', form);
  expect(none).toMatchObject({ status: 400 });
  expect(none.body).toContain('Select at least one algorithm.');
  expect(await kids()).toEqual(before);
  expect(path(await agent.post('/admin/keys/rotate', { ...form, alg_EdDSA: 'on' }))).toBe(
    '/admin/keys?done=keys-rotated',
  );
  const newKeys = (await kids()).filter(({ kid }) => !before.some((key) => key.kid === kid));
  expect(newKeys).toMatchObject([{ alg: 'EdDSA' }]);
  const { kid } = newKeys[0]!;
  const page = texts(await agent.get('/admin/keys'));
  expect(page).toContain(`${kid} Published, not active yet`);
  // the key of SECRET_KEY, by its id
  expect(page).toContain(`Key ${parseSecretKey(service.secretKey).id} 1 instance`);
  expect(page).not.toContain(service.secretKey);

  const address = `/admin/keys/withdraw?kid=${kid}`;
  const withdrawal = formOf(await agent.get(address), '/admin/keys/withdraw');
  expect(await agent.post('/admin/keys/withdraw', { ...withdrawal, typed: kid.slice(0, 7) })).toMatchObject({
    status: 400,
  });
  expect(await kids()).toHaveLength(before.length + 1);
  await ageSignIn(admin.sub);
  expect((await agent.post('/admin/keys/withdraw', { ...withdrawal, typed: kid.slice(0, 8) })).location).toContain(
    '/authorize?',
  );
  await renewSignIn(admin.sub);
  expect(path(await agent.post('/admin/keys/withdraw', { ...withdrawal, typed: kid.slice(0, 8) }))).toBe(
    '/admin/keys?done=key-withdrawn',
  );
  expect(await kids()).toEqual(before);
  expect((await agent.get(address)).status).toBe(404);
  const signing = /bdi class="id">([^<]*)<\/bdi><\/td>\s*<td[^>]*><span class="tag good"/.exec(
    (await agent.get('/admin/keys')).body,
  )![1]!;
  expect((await agent.get(`/admin/keys/withdraw?kid=${signing}`)).status).toBe(409);
});

test('an administrator filters the audit trail by name or id, opens the page of an event, and exports the result (pages, audit)', async () => {
  const user = await service.createUser({ username: 'mia' });
  const detail = { scope: '=1+1', reason: 'a "quoted", text' };
  await service.store.auditEvents.insert({
    type: 'code.replayed',
    outcome: 'failure',
    actor: '=cmd()',
    sub: user.sub,
    address: '2001:db8::7',
    detail,
  });
  await service.store.auditEvents.insert({
    type: 'consent.granted',
    outcome: 'success',
    actor: user.sub,
    sub: user.sub,
    detail: {},
  });
  const rows = async (query: string) => {
    const page = await agent.get(`/admin/audit?${query}`);
    expect(page.status).toBe(200);
    return [...page.body.matchAll(/href="(\/admin\/audit\/\d+)"><bdi>([^<]*)</g)].map(([, , type]) => type);
  };
  expect(await rows('user=MIA')).toEqual(['Access allowed', 'Authorization code reused', 'User created']);
  expect(await rows(`user=${user.sub}&outcome=failure`)).toEqual(['Authorization code reused']);
  expect(await rows('actor=mia')).toEqual(['Access allowed']);
  expect(await rows('address=2001:db8::7')).toEqual(['Authorization code reused']);
  expect(await rows('user=mia&since=2000-01-01T00:00&until=2001-01-01T00:00')).toEqual([]);
  expect(await rows('type=consent.granted&client=nobody')).toEqual([]);
  for (const query of ['address=nowhere', 'since=yesterday', 'until=2026-99-99'])
    expect((await agent.get(`/admin/audit?${query}`)).status).toBe(400);
  const list = await agent.get('/admin/audit?address=2001:db8::7');
  const event = await agent.get(/href="(\/admin\/audit\/\d+)"/.exec(list.body)![1]!);
  expect(texts(event)).toMatch(
    /Authorization code reused .*code\.replayed .*mia .*2001:db8::7 .*a &quot;quoted&quot;, text/,
  );
  expect((await agent.get('/admin/audit/999999999')).status).toBe(404);
  // issued tokens are in the list, too
  await obtainTokens(service, await service.createClient(), user);
  expect((await agent.get('/admin/audit?type=token.issued&user=mia')).body).toContain('<bdi>Token issued</bdi>');

  const csv = await exported('address=2001:db8::7', 'csv');
  expect(csv.headers.get('content-disposition')).toBe('attachment; filename="audit.csv"');
  expect(csv.body.split('\r\n')).toHaveLength(3);
  // the cells hold no formula, and the quoted text breaks no row
  expect(csv.body).toMatch(
    /^id,at,type,[^\r]*\r\n\d+,[^,]*,code\.replayed,failure,'=cmd\(\),,[^,]*,2001:db8::7,"\{""scope"":""=1\+1"",""reason"":""a \\""quoted\\"", text""\}"\r\n$/,
  );
  const [exportEvent] = await service.database.sql(
    `SELECT actor, detail FROM audit_events WHERE type = 'audit_events.exported' ORDER BY id DESC LIMIT 1`,
  );
  expect(exportEvent).toEqual({ actor: admin.sub, detail: { format: 'csv', address: '2001:db8::7' } });
  const jsonl = await exported('user=mia', 'jsonl');
  const events = jsonl.body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string });
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['user.signed_in', 'consent.granted', 'code.replayed', 'user.created']),
  );
});

test('an export of the audit trail needs a sign-in within 15 minutes (security R91)', async () => {
  const form = formOf(await agent.get('/admin/audit?user=mia'), '/admin/audit/export');
  await service.database.sql(`UPDATE sessions SET auth_time = now() - interval '16 minutes'`);
  const asked = await agent.post('/admin/audit/export', { ...form, format: 'csv' });
  expect(asked.location).toContain('/authorize?');
  await service.database.sql(`UPDATE sessions SET auth_time = now()`);
});

test('an export continues over many batches until every event is written (pages, audit)', async () => {
  await service.database.sql(
    `INSERT INTO audit_events (at, type, outcome, address) SELECT now() - i * interval '1 ms', 'token.revoked', 'success', '192.0.2.200' FROM generate_series(1, 2345) i`,
  );
  const { body } = await exported('address=192.0.2.200&type=token.revoked', 'jsonl');
  expect(
    new Set(
      body
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: string }).id),
    ).size,
  ).toBe(2345);
});

const addresses = [
  '/admin',
  '/admin/sessions',
  '/admin/sessions/end?sub=x',
  '/admin/keys',
  '/admin/keys/rotate',
  '/admin/keys/withdraw?kid=x',
  '/admin/audit',
  '/admin/audit/1',
];
const operations: [string, Record<string, string>][] = [
  ['/admin/sessions', { end: 'x' }],
  ['/admin/sessions/end', { sub: 'x' }],
  ['/admin/keys/rotate', { alg_EdDSA: 'on' }],
  ['/admin/keys/withdraw', { kid: 'x', typed: 'x' }],
  ['/admin/audit/export', { format: 'csv' }],
];
test('a user who is not an administrator sees no page and changes nothing, and neither does a forged form (security R89, R55)', async () => {
  const signedOut = new UserAgent(service);
  const other = new UserAgent(service);
  await other.signIn(await service.createUser());
  for (const address of addresses) {
    expect((await signedOut.get(address)).location).toContain('/authorize?');
    expect([address, (await other.get(address)).status]).toEqual([address, 403]);
  }
  for (const [address, fields] of operations) {
    expect((await signedOut.post(address, { csrf: 'x', ...fields })).location).toContain('/authorize?');
    expect((await other.post(address, { csrf: 'x', ...fields })).status).toBe(403);
    expect((await agent.post(address, { csrf: 'x', ...fields })).status).toBe(400);
  }
});
