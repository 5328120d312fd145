// Tests the demonstration's bank in a real browser: FAPI 2.0 Message Signing through openid-client, from the registration to a token without its key.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Bank, startBank } from '../../demo/bank.ts';
import { createAdministration } from '../../src/domain/administration/administration.ts';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { openWalk } from '../helpers/walk.ts';

let service: TestService;
let bank: Bank;
let user: TestUser;
let browser: Browser;
let approvals = 0;
const start = (registration?: Bank['registration']) =>
  startBank({
    issuer: service.issuer,
    port: registration ? Number(new URL(registration.url).port) : 0,
    registration,
    approve: async (clientId) => {
      approvals++;
      await createAdministration(service.store).approveClient({ actor: 'test' }, clientId, undefined);
    },
  });
beforeAll(async () => {
  if (process.env.CHROMIUM === undefined) return;
  service = await startTestService();
  user = await service.createUser({ claims: { name: 'Ada Lovelace' } });
  bank = await start();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await bank?.stop();
  await service?.stop();
});

browserTest(
  'a user refuses, then signs in to the bank by keyboard alone, without script, and the token without its key is refused (FAPI 2.0 Message Signing 5, RFC 9449 7)',
  async () => {
    const { page, checked, goTo, enter, follow, type, complaints } = await openWalk(browser, 'bank', {
      locale: 'en',
      width: 360,
      javaScriptEnabled: false,
    });
    await page.goto(bank.url);
    await checked('welcome');
    await goTo('button');
    await enter(`${service.issuer}/login**`);
    // the browser carries only a reference to the pushed request
    expect(page.url()).not.toContain('redirect_uri');
    await type('#username', user.username);
    await type('#password', user.password);
    await enter(`${service.issuer}/consent**`);
    await goTo('#deny');
    await enter(`${bank.url}/`);
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();

    await goTo('button');
    await enter(`${service.issuer}/consent**`);
    await goTo('#allow');
    await enter(`${bank.url}/`);
    await page.getByRole('heading', { name: 'Good morning, Ada Lovelace' }).waitFor();
    await checked('signed-in');
    await follow('form[action="/use-without-key"] button');
    await page.getByText('Without its key, the answer was 401.').waitFor();
    await checked('refused');
    await follow('form[action="/sign-out"] button');
    await page.getByRole('heading', { name: 'Welcome to Quayside Bank' }).waitFor();
    expect(complaints).toEqual([]);
    const revoked = await service.database.sql(`DELETE FROM grants WHERE sub = $1 RETURNING 1`, [user.sub]);
    expect(revoked).toHaveLength(1);
  },
);

browserTest('a second start keeps the registration and its key (RFC 7592)', async () => {
  const { registration } = bank;
  expect(registration.key.d).toBeDefined();
  await bank.stop();
  bank = await start(registration);
  expect([bank.registration, approvals]).toEqual([registration, 1]);
  const { metadata } = (await service.store.clients.find(registration.client_id))!;
  expect(metadata).toMatchObject({ fapi2: 'message_signing', token_endpoint_auth_method: 'private_key_jwt' });
  expect(JSON.stringify(metadata)).not.toContain(registration.key.d);
});
