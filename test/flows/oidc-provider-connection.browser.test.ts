// Walks an administrator in a real browser through the steps of docs/connections.md for oidc-provider, and a user from a client through it and back, and out by its logout token.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startOidcProvider } from '../helpers/oidc-provider.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl } from '../helpers/user-agent.ts';
import { type Application, openWalk, startApplication, walkersBy } from '../helpers/walk.ts';

const secret = 'canary-of-the-peer-secret-51d0';
let application: Application;
let browser: Browser | undefined;
beforeAll(async () => {
  if (process.env.CHROMIUM === undefined) return;
  application = await startApplication();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await application?.stop();
});

describe.each(walkersBy('telephone'))('in $locale at $width pixels, $script', (walker) => {
  let peer: Awaited<ReturnType<typeof startOidcProvider>>;
  let service: TestService;
  let client: TestClient;
  beforeAll(async () => {
    if (process.env.CHROMIUM === undefined) return;
    peer = await startOidcProvider(async (issuer) => {
      service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: new URL(issuer).host } });
      const here = `${service.issuer}/connections/peer`;
      return {
        id: 'gatehouse',
        secret,
        redirectUri: `${here}/callback`,
        signedOutUri: `${here}/signed-out`,
        backchannelLogoutUri: `${here}/backchannel-logout`,
      };
    });
    client = await service.createClient(
      { client_name: 'Harbour', redirect_uris: [application.redirectUri] },
      { firstParty: true },
    );
  });
  afterAll(async () => {
    await service?.stop();
    await peer?.stop();
  });

  browserTest(
    'an administrator connects a provider as the documentation says, and reads there what to enter at the provider (federation 4, 5)',
    async () => {
      const admin = await service.createUser({ admin: true });
      const { page, checked, type, choose, goTo, follow, context, complaints } = await openWalk(
        browser!,
        'oidc-provider-console',
        walker,
      );
      await page.goto(`${service.issuer}/admin/connections`);
      await type('#username', admin.username);
      await type('#password', admin.password);
      await follow('#sign-in');
      await checked('none');
      await follow('main a[href="/admin/connections/new"]');
      await checked('types');
      await follow('main a[href="/admin/connections/new/oidc"]');
      // the form knows the redirect URI but for the id, which a script fills in
      expect(await page.locator('#redirect-uri').textContent()).toBe(`${service.issuer}/connections/ID/callback`);
      await type('#id', 'peer');
      await type('#display_name', 'oidc-provider');
      await type('#client_id', 'gatehouse');
      await type('#secret', secret);
      await choose('status', 'enabled');
      await goTo('main summary');
      await page.keyboard.press('Enter');
      await choose('provisioning', 'on');
      // with a slash too much, as the documentation warns
      await type('#issuer', `${peer.issuer}/`);
      await checked('form');
      await follow('main form.card button[type=submit]');
      await page.locator('#issuer-fault').waitFor();
      await checked('fault');
      await type('#issuer', peer.issuer);
      await type('#secret', secret);
      await follow('main form.card button[type=submit]');
      await page.locator('.notice.done').waitFor();
      await checked('created');
      expect(await page.locator('#redirect-uri').textContent()).toBe(`${service.issuer}/connections/peer/callback`);
      // what the form folds
      await follow('main a[href="/admin/connections/peer/edit"]');
      await goTo('main summary');
      await page.keyboard.press('Enter');
      await choose('logout', 'propagate');
      await checked('edit');
      await follow('main form.card button[type=submit]');
      await page.locator('.notice.done').waitFor();
      const addresses = await page.locator('main').textContent();
      for (const end of ['signed-out', 'backchannel-logout', 'frontchannel-logout'])
        expect(addresses).toContain(`${service.issuer}/connections/peer/${end}`);
      await page.goto(`${service.issuer}/admin/connections`);
      await checked('list');
      expect(complaints.filter((line) => !/400/.test(line))).toEqual([]);
      await context.close();
    },
  );

  browserTest(
    'a user signs in at oidc-provider, comes back at once the next time, and a sign-out there ends the session here (federation 5, F32)',
    async () => {
      const name = `grace-${walker.locale}-${walker.width}`;
      const { page, checked, goTo, enter, context, complaints } = await openWalk(browser!, 'oidc-provider', walker);
      const request = (state: string) => authorizationUrl(service.issuer, client, { state });
      const parameters = () => Object.fromEntries(application.returned.at(-1)!.searchParams);

      await page.goto(request('first'));
      await checked('sign-in');
      await goTo('#connection-peer');
      await enter(`${peer.issuer}/interaction/**`);
      await page.locator('input[name="account"]').focus();
      await page.keyboard.type(name);
      await page.keyboard.press('Enter');
      await page.locator('#agree').waitFor();
      await goTo('#agree');
      await enter(`${application.redirectUri}**`);
      expect(parameters()).toMatchObject({ state: 'first', code: expect.any(String), iss: service.issuer });
      const user = (await service.store.users.findByUsername(name))!;
      expect(user.claims).toMatchObject({ name: `Account ${name}` });
      // oidc-provider did not say that it verified the address
      expect(user.email).toBeUndefined();
      await page.goto(`${service.issuer}/account/connections`);
      await checked('account-connections');

      await context.clearCookies({ name: 'JSESSIONOPENID', domain: 'localhost' });
      await page.goto(request('second'));
      await goTo('#connection-peer');
      await enter(`${application.redirectUri}**`);
      expect(parameters()).toMatchObject({ state: 'second', code: expect.any(String), iss: service.issuer });

      // a sign-out at oidc-provider, which the user confirms on its own page
      const isSignedIn = async () =>
        (await context.request.get(`${service.issuer}/account`, { maxRedirects: 0 })).status() === 200;
      expect(await isSignedIn()).toBe(true);
      await page.goto(`${peer.issuer}/session/end`);
      await page.locator('button[name=logout]').click();
      await page.waitForURL(`${peer.issuer}/session/end/success**`);
      await expect.poll(isSignedIn).toBe(false);
      expect(complaints).toEqual([]);
      await context.close();
    },
  );
});
