// Walks in a real browser from the console's form for a sign-up link to a user who has created an account by it.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import type { TestService } from '../helpers/service.ts';

const bed = createMailBed();
let service: TestService;
let browser: Browser | undefined;
beforeAll(async () => {
  ({ service } = await bed.start({ SIGN_UP: 'off' }));
  if (process.env.CHROMIUM !== undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await bed.stop();
});

/** A window with its messages of errors. */
async function open(): Promise<{ page: Page; complaints: string[] }> {
  const page = await (await browser!.newContext({ locale: 'en', timezoneId: 'Asia/Tokyo' })).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', (error) => void complaints.push(error.message));
  return { page, complaints };
}

browserTest(
  'an administrator makes a sign-up link with one form and copies it; a user creates an account by it (pages, sign-up links)',
  async () => {
    const root = await service.createUser({ username: 'root', admin: true });
    const { page, complaints } = await open();
    await page.goto(`${service.issuer}/admin/users`);
    await page.getByLabel('User name or email').fill(root.username);
    await page.getByLabel('Password', { exact: true }).fill(root.password);
    await page.getByLabel('Password', { exact: true }).press('Enter');
    await page.getByRole('link', { name: 'Sign-up links' }).click();
    await page.getByText('No sign-up links yet.').waitFor();
    await page.locator('main a[href="/admin/sign-up-links/new"]').first().click();
    const end = `${new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10)}T18:00`;
    await page.getByLabel('Name').fill('Summer crew');
    await page.getByLabel('Email domain').fill('example.com');
    await page.getByLabel('Number of accounts').fill('2');
    await page.getByLabel('Expires (UTC)').fill(end);
    await page.locator('#save').click();
    await page.getByRole('heading', { name: 'Sign-up link Summer crew created' }).waitFor();
    await page.getByText('It works for 2 accounts').waitFor();
    const link = (await page.locator('#link').textContent())!;
    await page.getByRole('link', { name: 'I’ve copied it' }).click();
    await page.getByRole('link', { name: 'Summer crew' }).click();
    // the time is one of UTC, wherever the browser is
    expect(await page.getByLabel('Expires (UTC)').inputValue()).toBe(end);
    expect(await page.content()).not.toContain('ghsl_');

    const user = await open();
    await user.page.goto(link);
    await user.page.getByLabel('Email address').fill('ada@example.com');
    await user.page.locator('#send-link').click();
    await user.page.getByRole('heading', { name: 'Check your email' }).waitFor();
    await user.page.goto(service.issuer + (await bed.linkTo('ada@example.com', /Finish creating your account/)));
    await user.page.getByLabel('User name').fill('ada');
    await user.page.getByLabel('New password').first().fill('three umbrellas under a lighthouse');
    await user.page.getByRole('button', { name: 'Create account' }).click();
    await user.page.getByText('Your account is ready').waitFor();
    await page.goto(`${service.issuer}/admin/sign-up-links`);
    await page.getByText('1 / 2').waitFor();
    expect([...complaints, ...user.complaints]).toEqual([]);
  },
);
