// Tests the demonstration's SAML application and its protected site in a real browser: created by commands, used by one user, and signed out of.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { type ProtectedSite, startProtectedSite } from '../../demo/protected-site.ts';
import { type SamlApplication, startSamlApplication } from '../../demo/saml-application.ts';
import { browserTest } from '../helpers/browser.ts';
import { browserArguments } from '../helpers/browser-arguments.ts';
import { freePort, surroundings } from '../helpers/server-process.ts';
import { answerOf, newRequestId, queryOf } from '../helpers/saml-application.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { openWalk } from '../helpers/walk.ts';

let service: TestService;
let library: SamlApplication;
let site: ProtectedSite;
let user: TestUser;
let browser: Browser;
let environment: NodeJS.ProcessEnv;
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-demo-saml-'));
beforeAll(async () => {
  if (process.env.CHROMIUM === undefined) return;
  service = await startTestService();
  user = await service.createUser({
    email: 'ada@corp.example',
    emailVerified: true,
    groups: ['crew'],
    claims: { name: 'Ada <Lovelace>' },
  });
  environment = {
    ...surroundings,
    BASE_URL: service.issuer,
    DATABASE_URL: service.database.url,
    SECRET_KEY: service.secretKey,
    DATA_DIR: folder,
  };
  library = await startSamlApplication({ issuer: service.issuer, port: 0, environment });
  const port = await freePort();
  const started = await startProtectedSite({
    issuer: service.issuer,
    environment,
    registration: undefined,
    listenAt: port,
  });
  if (typeof started === 'string') throw new Error(started);
  site = started;
  // the port of https needs more rights than a test has
  const rule = `--host-resolver-rules=MAP wiki.localhost:443 127.0.0.1:${port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: [...browserArguments, rule, '--ignore-certificate-errors'],
  });
});
afterAll(async () => {
  await browser?.close();
  await library?.stop();
  await site?.stop();
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

for (const [width, javaScriptEnabled] of [
  [1280, true],
  [390, false],
] as const) {
  browserTest(
    `a user signs in to the SAML application, opens the protected site, and signs out of both, ${javaScriptEnabled ? 'with' : 'without'} script at ${width} px (SAML Profiles 4.1, 4.4, federation 13)`,
    async () => {
      const { context, page, checked, complaints } = await openWalk(browser, 'demo-saml', {
        locale: 'en',
        width,
        javaScriptEnabled,
      });
      const goesOn = async (address: string) => {
        // without script the user presses the button of the form
        if (!javaScriptEnabled) await page.getByRole('button').click();
        await page.waitForURL(address);
      };
      const values = async () =>
        Object.fromEntries(
          await Promise.all(
            (await page.locator('tbody tr').all()).map(
              async (row) => [await row.locator('th').innerText(), await row.locator('td').innerText()] as const,
            ),
          ),
        );
      await page.goto(library.url);
      await checked('welcome');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.locator('#username').fill(user.username);
      await page.locator('#password').fill(user.password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await goesOn(`${library.url}/`);
      await page.getByRole('heading', { name: 'Signed in as Ada <Lovelace>' }).waitFor();
      await checked('signed-in');
      const { NameID: name, ...attributes } = await values();
      expect(attributes).toEqual({ displayName: 'Ada <Lovelace>', mail: 'ada@corp.example', groups: 'crew' });
      expect(name).not.toContain(user.sub);

      await page.goto(site.url);
      await page.getByRole('heading', { name: 'Hello, Ada <Lovelace>' }).waitFor();
      await checked('wiki');
      expect(await values()).toEqual({
        'remote-user': user.username,
        'remote-name': 'Ada <Lovelace>',
        'remote-email': 'ada@corp.example',
        'remote-groups': 'crew',
      });

      // the logout request ends the session at the service, and with it that of the site
      await page.goto(library.url);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Welcome to Harbour Library' }).waitFor();
      await page.getByText('You’re signed out').waitFor();
      await checked('signed-out');
      await page.goto(site.url);
      await page.waitForURL(`${service.issuer}/login**`);
      expect(complaints).toEqual([]);
      await context.close();
    },
  );
}

browserTest(
  'only the signed answer to a sign-out of this browser says that the session at the service has ended (SAML Bindings 3.4.4.1)',
  async () => {
    const [agent, there] = [new UserAgent(service), new UserAgent({ issuer: library.url })];
    const asked = await there.post('/sign-in', {});
    const page = await agent.signIn(user, await agent.follow(await agent.get(asked.location!)));
    const { xml, relayState } = answerOf(page)!;
    const form = { SAMLResponse: Buffer.from(xml).toString('base64'), RelayState: relayState! };
    const consumed = await new UserAgent({ issuer: library.url }).post('/acs', form);
    await there.get(consumed.location!);
    const left = await there.post('/sign-out', {});
    const answer = (await agent.follow(await agent.get(left.location!))).location!;
    expect(answer).toContain(`${library.url}/signed-out?SAMLResponse=`);

    const issued = `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${service.issuer}/saml/metadata</saml:Issuer>`;
    const request = `<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${newRequestId()}" Version="2.0" IssueInstant="${new Date().toISOString()}">${issued}</samlp:LogoutRequest>`;
    const response = `<samlp:LogoutResponse xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${newRequestId()}" Version="2.0" IssueInstant="${new Date().toISOString()}">${issued}<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status></samlp:LogoutResponse>`;
    const unsigned = queryOf(response).replace('SAMLRequest', 'SAMLResponse');
    for (const query of [queryOf(request), unsigned, `${new URL(answer).search.slice(1)}&${unsigned}`])
      expect((await there.get(`/signed-out?${query}`)).status, query.slice(0, 30)).toBe(400);
    // another browser opens the answer
    expect((await new UserAgent({ issuer: library.url }).get(answer)).status).toBe(400);
    expect((await there.get('/')).body).not.toContain('You’re signed out');

    expect((await there.get(answer)).location).toBe(`${library.url}/`);
    expect((await there.get('/')).body).toContain('You’re signed out');
    expect((await there.get(answer)).status).toBe(400);
  },
);

browserTest(
  'an answer of the SAML application counts in the browser that asked, and a second start keeps the client and its key (federation F40)',
  async () => {
    const [agent, there] = [new UserAgent(service), new UserAgent({ issuer: library.url })];
    /** @returns where the answer leads to, with a cookie of the browser that asked */
    const answered = async () => {
      const asked = await there.post('/sign-in', {});
      let page = await agent.follow(await agent.get(asked.location!));
      if (page.body.includes('id="password"')) page = await agent.signIn(user, page);
      const { xml, relayState } = answerOf(page)!;
      const form = { SAMLResponse: Buffer.from(xml).toString('base64'), RelayState: relayState! };
      // the form of another site brings no cookie
      return (await new UserAgent({ issuer: library.url }).post('/acs', form)).location!;
    };
    expect((await new UserAgent({ issuer: library.url }).get(await answered())).status).toBe(400);
    const address = await answered();
    expect((await there.get(address)).location).toBe(`${library.url}/`);
    expect((await there.get(address)).status).toBe(400);
    expect((await there.get('/')).body).toContain('Signed in as');

    const { registration } = library;
    await library.stop();
    const port = Number(new URL(library.url).port);
    library = await startSamlApplication({ issuer: service.issuer, port, environment, registration });
    expect(library.registration).toEqual(registration);
    const client = (await service.store.clients.find(registration.clientId))!;
    expect(client).toMatchObject({ kind: 'saml', requireSignedRequests: true });
  },
);
