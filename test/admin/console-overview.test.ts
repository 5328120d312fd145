// The console's overview shows figures that match the lists behind them, and calls only overdue work delayed.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openConsole } from '../helpers/console.ts';
import { adminToken, call } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
let bearer: string;
beforeAll(async () => {
  service = await startTestService({ environment: { LIMIT_REGISTRATIONS_WAITING: '1' } });
  const admin = await service.createUser({ admin: true, email: 'ann@example.com', emailVerified: true });
  ({ agent } = await openConsole(service, admin));
  bearer = await adminToken(service);
});
afterAll(() => service?.stop());

const texts = (page: Page) => page.body.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
const redirectUris = ['https://rp.example.com/callback'];
const register = (name: string) =>
  call(`${service.issuer}/register`, { method: 'POST', body: { client_name: name, redirect_uris: redirectUris } });
const admin = (path: string, method = 'GET', body?: object) =>
  call(`${service.issuer}/admin/api${path}`, { method, token: bearer, ...(body && { body }) });
/** Reads the mails that were written to the folder. */
const mailTexts = () => {
  const folder = join(service.dataDir, 'mail');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('.')) : [];
  return names.map((name) => readFileSync(join(folder, name), 'utf8'));
};
/** Returns what the overview says of mail. */
const mails = async () => / Email ((?:(?! Email ).)*) Last cleanup /.exec(texts(await agent.get('/admin')))![1]!.trim();

test('the overview does not call the first clean-up of a new instance late (decisions section 7)', async () => {
  expect(texts(await agent.get('/admin'))).toContain('Last cleanup Not yet');
  // it has not run while no instance was running
  await service.database.sql("UPDATE clean_up SET finished_at = now() - interval '1 day'");
  const page = texts(await agent.get('/admin'));
  expect(page).toMatch(/Last cleanup (?!Not yet)/);
  expect(page).not.toContain('Cleanup of expired data is overdue');
});

test('a client that an administrator creates as disabled does not wait for approval, and is not deleted (decisions section 2)', async () => {
  const body = { client_name: 'Made disabled', redirect_uris: redirectUris, status: 'disabled' };
  const created = await admin('/clients', 'POST', body);
  expect(created).toMatchObject({ status: 201, body: { status: 'disabled' } });
  const id = created.body['client_id'] as string;
  expect(texts(await agent.get('/admin'))).toContain('Nothing is pending.');
  expect((await agent.get('/admin/clients/waiting')).body).not.toContain('Made disabled');
  expect((await agent.get('/admin/clients')).body).not.toContain('/admin/clients/waiting');
  const page = texts(await agent.get(`/admin/clients/${id}`));
  expect(page).toMatch(/Made disabled Disabled .* Enable /);
  expect((await admin('/clients?waiting=true')).body['clients']).toEqual([]);
  const refused = await admin(`/clients/${id}/refuse`, 'POST', { version: 1, reason: 'No.' });
  expect(refused).toMatchObject({ status: 409, body: { error: 'conflict' } });

  // it does not count as a waiting registration: this one is the first
  expect(await register('Registered')).toMatchObject({ status: 201 });
  expect(await register('Another')).toMatchObject({ status: 503 });
  expect(texts(await agent.get('/admin'))).toMatch(/Registered rp\.example\.com .* 1 pending approval /);
  const { clients } = (await admin('/clients?waiting=true')).body as { clients: { client_id: string }[] };
  expect(clients).toMatchObject([{ client_name: 'Registered' }]);
  const digest = () => mailTexts().find((text) => text.includes('Registered'));
  await vi.waitUntil(digest, { timeout: 10_000, interval: 10 });
  expect(digest()).not.toContain('Made disabled');

  await service.database.sql('ALTER TABLE clients DISABLE TRIGGER USER');
  await service.database.sql(`UPDATE clients SET updated_at = now() - interval '31 days' WHERE status = 'disabled'`);
  await service.database.sql('ALTER TABLE clients ENABLE TRIGGER USER');
  expect(await service.store.clients.deleteAbandoned(30 * 86_400)).toEqual([clients[0]!.client_id]);
  const enabled = await admin(`/clients/${id}/approve`, 'POST', { version: 1 });
  expect(enabled).toMatchObject({ status: 200, body: { status: 'enabled' } });
});

test('a mail that is scheduled for later is not delayed, and an overdue mail is (decisions section 7)', async () => {
  await register('Noticed');
  // the next digest is scheduled an hour after the one that was just sent; another instance may have scheduled it
  const queue = `SELECT count(*) FILTER (WHERE name = 'registrations' AND next_attempt_at > now() AND attempts = 0) = count(*) AS settled, count(*)::int FROM outbox`;
  // the digest that was just sent leaves the queue a moment later
  await vi.waitUntil(async () => {
    const [row] = await service.database.sql(queue);
    return row?.['settled'] === true && row['count'] === 1;
  });
  expect(await mails()).toBe('Nothing queued');
  await service.database.sql(`UPDATE outbox SET created_at = now() - interval '59 minutes'`);
  expect(await mails()).toBe('Nothing queued');
  const failed = `VALUES ('mail', 'registration-waiting', 3, now() + interval '1 hour', now() - $1::interval)`;
  for (const [age, text] of [
    ['4 minutes', /^1 queued Oldest: /],
    ['6 minutes', /^Delayed 2 queued Oldest: /],
  ] as const) {
    await service.database.sql(`INSERT INTO outbox (channel, name, attempts, next_attempt_at, created_at) ${failed}`, [
      age,
    ]);
    expect(await mails()).toMatch(text);
  }
  await service.database.sql('DELETE FROM outbox');
});

/** The figures of a page that link to lists: the address, the number and its words. */
const figuresOf = (page: Page) =>
  [...page.body.matchAll(/<li><a href="([^"]*)"><b>([\d,]+)<\/b> <span[^>]*>([^<]*)<\/span><\/a>/g)].map(
    ([, uri, count, words]) => ({ uri: uri!.replaceAll('&amp;', '&'), count: Number(count), words: words! }),
  );
const rowsOf = (page: Page) => page.body.slice(page.body.indexOf('<tbody>')).match(/<tr>/g)?.length ?? 0;

test('each figure of the last day and of the last month equals the number of rows in its list (decisions section 7; pages, overview)', async () => {
  const user = await service.createUser();
  await new UserAgent(service).signIn(user);
  for (let count = 0; count < 2; count++) await new UserAgent(service).signIn({ ...user, password: 'wrong' });
  await service.store.auditEvents.insert({ type: 'code.replayed', outcome: 'failure', actor: user.sub });
  const { sql } = service.database;
  await sql(
    `INSERT INTO audit_events (at, type, outcome) SELECT now() - days * interval '1 day', 'user.sign_in_failed', 'failure' FROM unnest(ARRAY[2, 28, 40]) AS days`,
  );
  // the background job has counted the events of that time before they were stored
  await sql(
    `INSERT INTO hourly_counts (hour, kind, count) SELECT date_trunc('hour', at, 'UTC'), 'sign_in_failed', 1 FROM audit_events WHERE at < now() - interval '1 day'`,
  );
  for (const [address, refusals] of [
    ['/admin', 3],
    ['/admin?period=month', 5],
  ] as const) {
    const figures = figuresOf(await agent.get(address));
    const words = figures.slice(0, 3).map((figure) => figure.words);
    expect(words.join()).toMatch(/^sign-ins?,failed sign-ins,refused requests in total$/);
    expect(figures[2]!.count).toBe(refusals);
    for (const { uri, count, words } of figures)
      // loading the lists adds events to the audit trail
      if (words !== 'audit events') expect([words, rowsOf(await agent.get(uri))]).toEqual([words, count]);
  }
});

test('the chart shows a day or a month, and links to the other (pages, overview)', async () => {
  const day = await agent.get('/admin');
  const month = await agent.get('/admin?period=month');
  for (const [page, bars, other] of [
    [day, 24, '/admin?period=month'],
    [month, 30, '/admin'],
  ] as const) {
    expect(page.body.match(/<svg [^>]*role="img"/g)).toHaveLength(1);
    expect(page.body.match(/<rect class="slot"/g)).toHaveLength(bars);
    expect(rowsOf(page)).toBe(bars);
    expect(page.body).toContain(`<li><a href="${other}">`);
  }
  expect(texts(month)).toContain('last 30 days');
});

test('a figure has no link where the audit trail is kept for less than its period (pages, overview)', async () => {
  const brief = await startTestService({ environment: { AUDIT_RETENTION: '86400' } });
  const { agent: visitor } = await openConsole(brief, await brief.createUser({ admin: true }));
  const linked = async (path: string) =>
    figuresOf(await visitor.get(path)).filter(({ uri }) => uri.includes('since=')).length;
  expect([await linked('/admin'), await linked('/admin?period=month')]).toEqual([3, 0]);
  await brief.stop();
});

test('each page says how many registrations and changes are pending, and the number leads to them (pages, overview)', async () => {
  const waiting = await agent.get('/admin/clients/waiting');
  const shown = waiting.body.match(/<section class="card review"/g)!.length;
  expect(shown).toBeGreaterThan(0);
  for (const path of ['/admin', '/admin/clients', '/admin/users', '/admin/audit', '/admin/search']) {
    const page = await agent.get(path);
    expect(page.body).toContain(`<span class="badge" aria-hidden="true">${shown}</span>`);
  }
  expect((await agent.get('/admin')).body).toContain('href="/admin/clients/waiting"');
});

test('the overview names first what is unhealthy, and nothing when all is well (decisions section 7; pages, overview)', async () => {
  const problems = async () => {
    const page = await agent.get('/admin');
    return /<div class="notice problem">(.*?)<\/div>/s.exec(page.body)?.[1]?.replace(/<[^>]*>/g, ' ') ?? '';
  };
  expect(await problems()).toBe('');
  await service.database.sql(
    `INSERT INTO outbox (channel, name, attempts, next_attempt_at, created_at) VALUES ('mail', 'registration-waiting', 3, now() + interval '1 hour', now() - interval '6 minutes')`,
  );
  expect(await problems()).toMatch(/Needs attention\s+Outgoing email is delayed \(1 queued\)/);
  await service.database.sql('DELETE FROM outbox');
});
