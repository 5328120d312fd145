// Performs an administrator's tasks in a real browser by keyboard alone: on a desktop and on a telephone, in three languages, light and
// dark.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { call } from '../helpers/grants.ts';
import { keyboard, walksAt } from '../helpers/keyboard.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let browser: Browser | undefined;
beforeAll(async () => {
  service = await startTestService();
  if (process.env.CHROMIUM !== undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

describe.each(walksAt('desktop'))('in $locale at $width pixels, $colorScheme', ({ locale, width, colorScheme }) => {
  browserTest(
    'an administrator signs in, approves a registration, creates a client, searches a user, disables and changes the account, creates another, imports and exports users, ends sessions, rotates keys and reads the events of all this (WCAG 2.1.1)',
    async () => {
      const admin = await service.createUser({ admin: true });
      const person = await service.createUser();
      await service.createUser({ groups: ['crew'] });
      const name = `Harbour ${locale} ${width}`;
      const registered = await call(`${service.issuer}/register`, {
        body: { client_name: name, redirect_uris: [`https://${locale}-${width}.example.com/callback`] },
      });
      expect(registered.status).toBe(201);
      const context = await browser!.newContext({ locale, colorScheme, viewport: { width, height: 740 } });
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
      page.on('pageerror', (error) => complaints.push(error.message));
      const { goTo, type, follow, download, tick } = keyboard(page);
      const section = async (path: string): Promise<void> => {
        if (width < 900) {
          await goTo('.menu');
          await page.keyboard.press('Enter');
        }
        await follow(`nav a[href="${path}"]`);
        expect(new URL(page.url()).pathname).toBe(path);
      };
      const done = () => page.locator('.notice.done').waitFor();

      await page.goto(`${service.issuer}/admin`);
      await type('#username', admin.username);
      await type('#password', admin.password);
      await follow('#sign-in');
      expect(new URL(page.url()).pathname).toBe('/admin');
      expect(await page.locator('html').getAttribute('lang')).toBe(locale);

      await section('/admin/clients');
      await follow('main a[href="/admin/clients/waiting"]');
      await tick('.select input');
      await follow('.selected button[value=approve]');
      await done();

      await section('/admin/clients');
      await follow('main a[href="/admin/clients/new"]');
      await follow('main a[href="/admin/clients/new/spa"]');
      const lantern = `Lantern ${locale} ${width}`;
      await type('#client_name', lantern);
      await type('#redirect_uris', 'https://lantern.example.com/');
      await follow('form.edit button[type=submit]');
      await goTo('[data-copy=client_id]');
      await goTo('#snippet-oidc-client-ts');
      const madeId = await page.locator('#client_id').textContent();
      await follow('main a.primary[href^="/admin/clients/"]');

      await section('/admin/users');
      await type('#q', person.username);
      await follow('#q');
      await follow(`main a[href="/admin/users/${person.sub}"]`);
      await follow(`a[href="/admin/users/${person.sub}/disable"]`);
      await follow('form.confirm button');
      await done();
      await follow('#edit');
      await type('#nickname', 'Countess');
      await follow('#save');
      await done();
      await type('#group', 'crew');
      await follow('#group');
      await done();

      await section('/admin/users');
      await follow('main a[href="/admin/users/new"]');
      await type('#username', `new-${locale}-${width}`);
      await follow('#save');
      expect(await page.locator('.secret').textContent()).toContain('/invitation?token=');
      await follow('main a.primary');

      await follow('.trail a');
      await follow('main a[href="/admin/users/import"]');
      await type('textarea', `username\nwalked-${locale}-${width}`);
      await follow('#check');
      await follow('#import');
      await page.locator('a#users').waitFor();
      await follow('a#users');
      await follow('main a[href^="/admin/users/export"]');
      expect(await download('#export')).toBe('users.csv');

      await section('/admin/groups');
      const crew = `crew-${locale}-${width}`;
      await type('#name', crew);
      await follow('#name');
      await done();
      await type('#users', person.username);
      await follow('#users ~ button, .field:has(#users) + button');
      await done();
      await page.goto(`${service.issuer}/admin`);
      await type('#find', crew);
      await follow('#find');
      expect(new URL(page.url()).pathname).toBe(`/admin/groups/${crew}`);
      await follow('button[name=remove]');
      await done();
      await follow(`a[href="/admin/groups/${crew}/delete"]`);
      await type('#typed', crew);
      await follow('#typed');
      await done();

      await section('/admin/sessions');
      await type('#user', admin.username);
      await follow('#user');
      await goTo('button[name=end]');

      await section('/admin/keys');
      await follow('main a[href="/admin/keys/rotate"]');
      await tick('input[type=checkbox]:not([name=immediate])');
      await follow('main form button[type=submit]');
      await done();

      await section('/admin/audit');
      expect(await download('button[value=jsonl]')).toBe('audit.jsonl');
      await goTo('main a[href^="/admin/audit/"]');

      await goTo('.account-button');
      await page.keyboard.press('Enter');
      await follow('#account-menu a[href="/account"]');
      await follow('a[href="/account/profile"]');
      expect(complaints).toEqual([]);

      const [client] = await service.database.sql<{ status: string }>(
        'SELECT status FROM clients WHERE client_id = $1',
        [(registered.body as Record<string, string>)['client_id']],
      );
      const [user] = await service.database.sql('SELECT status, groups, claims FROM users WHERE sub = $1', [
        person.sub,
      ]);
      expect({ client, user }).toMatchObject({
        client: { status: 'enabled' },
        user: { status: 'disabled', groups: ['crew'], claims: { nickname: 'Countess' } },
      });
      expect((await service.store.clients.find(madeId!))!.metadata).toMatchObject({
        client_name: lantern,
        token_endpoint_auth_method: 'none',
      });
      for (const made of [`new-${locale}-${width}`, `walked-${locale}-${width}`])
        expect(await service.store.users.findByUsername(made)).toMatchObject({ status: 'enabled' });
      await context.close();
    },
  );
});

browserTest(
  'the key / leads to the search field, except from a field, and until the user turns that off (WCAG 2.1.4; pages, search)',
  async () => {
    const admin = await service.createUser({ admin: true });
    const page = await browser!.newPage();
    const { isAt, type, follow, tick } = keyboard(page);
    await page.goto(`${service.issuer}/admin/search`);
    await type('#username', admin.username);
    await type('#password', admin.password);
    await follow('#sign-in');
    await page.keyboard.press('/');
    await expect.poll(() => isAt('#find')).toBe(true);
    await page.keyboard.type('a/b');
    expect(await page.locator('#find').inputValue()).toBe('a/b');
    await tick('#search-key');
    await page.keyboard.press('/');
    expect(await isAt('#find')).toBe(false);
    await page.goto(`${service.issuer}/admin/users`);
    await page.keyboard.press('/');
    expect(await isAt('#find')).toBe(false);
    await page.close();
  },
);

browserTest(
  'a script shows a button that copies the id of a user; without script the id is plain text (pages, search)',
  async () => {
    const admin = await service.createUser({ admin: true });
    for (const javaScriptEnabled of [true, false]) {
      const context = await browser!.newContext({
        javaScriptEnabled,
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      const page = await context.newPage();
      await page.goto(`${service.issuer}/admin/users/${admin.sub}`);
      await page.locator('#username').fill(admin.username);
      await page.locator('#password').fill(admin.password);
      await page.locator('#password').press('Enter');
      await page.getByText(admin.sub, { exact: true }).first().waitFor();
      const copy = page.getByRole('button', { name: 'Copy' });
      expect(await copy.count()).toBe(javaScriptEnabled ? 1 : 0);
      if (javaScriptEnabled) {
        await copy.click();
        await page.getByRole('button', { name: 'Copied' }).waitFor();
        expect(await page.evaluate('navigator.clipboard.readText()')).toBe(admin.sub);
      }
      await context.close();
    }
  },
);
