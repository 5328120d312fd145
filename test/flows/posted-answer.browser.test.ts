// Walks a user in a real browser to a provider that posts its answer from another site, with script and without.
import type { Browser, Request } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { connectionTo, createAdministrator } from '../helpers/preset-connections.ts';
import { fixture, type PresetProvider, startPresetProvider } from '../helpers/preset-provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let apple: PresetProvider;
let browser: Browser | undefined;
beforeAll(async () => {
  apple = await startPresetProvider('apple');
  service = await startTestService({ environment: { OUTBOUND_ALLOW: apple.host } });
  const administrator = await createAdministrator(service);
  expect((await administrator.create(connectionTo('apple', apple))).status).toBe(201);
  if (process.env.CHROMIUM !== undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await apple?.stop();
});

for (const javaScriptEnabled of [true, false])
  browserTest(
    `the posted answer carries no cookie, and the user is signed in by the request after it, ${javaScriptEnabled ? 'with' : 'without'} script (federation 5)`,
    async () => {
      apple.state.claims = { sub: `walk-${javaScriptEnabled}`, email: undefined };
      apple.state.posted = { user: JSON.stringify(fixture('apple-user')) };
      const context = await browser!.newContext({ javaScriptEnabled });
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
      const requests: Request[] = [];
      page.on('request', (request) => requests.push(request));
      await page.goto(`${service.issuer}/login`);
      await page.getByRole('button', { name: 'Continue with The apple' }).click();
      if (!javaScriptEnabled) await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL('**/login/name');
      const cookieOf = async (end: string) =>
        (await requests.find((one) => one.url().includes(end))!.allHeaders())['cookie'];
      expect(await cookieOf('/connections/apple/callback')).toBeUndefined();
      expect(await cookieOf('/connections/apple/continue')).toContain('=');
      for (const { sameSite } of await context.cookies()) expect(['Lax', 'Strict']).toContain(sameSite);
      await page.locator('#username').fill(`ann ${javaScriptEnabled}`);
      await page.keyboard.press('Enter');
      await page.waitForURL('**/account');
      expect(await page.locator('body').textContent()).toContain('Ann Example');
      expect(complaints).toEqual([]);
      await context.close();
    },
  );
