// Lets a user decide about a device in a real browser without script: by keyboard alone, in two languages, with the roles that a screen reader says.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { allowPolls, deviceCodes, deviceMetadata, poll } from '../helpers/device.ts';
import { createAdministration } from '../../src/domain/administration/administration.ts';
import { startDevice } from '../../demo/device.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';

let service: TestService;
let browser: Browser | undefined;
let client: TestClient;
let user: TestUser;
beforeAll(async () => {
  service = await startTestService({ environment: { DEVICE_GRANT: 'on' } });
  client = await service.createClient(deviceMetadata);
  user = await service.createUser({ claims: { name: 'Ada Lovelace' } });
  if (process.env.CHROMIUM === undefined) return;
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

async function open(locale: string, width: number): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser!.newContext({ javaScriptEnabled: false, locale, viewport: { width, height: 800 } });
  const page = await context.newPage();
  const complaints: string[] = [];
  // the page that found no device answers 400, which the browser says too
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('400')) complaints.push(message.text());
  });
  return { page, complaints };
}
async function signIn(page: Page): Promise<void> {
  await page.locator('#username').fill(user.username);
  await page.locator('#password').fill(user.password);
  await page.locator('#password').press('Enter');
}
const answer = async (codes: Awaited<ReturnType<typeof deviceCodes>>) => {
  await allowPolls(service);
  const { status, body } = await poll(service.issuer, client, codes);
  return status === 200 ? 'tokens' : body['error'];
};

browserTest(
  'a user types the code, mistyped first, reads who asks, and allows it by keyboard alone: the device gets its tokens (RFC 8628 3.3)',
  async () => {
    const codes = await deviceCodes(service.issuer, client);
    const { page, complaints } = await open('en', 1280);
    await page.goto(codes.verification_uri);
    await signIn(page);
    // the field gets the focus, and has a label and a description
    await page.locator('#user-code:focus').waitFor();
    await page.keyboard.type('BCDF GHJK');
    await page.keyboard.press('Enter');
    await page.getByText('No device found for this code').waitFor();
    const field = page.getByRole('textbox', { name: 'Code' });
    await page.locator('#user-code:focus').waitFor();
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(await page.locator('#user-code-fault').textContent()).toBe(
      'No device found for this code. It may be mistyped, expired or already used.',
    );
    await field.fill(codes.user_code.toLowerCase().replace('-', ''));
    await field.press('Enter');
    await page.getByRole('heading', { name: 'Allow Living Room TV to use your account?' }).waitFor();
    expect(await page.locator('#user-code').textContent()).toBe(codes.user_code);
    await page.getByRole('heading', { name: 'Only continue if you started this yourself' }).waitFor();
    // no control has the focus, so that Enter decides nothing
    await page.keyboard.press('Enter');
    expect(await answer(codes)).toBe('authorization_pending');
    await page.getByRole('button', { name: 'Allow', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Living Room TV is connected' }).waitFor();
    expect(await answer(codes)).toBe('tokens');
    expect(complaints).toEqual([]);
  },
);

browserTest(
  'the link of a device shows the whole page in Arabic on a telephone, and refusing it ends the polls (RFC 8628 3.3.1)',
  async () => {
    const codes = await deviceCodes(service.issuer, client);
    const { page, complaints } = await open('ar', 360);
    await page.goto(codes.verification_uri_complete);
    await signIn(page);
    expect(await page.locator('html').getAttribute('dir')).toBe('rtl');
    expect(await page.locator('#user-code').textContent()).toBe(codes.user_code);
    expect(await answer(codes)).toBe('authorization_pending');
    await page.getByRole('button', { name: 'عدم السماح' }).press('Enter');
    await page.locator('#decided').waitFor();
    expect(await answer(codes)).toBe('access_denied');
    expect(complaints).toEqual([]);
  },
);

browserTest(
  'the demonstration’s television registers itself, shows its code, and greets the user who allowed it (RFC 8628)',
  async () => {
    const television = await startDevice({
      issuer: service.issuer,
      port: 0,
      approve: async (clientId) => {
        await createAdministration(service.store).approveClient({ actor: 'test' }, clientId, undefined);
      },
    });
    try {
      const { page: screen, complaints } = await open('en', 1280);
      await screen.goto(television.url);
      await screen.getByRole('button', { name: 'Connect' }).click();
      const code = (await screen.locator('#code').textContent())!;
      const { page } = await open('de', 360);
      await page.goto(`${service.issuer}/device`);
      await signIn(page);
      await page.locator('#user-code').fill(code);
      await page.locator('#show').click();
      await page.getByRole('heading', { name: 'Darf Lantern TV Ihr Konto verwenden?' }).waitFor();
      await page.getByRole('button', { name: 'Erlauben', exact: true }).click();
      await page.getByRole('heading', { name: 'Lantern TV ist verbunden' }).waitFor();
      await screen.getByRole('heading', { name: 'Good evening, Ada Lovelace' }).waitFor();
      await screen.getByRole('button', { name: 'Disconnect' }).click();
      await screen.getByRole('heading', { name: 'Welcome to Lantern TV' }).waitFor();
      expect(complaints).toEqual([]);
    } finally {
      await television.stop();
    }
  },
);
