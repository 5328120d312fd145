// Walks a user in a real browser from a client through oidc-provider and back, and out by a logout token of oidc-provider.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startOidcProvider } from '../helpers/oidc-provider.ts';
import { createAdministrator } from '../helpers/preset-connections.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl } from '../helpers/user-agent.ts';
import { type Application, openWalk, startApplication, walkers } from '../helpers/walk.ts';

let peer: Awaited<ReturnType<typeof startOidcProvider>>;
let service: TestService;
let application: Application;
let client: TestClient;
let browser: Browser | undefined;
beforeAll(async () => {
  if (process.env.CHROMIUM === undefined) return;
  application = await startApplication();
  peer = await startOidcProvider(async (issuer) => {
    service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: new URL(issuer).host } });
    const here = `${service.issuer}/connections/peer`;
    return {
      ...{ id: 'gatehouse', secret: 'canary-of-the-peer-secret-51d0', redirectUri: `${here}/callback` },
      ...{ signedOutUri: `${here}/signed-out`, backchannelLogoutUri: `${here}/backchannel-logout` },
    };
  });
  const administrator = await createAdministrator(service);
  const made = await administrator.create({
    ...{ id: 'peer', kind: 'oidc', display_name: 'oidc-provider', status: 'enabled', provisioning: 'on' },
    ...{ logout: 'propagate', secret: 'canary-of-the-peer-secret-51d0' },
    settings: { issuer: peer.issuer, client_id: 'gatehouse', scope: 'openid profile email', userinfo: true },
  });
  expect(made.body, JSON.stringify(made.body)).toMatchObject({ id: 'peer' });
  client = await service.createClient(
    { client_name: 'Harbour', redirect_uris: [application.redirectUri] },
    { firstParty: true },
  );
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await peer?.stop();
  await application?.stop();
});

describe.each(walkers)('in $locale at $width pixels, $script', (walker) => {
  browserTest(
    'a user signs in at oidc-provider, comes back at once the next time, and a sign-out there ends the session here (federation 5, F32)',
    { timeout: 60_000 },
    async () => {
      const name = `grace-${walker.locale}-${walker.width}`;
      const { page, checked, goTo, enter, context, complaints } = await openWalk(browser!, 'oidc-provider', walker);
      const request = (state: string) => authorizationUrl(service.issuer, client, { state });
      const parameters = () => Object.fromEntries(application.returned.at(-1)!.searchParams);

      await page.goto(request('first'));
      await checked('sign-in');
      await goTo('#connection-peer');
      await enter(`${peer.issuer}/interaction/**`);
      await page.keyboard.type(name);
      await page.keyboard.press('Enter');
      await page.locator('#agree').waitFor();
      await goTo('#agree');
      await enter(`${application.redirectUri}**`);
      expect(parameters()).toEqual({ state: 'first', code: expect.any(String), iss: service.issuer });
      const user = (await service.store.users.findByUsername(name))!;
      expect(user.claims).toMatchObject({ name: `Account ${name}` });
      // oidc-provider did not say that it verified the address
      expect(user.email).toBeUndefined();

      await context.clearCookies({ name: 'JSESSIONOPENID', domain: 'localhost' });
      await page.goto(request('second'));
      await goTo('#connection-peer');
      await enter(`${application.redirectUri}**`);
      expect(parameters()).toEqual({ state: 'second', code: expect.any(String), iss: service.issuer });

      // a sign-out at oidc-provider, which the user confirms on its own page
      const isSignedIn = async () =>
        (await context.request.get(`${service.issuer}/account`, { maxRedirects: 0 })).status() === 200;
      expect(await isSignedIn()).toBe(true);
      await page.goto(`${peer.issuer}/session/end`);
      await page.locator('button[name=logout]').click();
      await page.waitForURL(`${peer.issuer}/session/end/success**`);
      await expect.poll(isSignedIn, { timeout: 10_000 }).toBe(false);
      expect(complaints).toEqual([]);
      await context.close();
    },
  );
});
