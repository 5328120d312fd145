// Walks in a real browser from an application that the service does not know to its callback: the user waits, an administrator approves, and the
// sign-in goes on by itself. The service is a process that trusts the document's server by NODE_EXTRA_CA_CERTS.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { documentCertificate, type DocumentServer, startDocumentServer } from '../helpers/document-server.ts';
import { freePort, runCommand, type ServerProcess, startServer, stopServers } from '../helpers/server-process.ts';
import { authorizationUrl, pkce } from '../helpers/user-agent.ts';

const administrator = { username: 'admin', password: randomSecret() };
const user = { username: 'ada', password: 'correct horse battery staple' };

let server: DocumentServer;
let database: TestDatabase;
let service: ServerProcess;
let application: Server;
let redirectUri: string;
let browser: Browser | undefined;
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-documents-'));
beforeAll(async () => {
  if (process.env.CHROMIUM === undefined) return;
  server = await startDocumentServer();
  database = await createTestDatabase();
  application = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<title>Done</title>'),
  );
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
  redirectUri = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`;
  const authorities = join(folder, 'ca.pem');
  writeFileSync(authorities, documentCertificate);
  const settings = {
    PORT: String(await freePort()),
    DATABASE_URL: database.url,
    SECRET_KEY: randomSecret(),
    DATA_DIR: folder,
    ADMIN_PASSWORD: administrator.password,
    CLIENT_ID_METADATA: 'approval',
    OUTBOUND_ALLOW: server.allow,
    CLIENT_ID_METADATA_HOSTS: server.allow,
    NODE_EXTRA_CA_CERTS: authorities,
  };
  service = startServer(settings);
  await service.ready();
  await runCommand(['user', 'create', '--username', user.username, '--password-stdin'], settings, user.password);
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await stopServers();
  application?.close();
  await server?.stop();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

async function open(options: { javaScriptEnabled?: boolean } = {}): Promise<{ page: Page; complaints: string[] }> {
  const page = await (await browser!.newContext({ locale: 'en', ...options })).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, complaints };
}

async function signIn(page: Page, as: { username: string; password: string }): Promise<void> {
  await page.getByLabel('User name or email').fill(as.username);
  await page.getByLabel('Password', { exact: true }).fill(as.password);
  await page.getByLabel('Password', { exact: true }).press('Enter');
}

browserTest(
  'a user signs in first, waits for an administrator, and goes on to the application by itself, without a script (protocols 5.5, security R140)',
  async () => {
    const clientId = server.serve('/editor.json', { redirect_uris: ['http://127.0.0.1/callback'] });
    const { code_challenge, code_challenge_method } = pkce();
    const challenge = { code_challenge, code_challenge_method, state: 'state-1' };
    const start = authorizationUrl(service.issuer, { clientId, redirectUri }, challenge);
    const { page, complaints } = await open({ javaScriptEnabled: false });
    await page.goto(start);
    await page.getByRole('link', { name: 'Sign in first, then start again' }).click();
    expect(server.requests).toEqual([]);
    await signIn(page, user);
    await page.waitForURL(`${service.issuer}/account`);
    await page.goto(start);
    await page.getByRole('heading', { name: `${server.allow} is waiting for an administrator` }).waitFor();
    const office = await open();
    await office.page.goto(`${service.issuer}/admin/clients/waiting`);
    await signIn(office.page, administrator);
    const entry = office.page.getByRole('region', { name: 'Harbour Editor' });
    expect(await entry.getByText(clientId, { exact: true }).count()).toBeGreaterThan(0);
    expect(await entry.getByText(user.username, { exact: true }).count()).toBe(1);
    await entry.getByRole('button', { name: 'Approve Harbour Editor' }).click();
    await office.page.getByText('Nothing is pending.').waitFor();
    // nothing is pressed on the page that waits
    await page.getByRole('heading', { name: `Allow ${server.allow} to use your account?` }).waitFor();
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.waitForURL((url) => url.href.startsWith(redirectUri));
    expect(new URL(page.url()).searchParams.get('code')).toBeTruthy();
    expect(server.requests).toEqual(['/editor.json']);
    // the browser itself reports the status 400 of the page for unknown clients
    expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
    expect(office.complaints).toEqual([]);
  },
);
