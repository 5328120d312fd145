// Tests the sample enterprise application server in a real browser: its check of the group, settings, and the end-session request without a
// page.
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { otherUser, sampleUser } from '../../demo/administrator.ts';
import { type ApplicationServer, startApplicationServer } from '../../demo/application-server.ts';
import { type RelyingParty, startRelyingParty } from '../../demo/relying-party.ts';
import { createAdministration } from '../../src/domain/administration/administration.ts';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { responseParameters, UserAgent } from '../helpers/user-agent.ts';

type Person = Awaited<ReturnType<TestService['createUser']>>;

const warning = 40; // pino's level

describe('the sample application server', () => {
  let service: TestService;
  let application: ApplicationServer;
  /** Another client with the same settings. */
  let neighbour: ApplicationServer;
  let relyingParty: RelyingParty;
  let browser: Browser;
  /** What the browser reports: console errors, violated policies, uncaught exceptions. */
  let complaints: string[] = [];

  beforeAll(async () => {
    service = await startTestService();
    const options = {
      issuer: service.issuer,
      port: 0,
      approve: async (clientId: string) => {
        await createAdministration(service.store).approveClient({ actor: 'test' }, clientId, undefined);
      },
    };
    application = await startApplicationServer(options);
    neighbour = await startApplicationServer(options);
    relyingParty = await startRelyingParty(options);
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
    await neighbour?.stop();
    await relyingParty?.stop();
    await service?.stop();
  });

  async function open(context?: BrowserContext): Promise<Page> {
    const its = context ?? (await browser.newContext({ locale: 'en-GB', colorScheme: 'light' }));
    its.setDefaultTimeout(20_000);
    const page = await its.newPage();
    page.on('console', (message) => {
      // pages that deny a user access answer 403, and the browser logs that
      const { url } = message.location();
      const denied =
        /status of 403/.test(message.text()) &&
        (url === `${application.url}/` || url.startsWith(`${service.issuer}/access-denied?`));
      if (['error', 'warning'].includes(message.type()) && !denied) complaints.push(`${message.text()} (${url})`);
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    return page;
  }

  const newPerson = (sample: typeof sampleUser | typeof otherUser): Promise<Person> => {
    const username = `${sample.username}-${Math.random().toString(36).slice(2, 10)}`;
    return service.createUser({ ...sample, username, email: `${username}@example.com` });
  };

  /** Signs in from the application's page through the pages that the service shows; returns the code of the response. */
  async function signIn(page: Page, at: { url: string }, person?: Person, consent?: string): Promise<string> {
    await page.goto(at.url);
    const answer = page.waitForRequest((request) => request.url().startsWith(`${at.url}/callback?`));
    await press(page, 'Sign in');
    if (person) {
      await heading(page, 'Sign in');
      await page.getByLabel('User name or email', { exact: true }).fill(person.username);
      await page.getByLabel('Password', { exact: true }).fill(person.password);
      await press(page, 'Sign in');
    }
    if (consent !== undefined) {
      await heading(page, `Allow ${consent} to use your account?`);
      await press(page, 'Allow');
    }
    const { searchParams } = new URL((await answer).url());
    // a page of this service may lead to the application
    await page.waitForURL((to) => to.href.startsWith(at.url));
    return searchParams.get('code')!;
  }

  const statusOf = async (code: string): Promise<number> =>
    (await fetch(`${service.issuer}/user/me/scope`, { headers: { authorization: `Bearer ${code}` } })).status;

  browserTest('a member of the group gets access after sign-in and consent (specification 1, 4.7)', async () => {
    const page = await open();
    const groups = [...sampleUser.groups, `<i>"&'`];
    const alice = await newPerson({ ...sampleUser, groups });
    await signIn(page, application, alice, 'Berths');
    await heading(page, `Welcome, ${alice.username}`);
    expect(page.url()).toBe(`${application.url}/`);
    expect(await page.getByRole('region', { name: 'Your groups' }).innerText()).toContain(groups.join(', '));
    expect((await page.reload())!.headers()['content-security-policy']).toContain(`default-src 'none'`);
  });

  browserTest('a user outside the group gets the access-denied page (specification 2.2)', async () => {
    const page = await open();
    const bob = await newPerson(otherUser);
    const code = await signIn(page, application, bob, 'Berths');
    await heading(page, `You have no access, ${bob.username}`);
    expect(await page.getByRole('radio').count()).toBe(0);
    await page.getByRole('link', { name: 'What you can do' }).click();
    await heading(page, 'Berths denied access');
    expect(new URL(page.url()).origin).toBe(service.issuer);
    await page.goto(application.url);
    await press(page, 'Sign out');
    await page.getByText('You’re signed out').waitFor();
    expect(await statusOf(code)).toBe(401);
  });

  browserTest('a user who leaves the group loses access with the next page (decisions section 3)', async () => {
    const page = await open();
    const alice = await newPerson(sampleUser);
    await signIn(page, application, alice, 'Berths');
    await heading(page, `Welcome, ${alice.username}`);
    await createAdministration(service.store).changeUser({ actor: 'test' }, alice.sub, { groups: ['crew'] });
    await page.reload();
    await heading(page, `You have no access, ${alice.username}`);
  });

  browserTest(
    'settings survive a new sign-in in another browser, for this client only (specification 2.7)',
    async () => {
      const page = await open();
      const alice = await newPerson(sampleUser);
      await signIn(page, application, alice, 'Berths');
      const light = await backgroundOf(page);
      await page.getByLabel('Dark', { exact: true }).check();
      await press(page, 'Keep');
      await page.getByText('Your settings are stored').waitFor();
      const dark = await backgroundOf(page);
      expect(dark).not.toBe(light);

      const later = await open();
      await signIn(later, application, alice);
      await heading(later, `Welcome, ${alice.username}`);
      expect(await later.getByLabel('Dark', { exact: true }).isChecked()).toBe(true);
      expect(await backgroundOf(later)).toBe(dark);

      const elsewhere = await open();
      await signIn(elsewhere, neighbour, alice, 'Berths');
      await heading(elsewhere, `Welcome, ${alice.username}`);
      expect(await elsewhere.getByLabel('As the browser prefers', { exact: true }).isChecked()).toBe(true);
      expect(await backgroundOf(elsewhere)).toBe(light);

      await later.getByLabel('As the browser prefers', { exact: true }).check();
      await press(later, 'Keep');
      await later.getByText('Your settings are stored').waitFor();
      expect(await backgroundOf(later)).toBe(light);
    },
  );

  browserTest(
    'the end-session request signs out of this application at once, without a page, and of no other (specification 4.4)',
    async () => {
      const page = await open();
      const alice = await newPerson(sampleUser);
      await signIn(page, relyingParty, alice, 'Harbour');
      await heading(page, 'Signed in as Alice Adams');
      const code = await signIn(page, application, undefined, 'Berths');
      await heading(page, `Welcome, ${alice.username}`);
      expect(await statusOf(code)).toBe(200);

      const visited: string[] = [];
      page.on('response', (response) => {
        if (!response.request().isNavigationRequest()) return;
        const { origin, pathname } = new URL(response.url());
        visited.push(`${response.status()} ${origin}${pathname}`);
      });
      await press(page, 'Sign out');
      await page.getByText('You’re signed out').waitFor();
      expect(visited).toEqual([
        `303 ${application.url}/sign-out`,
        `302 ${service.issuer}/end-session`,
        `303 ${application.url}/signed-out`,
        `200 ${application.url}/`,
      ]);
      await heading(page, 'Welcome to Berths');
      expect(await statusOf(code)).toBe(401);

      await page.goto(relyingParty.url);
      await press(page, 'Refresh the tokens');
      await page.getByText('The tokens are new').waitFor();
      // the session at the service lives: the service asks nothing
      const next = await signIn(page, application);
      await heading(page, `Welcome, ${alice.username}`);
      expect(await statusOf(next)).toBe(200);
      expect(await statusOf(code)).toBe(401);
    },
  );

  browserTest('a user who signs out at the service is signed out here too (specification 4.7)', async () => {
    const page = await open();
    const alice = await newPerson(sampleUser);
    await signIn(page, application, alice, 'Berths');
    await heading(page, `Welcome, ${alice.username}`);
    const other = await open(page.context());
    await other.goto(`${service.issuer}/logout`);
    await press(other, 'Sign out');
    await heading(other, 'You’re signed out');
    // the application sends no signed request for a session that is over: its answer would not be a page
    await press(page, 'Sign out');
    await page.getByText('You’re signed out').waitFor();
    expect(page.url()).toBe(`${application.url}/`);
  });

  browserTest('a user who withdraws the consent no longer has a session here (specification 4.7)', async () => {
    const page = await open();
    const alice = await newPerson(sampleUser);
    const code = await signIn(page, application, alice, 'Berths');
    await heading(page, `Welcome, ${alice.username}`);
    await service.database.sql('DELETE FROM grants WHERE sub = $1', [alice.sub]);
    await page.reload();
    await page.getByText('Your session has ended').waitFor();
    await heading(page, 'Welcome to Berths');
    expect(await statusOf(code)).toBe(401);
  });

  browserTest('a user who refuses consent returns without being signed in (RFC 6749 4.1.2.1)', async () => {
    const page = await open();
    const alice = await newPerson(sampleUser);
    await page.goto(application.url);
    await press(page, 'Sign in');
    await page.getByLabel('User name or email', { exact: true }).fill(alice.username);
    await page.getByLabel('Password', { exact: true }).fill(alice.password);
    await press(page, 'Sign in');
    await press(page, 'Don’t allow');
    await page.getByText('You are not signed in').waitFor();
    await heading(page, 'Welcome to Berths');
  });

  browserTest('a response that this browser did not request is refused (RFC 6749 10.12)', async () => {
    const alice = await newPerson(sampleUser);
    const page = await open();
    await signIn(page, application, alice, 'Berths');
    await heading(page, `Welcome, ${alice.username}`);
    for (const query of ['', '?code=x', `?code=x&state=x&iss=${encodeURIComponent(service.issuer)}`]) {
      const response = await fetch(`${application.url}/callback${query}`);
      expect(response.status).toBe(400);
      expect(response.headers.get('set-cookie')).toBeNull();
    }
    const foreign = await fetch(`${application.url}/sign-out`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-site' },
    });
    expect(foreign.status).toBe(403);
    await page.reload();
    await heading(page, `Welcome, ${alice.username}`);
  });

  browserTest('the code of another client gives no access (OpenID Connect Core 16.11)', async () => {
    const alice = await newPerson(sampleUser);
    const client = await service.createClient({ uma_profile: true, scope: 'openid profile scope' });
    const theirs = await new UserAgent(service).authorize(client, alice, { scope: 'openid profile scope' });
    const { code } = responseParameters(theirs);
    // another user begins a sign-in, and answers it with that code
    const begun = await fetch(`${application.url}/sign-in`, { method: 'POST', redirect: 'manual' });
    const cookie = begun.headers.getSetCookie()[0]!.split(';')[0]!;
    const state = new URL(begun.headers.get('location')!).searchParams.get('state')!;
    const query = new URLSearchParams({ code: code!, state, iss: service.issuer });
    const answer = await fetch(`${application.url}/callback?${query.toString()}`, { headers: { cookie } });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('set-cookie')).toBeNull();
    expect(await (await fetch(application.url, { headers: { cookie } })).text()).toContain('Welcome to Berths');
    expect(await statusOf(code!)).toBe(200);
  });
});

const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();

/** Waits for the page with this heading. */
async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
}

/** Returns the background colour of the page. */
const backgroundOf = async (page: Page): Promise<string> => {
  // a page that can be read may not have its style sheet yet
  await page.waitForLoadState('load');
  return page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
};
