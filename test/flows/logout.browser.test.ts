// Tests signing out in a real browser: front-channel frames, the redirect afterwards, and the answers of the session-management frame
// before and after.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt } from 'jose';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { eventually, redeem } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, UserAgent } from '../helpers/user-agent.ts';

type Person = Awaited<ReturnType<TestService['createUser']>>;

const warning = 40; // pino's level

describe('signing out in a browser', () => {
  let service: TestService;
  let one: RelyingParty;
  let two: RelyingParty;
  let browser: Browser;
  /** What the browser reports: console errors, violated policies, uncaught exceptions. */
  let complaints: string[] = [];

  beforeAll(async () => {
    // the same site as the relying parties at other ports, since on plain http no third party may read a cookie
    service = await startTestService({ host: '127.0.0.1' });
    one = await startRelyingParty(service, 'Harbour');
    two = await startRelyingParty(service, 'Lighthouse');
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
    await one?.stop();
    await two?.stop();
    await service?.stop();
  });

  async function open(context?: BrowserContext, javaScriptEnabled = true): Promise<Page> {
    const its = context ?? (await browser.newContext({ locale: 'en-GB', javaScriptEnabled }));
    its.setDefaultTimeout(20_000);
    const page = await its.newPage();
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()))
        complaints.push(`${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    return page;
  }

  /** Signs in at a relying party, through the pages that the service shows; returns the parameters of the response. */
  async function signIn(page: Page, at: RelyingParty, person: Person): Promise<URLSearchParams> {
    await page.goto(authorizationUrl(service.issuer, at.client));
    if (page.url().startsWith(`${service.issuer}/login`)) {
      await page.getByLabel('User name or email').fill(person.username);
      await page.getByLabel('Password', { exact: true }).fill(person.password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    }
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.waitForURL(`${at.origin}/callback?*`);
    return new URL(page.url()).searchParams;
  }

  /** Signs a new user in at both, and begins to sign out at the first. */
  async function begin(page: Page): Promise<{ sid: string; sessionStates: string[] }> {
    const person = await service.createUser();
    const responses = [await signIn(page, one, person), await signIn(page, two, person)];
    const { body } = await redeem(service.issuer, one.client, responses[0]!.get('code')!);
    const idToken = body['id_token'] as string;
    const parameters = { id_token_hint: idToken, post_logout_redirect_uri: `${one.origin}/bye`, state: 'a b&<c>' };
    await page.goto(`${service.issuer}/logout?${new URLSearchParams(parameters).toString()}`);
    return {
      sid: decodeJwt(idToken)['sid'] as string,
      sessionStates: responses.map((response) => response.get('session_state')!),
    };
  }

  const confirm = (page: Page) => page.getByRole('button', { name: 'Sign out', exact: true }).click();

  async function expectTold(sid: string): Promise<void> {
    for (const { notifications } of [one, two]) {
      const last = await eventually(
        async () => notifications.at(-1),
        (heard) => heard?.get('sid') === sid,
      );
      expect([...last!]).toEqual([
        ['iss', service.issuer],
        ['sid', sid],
      ]);
    }
  }

  browserTest(
    'every relying party is notified in a frame, and the browser returns with the state (Front-Channel Logout 1.0 section 3)',
    async () => {
      const page = await open();
      const { sid } = await begin(page);
      await confirm(page);
      await page.getByRole('heading', { name: 'bye of Harbour' }).waitFor();
      expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ state: 'a b&<c>' });
      await expectTold(sid);
    },
  );

  browserTest('without script a link returns to the relying party, and the frames still notify', async () => {
    const page = await open(undefined, false);
    const { sid } = await begin(page);
    await confirm(page);
    await page.getByRole('heading', { name: 'You’re signed out' }).waitFor();
    await expectTold(sid);
    await page.getByRole('link', { name: 'Go to Harbour' }).click();
    await page.getByRole('heading', { name: 'bye of Harbour' }).waitFor();
  });

  browserTest('a frame that never answers does not delay the user', async () => {
    const page = await open();
    await begin(page);
    two.hangs = true;
    try {
      await confirm(page);
      await page.getByRole('heading', { name: 'bye of Harbour' }).waitFor();
    } finally {
      two.hangs = false;
    }
  });

  browserTest(
    'the account page exports the data, ends the other sessions, and then this one (pages, account)',
    async () => {
      const person = await service.createUser();
      const elsewhere = new UserAgent(service);
      await elsewhere.signIn(person);
      const page = await open(undefined, false);
      await signIn(page, two, person);
      const before = two.notifications.length;
      await page.goto(`${service.issuer}/account/data`);
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download my data' }).click();
      expect((await download).suggestedFilename()).toBe('account.json');

      await page.goto(`${service.issuer}/account/sessions`);
      await page.getByRole('button', { name: 'Sign out everywhere else' }).click();
      await page.getByRole('button', { name: 'Sign out everywhere else' }).waitFor({ state: 'detached' });
      expect((await elsewhere.get('/account')).location).toBe(`${service.issuer}/login`);

      await page.getByRole('button', { name: /^Sign out: / }).click();
      await page.getByRole('heading', { name: 'You’re signed out' }).waitFor();
      await eventually(
        async () => two.notifications.length,
        (count) => count > before,
      );
      await page.goto(`${service.issuer}/account`);
      expect(page.url()).toBe(`${service.issuer}/login`);
    },
  );

  for (const [locale, signOut, signOutOfAll] of [
    ['en-GB', 'Sign out', 'Sign out everywhere'],
    ['de-DE', 'Abmelden', 'Überall abmelden'],
    ['ar-EG', 'تسجيل الخروج', 'تسجيل الخروج من جميع الأماكن'],
  ] as const)
    browserTest(
      `in ${locale} "${signOut}" ends the session of one browser, and "${signOutOfAll}" those of all (decisions section 6)`,
      async () => {
        const person = await service.createUser();
        const browsers: Page[] = [];
        for (let count = 0; count < 3; count++)
          browsers.push(await open(await browser.newContext({ locale, javaScriptEnabled: false })));
        for (const page of browsers) {
          await page.goto(`${service.issuer}/login`);
          await page.locator('#username').fill(person.username);
          await page.locator('#password').fill(person.password);
          await page.keyboard.press('Enter');
          await page.waitForURL(`${service.issuer}/account`);
        }
        const [first, second] = browsers as [Page, Page, Page];
        const signedIn = async () => {
          await Promise.all(browsers.map((page) => page.goto(`${service.issuer}/account`)));
          return browsers.map((page) => page.url() === `${service.issuer}/account`);
        };
        await first.goto(`${service.issuer}/logout`);
        await first.getByRole('button', { name: signOut, exact: true }).click();
        await first.locator('h1').waitFor();
        expect(await signedIn()).toEqual([false, true, true]);
        await second.goto(`${service.issuer}/account/sessions`);
        await second.getByRole('button', { name: signOutOfAll, exact: true }).click();
        await second.waitForURL(`${service.issuer}/logout`);
        expect(await signedIn()).toEqual([false, false, false]);
      },
    );

  browserTest(
    'the session-management frame answers unchanged before a sign-out, changed after it, and error where it cannot know (Session Management 1.0 section 3.2)',
    async () => {
      const page = await open();
      const { sessionStates } = await begin(page);
      const ask = async (at: string, message: unknown): Promise<unknown> => {
        const watching = await open(page.context());
        await watching.goto(`${at}/watch`);
        const answer = await watching.evaluate<unknown>(`ask(${JSON.stringify(message)})`);
        await watching.close();
        return answer;
      };
      const messages = [one, two].map(({ client }, index) => `${client.clientId} ${sessionStates[index]}`);
      expect(await ask(one.origin, messages[0])).toBe('unchanged');
      expect(await ask(two.origin, messages[1])).toBe('unchanged');
      // the state of another client, or of another origin
      expect(await ask(one.origin, messages[1])).toBe('changed');
      for (const odd of ['', 'x', `${messages[0]} more`, messages[0]!.slice(0, -44), { a: 1 }, null])
        expect(await ask(one.origin, odd), JSON.stringify(odd)).toBe('error');
      // another site may not read the cookie here: the frame must not report that as a change
      expect(await ask(one.origin.replace('127.0.0.1', 'localhost'), messages[0])).toBe('error');

      await confirm(page);
      await page.getByRole('heading', { name: 'bye of Harbour' }).waitFor();
      expect(await ask(one.origin, messages[0])).toBe('changed');
      expect(await ask(two.origin, messages[1])).toBe('changed');
    },
  );
});

interface RelyingParty {
  client: TestClient;
  origin: string;
  /** The queries of the requests to its front-channel address. */
  notifications: URLSearchParams[];
  /** Does not answer at its front-channel address. */
  hangs: boolean;
  stop(): Promise<void>;
}

async function startRelyingParty(service: TestService, name: string): Promise<RelyingParty> {
  const notifications: URLSearchParams[] = [];
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://relying-party');
    if (url.pathname === '/logout') notifications.push(url.searchParams);
    if (url.pathname === '/logout' && party.hangs) return;
    const body = url.pathname === '/watch' ? watch : `<h1>${url.pathname.slice(1)} of ${name}</h1>`;
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(`<!doctype html><title>${name}</title><link rel="icon" href="data:,">${body}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const watch = `<iframe src="${service.issuer}/check-session"></iframe><script>
    const loaded = new Promise((resolve) => document.querySelector('iframe').addEventListener('load', resolve));
    const ask = (message) => loaded.then(() => new Promise((resolve) => {
      addEventListener('message', (event) => event.origin === '${service.issuer}' && resolve(event.data));
      document.querySelector('iframe').contentWindow.postMessage(message, '${service.issuer}');
    }));
  </script>`;
  const party: RelyingParty = {
    client: await service.createClient({
      client_name: name,
      redirect_uris: [`${origin}/callback`],
      frontchannel_logout_uri: `${origin}/logout`,
      post_logout_redirect_uris: [`${origin}/bye`],
    }),
    origin,
    notifications,
    hangs: false,
    async stop() {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
  return party;
}
