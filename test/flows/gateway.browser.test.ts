// Tests the demonstration's gateway in a real browser: it exchanges the token of a user for one of the API behind it, by a policy (RFC 8693).
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Gateway, gatewayDeclarations, startGateway } from '../../demo/gateway.ts';
import { createAdministration } from '../../src/domain/administration/administration.ts';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { made } from '../helpers/exchange.ts';
import { adminToken } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { openWalk } from '../helpers/walk.ts';

let service: TestService;
let gateway: Gateway;
let browser: Browser;
let token: string;
let approvals = 0;
const start = (registrations?: Gateway['registrations']) =>
  startGateway({
    issuer: service.issuer,
    port: registrations ? Number(new URL(registrations.gateway.url).port) : 0,
    registrations,
    approve: async (clientId) => {
      approvals++;
      await createAdministration(service.store).approveClient({ actor: 'test' }, clientId, undefined);
    },
  });
const newUser = () => service.createUser({ claims: { name: 'Ada Lovelace' } });
beforeAll(async () => {
  if (process.env.CHROMIUM === undefined) return;
  service = await startTestService();
  token = await adminToken(service);
  gateway = await start();
  const { resources, policy } = gatewayDeclarations(gateway.registrations);
  for (const resource of resources) await made(service, token, 'resources', resource);
  await made(service, token, 'exchange-policies', policy);
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
  await service?.stop();
});

browserTest.for([1280, 390])(
  'a user asks through the gateway, whose token names it as the actor; the API refuses the token of the application, and without the policy nothing is exchanged, at %i px (RFC 8693 2, 4.1, protocols 6.3)',
  async (width) => {
    const { page, checked, goTo, enter, follow, type, complaints } = await openWalk(browser, 'gateway', {
      locale: 'en',
      width,
      javaScriptEnabled: false,
    });
    const user = await newUser();
    await page.goto(gateway.url);
    await checked('welcome');
    await goTo('button');
    await enter(`${service.issuer}/login**`);
    await type('#username', user.username);
    await type('#password', user.password);
    await enter(`${service.issuer}/consent**`);
    expect(await page.locator('main').textContent()).toContain('See where your boat lies');
    await checked('consent');
    await goTo('#allow');
    await enter(`${gateway.url}/`);
    await page.getByRole('heading', { name: 'Good morning, Ada Lovelace' }).waitFor();
    await checked('signed-in');

    await follow('form[action="/ask-gateway"] button');
    await page.getByRole('heading', { name: 'Berth 7, at the east quay' }).waitFor();
    await checked('exchanged');
    const cards = await page.locator('section').allInnerTexts();
    const { application, gateway: own } = gateway.registrations;
    expect(cards).toHaveLength(2);
    expect(cards[0]).toContain(`${gateway.url}/gateway`);
    expect(cards[0]).toContain(application.client_id);
    expect(cards[0]).not.toMatch(/\bact\b/);
    expect(cards[1]).toContain(`${gateway.url}/berths`);
    expect(cards[1]).toMatch(new RegExp(`\\bact\\b[^]*${own.client_id}`));

    await follow('form[action="/ask-berths"] button');
    await page.getByRole('heading', { name: 'The answer was 401' }).waitFor();
    await checked('refused');

    const { policy } = gatewayDeclarations(gateway.registrations);
    const path = `exchange-policies/${encodeURIComponent(policy.name)}`;
    await made(service, token, path, { status: 'disabled' }, 'PATCH');
    await follow('form[action="/ask-gateway"] button');
    await page.getByText('The service exchanged nothing: no policy lets this client exchange tokens').waitFor();
    await made(service, token, path, { status: 'enabled' }, 'PATCH');
    expect(complaints).toEqual([]);
  },
);

browserTest('a second start keeps both registrations (RFC 7592)', async () => {
  const { registrations } = gateway;
  await gateway.stop();
  gateway = await start(registrations);
  expect([gateway.registrations, approvals]).toEqual([registrations, 2]);
});
