// Takes the README's pictures: the real sign-in and consent pages of the demonstration's application. Usage: node scripts/readme-picture.ts [OUTPUT-FOLDER]
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { approveClient, ensureUser, sampleUser } from '../demo/administrator.ts';
import { startRelyingParty } from '../demo/relying-party.ts';
import { loadConfig } from '../src/config.ts';
import { startService } from '../src/start/service.ts';

const folder = process.argv[2] ?? join(import.meta.dirname, '..', 'docs', 'images');
const margin = 20; // CSS pixels around the content

mkdirSync(folder, { recursive: true });
const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-picture-'));
const config = loadConfig({ DATA_DIR: dataDir, PORT: String(await freePort()), LOG_LEVEL: 'warn' });
const service = await startService(config);
const application = await startRelyingParty({
  issuer: config.issuer,
  port: Number(process.env['DEMO_PORT'] || 3001),
  approve: (clientId) => approveClient(config, clientId),
});
const password = await ensureUser(config, sampleUser, undefined);
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--headless=new', '--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
});
try {
  const signIn = await reachSignIn(2);
  await shoot(signIn, 'sign-in.png');
  // a longer picture, so with a smaller scale
  const consent = await reachSignIn(1.5);
  await consent.getByRole('button', { name: 'Sign in', exact: true }).click();
  await consent.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  await shoot(consent, 'consent.png');
} finally {
  await browser.close();
  await application.stop();
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

/** The sign-in page, filled in. */
async function reachSignIn(deviceScaleFactor: number): Promise<Page> {
  const page = await browser.newPage({
    viewport: { width: 600, height: 1000 },
    deviceScaleFactor,
    colorScheme: 'light',
    locale: 'en-GB',
  });
  await page.goto(application.url);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByLabel('User name or email').fill(sampleUser.username);
  await page.getByLabel('Password', { exact: true }).fill(password ?? '');
  await page.getByLabel('Password', { exact: true }).blur();
  return page;
}

/** The page as wide as the window, from just above its wordmark to just below its card. */
async function shoot(page: Page, name: string): Promise<void> {
  const top = await page.locator('.brand').boundingBox();
  const end = await page.locator('.card').last().boundingBox();
  const y = Math.max(0, top!.y - margin);
  await page.screenshot({
    path: join(folder, name),
    clip: { x: 0, y, width: page.viewportSize()!.width, height: end!.y + end!.height + margin - y },
    animations: 'disabled',
    caret: 'hide',
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
