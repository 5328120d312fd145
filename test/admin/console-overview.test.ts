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
const mails = async () => / Email (.*?) Last cleanup /.exec(texts(await agent.get('/admin')))![1]!.trim();

test('the overview does not call the first clean-up of a new instance late (decisions section 7)', async () => {
  expect(texts(await agent.get('/admin'))).toContain('Last cleanup Not yet');
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
  const scheduled = `FROM outbox WHERE name = 'registrations' AND next_attempt_at > now() AND attempts = 0`;
  await vi.waitUntil(async () => (await service.database.sql(`SELECT ${scheduled}`)).length === 1, { timeout: 10_000 });
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

test('each figure of the last day equals the number of rows in its list (decisions section 7)', async () => {
  const user = await service.createUser();
  await new UserAgent(service).signIn(user);
  for (let count = 0; count < 2; count++) await new UserAgent(service).signIn({ ...user, password: 'wrong' });
  await service.store.auditEvents.insert({ type: 'code.replayed', outcome: 'failure', actor: user.sub });
  const overview = await agent.get('/admin');
  const figures = [
    ...overview.body.matchAll(/<li><a href="([^"]*)"><b>([\d,]+)<\/b> <span[^>]*>([^<]*)<\/span><\/a>/g),
  ];
  const words = figures.map(([, , , word]) => word);
  expect(words.slice(0, 3)).toEqual(['sign-ins', 'failed sign-ins', 'refused requests in total']);
  for (const [, uri, count, word] of figures) {
    const list = await agent.get(uri!.replaceAll('&amp;', '&'));
    const rows = list.body.slice(list.body.indexOf('<tbody>')).match(/<tr>/g);
    // loading the lists adds events to the audit trail
    if (word !== 'audit events') expect([word, rows?.length ?? 0]).toEqual([word, Number(count)]);
  }
  expect(Number(figures[2]![2])).toBe(3);
});
