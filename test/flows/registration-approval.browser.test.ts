// Lets an administrator decide about a registration in a real browser, without script: only a browser shows how the page's two forms
// behave.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { call } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let browser: Browser | undefined;
let person: Awaited<ReturnType<TestService['createUser']>>;
beforeAll(async () => {
  service = await startTestService();
  person = await service.createUser({ admin: true });
  if (process.env.CHROMIUM === undefined) return;
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

async function open(): Promise<{ page: Page; complaints: string[] }> {
  const page = await (await browser!.newContext({ javaScriptEnabled: false })).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  return { page, complaints };
}
async function defer(): Promise<Record<string, string>> {
  const body = {
    client_name: 'Harbour',
    redirect_uris: ['https://rp.example.com/callback'],
    registration_mode: ['approval'],
  };
  return (await call(`${service.issuer}/register`, { body })).body as Record<string, string>;
}
async function signIn(page: Page): Promise<void> {
  await page.getByLabel('User name or email').fill(person.username);
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByLabel('Password', { exact: true }).press('Enter');
}
const poll = (deferred: Record<string, string>) =>
  call(`${service.issuer}/register`, { body: { registration_code: deferred['registration_code'] } });

browserTest(
  'an administrator types the code in lower case, reviews the registration and presses Approve: the client collects its credentials (draft-dellaert-oauth-approval-based-dcr 4)',
  async () => {
    const deferred = await defer();
    const { page, complaints } = await open();
    await page.goto(deferred['verification_uri']!);
    await signIn(page);
    await page.getByLabel('Code').fill(deferred['verification_code']!.toLowerCase());
    await page.getByRole('button', { name: 'Continue' }).press('Enter');
    expect(await page.locator('#verification-code').textContent()).toBe(deferred['verification_code']);
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('heading', { name: 'Harbour was approved' }).waitFor();
    expect(await poll(deferred)).toMatchObject({ status: 201 });
    expect(complaints).toEqual([]);
  },
);

browserTest(
  'the Enter key in the reason refuses, and never approves (draft-dellaert-oauth-approval-based-dcr 6.3)',
  async () => {
    const deferred = await defer();
    const { page, complaints } = await open();
    await page.goto(deferred['verification_uri_complete']!);
    await signIn(page);
    await page.getByLabel('Reason, if you don’t approve').fill('Not today.');
    await page.getByLabel('Reason, if you don’t approve').press('Enter');
    await page.getByRole('heading', { name: 'Harbour was not approved' }).waitFor();
    expect(await poll(deferred)).toMatchObject({ status: 400, body: { error_description: 'Not today.' } });
    expect(complaints).toEqual([]);
  },
);
