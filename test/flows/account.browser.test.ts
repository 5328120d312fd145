// Performs a user's tasks in a real browser by keyboard alone, from the creation of an account to its deletion: on a desktop and on a
// telephone, in three languages, light and dark.
import { type TOTP, URI } from 'otpauth';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { keyboard, walksAt } from '../helpers/keyboard.ts';
import { MailServer } from '../helpers/mail-server.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const mail = new MailServer();
let service: TestService;
let client: TestClient;
let browser: Browser | undefined;
beforeAll(async () => {
  await mail.start();
  service = await startTestService({
    environment: {
      SMTP_URL: `smtp://gatehouse:let%20me%20in@127.0.0.1:${mail.port}`,
      SIGN_UP: 'on',
      ACCOUNT_DELETION: 'on',
      LIMIT_MAILED_LINKS_PER_NETWORK: '0',
    },
  });
  client = await service.createClient({ client_name: 'Harbour' });
  if (process.env.CHROMIUM !== undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await mail.stop();
});

describe.each(walksAt('telephone'))('in $locale at $width pixels, $colorScheme', ({ locale, width, colorScheme }) => {
  browserTest(
    'a user opens an account, maintains its profile, address, password, second factors, passkeys, sessions and grants, and deletes it (WCAG 2.1.1)',
    async () => {
      const username = `person-${locale}-${width}`;
      const [address, later] = [`${username}@example.com`, `later-${username}@example.com`];
      const passwords = [
        'three umbrellas below a lighthouse',
        'nine herons beside a canal',
        'a kettle that sings in May',
      ];
      const context = await browser!.newContext({ locale, colorScheme, viewport: { width, height: 740 } });
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
      page.on('pageerror', (error) => complaints.push(error.message));
      const { goTo, isAt, type, follow } = keyboard(page);
      const path = () => new URL(page.url()).pathname;
      const open = (to: string) => page.goto(service.issuer + to);
      const mailed = async (to: string, count = 1) =>
        page.goto((await mail.to(to, count)).findLast(({ link }) => link)!.link!);
      /** Expects that the page and its title name the completed operation. */
      const done = async () => {
        const said = await page.locator('.notice.done[role=status] strong').textContent();
        expect(await page.title()).toContain(said);
      };
      const showPassword = async (password: string) => {
        await type('#username', username);
        await type('#password', password);
        await follow('#sign-in');
      };
      const signOut = async () => {
        await open('/account');
        await follow('#sign-out');
        await follow('#sign-out');
      };

      // an account, by the link of a mail
      await open('/login');
      await follow('#sign-up');
      await type('#email', address);
      await follow('#send-link');
      await mailed(address);
      await type('#username', username);
      await type('#password', passwords[0]!);
      // the new account is signed in
      await follow('#open-account');
      expect([path(), await page.locator('html').getAttribute('lang')]).toEqual(['/account', locale]);

      // profile
      await follow('a[href="/account/profile"]');
      await follow('#edit');
      await type('#given_name', 'Ada');
      await type('#birthdate', 'tomorrow');
      await type('#website', 'nowhere');
      await follow('#save');
      // several faulty fields: a notice links to each
      await expect.poll(() => isAt('#problem')).toBe(true);
      await goTo('#problem a[href="#birthdate"]');
      await page.keyboard.press('Enter');
      await expect.poll(() => isAt('#birthdate')).toBe(true);
      await type('#birthdate', '1990-12-31');
      await follow('#save');
      // one: it has the focus, and no notice repeats its sentence
      await expect.poll(() => isAt('#website')).toBe(true);
      expect(await page.locator('#problem').count()).toBe(0);
      await type('#website', 'https://ada.example');
      await follow('#save');
      await done();

      // another e-mail address
      await follow('#address');
      await type('#email', later);
      await follow('#change-email');
      await done();
      await mailed(later);
      await follow('#confirm');
      await follow('main a.primary');
      expect(path()).toBe('/account');

      // forgotten password
      await signOut();
      await open('/login');
      await follow('#forgotten-password');
      await type('#login', later);
      await follow('#send-link');
      await mailed(later, 2);
      await type('#password', passwords[1]!);
      // the new password has signed the user in
      await follow('#set-password');

      // another password
      await follow('a[href="/account/security"]');
      await follow('#password');
      await type('#current', 'not this one');
      await type('#password', passwords[2]!);
      expect(await page.locator('#strength [role=status]').textContent()).not.toBe('');
      await follow('#change-password');
      await expect.poll(() => isAt('#current')).toBe(true);
      await type('#current', passwords[1]!);
      await type('#password', passwords[2]!);
      await follow('#change-password');
      await done();

      const elsewhere = new UserAgent(service);
      await elsewhere.signIn({ username, password: passwords[2]! });

      // an authenticator, its code and a recovery code
      await follow('#second-factors');
      await follow('#add-authenticator');
      const uri = await page.locator('#open-app').getAttribute('href');
      const code = (steps: number) => (URI.parse(uri!) as TOTP).generate({ timestamp: Date.now() + steps * 30_000 });
      await type('#code', code(0));
      await follow('#turn-on');
      const codes = await page.locator('#codes bdi').allTextContents();
      await goTo('#download-codes');
      await follow('#continue');
      await done();
      await signOut();
      await open('/login');
      await showPassword(passwords[2]!);
      await expect.poll(() => isAt('#code')).toBe(true);
      await type('#code', code(1));
      await follow('#sign-in');
      expect(path()).toBe('/account');
      await signOut();
      await open('/login');
      await showPassword(passwords[2]!);
      await goTo('summary');
      await page.keyboard.press('Enter');
      await type('#recovery', codes[0]!);
      await follow('#use-recovery-code');
      expect(path()).toBe('/account');

      // a passkey
      const devtools = await context.newCDPSession(page);
      await devtools.send('WebAuthn.enable', { enableUI: false });
      await devtools.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          ctap2Version: 'ctap2_1',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      });
      // this browser suggests no passkey: the button does
      await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = undefined');
      await follow('a[href="/account/security"]');
      await follow('#passkeys');
      await follow('#use-passkey');
      await done();
      await signOut();
      await open('/login');
      await follow('#use-passkey');
      expect(path()).toBe('/account');

      // sessions, grants, data
      await open('/account');
      await follow('a[href="/account/sessions"]');
      await follow('#end-others');
      await done();
      expect((await elsewhere.get('/account')).status).toBe(303);
      const { sub } = (await service.store.users.findByEmail(later))!;
      await service.store.grants.add(
        sub,
        client.clientId,
        { scope: ['openid', 'email'], claims: [], resources: {} },
        client.redirectUri,
      );
      await open('/account');
      await follow('a[href="/account/applications"]');
      await follow('button[name=withdraw]');
      await done();
      await open('/account/data');
      await goTo('#download');
      const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
      expect(download.suggestedFilename()).toMatch(/\.json$/);

      // deletion
      await open('/account/data');
      await follow('#delete');
      await type('#username', 'somebody else');
      await follow('#delete');
      await expect.poll(() => isAt('#username')).toBe(true);
      await type('#username', username);
      await follow('#delete');
      expect(await service.store.users.find(sub)).toBeUndefined();
      expect(complaints.filter((line) => !/400/.test(line))).toEqual([]);
      await context.close();
    },
  );
});
