// “Keep me signed in” makes a session that lives on without use and after the browser is closed, by each way to sign in, and nothing else of it changes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { addConnection, answerOf, changeConnection, signInPage } from '../helpers/connections.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { Authenticator, passkeyForm } from '../helpers/passkey.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const month = 30 * 86_400;
const day = 86_400;
const remember = { remember: 'on' };
let service: TestService;
let provider: Provider;

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, OUTBOUND_ALLOW: provider.host, LIMIT_CONNECTION_ANSWERS: '0' },
  });
  await addConnection(service, provider, 'honest', { provisioning: 'on', domains: ['corp.example'] });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

/** A browser that tells how long it keeps the cookie of its session, and can be closed. */
class Browser extends UserAgent {
  #lasting = new Set<string>();
  /** Of the session's last cookie, in seconds; undefined for one that ends with the browser. */
  maxAge: number | undefined;

  override async fetch(...request: Parameters<UserAgent['fetch']>): Promise<Page> {
    const page = await super.fetch(...request);
    for (const line of page.headers.getSetCookie()) {
      const name = line.split('=')[0]!;
      const age = /; Max-Age=(\d+)/.exec(line)?.[1];
      if (age === undefined) this.#lasting.delete(name);
      else this.#lasting.add(name);
      if (name === 'JSESSIONOPENID') this.maxAge = age === undefined ? undefined : Number(age);
    }
    return page;
  }

  /** Forgets what a browser forgets when it is closed. */
  close(): void {
    for (const name of this.cookies.keys()) if (!this.#lasting.has(name)) this.cookies.delete(name);
  }
}

const sessionsOf = (sub: string) =>
  service.database.sql<{ remembered: boolean; idle: number; total: number }>(
    `SELECT remembered, round(extract(epoch FROM idle_expires_at - used_at))::int AS idle,
            round(extract(epoch FROM expires_at - used_at))::int AS total FROM sessions WHERE sub = $1 ORDER BY id`,
    [sub],
  );
const keptSession = { remembered: true, idle: month, total: month };
const usualSession = { remembered: false, idle: 8 * 3600, total: day };
const isSignedIn = async (browser: UserAgent) => (await browser.get('/account')).status === 200;
/** Lets time pass for the sessions of a user. */
const age = (sub: string, seconds: number) =>
  service.database.sql(
    `UPDATE sessions SET auth_time = auth_time - make_interval(secs => $2), created_at = created_at - make_interval(secs => $2),
            used_at = used_at - make_interval(secs => $2), idle_expires_at = idle_expires_at - make_interval(secs => $2),
            expires_at = expires_at - make_interval(secs => $2) WHERE sub = $1`,
    [sub, seconds],
  );
async function signIn(browser: UserAgent, { username, password }: TestUser, chosen: Record<string, string> = remember) {
  const asked = await browser.submit(await browser.get('/login'), { username, ...chosen });
  return browser.submit(asked, { username, password, ...chosen });
}
async function kept(): Promise<{ user: TestUser; browser: Browser }> {
  const user = await service.createUser();
  const browser = new Browser(service);
  await signIn(browser, user);
  return { user, browser };
}
/** Presses the button of the connection, and comes back. */
async function signInBy(browser: UserAgent, fields: Record<string, string>): Promise<Page> {
  const { body } = await signInPage(browser, 'honest');
  const form = body.slice(body.indexOf('action="/connections/honest"'));
  const left = await browser.post('/connections/honest', { ...hiddenFields(form), ...fields });
  return browser.follow(await browser.get(await answerOf(left)));
}
async function passkeyOf(user: TestUser): Promise<Authenticator> {
  const browser = new UserAgent(service);
  await browser.signIn(user);
  const key = new Authenticator(service.issuer);
  const { action, options, fields } = passkeyForm(await browser.get('/account/passkeys'));
  await browser.post(action, { ...fields, credential: key.create(options) });
  return key;
}

test('without the choice a session ends with the browser, after 8 hours without use and after a day; with it, after 30 days (pages, staying signed in)', async () => {
  const user = await service.createUser();
  const usual = new Browser(service);
  await signIn(usual, user, {});
  expect(await sessionsOf(user.sub)).toEqual([usualSession]);
  expect([await isSignedIn(usual), usual.maxAge]).toEqual([true, undefined]);
  usual.close();
  expect(await isSignedIn(usual)).toBe(false);

  const { user: other, browser } = await kept();
  expect(await sessionsOf(other.sub)).toEqual([keptSession]);
  expect(browser.maxAge).toBe(month);
  browser.close();
  await age(other.sub, day);
  expect(await isSignedIn(browser)).toBe(true);
  // its use brings no idle end back
  const [idle] = await sessionsOf(other.sub);
  expect(idle!.idle).toBe(idle!.total);
  await age(other.sub, month - day - 3600);
  expect(await isSignedIn(browser)).toBe(true);
  // its use moves no end
  const [used] = await sessionsOf(other.sub);
  expect(used!.idle).toBe(used!.total);
  expect(used!.total).toBeLessThanOrEqual(3600);
  await age(other.sub, 3600);
  expect(await isSignedIn(browser)).toBe(false);
});

test('the page offers the choice unticked, and keeps it through the step of the name and a wrong password (pages, staying signed in)', async () => {
  const browser = new UserAgent(service);
  const { username } = await service.createUser();
  const ticked = /name="remember"( checked)?/;
  const first = await browser.get('/login');
  expect(ticked.exec(first.body)).toMatchObject({ 1: undefined });
  const asked = await browser.submit(first, { username, ...remember });
  expect(ticked.exec(asked.body)).toMatchObject({ 1: ' checked' });
  const refused = await browser.submit(asked, { username, password: 'a wrong one', ...remember });
  expect(refused.body).toContain('Incorrect user name or password');
  expect(ticked.exec(refused.body)).toMatchObject({ 1: ' checked' });
  const changed = await browser.submit(refused, { username, password: 'a wrong one' });
  expect(ticked.exec(changed.body)).toMatchObject({ 1: undefined });
});

describe('the choice holds for', () => {
  test('a passkey (pages, staying signed in)', async () => {
    const user = await service.createUser();
    const key = await passkeyOf(user);
    const browser = new Browser(service);
    // the page with the passkey follows the name
    const { action, options, fields } = passkeyForm(await browser.get('/login'));
    await browser.post(action, { ...fields, ...remember, credential: key.get(options) });
    expect((await sessionsOf(user.sub)).at(-1)).toEqual(keptSession);
    expect(browser.maxAge).toBe(month);
  });

  test('the second factor that follows a password (pages, staying signed in)', async () => {
    const user = await service.createUser();
    const home = new UserAgent(service);
    await home.signIn(user);
    const { app } = await setUpAuthenticator(home);
    const browser = new Browser(service);
    const page = await signIn(browser, user);
    expect(page.url).toContain('/login/second-factor');
    await browser.submit(page, { code: app.code(1) });
    expect((await sessionsOf(user.sub)).at(-1)).toEqual(keptSession);
    expect(browser.maxAge).toBe(month);
    // the form of the second step does not decide it
    await service.database.sql('UPDATE authenticators SET last_step = last_step - 3 WHERE sub = $1', [user.sub]);
    const other = new Browser(service);
    await other.submit(await signIn(other, user, {}), { code: app.code(), ...remember });
    expect((await sessionsOf(user.sub)).at(-1)).toEqual(usualSession);
    expect(other.maxAge).toBeUndefined();
  });

  test('the button of a connection, and for the new user who then chooses a name; a shorter lifetime of the connection wins (pages, staying signed in)', async () => {
    await service.createUser({ username: 'taken' });
    provider.be({ sub: 'remember-1', preferred_username: 'taken' });
    const browser = new Browser(service);
    const naming = await signInBy(browser, remember);
    expect(naming.url).toBe(`${service.issuer}/login/name`);
    await browser.submit(naming, { username: 'named.remembered' });
    const { sub } = (await service.store.users.findByLogin('named.remembered'))!;
    expect(await sessionsOf(sub)).toEqual([keptSession]);
    expect(browser.maxAge).toBe(month);
    await changeConnection(service, 'honest', { session_lifetime: 3600 });
    const short = new Browser(service);
    await signInBy(short, remember);
    expect((await sessionsOf(sub)).at(-1)).toEqual({ remembered: true, idle: 3600, total: 3600 });
    expect(short.maxAge).toBe(3600);
    await changeConnection(service, 'honest', { session_lifetime: null });
    // neither the answer of a provider nor an address decides it
    const other = new Browser(service);
    const { body } = await signInPage(other, 'honest', '/login?remember=1');
    expect(body).not.toMatch(/name="remember"[^>]* checked/);
    const form = body.slice(body.indexOf('action="/connections/honest"'));
    const left = await other.post('/connections/honest', hiddenFields(form));
    await other.follow(await other.get(`${await answerOf(left)}&remember=1`));
    expect((await sessionsOf(sub)).at(-1)).toEqual(usualSession);
    expect(other.maxAge).toBeUndefined();
  });

  test('a name whose domain leads to a connection (pages, staying signed in)', async () => {
    provider.be({ sub: 'remember-2', preferred_username: 'led.remembered' });
    const browser = new Browser(service);
    await signInPage(browser, 'honest');
    const first = await browser.get('/login');
    const left = await browser.post('/login/user', {
      ...hiddenFields(first.body),
      username: 'led@corp.example',
      ...remember,
    });
    await browser.follow(await browser.get(await answerOf(left)));
    const { sub } = (await service.store.users.findByLogin('led.remembered'))!;
    expect(await sessionsOf(sub)).toEqual([keptSession]);
    expect(browser.maxAge).toBe(month);
  });

  test('the second request of a double click (pages, staying signed in)', async () => {
    const { username, password, sub } = await service.createUser();
    const browser = new Browser(service);
    const page = await browser.submit(await browser.get('/login'), { username, ...remember });
    const form = { ...hiddenFields(page.body), username, password, ...remember };
    await browser.post('/login', form);
    browser.cookies.delete('JSESSIONOPENID');
    await browser.post('/login', form);
    expect(await isSignedIn(browser)).toBe(true);
    expect(browser.maxAge).toBeGreaterThan(month - 60);
    for (const session of await sessionsOf(sub)) expect(session).toEqual(keptSession);
  });
});

describe('a session of a user who stays signed in', () => {
  test('is as old as its sign-in: for max_age, for a level, and for changes of the account (pages, staying signed in, security R9, R91)', async () => {
    const { user, browser } = await kept();
    const client = await service.createClient({}, { firstParty: true });
    await age(user.sub, 20 * 60);
    const ask = async (parameters: Record<string, string>) =>
      responseParameters(
        await browser.get(authorizationUrl(service.issuer, client, { prompt: 'none', ...parameters })),
      );
    expect(await ask({})).toHaveProperty('code');
    expect(await ask({ max_age: '60' })).toMatchObject({ error: 'login_required' });
    const page = await browser.get('/account/email');
    expect(page.location).toBe(`${service.issuer}/login?destination=email`);
  });

  test('stays one when its user signs in again, and begins its 30 days anew (pages, staying signed in)', async () => {
    const { user, browser } = await kept();
    await age(user.sub, day);
    browser.close();
    const page = await browser.get('/login?destination=email');
    // a user who confirms who it is has chosen before
    expect(page.body).not.toContain('name="remember"');
    await browser.signIn(user, page);
    expect(await sessionsOf(user.sub)).toEqual([keptSession]);
    expect(browser.maxAge).toBe(month);
  });

  test('keeps its end when its user adds a second factor (pages, staying signed in)', async () => {
    const { user, browser } = await kept();
    await age(user.sub, 600);
    await setUpAuthenticator(browser);
    const [session] = await sessionsOf(user.sub);
    expect(session).toMatchObject({ remembered: true, idle: session!.total });
    expect(Math.abs(session!.total - (month - 600))).toBeLessThan(60);
    expect(Math.abs(browser.maxAge! - (month - 600))).toBeLessThan(60);
  });

  test('is over for another user who signs in there (pages, staying signed in)', async () => {
    const { user, browser } = await kept();
    const other = await service.createUser();
    await signIn(browser, other, {});
    expect(await sessionsOf(user.sub)).toEqual([]);
    expect(await sessionsOf(other.sub)).toEqual([usualSession]);
    expect(browser.maxAge).toBeUndefined();
  });

  test('ends with a change of the password elsewhere, and by an administrator (pages, staying signed in, security R54)', async () => {
    const { user, browser } = await kept();
    const elsewhere = new UserAgent(service);
    await signIn(elsewhere, user, {});
    const changing = await elsewhere.get('/account/password');
    const password = 'four umbrellas under a lighthouse';
    await elsewhere.submit(changing, { current_password: user.password, new_password: password });
    expect(await isSignedIn(elsewhere)).toBe(true);
    expect(await isSignedIn(browser)).toBe(false);
    await signIn(browser, { ...user, password });
    expect(await isSignedIn(browser)).toBe(true);
    const token = await adminToken(service);
    const { body } = await call(`${service.issuer}/admin/api/sessions?sub=${user.sub}`, { token });
    const sessions = body['sessions'] as { id: string; remembered: boolean }[];
    expect(sessions.map(({ remembered }) => remembered).sort()).toEqual([false, true]);
    const { id } = sessions.find(({ remembered }) => remembered)!;
    await call(`${service.issuer}/admin/api/sessions/${id}`, { token, method: 'DELETE' });
    expect(await isSignedIn(browser)).toBe(false);
  });

  test('says in the account until when its user stays signed in (pages, staying signed in)', async () => {
    const { browser } = await kept();
    expect((await browser.get('/account/sessions')).body).toMatch(/Stays signed in until [^<]+ UTC/);
  });
});

test('REMEMBER_ME=off offers no choice and grants none, and no setting exceeds 30 days (pages, staying signed in)', async () => {
  const strict = await startTestService({ environment: { REMEMBER_ME: 'off' } });
  try {
    const { username, password } = await strict.createUser();
    const browser = new Browser(strict);
    const page = await browser.get('/login');
    expect(page.body).not.toContain('name="remember"');
    await browser.submit(page, { username, password, ...remember });
    expect(await isSignedIn(browser)).toBe(true);
    expect(browser.maxAge).toBeUndefined();
    expect(await strict.database.sql('SELECT DISTINCT remembered FROM sessions')).toEqual([{ remembered: false }]);
  } finally {
    await strict.stop();
  }
  expect(() => loadConfig({ REMEMBERED_SESSION_LIFETIME: String(month + 1) })).toThrow('REMEMBERED_SESSION_LIFETIME');
});
