// Tests the demonstration's bank in a real browser: FAPI 2.0 Message Signing through openid-client, from the registration to a token without its key;
// payments that its customers allow by themselves, at the bank and from a phone.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Bank, startBank } from '../../demo/bank.ts';
import { startCounter } from '../../demo/counter.ts';
import { paymentType } from '../../demo/payments.ts';
import { createAdministration } from '../../src/domain/administration/administration.ts';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { made } from '../helpers/exchange.ts';
import { adminToken } from '../helpers/grants.ts';
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
  service = await startTestService({ environment: { CIBA: 'on' } });
  await made(service, await adminToken(service), 'authorization-details-types', paymentType);
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

browserTest('a customer reads a payment in full, refuses it, and then allows exactly it (RFC 9396 3, 7)', async () => {
  const { page, checked, goTo, enter, type, complaints } = await openWalk(browser, 'payment', {
    locale: 'en',
    width: 390,
    javaScriptEnabled: false,
  });
  await page.goto(bank.url);
  await goTo('button');
  await enter(`${service.issuer}/login**`);
  await type('#username', user.username);
  await type('#password', user.password);
  await enter(`${service.issuer}/consent**`);
  await goTo('#allow');
  await enter(`${bank.url}/`);

  const pay = 'form[action="/pay"] button';
  await goTo(pay);
  await enter(`${service.issuer}/consent**`);
  await checked('consent');
  const shown = (await page.locator('main').textContent())!;
  expect(shown).toContain('Pay 42.50 EUR to Port Ellen Harbour');
  for (const value of ['DE89370400440532013000', 'Berth 7, November']) expect(shown).toContain(value);
  await goTo('#deny');
  await enter(`${bank.url}/`);
  await page.getByRole('heading', { name: 'Nothing was paid' }).waitFor();

  await goTo(pay);
  await enter(`${service.issuer}/consent**`);
  await goTo('#allow');
  await enter(`${bank.url}/`);
  await page.getByRole('heading', { name: 'Paid: 42.50 EUR to Port Ellen Harbour' }).waitFor();
  await checked('paid');
  expect(complaints).toEqual([]);
});

browserTest(
  'a payment that starts at the counter is allowed on a phone, after a refusal and an unknown user name (OpenID Connect CIBA 7, RFC 9396 2)',
  async () => {
    const counter = await startCounter({
      issuer: service.issuer,
      port: 0,
      async approve(clientId) {
        const administration = createAdministration(service.store);
        await administration.approveClient({ actor: 'test' }, clientId, undefined);
        await administration.changeClient({ actor: 'test' }, clientId, () => ({ ciba_trusted: true }));
      },
    });
    try {
      const clerk = await openWalk(browser, 'counter', { locale: 'en', width: 1280, javaScriptEnabled: false });
      const ask = async (customer: string) => {
        await clerk.type('#customer', customer);
        await clerk.choose('invoice', '4712');
        await clerk.page.getByRole('button', { name: 'Ask the customer' }).click();
      };
      const next = async () => {
        await clerk.page.getByRole('button', { name: 'Next customer' }).click();
        await clerk.page.getByRole('heading', { name: 'Pay an invoice' }).waitFor();
      };
      await clerk.page.goto(counter.url);
      await clerk.checked('free');
      await ask('nobody-here');
      await clerk.page.getByRole('heading', { name: 'Not paid' }).waitFor();
      await next();

      for (const decision of ['deny', 'allow']) {
        await ask(user.username);
        await clerk.page.getByText('Waiting for the customer').waitFor();
        const phone = await openWalk(browser, `phone-${decision}`, {
          locale: 'en',
          width: 390,
          javaScriptEnabled: false,
        });
        await phone.page.goto(`${service.issuer}/account/requests`);
        await phone.type('#username', user.username);
        await phone.type('#password', user.password);
        await phone.enter(`${service.issuer}/account/requests`);
        await phone.checked('request');
        const shown = (await phone.page.locator('main').textContent())!;
        for (const value of [
          'Quayside Bank, counter',
          'Invoice 4712',
          'Pay 118.00 EUR to Quay Street Chandlery',
          'NL91ABNA0417164300',
        ])
          expect(shown).toContain(value);
        if (decision === 'allow') await clerk.checked('waiting');
        await phone.page.locator(`button[value="${decision}"]`).click();
        await phone.checked(decision);
        const heading = decision === 'allow' ? 'Paid: 118.00 EUR to Quay Street Chandlery' : 'Not paid';
        await clerk.page.getByRole('heading', { name: heading }).waitFor();
        await clerk.checked(decision);
        await next();
        expect(phone.complaints).toEqual([]);
      }
      expect(clerk.complaints).toEqual([]);
    } finally {
      await counter.stop();
    }
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
