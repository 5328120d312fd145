// Goes through the account chooser and an invitation in a real browser by keyboard alone, reads what a screen reader announces, and checks
// each page with axe-core: on a desktop and on a telephone, in three languages, light and dark.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { keyboard, walksAt } from '../helpers/keyboard.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { bringAxe, faultsOf } from '../helpers/page-inspection.ts';
import type { TestClient, TestService, TestUser } from '../helpers/service.ts';
import { authorizationUrl } from '../helpers/user-agent.ts';

const bed = createMailBed();
let service: TestService;
let admin: string;
let client: TestClient;
let browser: Browser | undefined;
/** The addresses at which users returned to the application. */
const returned: URL[] = [];
const application = createServer((request, response) => {
  returned.push(new URL(request.url!, client.redirectUri));
  response
    .setHeader('content-type', 'text/html')
    .end('<!doctype html><html lang="en"><title>Harbour</title><link rel="icon" href="data:,">');
});
beforeAll(async () => {
  ({ service, admin } = await bed.start());
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
  client = await service.createClient({
    client_name: 'Harbour',
    redirect_uris: [`http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`],
  });
  if (process.env.CHROMIUM !== undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  application.close();
  await bed.stop();
});

/** The controls of a page in their order, as a screen reader announces them: role, name and state. */
async function announced(page: Page): Promise<string[]> {
  const tree = await page.locator('main').ariaSnapshot();
  const controls = tree.matchAll(/^\s*- ((?:heading|textbox|button|link) "[^"]*"(?: \[level=\d\])?)/gm);
  return [...controls].map(([, control]) => control!);
}

describe.each(walksAt('telephone'))('in $locale at $width pixels, $colorScheme', ({ locale, width, colorScheme }) => {
  const open = async () => {
    const context = await browser!.newContext({ locale, colorScheme, viewport: { width, height: 740 } });
    await bringAxe(context);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
    page.on('pageerror', (error) => complaints.push(error.message));
    const checked = async () => expect({ url: page.url(), faults: await faultsOf(page) }).toMatchObject({ faults: [] });
    return { page, complaints, checked, ...keyboard(page) };
  };

  browserTest(
    'a user chooses an account, removes another, and removes the own one, by keyboard alone (WCAG 2.1.1, 4.1.2; pages, sign-in)',
    async () => {
      const { page, complaints, checked, isAt, goTo, type, follow } = await open();
      const users: TestUser[] = [];
      for (const name of ['Bob Brown', 'Carol Clark', 'Ada Archer'])
        users.push(await service.createUser({ claims: { name } }));
      const [, carol, ada] = users as [TestUser, TestUser, TestUser];
      const signIn = async (user: TestUser) => {
        if ((await page.locator('#username').inputValue()) === '') await type('#username', user.username);
        await type('#password', user.password);
        await follow('#sign-in');
      };
      for (const [index, user] of users.entries()) {
        await page.goto(`${service.issuer}/login?account=other`);
        await signIn(user);
        // the session ends, and the browser still knows the account
        if (index < users.length - 1) await page.context().clearCookies({ name: 'JSESSIONOPENID' });
      }

      const address = authorizationUrl(service.issuer, client, { prompt: 'select_account' });
      await page.goto(address);
      await checked();
      const heard = await announced(page);
      expect(heard[0]).toMatch(/^heading ".+Harbour|^heading ".+" \[level=1\]/);
      expect(heard.slice(1).map((line) => /^(\w+) /.exec(line)![1])).toEqual([
        'button',
        'button',
        'link',
        'button',
        'link',
        'button',
        'link',
      ]);
      // each control has the name of the account that it concerns
      for (const [index, name] of [
        'Ada Archer',
        'Ada Archer',
        'Carol Clark',
        'Carol Clark',
        'Bob Brown',
        'Bob Brown',
      ].entries())
        expect(heard[index + 1]).toContain(name);
      if (locale === 'en')
        expect(heard).toEqual([
          'heading "Choose an account" [level=1]',
          expect.stringMatching(/^button ".*Ada Archer.* Signed in"$/),
          'button "Remove Ada Archer from this list, and sign out"',
          expect.stringMatching(/^link ".*Carol Clark.*"$/),
          'button "Remove Carol Clark from this list"',
          expect.stringMatching(/^link ".*Bob Brown.*"$/),
          'button "Remove Bob Brown from this list"',
          'link "Use another account"',
        ]);
      // Tab leads through them in the same order
      const order = [
        '#continue',
        '#remove-signed-in',
        'a[href*="account="]',
        '#remove-0',
        'a[href*="account="]',
        '#remove-1',
        '#other-account',
      ];
      for (const [index, selector] of order.entries()) {
        if (index === 0) await goTo(selector);
        else await page.keyboard.press('Tab');
        await expect.poll(() => isAt(selector), { message: selector }).toBe(true);
      }

      // one account less
      await page.goto(address);
      await follow('#remove-1');
      expect(await announced(page)).toHaveLength(heard.length - 2);
      await checked();
      // another account signs in with its credentials
      await follow('a[href*="account="]');
      expect(await page.locator('#username').inputValue()).toBe(carol.username);
      await checked();
      await signIn(carol);
      await follow('#allow');
      // a page leads on to the client
      await page.waitForURL(`${client.redirectUri}?*`);
      expect(returned.at(-1)!.searchParams.get('code')).toBeTruthy();
      // the signed-in account continues with one key
      await page.goto(address);
      const before = returned.length;
      await follow('#continue');
      await page.waitForURL(`${client.redirectUri}?*`);
      expect(returned).toHaveLength(before + 1);
      expect(returned.at(-1)!.searchParams.get('code')).toBeTruthy();
      // and leaves the list with its sign-out
      await page.goto(`${service.issuer}/login/accounts`);
      await follow('#remove-signed-in');
      await checked();
      await follow('#sign-out');
      await page.goto(`${service.issuer}/login/accounts`);
      expect((await announced(page)).join()).not.toContain('Carol Clark');
      expect(await page.locator('main').textContent()).toContain(ada.username);
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );

  browserTest(
    'an invited user reads the invitation, corrects a password, and is signed in, by keyboard alone (WCAG 2.1.1, 3.3.1, 4.1.2; pages, sign-in)',
    async () => {
      const { page, complaints, checked, isAt, type, follow } = await open();
      const username = `invited-${locale}-${width}`;
      const answer = await fetch(`${service.issuer}/admin/api/users`, {
        method: 'POST',
        headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          username,
          email: `${username}@example.com`,
          claims: { name: 'Grace Green' },
          invite: true,
        }),
      });
      expect(answer.status).toBe(201);
      await page.goto(service.issuer + (await bed.linkTo(`${username}@example.com`, /invited/)));
      await checked();
      const heard = await announced(page);
      expect(heard[0]).toMatch(/^heading ".*Grace Green.*" \[level=1\]$/);
      if (locale === 'en')
        expect(heard).toEqual([
          'heading "Welcome, Grace Green" [level=1]',
          expect.stringMatching(/^textbox "New password"/),
          'button "Show password"',
          'button "Set password and sign in"',
          'button "Create a passkey instead"',
        ]);
      await type('#password', 'short');
      await follow('#set-password');
      // one sentence at the field, which has the focus and is described by it
      await expect.poll(() => isAt('#password')).toBe(true);
      expect(await page.locator('#problem').count()).toBe(0);
      const described = await page.locator('#password').getAttribute('aria-describedby');
      expect(described).toBe('password-fault password-rule');
      expect(await page.locator('#password-fault').textContent()).not.toBe('');
      await checked();
      await type('#password', 'three umbrellas under a lighthouse');
      await follow('#set-password');
      expect(new URL(page.url()).pathname).toBe('/account');
      expect(await page.locator('.notice.done[role=status]').count()).toBe(1);
      await checked();
      expect(complaints.filter((line) => !/400/.test(line))).toEqual([]);
      await page.context().close();
    },
  );
});
