// Walks in a real browser from the console's form for a new user to an invited colleague who is signed in, by password and by passkey.
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import type { TestService, TestUser } from '../helpers/service.ts';

const bed = createMailBed();
let service: TestService;
let browser: Browser | undefined;
let root: TestUser;
beforeAll(async () => {
  ({ service } = await bed.start());
  root = await service.createUser({ username: 'root', admin: true });
  if (process.env.CHROMIUM !== undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await bed.stop();
});

/** A window that counts its pages and the fields that the user fills in. */
async function open(context: BrowserContext) {
  const page = await context.newPage();
  const counts = { pages: 0, fields: 0 };
  const complaints: string[] = [];
  page.on('load', () => void counts.pages++);
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', (error) => void complaints.push(error.message));
  return {
    page,
    counts,
    complaints,
    async type(label: string | RegExp, value: string) {
      counts.fields++;
      await page.getByLabel(label).first().fill(value);
    },
  };
}

async function signIn(page: Page, { username, password }: TestUser): Promise<void> {
  await page.getByLabel('User name or email').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByLabel('Password', { exact: true }).press('Enter');
}

browserTest(
  'an administrator invites a colleague with one form, who sets a password on one page and is signed in; another creates a passkey (pages, users)',
  async () => {
    const console = await open(await browser!.newContext({ locale: 'en' }));
    await console.page.goto(`${service.issuer}/admin/users`);
    await signIn(console.page, root);
    await console.page.waitForURL('**/admin/users');
    const figures: Record<string, { pages: number; fields: number; seconds: number }> = {};
    const walk = async (name: string, window: typeof console, steps: () => Promise<void>) => {
      Object.assign(window.counts, { pages: 0, fields: 0 });
      const start = performance.now();
      await steps();
      figures[name] = { ...window.counts, seconds: Math.round((performance.now() - start) / 100) / 10 };
      expect(window.complaints).toEqual([]);
    };
    const invite = (username: string) =>
      walk('administrator', console, async () => {
        await console.page.locator('main a[href="/admin/users/new"]').click();
        await console.type(/^User name/, username);
        await console.type('Email address', `${username}@example.com`);
        // the password field shows only for the other choice
        expect(await console.page.locator('#password').isVisible()).toBe(false);
        await console.page.locator('#save').click();
        await console.page.getByText('The invitation is on its way').waitFor();
      });
    await invite('grace');
    const link = await bed.linkTo('grace@example.com', /invited/);
    const colleague = await open(await browser!.newContext({ locale: 'en' }));
    await walk('colleague', colleague, async () => {
      await colleague.page.goto(service.issuer + link);
      await colleague.page.getByRole('heading', { name: 'Welcome, grace' }).waitFor();
      await colleague.type('New password', 'three umbrellas under a lighthouse');
      expect(await colleague.page.locator('#strength').isVisible()).toBe(true);
      await colleague.page.locator('#set-password').click();
      await colleague.page.getByText('Your account is ready').waitFor();
    });
    expect(figures).toMatchObject({ administrator: { pages: 2, fields: 2 }, colleague: { pages: 2, fields: 1 } });

    await console.page.goto(`${service.issuer}/admin/users`);
    await invite('hedy');
    const other = await open(await browser!.newContext({ locale: 'en' }));
    const devtools = await other.page.context().newCDPSession(other.page);
    await devtools.send('WebAuthn.enable', { enableUI: false });
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        ctap2Version: 'ctap2_1',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    const second = await bed.linkTo('hedy@example.com', /invited/);
    await walk('passkey', other, async () => {
      await other.page.goto(service.issuer + second);
      await other.page.getByRole('button', { name: 'Create a passkey instead' }).click();
      await other.page.locator('#continue').click();
      await other.page.getByText('Your account is ready').waitFor();
    });
    expect(figures).toMatchObject({ passkey: { pages: 3, fields: 0 } });
    globalThis.console.info(`invitation: ${JSON.stringify(figures)}`);
    // the passkey signs in alone
    await other.page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = undefined');
    await other.page.goto(`${service.issuer}/logout`);
    await other.page.locator('#sign-out').click();
    await other.page.waitForURL('**/logout');
    await other.page.goto(`${service.issuer}/login`);
    await other.page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await other.page.waitForURL(`${service.issuer}/account`);
  },
);
