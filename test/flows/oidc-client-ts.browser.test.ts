// Signs a user in to a page of oidc-client-ts in a real browser, with the settings of docs/relying-parties.md, refreshes, and signs out.
import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { serveApplication, type WebApplication } from '../helpers/web-application.ts';

// the package does not export its script for browsers
const script = new URL('dist/browser/oidc-client-ts.min.js', import.meta.resolve('oidc-client-ts/package.json'));
const library = readFileSync(script, 'utf8');

interface User {
  profile: Record<string, unknown>;
  access_token: string;
}
/** The variable of the application's page. */
declare const users: {
  signinRedirect(): Promise<void>;
  signinCallback(): Promise<User>;
  signinSilent(): Promise<User>;
  signoutRedirect(): Promise<void>;
  getUser(): Promise<User | null>;
};

describe('a page of oidc-client-ts', () => {
  let service: TestService;
  let application: WebApplication;
  let client: TestClient;
  let browser: Browser;
  beforeAll(async () => {
    service = await startTestService({ host: '127.0.0.1' });
    application = await serveApplication((url) => (request) => {
      const settings = {
        authority: service.issuer,
        client_id: client.clientId,
        redirect_uri: `${url}/callback`,
        post_logout_redirect_uri: `${url}/`,
        scope: 'openid profile email',
        loadUserInfo: true,
      };
      const page = `<!doctype html><title>Harbour</title><link rel="icon" href="data:,"><script src="/library.js"></script>
        <script>const users = new oidc.UserManager(${JSON.stringify(settings)});</script>`;
      const isLibrary = new URL(request.url).pathname === '/library.js';
      return Promise.resolve(
        new Response(isLibrary ? library : page, {
          headers: { 'content-type': isLibrary ? 'text/javascript' : 'text/html; charset=utf-8' },
        }),
      );
    });
    client = await service.createClient({
      client_name: 'Harbour',
      redirect_uris: [`${application.url}/callback`],
      post_logout_redirect_uris: [`${application.url}/`],
      token_endpoint_auth_method: 'none',
    });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await application?.stop();
    await service?.stop();
  });

  browserTest(
    'signs a user in with PKCE, reads UserInfo, refreshes without a frame, and signs out of both (OpenID Connect Core 3.1, 5.3 and 12, RP-Initiated Logout 2)',
    async () => {
      const person = await service.createUser({
        email: 'alice@example.com',
        emailVerified: true,
        claims: { name: 'Alice Adams' },
      });
      const context = await browser.newContext({ locale: 'en-GB' });
      const page = await context.newPage();
      page.setDefaultTimeout(20_000);
      const signIn = async () => {
        const asked = page.waitForRequest((request) => request.url().startsWith(`${service.issuer}/authorize`));
        await page.evaluate(() => void users.signinRedirect());
        expect((await asked).url()).toContain('code_challenge_method=S256');
        await page.getByLabel('Password', { exact: true }).waitFor();
      };
      await page.goto(application.url);
      await signIn();
      await page.getByLabel('User name or email').fill(person.username);
      await page.getByLabel('Password', { exact: true }).fill(person.password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      await page.waitForURL(`${application.url}/callback?*`);
      const user = await page.evaluate(() => users.signinCallback());
      expect(user.profile).toMatchObject({ sub: person.sub, name: 'Alice Adams', email: 'alice@example.com' });

      const frames: string[] = [];
      page.on('frameattached', (frame) => frames.push(frame.url()));
      const refreshed = await page.evaluate(() => users.signinSilent());
      expect(refreshed.access_token).toMatch(/^ghat_/);
      expect(refreshed.access_token).not.toBe(user.access_token);
      expect(refreshed.profile).toMatchObject({ sub: person.sub });
      expect(frames).toEqual([]);

      await page.evaluate(() => void users.signoutRedirect());
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();
      await page.waitForURL(`${application.url}/`);
      expect(await page.evaluate(() => users.getUser())).toBeNull();
      await signIn();
      await context.close();
    },
  );
});
