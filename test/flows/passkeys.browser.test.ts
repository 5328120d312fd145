// Tests passkeys in a real browser with its virtual authenticator: created on the account page, used alone, by the browser's suggestion and
// after the password.
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
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

/** A window with an authenticator that verifies its user. */
async function open(): Promise<{ page: Page; devtools: CDPSession; authenticatorId: string; complaints: string[] }> {
  const page = await (await browser!.newContext({ locale: 'en' })).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', (error) => void complaints.push(error.message));
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
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
  return { page, devtools, authenticatorId, complaints };
}
async function showPassword(page: Page, { username, password }: { username: string; password: string }): Promise<void> {
  await page.getByLabel('User name or email').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByLabel('Password', { exact: true }).press('Enter');
}
async function signOut(page: Page): Promise<void> {
  await page.goto(`${service.issuer}/logout`);
  await page.locator('#sign-out').click();
  await page.waitForURL('**/logout');
}
const atAccount = (page: Page) => page.waitForURL(`${service.issuer}/account`);

browserTest(
  'a passkey signs the user in by the button, by the suggestion and after the password, until it is removed (pages, sign-in)',
  async () => {
    const user = await service.createUser();
    const { page, devtools, authenticatorId, complaints } = await open();
    const present = (enabled: boolean) =>
      devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
    // creation
    await present(false);
    await page.goto(`${service.issuer}/login?destination=passkeys`);
    await showPassword(page, user);
    await page.waitForURL('**/account/passkeys');
    await present(true);
    await page.getByRole('button', { name: 'Add a passkey' }).press('Enter');
    await page.locator('main a[href*="done=added"], main a.button').first().waitFor();
    await page.goto(`${service.issuer}/account/passkeys`);
    await page.getByText('Not used yet').waitFor();
    expect(await page.getByText('To add a passkey, use a browser').count()).toBe(0);
    // the authenticator already has a passkey
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('already has a passkey').waitFor();

    // by the suggestion: the user presses no button
    await signOut(page);
    await page.goto(`${service.issuer}/login`);
    await atAccount(page);

    // by the button, in a browser that makes no suggestions
    await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = undefined');
    await signOut(page);
    await page.goto(`${service.issuer}/login`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).press('Enter');
    await atAccount(page);

    // after the password
    await signOut(page);
    await page.goto(`${service.issuer}/login`);
    await showPassword(page, user);
    await page.waitForURL('**/login/second-factor');
    await page.getByRole('button', { name: 'Use a passkey' }).press('Enter');
    await atAccount(page);
    const methods = await service.database.sql('SELECT amr FROM sessions WHERE sub = $1', [user.sub]);
    expect(methods).toEqual([{ amr: expect.arrayContaining(['pwd', 'user', 'mfa']) as string[] }]);

    // removal
    await page.goto(`${service.issuer}/account/passkeys`);
    await page.getByText('Rename or remove').click();
    await page.getByRole('button', { name: /^Remove/ }).click();
    await page.getByText('Passkey removed').waitFor();
    await signOut(page);
    await page.goto(`${service.issuer}/login`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('That passkey didn’t work').waitFor();
    expect(complaints.filter((line) => !/400/.test(line))).toEqual([]);
  },
);

browserTest(
  'a user who dismisses the passkey dialog sees a message, and can use the password (pages, sign-in)',
  async () => {
    const user = await service.createUser();
    const { page, devtools, authenticatorId } = await open();
    await page.goto(`${service.issuer}/login`);
    // there is no passkey: the browser refuses, as when a user refuses
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('No passkey was used.').waitFor();
    await showPassword(page, user);
    await atAccount(page);
  },
);
