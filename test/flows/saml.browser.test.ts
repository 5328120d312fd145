// Walks a browser through SAML between sites: an application posts its request and gets the answer posted, and an identity provider posts its answer.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Browser, Request } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { newKeyPair, SamlApplication, signedXml, statusesOf } from '../helpers/saml-application.ts';
import { addSamlConnection, readRequest, type SamlProvider, startSamlProvider } from '../helpers/saml-provider.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';

let service: TestService;
let user: TestUser;
let provider: SamlProvider;
let browser: Browser | undefined;
let sp: SamlApplication;
/** The other site: 127.0.0.1 is another site than localhost, where the service is. */
let elsewhere: Server;
let base: string;
/** What the other site shows at /, and what was posted to it. */
let page = '';
let posted = '';
const keys = newKeyPair();
const form = (action: string, fields: Record<string, string>) =>
  `<!doctype html><title>Elsewhere</title><form method="post" action="${action}">${Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`)
    .join('')}<button>Go on</button></form>`;
const base64 = (xml: string) => Buffer.from(xml).toString('base64');

beforeAll(async () => {
  elsewhere = createServer((request, answer) => {
    void (async () => {
      if (request.method === 'POST') posted = await text(request);
      answer.setHeader('content-type', 'text/html').end(request.method === 'POST' ? '<title>Taken</title>' : page);
    })();
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  provider = await startSamlProvider();
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: provider.host } });
  user = await service.createUser();
  await addSamlConnection(service, provider, 'saml', {
    provisioning: 'on',
    // the page of the identity provider is at the other site
    settings: { sso_uri: `${provider.base}/sso` },
  });
  sp = await SamlApplication.create(service, { acs_uris: [`${base}/acs`] }, keys);
  if (process.env.CHROMIUM !== undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await provider?.stop();
  elsewhere?.close();
});

const cookieOf = async (requests: readonly Request[], method: string, part: string) =>
  (await requests.findLast((one) => one.method() === method && one.url().includes(part))!.allHeaders())['cookie'];

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with script' : 'without script';
  browserTest(
    `a request that an application posts brings no cookie, the request after it does, and the answer is posted back, ${how} (SAML Bindings 3.5, federation 5)`,
    async () => {
      const context = await browser!.newContext({ javaScriptEnabled });
      const tab = await context.newPage();
      const requests: Request[] = [];
      tab.on('request', (request) => requests.push(request));
      const complaints: string[] = [];
      tab.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
      const begin = async (id: string) => {
        posted = '';
        page = form(`${service.issuer}/saml/sso`, {
          SAMLRequest: base64(signedXml(sp.authnRequest({ id }), keys)),
          RelayState: 'kept',
        });
        await tab.goto(`${base}/`);
        await tab.getByRole('button', { name: 'Go on' }).click();
      };
      const taken = async () => {
        if (!javaScriptEnabled) await tab.getByRole('button').click();
        await tab.waitForURL(`${base}/acs`);
        const fields = new URLSearchParams(posted);
        expect(fields.get('RelayState')).toBe('kept');
        const xml = Buffer.from(fields.get('SAMLResponse')!, 'base64').toString();
        expect(statusesOf({ xml })).toEqual(['Success']);
        return xml;
      };
      await begin('_first');
      await tab.locator('#username').fill(user.username);
      await tab.locator('#password').fill(user.password);
      await tab.keyboard.press('Enter');
      expect(await taken()).toContain('InResponseTo="_first"');
      // now there is a session, whose cookie is SameSite=Lax: the form of the other site does not bring it
      await begin('_second');
      expect(await taken()).toContain('InResponseTo="_second"');
      expect(await cookieOf(requests, 'POST', '/saml/sso')).toBeUndefined();
      expect(await cookieOf(requests, 'GET', '/saml/sso?sealed=')).toContain('=');
      for (const { name, sameSite } of await context.cookies())
        expect([name, ['Lax', 'Strict'].includes(sameSite)]).toEqual([name, true]);
      expect(complaints).toEqual([]);
      await context.close();
    },
  );
}

browserTest.for([true, false])(
  'an answer that an identity provider posts brings no cookie, and signs in by the request after it, with script: %s (SAML Bindings 3.5, federation 5)',
  async (javaScriptEnabled) => {
    const context = await browser!.newContext({ javaScriptEnabled });
    const tab = await context.newPage();
    const requests: Request[] = [];
    tab.on('request', (request) => requests.push(request));
    const arrived = new Promise<string>((resolve) => {
      void tab.route(`${provider.base}/sso?**`, async (route) => {
        resolve(route.request().url());
        await route.fulfill({ contentType: 'text/html', body: '<title>Identity provider</title>' });
      });
    });
    await tab.goto(`${service.issuer}/login`);
    await tab.getByRole('button', { name: 'Continue with The saml' }).click();
    const asked = readRequest(await arrived);
    // without script the page leads there by itself a moment after the click: another address before would end that
    await expect.poll(() => tab.title()).toBe('Identity provider');
    const SAMLResponse = await provider.answer(asked, { assertion: { nameId: `walker-${javaScriptEnabled}` } });
    page = form(asked.consumer, { SAMLResponse, RelayState: asked.relayState });
    await tab.goto(`${base}/`);
    await tab.getByRole('button', { name: 'Go on' }).click();
    await tab.waitForURL('**/account');
    expect(await cookieOf(requests, 'POST', '/connections/saml/saml/acs')).toBeUndefined();
    expect(await cookieOf(requests, 'GET', '/connections/saml/continue')).toContain('=');
    await context.close();
  },
);
