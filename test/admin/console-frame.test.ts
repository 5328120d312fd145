// What surrounds every page of the console: the sections in their groups, the menu of the administrator, and what a new service is asked to do first.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { eventsOf } from '../helpers/events.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let admin: Awaited<ReturnType<TestService['createUser']>>;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService();
  admin = await service.createUser({ username: 'ada', admin: true, claims: { name: 'Ada Lovelace' } });
  ({ agent } = await openConsole(service, admin));
});
afterAll(() => service?.stop());

const part = ({ body }: Page, begin: string, end: string) => {
  const from = body.indexOf(begin);
  return body.slice(from, body.indexOf(end, from));
};
const words = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

test('the navigation has the sections in groups, each group with its name (pages, every page)', async () => {
  const navigation = part(await agent.get('/admin'), '<nav class="side"', '<button');
  expect(words(navigation)).toBe(
    'Overview Applications Clients APIs Connections Provisioning Provisioning targets People Users Groups Attributes and scopes Sessions Security Audit Keys System Webhooks Appearance Settings Try it',
  );
  expect(navigation.match(/<ul aria-labelledby="sections-(\w+)">/g)).toHaveLength(4);
});

describe('the menu of the administrator', () => {
  const menuOf = (page: Page) => part(page, '<div class="account-menu"', '</div>');

  test('leads to the account and to the end of the session (pages, every page)', async () => {
    const menu = menuOf(await agent.get('/admin'));
    expect(words(menu)).toMatch(/^Ada Lovelace ada Your account .* Sign out$/);
    expect(menu).toContain('href="/account"');
    expect(menu).toContain('href="/logout"');
  });

  test('offers each language of the console, which stays for the next pages (pages, every page)', async () => {
    const page = await agent.get('/admin/users?status=disabled&locale=en');
    const links = [...menuOf(page).matchAll(/<a href="([^"]*)" lang="(\w+)"/g)].map(([, uri, tag]) => [tag, uri]);
    expect(Object.fromEntries(links)).toMatchObject({
      de: '/admin/users?status=disabled&amp;locale=de',
      en: '/admin/users?status=disabled&amp;locale=en',
      ar: '/admin/users?status=disabled&amp;locale=ar',
    });
    expect((await agent.get('/admin/users?locale=de')).body).toContain('<html lang="de"');
    expect((await agent.get('/admin')).body).toContain('<html lang="de"');
    await agent.get('/admin?locale=en');
  });

  test('offers no language on the answer to a form, which no link shows again (pages, every page)', async () => {
    const page = await agent.get('/admin/users/new');
    const answer = await agent.post('/admin/users/new', { ...formOf(page, '/admin/users/new'), username: '' });
    expect(answer.status).toBe(400);
    expect(menuOf(answer)).not.toContain('hreflang');
  });
});

describe('the checklist of the overview', () => {
  const items = async () =>
    [
      ...part(await agent.get('/admin'), '<section class="card checklist"', '</section>').matchAll(
        /<li( class="ready")?>(.*?)<\/li>/gs,
      ),
    ].map(([, ready, item]) => `${/<p>([^<]*)/.exec(item!)![1]}${ready ? ': done' : ''}`);

  test('has each thing that a new service lacks, until its own fact is there (pages, overview)', async () => {
    const all = ['Email works', 'A second administrator', 'A passkey for you', 'The first client', 'Backups', 'HTTPS'];
    expect(await items()).toEqual(all);
    await service.createUser({ admin: true });
    await service.createClient();
    expect(await items()).toEqual(
      all.map((item) => (['A second administrator', 'The first client'].includes(item) ? `${item}: done` : item)),
    );
  });

  test('takes the word of an administrator for backups, with an event (pages, overview)', async () => {
    const page = await agent.get('/admin');
    const answer = await agent.post('/admin/checklist/backup', formOf(page, '/admin/checklist/backup'));
    expect(answer.location).toBe(`${service.issuer}/admin?done=backup-confirmed`);
    expect(await eventsOf(service, { type: 'backup.confirmed' })).toMatchObject([
      { actor: admin.sub, outcome: 'success' },
    ]);
    expect(await items()).toContain('Backups: done');
    expect((await agent.post('/admin/checklist/backup', {})).status).toBe(400);
  });

  test('takes a test email that was accepted, and a passkey of the administrator who looks, as done (pages, overview)', async () => {
    const done = await startTestService({ environment: { SMTP_URL: 'smtp://127.0.0.1:9' } });
    try {
      const user = await done.createUser({ admin: true });
      await done.createUser({ admin: true });
      await done.createClient();
      const { agent: other } = await openConsole(done, user);
      expect((await other.get('/admin')).body).toContain('Finish setting up');
      await done.database.sql(
        `INSERT INTO audit_events (type, outcome, actor) VALUES ('mail.tested', 'success', $1), ('backup.confirmed', 'success', $1)`,
        [user.sub],
      );
      await done.database.sql(`INSERT INTO passkey_users VALUES ($1, decode(repeat('03', 64), 'hex'))`, [user.sub]);
      await done.database.sql(
        `INSERT INTO passkeys (id, credential_id, sub, public_key, sign_count, transports, aaguid, backup_eligible, backed_up, name)
         VALUES (gen_random_uuid(), decode(repeat('01', 32), 'hex'), $1, decode(repeat('02', 64), 'hex'), 0, '{}', '00000000-0000-0000-0000-000000000000', true, true, 'Key')`,
        [user.sub],
      );
      const page = await other.get('/admin');
      // the service of a test has no https
      expect(words(part(page, '<section class="card checklist"', '</section>'))).toContain('5 of 6 done');
    } finally {
      await done.stop();
    }
  });
});
