// Tests the demonstration's sample application in a real browser, as users use it: mouse, keyboard, telephone, without script.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import * as oidc from 'openid-client';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { sampleUser } from '../../demo/administrator.ts';
import { type RelyingParty, startRelyingParty } from '../../demo/relying-party.ts';
import { createAdministration } from '../../src/domain/administration/administration.ts';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

type Person = Awaited<ReturnType<TestService['createUser']>>;

/** How a user operates a page. */
interface InputMethod {
  press(role: 'button' | 'link', name: string): Promise<void>;
  fill(label: string, value: string): Promise<void>;
}

const warning = 40; // pino's level
const usernameLabel = 'User name or email';
const passwordLabel = 'Password';

// one test opens twenty pages, and a busy machine is slow
describe('the sample application', () => {
  let service: TestService;
  let application: RelyingParty;
  let browser: Browser;
  /** What the browser reports: console errors, violated policies, uncaught exceptions. */
  let complaints: string[] = [];

  beforeAll(async () => {
    service = await startTestService();
    application = await startRelyingParty({
      issuer: service.issuer,
      port: 0,
      approve: async (clientId) => {
        await createAdministration(service.store).approveClient({ actor: 'test' }, clientId, undefined);
      },
    });
    browser = await launchBrowser();
  });
  afterEach(async () => {
    await Promise.all((browser?.contexts() ?? []).map((context) => context.close()));
    const found = complaints;
    complaints = [];
    expect(found).toEqual([]);
    expect(service.logs.splice(0).filter((line) => Number(line['level']) >= warning)).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await application?.stop();
    await service?.stop();
  });

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ locale: 'en-GB', ...options });
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    page.on('console', (message) => {
      // the only answer in these tests that is not a success: a wrong password (specification 4.1)
      const wrongPassword = /status of 400/.test(message.text()) && message.location().url.includes('/login');
      if (['error', 'warning'].includes(message.type()) && !wrongPassword)
        complaints.push(`${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    return page;
  }

  const newPerson = (): Promise<Person> => service.createUser({ ...sampleUser, ...uniqueNames() });

  /** Starts and ends at the application's page: a wrong password, the right one, consent, refresh, sign-out. */
  async function wholeJourney(
    page: Page,
    input: InputMethod,
    person: Person,
    look: () => Promise<void> = async () => undefined,
  ): Promise<void> {
    await page.goto(application.url);
    await look();
    await input.press('button', 'Sign in');
    await heading(page, 'Sign in');
    expect(new URL(page.url()).origin).toBe(service.issuer);
    await expectText(page, 'to continue to Harbour');
    await look();
    await input.fill(usernameLabel, person.username);
    await input.fill(passwordLabel, 'not the password');
    await input.press('button', 'Sign in');
    await expectText(page, 'Incorrect user name or password');
    expect(await page.getByLabel(usernameLabel).inputValue()).toBe(person.username);
    expect(await page.getByLabel(passwordLabel, { exact: true }).inputValue()).toBe('');
    await look();
    await input.fill(passwordLabel, person.password);
    await input.press('button', 'Sign in');
    await heading(page, 'Allow Harbour to use your account?');
    await look();
    await input.press('button', 'Allow');

    await heading(page, 'Signed in as Alice Adams');
    expect(page.url()).toBe(`${application.url}/`);
    await look();
    expect(await claimsOf(page, 'ID Token')).toMatchObject({ iss: service.issuer, sub: person.sub });
    expect(await claimsOf(page, 'UserInfo')).toMatchObject({
      sub: person.sub,
      name: 'Alice Adams',
      email: person.email,
      email_verified: 'true',
      birthdate: '1990-05-17',
      phone_number: '+44 1496 555 0123',
      groups: 'crew, harbour-masters',
      address: expect.stringContaining('Port Ellen') as string,
    });

    await input.press('button', 'Refresh the tokens');
    await expectText(page, 'The tokens are new');
    await look();
    for (const token of ['Access token', 'Refresh token', 'ID Token']) {
      const [before, now] = await page.getByRole('row', { name: token }).locator('td').allInnerTexts();
      expect(before).toMatch(/…/);
      expect(now).toMatch(/…/);
      expect(now).not.toBe(before);
    }

    await input.press('button', 'Sign out');
    await heading(page, 'Sign out?');
    expect(new URL(page.url()).origin).toBe(service.issuer);
    await look();
    await input.press('button', 'Sign out');
    await expectText(page, 'You’re signed out');
    expect(page.url()).toBe(`${application.url}/`);
    await heading(page, 'Welcome to Harbour');
    await look();

    // both sessions are gone: the next sign-in asks for the password, but not for consent
    await input.press('button', 'Sign in');
    await heading(page, 'Sign in');
    await input.fill(usernameLabel, person.username);
    await input.fill(passwordLabel, person.password);
    await input.press('button', 'Sign in');
    await heading(page, 'Signed in as Alice Adams');
  }

  browserTest(
    'a user signs in, sees the claims, refreshes and signs out (OpenID Connect Core 3.1, RP-Initiated Logout 2)',
    async () => {
      const page = await open();
      await wholeJourney(page, mouse(page), await newPerson());
    },
  );

  browserTest('a user can do everything by the keyboard alone (WCAG 2.2, 2.1.1)', async () => {
    const page = await open();
    await wholeJourney(page, keyboard(page), await newPerson());
  });

  browserTest('a user can do everything on a telephone, and no page scrolls sideways (WCAG 2.2, 1.4.10)', async () => {
    const page = await open({
      viewport: { width: 320, height: 640 },
      deviceScaleFactor: 2,
      isMobile: true,
      hasTouch: true,
    });
    await wholeJourney(page, touch(page), await newPerson(), async () => {
      const beyond = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect(await page.evaluate<number>(beyond), page.url()).toBe(0);
    });
  });

  browserTest('a user can do everything without script', async () => {
    const page = await open({ javaScriptEnabled: false });
    await wholeJourney(page, mouse(page), await newPerson());
  });

  browserTest('a user who refuses consent returns without being signed in (RFC 6749 4.1.2.1)', async () => {
    const page = await open();
    const person = await newPerson();
    const input = mouse(page);
    await page.goto(application.url);
    await input.press('button', 'Sign in');
    await input.fill(usernameLabel, person.username);
    await input.fill(passwordLabel, person.password);
    await input.press('button', 'Sign in');
    await heading(page, 'Allow Harbour to use your account?');
    await input.press('button', 'Don’t allow');
    await expectText(page, 'You are not signed in');
    await heading(page, 'Welcome to Harbour');
    expect(page.url()).toBe(`${application.url}/`);
  });

  browserTest('a user who stays signed in at the service is signed in again without a page', async () => {
    const page = await open();
    const person = await newPerson();
    const input = mouse(page);
    await page.goto(application.url);
    await input.press('button', 'Sign in');
    await input.fill(usernameLabel, person.username);
    await input.fill(passwordLabel, person.password);
    await input.press('button', 'Sign in');
    await input.press('button', 'Allow');
    await input.press('button', 'Sign out');
    await input.press('button', 'Stay signed in');
    await heading(page, 'You’re still signed in');
    await page.goto(application.url);
    await input.press('button', 'Sign in');
    await heading(page, 'Signed in as Alice Adams');
  });

  browserTest.for([true, false])(
    'response_mode=form_post delivers the code by a form, with script: %s (Form Post Response Mode 1.0)',
    async (javaScriptEnabled) => {
      const receiver = await startReceiver();
      try {
        const client = await service.createClient({ client_name: 'Post office', redirect_uris: [receiver.url] });
        const provider = await oidc.discovery(
          new URL(service.issuer),
          client.clientId,
          client.clientSecret,
          oidc.ClientSecretBasic(client.clientSecret),
          { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] },
        );
        const person = await newPerson();
        const page = await open({ javaScriptEnabled });
        const input = mouse(page);
        const codeVerifier = oidc.randomPKCECodeVerifier();
        const state = `<"&'> ${oidc.randomState()}`;
        const target = oidc.buildAuthorizationUrl(provider, {
          redirect_uri: receiver.url,
          scope: 'openid',
          response_mode: 'form_post',
          state,
          code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
        });
        await page.goto(target.href);
        await input.fill(usernameLabel, person.username);
        await input.fill(passwordLabel, person.password);
        await input.press('button', 'Sign in');
        await input.press('button', 'Allow');
        if (!javaScriptEnabled) await page.getByRole('button').click();
        await expectText(page, 'Received');
        expect(page.url()).toBe(receiver.url);
        const request = new Request(receiver.url, { method: 'POST', body: new URLSearchParams(receiver.received()) });
        const tokens = await oidc.authorizationCodeGrant(provider, request, {
          expectedState: state,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        });
        expect(tokens.claims()?.sub).toBe(person.sub);
      } finally {
        await receiver.stop();
      }
    },
  );
});

function uniqueNames(): { username: string; email: string } {
  const username = `alice-${Math.random().toString(36).slice(2, 10)}`;
  return { username, email: `${username}@example.com` };
}

/** Waits for the page with this heading. */
async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
}

async function expectText(page: Page, sentence: string): Promise<void> {
  await page.getByText(sentence).first().waitFor();
}

/** The table in the section with this heading, as claims and the values shown for them. */
async function claimsOf(page: Page, section: string): Promise<Record<string, string>> {
  const rows = await page.getByRole('region', { name: section }).locator('tbody tr').all();
  return Object.fromEntries(
    await Promise.all(
      rows.map(async (row) => [await row.locator('th').innerText(), await row.locator('td').innerText()] as const),
    ),
  );
}

function mouse(page: Page): InputMethod {
  return {
    press: (role, name) => page.getByRole(role, { name, exact: true }).click(),
    fill: (label, value) => page.getByLabel(label, { exact: true }).fill(value),
  };
}

function touch(page: Page): InputMethod {
  return { ...mouse(page), press: (role, name) => page.getByRole(role, { name, exact: true }).tap() };
}

/** Moves from control to control by Tab, and presses Enter. */
function keyboard(page: Page): InputMethod {
  async function goTo(target: ReturnType<Page['locator']>): Promise<void> {
    await target.waitFor();
    for (let presses = 0; presses < 40; presses++) {
      if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`the Tab key does not lead to ${String(target)}`);
  }
  return {
    async press(role, name) {
      await goTo(page.getByRole(role, { name, exact: true }));
      await page.keyboard.press('Enter');
    },
    async fill(label, value) {
      await goTo(page.getByLabel(label, { exact: true }));
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.type(value);
    },
  };
}

/** A client's address that takes a POST, and keeps the form that it received. */
async function startReceiver(): Promise<{ url: string; received(): string; stop(): Promise<void> }> {
  let received = '';
  const server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.method === 'POST') received = body;
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      response.end('<!doctype html><title>Received</title><link rel="icon" href="data:,"><h1>Received</h1>');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    received: () => received,
    async stop() {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}
