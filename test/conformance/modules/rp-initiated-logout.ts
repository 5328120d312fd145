// Sends the browser from the relying party to sign out (OpenID Connect RP-Initiated Logout 1.0).
import { randomInt } from 'node:crypto';
import { SignJWT } from 'jose';
import { expect } from 'vitest';
import type { Page, Navigation } from '../bed/browser.ts';
import { forms } from '../bed/html.ts';
import { mediaType } from '../bed/network.ts';
import type { Client } from '../client.ts';
import type { RelyingParty } from '../relying-party.ts';
import { type Grant, signIn } from '../responses.ts';
import type { Module, Modules } from './definition.ts';
import { expectSignedOut } from './sessions.ts';

export interface SignedIn {
  client: Client;
  grant: Grant;
  /** An ID Token of the grant. */
  hint: string;
  /** The registered post_logout_redirect_uri. */
  back: string;
}

export async function signedIn(rp: RelyingParty, extra: Record<string, unknown> = {}): Promise<SignedIn> {
  const back = `${rp.address}/post_logout_redirect`;
  const client = await rp.register({ post_logout_redirect_uris: [back], ...extra });
  const grant = await signIn(rp, client);
  return { client, grant, hint: grant.idTokens[0]!.raw, back };
}

/** 50 letters, 10 digits, and 30 punctuation marks of ASCII, in any order: the state must come back unchanged. */
export function logoutState(): string {
  const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
  const marks = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~';
  const some = (alphabet: string, count: number) =>
    Array.from({ length: count }, () => alphabet[randomInt(alphabet.length)]!);
  const all = [...some(letters, 50), ...some('0123456789', 10), ...some(marks, 30)];
  for (let i = all.length - 1; i > 0; i--) {
    const j = randomInt(i + 1);
    [all[i], all[j]] = [all[j]!, all[i]!];
  }
  return all.join('');
}

export interface Logout {
  pages: Page[];
  navigation: Navigation;
}

/** Sends the browser to the end-session endpoint, and confirms where the service asks. */
export async function logOut(rp: RelyingParty, parameters: Record<string, string>): Promise<Logout> {
  const query = new URLSearchParams(parameters).toString();
  let navigation = await rp.browser.open(`${rp.discovery.end_session_endpoint}${query && '?'}${query}`);
  const pages: Page[] = [];
  if (navigation.page) {
    pages.push(navigation.page);
    const buttons = forms(navigation.page.body).flatMap((shown) => Object.keys(shown.buttons));
    if (buttons.includes('sign-out')) navigation = await rp.browser.press(navigation.page, 'sign-out');
  }
  return { pages, navigation };
}

/** The browser is back at the registered address, with this state and nothing else. */
export function expectBack({ navigation }: Logout, back: string, state: string | undefined): void {
  const { arrival } = navigation;
  expect(arrival, navigation.page?.body.slice(0, 2000)).toBeDefined();
  expect(arrival!.url.origin + arrival!.url.pathname).toBe(back);
  expect([...arrival!.url.searchParams]).toEqual(state === undefined ? [] : [['state', state]]);
}

/** A page of the service, and no redirect. */
function expectPage({ navigation }: Logout): Page {
  expect(navigation.arrival?.url.href, 'where the browser was sent').toBeUndefined();
  expect(mediaType(navigation.page!)).toBe('text/html');
  return navigation.page!;
}

/** A request that must not lead to an address of the client: an error or a question, and a page after the answer. */
function neverRedirects(parameters: (rp: RelyingParty, of: SignedIn) => Promise<Record<string, string>>): Module {
  return {
    clause: 'RP-Initiated Logout 2, 3',
    async run(rp) {
      expectPage(await logOut(rp, await parameters(rp, await signedIn(rp))));
    },
  };
}

/** A request without an address to return to: it ends the session and says so. */
function endsOnAPage(parameters: (of: SignedIn) => Record<string, string>): Module {
  return {
    clause: 'RP-Initiated Logout 2',
    async run(rp) {
      const before = await signedIn(rp);
      const page = expectPage(await logOut(rp, parameters(before)));
      expect(page.status).toBe(200);
      // the language menu of a page that answers a form is a form, too
      expect(forms(page.body).filter(({ action }) => !action.endsWith('/language'))).toEqual([]);
      expect(page.body).toMatch(/<h1>[^<]*signed out/i);
      await expectSignedOut(rp, before.client);
    },
  };
}

/** The hint as an attacker could write it: no algorithm, no signature. */
function unsigned(hint: string): string {
  const header = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
  return `${header}.${hint.split('.')[1]}.`;
}

/** The hint as the client could write it: issued by itself, for the provider. */
function selfIssued({ client, grant }: SignedIn): Promise<string> {
  const { iss, aud, ...claims } = grant.idTokens[0]!.claims;
  return new SignJWT({ ...claims, iss: aud as string, aud: iss! })
    .setProtectedHeader({ alg: 'RS256' })
    .sign(client.key.privateKey);
}

export const rpInitiatedLogoutModules: Modules = {
  'oidcc-rp-initiated-logout': {
    clause: 'RP-Initiated Logout 2, 3',
    async run(rp) {
      const { client, hint, back } = await signedIn(rp);
      const state = logoutState();
      expectBack(await logOut(rp, { id_token_hint: hint, post_logout_redirect_uri: back, state }), back, state);
      await expectSignedOut(rp, client);
    },
  },
  'oidcc-rp-initiated-logout-no-state': {
    clause: 'RP-Initiated Logout 3',
    async run(rp) {
      const { client, hint, back } = await signedIn(rp);
      expectBack(await logOut(rp, { id_token_hint: hint, post_logout_redirect_uri: back }), back, undefined);
      await expectSignedOut(rp, client);
    },
  },
  'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri': neverRedirects(async (rp, { hint }) => ({
    id_token_hint: hint,
    post_logout_redirect_uri: `${rp.address}/post_logout_redirect_${crypto.randomUUID()}`,
    state: logoutState(),
  })),
  'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri': neverRedirects(async (_rp, { hint, back }) => ({
    id_token_hint: hint,
    post_logout_redirect_uri: `${back}?foo=bar`,
    state: logoutState(),
  })),
  'oidcc-rp-initiated-logout-modified-id-token-hint': neverRedirects(async (_rp, { hint, back }) => ({
    id_token_hint: unsigned(hint),
    post_logout_redirect_uri: back,
    state: logoutState(),
  })),
  'oidcc-rp-initiated-logout-bad-id-token-hint': neverRedirects(async (_rp, before) => ({
    id_token_hint: await selfIssued(before),
    post_logout_redirect_uri: before.back,
    state: logoutState(),
  })),
  'oidcc-rp-initiated-logout-no-id-token-hint': neverRedirects(async (_rp, { back }) => ({
    post_logout_redirect_uri: back,
    state: logoutState(),
  })),
  'oidcc-rp-initiated-logout-no-params': endsOnAPage(() => ({})),
  'oidcc-rp-initiated-logout-only-state': endsOnAPage(() => ({ state: logoutState() })),
  'oidcc-rp-initiated-logout-no-post-logout-redirect-uri': endsOnAPage(({ hint }) => ({
    id_token_hint: hint,
    state: logoutState(),
  })),
};
