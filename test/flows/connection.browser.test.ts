// Walks a user in a real browser from the name to the connection of its domain and back, with script and without, in two languages.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { addConnection } from '../helpers/connections.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let provider: Provider;
let browser: Browser | undefined;
beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({ environment: { OUTBOUND_ALLOW: provider.host } });
  await addConnection(service, provider, 'corporate', {
    display_name: 'Corporate',
    provisioning: 'on',
    hidden: true,
    domains: ['corp.example'],
    authoritative_domains: ['corp.example'],
  });
  if (process.env.CHROMIUM === undefined) return;
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await provider?.stop();
});

async function open(options: { locale: string; javaScriptEnabled: boolean; width: number }) {
  const { locale, javaScriptEnabled, width } = options;
  const context = await browser!.newContext({ locale, javaScriptEnabled, viewport: { width, height: 800 } });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return { page, complaints };
}

for (const [javaScriptEnabled, locale, width, title] of [
  [true, 'en', 1280, 'with script'],
  [false, 'ar', 360, 'without script, in Arabic on a telephone'],
] as const)
  browserTest(
    `a user types the name, meets the connection of its domain, and is signed in here, by keyboard alone, ${title} (federation 4)`,
    async () => {
      provider.be({ sub: `walk-${locale}`, preferred_username: `ada.${locale}`, email: `ada.${locale}@corp.example` });
      const { page, complaints } = await open({ locale, javaScriptEnabled, width });
      await page.goto(`${service.issuer}/login`);
      // the only field gets the focus
      await page.locator('#username:focus').waitFor();
      expect(await page.locator('#password').count()).toBe(0);
      await page.keyboard.type(`ada.${locale}@corp.example`);
      await page.keyboard.press('Enter');
      await page.waitForURL('**/account');
      expect(await page.locator('body').textContent()).toContain(`ada.${locale}`);
      expect(complaints).toEqual([]);
      const sent = provider.last('authorize')!;
      expect(sent.query['login_hint']).toBe(`ada.${locale}@corp.example`);
    },
  );

browserTest(
  'another name leads to the password on the next page, where the name is filled in (federation 4)',
  async () => {
    const user = await service.createUser({ username: 'grace' });
    const { page, complaints } = await open({ locale: 'en', javaScriptEnabled: false, width: 1280 });
    await page.goto(`${service.issuer}/login`);
    await page.locator('#username:focus').waitFor();
    await page.keyboard.type('grace');
    await page.keyboard.press('Enter');
    await page.locator('#password:focus').waitFor();
    expect(await page.locator('#username').inputValue()).toBe('grace');
    await page.keyboard.type(user.password);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/account');
    expect(complaints).toEqual([]);
  },
);
