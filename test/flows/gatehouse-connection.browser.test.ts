// Walks a user in a real browser from a client through one Gatehouse to another and back, and out of both.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { createAdministrator } from '../helpers/preset-connections.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl } from '../helpers/user-agent.ts';
import { type Application, openWalk, startApplication, walkersBy } from '../helpers/walk.ts';

let upstream: TestService;
let service: TestService;
let application: Application;
let client: TestClient;
let browser: Browser | undefined;
beforeAll(async () => {
  if (process.env.CHROMIUM === undefined) return;
  application = await startApplication();
  // cookies do not tell ports apart, so that the two have different hosts
  upstream = await startTestService({ host: '127.0.0.1', environment: { PRODUCT_NAME: 'Upstream' } });
  service = await startTestService({
    environment: { ...withoutLimits, OUTBOUND_ALLOW: new URL(upstream.issuer).host },
  });
  const here = `${service.issuer}/connections/upstream`;
  const there = await upstream.createClient({
    client_name: 'The other Gatehouse',
    redirect_uris: [`${here}/callback`],
    post_logout_redirect_uris: [`${here}/signed-out`],
  });
  const administrator = await createAdministrator(service);
  const made = await administrator.create({
    id: 'upstream',
    kind: 'oidc',
    display_name: 'Upstream',
    status: 'enabled',
    provisioning: 'on',
    logout: 'propagate',
    secret: there.clientSecret,
    settings: { issuer: upstream.issuer, client_id: there.clientId, scope: 'openid profile email' },
  });
  expect(made.body, JSON.stringify(made.body)).toMatchObject({ id: 'upstream' });
  client = await service.createClient({
    client_name: 'Harbour',
    redirect_uris: [application.redirectUri],
    post_logout_redirect_uris: [application.signedOutUri],
  });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await upstream?.stop();
  await application?.stop();
});

describe.each(walkersBy('desktop'))('in $locale at $width pixels, $script', (walker) => {
  browserTest(
    'a user signs in at another Gatehouse, takes another name, comes back at once the next time, and signs out of both, by keyboard alone (federation 4, 5; WCAG 2.1.1)',
    async () => {
      const { locale, width } = walker;
      const name = `ada-${locale}-${width}`;
      await service.createUser({ username: name });
      const user = await upstream.createUser({ username: name, claims: { name: 'Ada Archer' } });
      const walk = await openWalk(browser!, 'gatehouse', walker);
      const { page, checked, isAt, type, goTo, enter, context, complaints } = walk;
      const returnedWith = (parameter: string) => application.returned.at(-1)!.searchParams.get(parameter);
      const request = (state: string) => authorizationUrl(service.issuer, client, { state });

      // the button, the sign-in and the consent there
      await page.goto(request('first'));
      await checked('sign-in');
      await goTo('#connection-upstream');
      await enter(`${upstream.issuer}/login**`);
      await checked('sign-in-there');
      await expect.poll(() => isAt('#username')).toBe(true);
      await type('#username', user.username);
      await type('#password', user.password);
      await enter(`${upstream.issuer}/consent**`);
      await checked('consent-there');
      await goTo('#allow');
      // the name is taken here
      await enter(`${service.issuer}/login/name**`);
      await checked('name');
      await expect.poll(() => isAt('#username')).toBe(true);
      await type('#username', name);
      await page.keyboard.press('Enter');
      await page.locator('#username-fault').waitFor();
      await checked('name-taken');
      await type('#username', `other-${name}`);
      await enter(`${service.issuer}/consent**`);
      await checked('consent');
      await goTo('#allow');
      await enter(`${application.redirectUri}**`);
      expect([returnedWith('state'), returnedWith('error')]).toEqual(['first', null]);
      expect(returnedWith('code')).toBeTruthy();

      // without a session here, but with one there: one key
      await context.clearCookies({ name: 'JSESSIONOPENID', domain: 'localhost' });
      await page.goto(request('second'));
      await goTo('#connection-upstream');
      await enter(`${application.redirectUri}**`);
      expect(returnedWith('state')).toBe('second');
      expect(returnedWith('code')).toBeTruthy();

      // out of both, and back at the client
      const isSignedIn = async ({ issuer }: TestService) =>
        (await context.request.get(`${issuer}/account`, { maxRedirects: 0 })).status() === 200;
      expect([await isSignedIn(service), await isSignedIn(upstream)]).toEqual([true, true]);
      const bye = { client_id: client.clientId, post_logout_redirect_uri: application.signedOutUri, state: 'bye' };
      await page.goto(`${service.issuer}/logout?${new URLSearchParams(bye).toString()}`);
      await checked('sign-out');
      await goTo('#sign-out');
      await enter(`${upstream.issuer}/logout**`);
      await checked('sign-out-there');
      expect([await isSignedIn(service), await isSignedIn(upstream)]).toEqual([false, true]);
      await goTo('#sign-out');
      await enter(`${application.signedOutUri}**`);
      expect(returnedWith('state')).toBe('bye');
      expect([await isSignedIn(service), await isSignedIn(upstream)]).toEqual([false, false]);
      expect(complaints.filter((line) => !/400/.test(line))).toEqual([]);
      await context.close();
    },
  );
});
