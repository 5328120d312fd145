// Walks in a real browser as a newcomer: from a service with one administrator and nothing else to a user who is signed in to a
// single-page application, whose page holds the snippet that the console showed, and to a program that has a token of its own.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let browser: Browser | undefined;
let application: Server;
let origin: string;
/** The script of the application's only page. */
let script = '';
beforeAll(async () => {
  service = await startTestService();
  if (process.env.CHROMIUM !== undefined) browser = await launchBrowser();
  application = createServer((_request, response) =>
    response
      .setHeader('content-type', 'text/html')
      .end(
        `<!doctype html><html lang="en"><title>Lantern</title><link rel="icon" href="data:,"><body><script type="module">${script}</script>`,
      ),
  );
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(application.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await browser?.close();
  application?.close();
  await service?.stop();
});

/** Opens the list of clients as a new administrator; `complaints` collects what the browser reports. */
async function openConsole(): Promise<{ page: Page; complaints: string[] }> {
  const admin = await service.createUser({ admin: true, claims: { name: 'Ada' } });
  const context = await browser!.newContext({ locale: 'en', permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(`${service.issuer}/admin/clients`);
  await page.getByLabel('User name or email').fill(admin.username);
  await page.getByLabel('Password', { exact: true }).fill(admin.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('link', { name: 'Create client' }).first().waitFor();
  // the list itself is no page that the newcomer loads
  await page.waitForLoadState();
  return { page, complaints };
}

browserTest(
  'a newcomer connects a single-page application with two pages and two fields, copies the snippet, and signs in with it (pages, clients)',
  async () => {
    const { page, complaints } = await openConsole();
    const from = Date.now();
    let pages = 0;
    page.on('load', () => void (pages += 1));
    await page.getByRole('link', { name: 'Create client' }).first().click();
    await page.getByRole('link', { name: 'Single-page application' }).click();
    await page.getByLabel('Name', { exact: true }).waitFor();
    const visible = page.locator('main').locator('input:visible, select:visible, textarea:visible');
    const fields = await Promise.all((await visible.all()).map((field) => field.getAttribute('name')));
    await page.getByLabel('Name', { exact: true }).fill('Lantern');
    await page.getByLabel('Redirect URIs', { exact: true }).fill(`${origin}/`);
    await page.getByRole('button', { name: 'Create client' }).click();
    await page.getByRole('heading', { name: 'Client created' }).waitFor();
    expect(await page.locator('#client_secret').count()).toBe(0);
    await page.getByText('JavaScript', { exact: true }).click();
    await page.getByRole('button', { name: 'Copy JavaScript' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    script = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(script).toBe(await page.locator('#snippet-browser').textContent());
    await page.goto(`${origin}/`);
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.getByText('Signed in as Ada').waitFor();
    const seconds = (Date.now() - from) / 1000;
    console.info(`newcomer: ${pages} pages loaded, ${fields.length} fields shown, ${seconds.toFixed(1)} s`);
    // the newcomer fills in two of these; the others may stay empty
    expect(fields).toEqual(['client_name', 'redirect_uris', 'post_logout_redirect_uris', 'start_uri']);
    expect(complaints).toEqual([]);
    await page.context().close();
  },
);

browserTest(
  'a newcomer connects a program without users with three pages and one field, copies the secret and the commands, and these get a token (pages, clients)',
  async () => {
    const { page, complaints } = await openConsole();
    const from = Date.now();
    let pages = 0;
    page.on('load', () => void (pages += 1));
    await page.getByRole('link', { name: 'Create client' }).first().click();
    await page.getByRole('link', { name: 'Machine to machine' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Tide');
    await page.getByRole('button', { name: 'Create client' }).click();
    await page.getByRole('heading', { name: 'Client created' }).waitFor();
    const secret = (await page.locator('#client_secret').textContent())!.trim();
    await page.getByRole('button', { name: 'Copy curl' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const commands = await page.evaluate<string>('navigator.clipboard.readText()');
    const shell = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', commands], {
      env: { ...process.env, CLIENT_SECRET: secret },
    });
    const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
    const seconds = (Date.now() - from) / 1000;
    console.info(`newcomer, machine: ${pages} pages loaded, 1 field filled in, ${seconds.toFixed(1)} s`);
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringContaining('"active":true') as string, stderr: '' });
    expect(pages).toBe(3);
    expect(complaints).toEqual([]);
    await page.context().close();
  },
);
