// Walks through one relying party in a browser: sign-in, new tokens where the party has them, and sign-out of both.
import assert from 'node:assert/strict';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { browserArguments } from '../helpers/browser-arguments.ts';
import { type Party, type PartyProcess, startParty } from './party.ts';
import type { Provider } from './provider.ts';

/** How far a walk came. */
export interface Progress {
  signedIn: boolean;
  refreshed: boolean;
  signedOut: boolean;
  /** By a sign-out that began at the service. */
  signedOutElsewhere: boolean;
}

/** What is set up wrongly, so that the walk must fail. */
export type Fault = 'secret' | 'redirect_uri' | 'logout_uri';

export interface WalkOptions {
  party: Party;
  provider: Provider;
  browser: Browser;
  fault?: Fault | undefined;
}

const pageTimeout = 20_000; // milliseconds for a page

export function launchBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: browserArguments });
}

/**
 * Registers the party, starts it, and walks through it.
 * @param progress is updated at each step, and shows how far a failed walk came
 * @throws the expectation that failed, with the output of the party's program
 */
export async function walkThrough(
  { party, provider, browser, fault }: WalkOptions,
  progress: Progress = { signedIn: false, refreshed: false, signedOut: false, signedOutElsewhere: false },
): Promise<void> {
  const { port, url } = provider.party;
  const { responseType = 'code' } = party;
  const registered = await provider.register({
    client_name: party.name,
    redirect_uris: [url + (fault === 'redirect_uri' ? '/elsewhere' : party.callback)],
    post_logout_redirect_uris: [`${url}/signed-out`],
    response_types: [responseType],
    grant_types: [
      ...(/code/.test(responseType) ? ['authorization_code'] : []),
      ...(/token/.test(responseType) ? ['implicit'] : []),
      ...(party.refreshes ? ['refresh_token'] : []),
    ],
    ...(fault !== 'logout_uri' && {
      ...(party.backchannelLogout && { backchannel_logout_uri: url + party.backchannelLogout }),
      ...(party.frontchannelLogout && {
        frontchannel_logout_uri: url + party.frontchannelLogout,
        frontchannel_logout_session_required: true,
      }),
    }),
    require_pkce: !party.withoutPkce,
    ...(party.signsRequests && { request_object_signing_alg: 'HS256', require_signed_request_object: true }),
    ...(party.secretInForm && { token_endpoint_auth_method: 'client_secret_post' }),
  });
  const clientSecret = fault === 'secret' ? 'not-the-secret' : registered.clientSecret;
  let application: PartyProcess | undefined;
  let context: BrowserContext | undefined;
  const complaints: string[] = [];
  try {
    const settings = { ISSUER: provider.issuer, CLIENT_ID: registered.clientId, CLIENT_SECRET: clientSecret };
    application = await startParty(party, port, settings);
    context = await browser.newContext({ locale: 'en-GB' });
    context.setDefaultTimeout(pageTimeout);
    const page = await context.newPage();
    page.on('console', (message) => {
      // mod_auth_openidc has done its work when it forbids that a frame shows its answer
      if (party.frontchannelLogout && /^Refused to display '.*' in a frame/.test(message.text())) return;
      // the icon that every browser requests from every site
      if (message.location().url === `${url}/favicon.ico`) return;
      if (['error', 'warning'].includes(message.type()))
        complaints.push(`${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await walk(page, url, party, provider, progress);
    assert.deepEqual([...complaints, ...provider.warnings()], []);
  } catch (error) {
    const printed = application?.output().split('\n').slice(-20) ?? [];
    const heard = [...complaints, ...provider.warnings(), ...printed];
    throw new Error(`${party.name}: ${error instanceof Error ? error.message : String(error)}\n${heard.join('\n')}`, {
      cause: error,
    });
  } finally {
    await context?.close();
    await application?.stop();
  }
}

async function walk(page: Page, url: string, party: Party, provider: Provider, progress: Progress): Promise<void> {
  await signIn(page, url, party, provider);
  await page.getByRole('heading', { name: `Allow ${party.name} to use your account?` }).waitFor();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await arrive(page, url, provider);
  progress.signedIn = true;

  if (party.refreshes) {
    const token = page.locator('#access-token');
    const before = await token.innerText();
    assert.match(before, /^ghat_/);
    // some parties refresh only when the old tokens have some age
    for (const begin = Date.now(); (await token.innerText()) === before;) {
      assert(Date.now() - begin < pageTimeout, 'there are no new tokens');
      await Promise.all([page.waitForEvent('load'), press(page, 'Refresh')]);
    }
    await arrive(page, url, provider);
    progress.refreshed = true;
  }

  await press(page, 'Sign out');
  await page.getByRole('heading', { name: 'Sign out?' }).waitFor();
  assert.equal(new URL(page.url()).origin, provider.issuer);
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.waitForURL((address) => address.origin + address.pathname === `${url}/signed-out`);
  await page.getByRole('heading', { name: 'You’re signed out' }).waitFor();
  // neither the party nor the service has a session: the service asks for the password, but not for consent
  await signIn(page, url, party, provider);
  await arrive(page, url, provider);
  progress.signedOut = true;

  if (!isNotifiedOfSignOuts(party)) return;
  await page.reload();
  await arrive(page, url, provider);
  const elsewhere = await page.context().newPage();
  await elsewhere.goto(`${provider.issuer}/logout`);
  await elsewhere.getByRole('button', { name: 'Sign out', exact: true }).click();
  await elsewhere.getByRole('heading', { name: 'You’re signed out' }).waitFor();
  // the notification arrives after the answer
  for (const begin = Date.now(); new URL(page.url()).origin === url; await page.goto(url)) {
    assert(Date.now() - begin < pageTimeout, 'the party did not hear of the sign-out');
  }
  await page.getByText(`to continue to ${party.name}`).waitFor();
  progress.signedOutElsewhere = true;
}

export const isNotifiedOfSignOuts = (party: Party): boolean =>
  party.backchannelLogout !== undefined || party.frontchannelLogout !== undefined;

/** From the party's page to the service's sign-in page, and through it. */
async function signIn(page: Page, url: string, party: Party, provider: Provider): Promise<void> {
  const answer = await page.goto(url);
  // a party that pushes its request needs its secret before the sign-in page
  if (answer && answer.status() >= 400) throw new Error(`no user is signed in at ${page.url()}: ${answer.status()}`);
  await page.getByText(`to continue to ${party.name}`).waitFor();
  assert.equal(new URL(page.url()).origin, provider.issuer);
  await page.getByLabel('User name or email').fill(provider.person.username);
  await page.getByLabel('Password', { exact: true }).fill(provider.person.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Waits for the party's page, which shows the claims of the user. */
async function arrive(page: Page, url: string, { person }: Provider): Promise<void> {
  // a party's own script takes the answer out of the fragment
  await page.waitForURL((address) => address.origin === url && address.hash === '');
  if ((await page.getByRole('heading', { name: `Signed in as ${person.name}`, exact: true }).count()) === 0)
    throw new Error(`no user is signed in at ${page.url()}: ${await page.locator('body').innerText()}`);
  assert.equal(await page.locator('#email').innerText(), person.email);
  assert.match(await page.locator('#sub').innerText(), /^\S+$/);
}

async function press(page: Page, name: string): Promise<void> {
  await page
    .getByRole('button', { name, exact: true })
    .or(page.getByRole('link', { name, exact: true }))
    .click();
}
