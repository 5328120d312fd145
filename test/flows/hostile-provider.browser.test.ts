// Walks a user in a real browser to a provider that lies: what the user sees, that the user is not signed in, and which requests went out.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { addConnection } from '../helpers/connections.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { type Lies, type Path, type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl } from '../helpers/user-agent.ts';
import { type Application, openWalk, startApplication, walkersBy } from '../helpers/walk.ts';

let liar: Provider;
let honest: Provider;
let service: TestService;
let application: Application;
let client: TestClient;
let browser: Browser | undefined;
beforeAll(async () => {
  if (process.env.CHROMIUM === undefined) return;
  application = await startApplication();
  [liar, honest] = await Promise.all([startProvider({ sub: 'liar' }), startProvider()]);
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: `${liar.host},${honest.host}`,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  await addConnection(service, liar, 'liar', { display_name: 'Liar', provisioning: 'on' });
  await addConnection(service, honest, 'honest', { display_name: 'Honest', provisioning: 'on' });
  client = await service.createClient(
    { client_name: 'Harbour', redirect_uris: [application.redirectUri] },
    { firstParty: true },
  );
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await liar?.stop();
  await honest?.stop();
  await application?.stop();
});
beforeEach(() => liar?.lie({}));

const write = (body: string) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(body);
/** Sends the browser to an address made of the request. */
const leadTo = (addressOf: (query: Record<string, string>) => string) => (response: ServerResponse) => {
  const location = addressOf(liar.last('authorize')!.query);
  response.writeHead(302, { location }).end();
};
const hostileText = { error: 'access_denied', error_description: '<a href="https://evil.example">Call us</a>' };
/** Each lie, the sentence that the user sees, the status, and the requests of the service after the browser's own. */
const cases: [string, () => Lies, string, number, Path[]][] = [
  ['another state', () => ({ answer: { state: 'another' } }), 'expired', 400, []],
  ['no state', () => ({ answer: { state: undefined } }), 'expired', 400, []],
  ['another issuer', () => ({ answer: { iss: 'https://evil.example' } }), 'answer', 400, []],
  ['no issuer', () => ({ answer: { iss: undefined } }), 'answer', 400, []],
  ['an error', () => ({ answer: { ...hostileText, code: undefined } }), 'cancelled', 400, []],
  [
    'an answer at the address of another connection',
    () => ({
      write: {
        authorize: leadTo(({ state }) => {
          const answer = new URLSearchParams({ code: 'stolen', state: state!, iss: honest.issuer });
          return `${service.issuer}/connections/honest/callback?${answer.toString()}`;
        }),
      },
    }),
    'expired',
    400,
    [],
  ],
  ['a code of another sign-in', () => ({ answer: { code: 'code-of-another' } }), 'answer', 400, ['token']],
  [
    '10 MiB',
    () => ({ write: { token: write(`{"id_token":"${'x'.repeat(10_485_760)}"}`) } }),
    'unreachable',
    503,
    ['token'],
  ],
  ['half of an object', () => ({ write: { token: write('{"access_token":') } }), 'answer', 400, ['token']],
  ['a token of another client', () => ({ idToken: { aud: 'another' } }), 'answer', 400, ['token']],
];

describe.each(walkersBy('telephone'))('in $locale at $width pixels, $script', (walker) => {
  const { locale, width } = walker;
  const messages = (area: string) =>
    JSON.parse(
      readFileSync(join(import.meta.dirname, `../../templates/messages/${locale}/${area}.json`), 'utf8'),
    ) as Record<string, string>;
  const facts = async () =>
    (
      await service.database.sql(
        `SELECT (SELECT count(*) FROM sessions)::int AS sessions, (SELECT count(*) FROM users)::int AS users`,
      )
    )[0];

  browserTest(
    'a user whose provider lies reads what happened, is not signed in, and signs in another way, by keyboard alone (federation 4, FR3, FR4, FR13, F5, F15)',
    async () => {
      const sentences = messages('connections');
      const { page, context, checked, goTo, enter, complaints } = await openWalk(browser!, 'hostile', walker);
      const callback = (id: string) => `${service.issuer}/connections/${id}/callback`;
      const before = await facts();
      for (const [name, lies, sentence, status, requests] of cases) {
        liar.lie(lies());
        await page.goto(authorizationUrl(service.issuer, client, { state: 'of the client' }));
        const asked = [liar.seen.length, honest.seen.length];
        await goTo('#connection-liar');
        const [answer] = await Promise.all([
          page.waitForResponse((response) => response.url().includes('/callback?')),
          page.keyboard.press('Enter'),
        ]);
        await page.locator('main #sign-in').waitFor();
        const text = await page.locator('main').evaluate((main) => main.textContent!);
        expect([name, answer.status()]).toEqual([name, status]);
        expect(text).toContain(sentences[`connections.problem.${sentence}`]!.replace('{name}', 'Liar'));
        expect(text).not.toContain('Call us');
        // the keys are kept for a while
        const seen = liar.seen.slice(asked[0]).flatMap(({ path }) => (path === 'jwks' ? [] : path));
        expect([name, ...seen]).toEqual([name, 'authorize', ...requests]);
        expect(honest.seen.length).toBe(asked[1]);
        await checked(name.replaceAll(' ', '-'));
      }
      expect(await facts()).toEqual(before);

      // the request of the client still waits
      await goTo('#sign-in');
      await page.keyboard.press('Enter');
      await page.locator('#connection-honest').waitFor();
      honest.be({ sub: `honest-${locale}-${width}`, preferred_username: `honest-${locale}-${width}` });
      const answers: string[] = [];
      page.on(
        'request',
        (request) => void (request.url().startsWith(callback('honest')) && answers.push(request.url())),
      );
      await goTo('#connection-honest');
      await enter(`${application.redirectUri}**`);
      expect(application.returned.at(-1)!.searchParams.get('state')).toBe('of the client');

      // the same answer again, in this browser and in another one
      const asked = honest.seen.length;
      const other = await openWalk(browser!, 'hostile-again', walker);
      for (const [one, signedIn] of [
        [page, 200],
        [other.page, 303],
      ] as const) {
        const again = await one.goto(answers[0]!);
        expect(again!.status()).toBe(400);
        expect(await one.locator('main').textContent()).toContain(sentences['connections.problem.expired']);
        const account = await one.context().request.get(`${service.issuer}/account`, { maxRedirects: 0 });
        expect(account.status()).toBe(signedIn);
      }
      await other.checked('again');
      expect(honest.seen.length).toBe(asked);
      expect(complaints.filter((line) => !/400|503/.test(line))).toEqual([]);
      await other.context.close();
      await context.close();
    },
  );
});
