// Walks users in a real browser to a client whose callback sends the browser on, to an app or to another port of this computer.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, vi } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl } from '../helpers/user-agent.ts';

const appUri = 'com.example.app:/done';
let service: TestService;
let site: Site;
let client: TestClient;
let browser: Browser | undefined;

/** The client's own site: each of its pages sends the browser on with 307. */
interface Site {
  origin: string;
  /** Where it sends the browser. */
  onward: string;
  /** The page on this computer. */
  loopback: string;
  /** The parameters that arrived, in the query or posted. */
  arrived: URLSearchParams[];
  stop(): void;
}

async function startSite(): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-callback-'));
  makeCertificates(folder);
  const [key, cert] = [readFileSync(`${folder}/server.key`), readFileSync(`${folder}/server.pem`)];
  rmSync(folder, { recursive: true });
  const listen = async (server: Server): Promise<string> => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const own: RequestListener = (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { pathname, search } = new URL(request.url!, 'https://site');
      if (pathname === '/favicon.ico') return response.writeHead(404).end();
      its.arrived.push(new URLSearchParams(body || search));
      return response.writeHead(307, { location: its.onward }).end();
    });
  };
  const local = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Done</title><h1>Done</h1>');
  });
  const secure = createSecureServer({ key, cert }, own);
  const its: Site = {
    origin: `https://${await listen(secure as unknown as Server)}`,
    onward: '',
    loopback: `http://${await listen(local)}/`,
    arrived: [],
    stop() {
      for (const server of [secure, local]) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
  return its;
}

beforeAll(async () => {
  site = await startSite();
  service = await startTestService();
  client = await service.createClient({
    client_name: 'Harbour',
    redirect_uris: [`${site.origin}/callback`],
    post_logout_redirect_uris: [`${site.origin}/bye`],
  });
  if (process.env.CHROMIUM !== undefined) browser = await launchBrowser();
});
beforeEach(() => void (site.arrived = []));
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  site?.stop();
});

/** A new browser. @returns a tab, and `arrive`, which waits for the end of a chain */
async function open(javaScriptEnabled: boolean) {
  const context = await browser!.newContext({ javaScriptEnabled, ignoreHTTPSErrors: true });
  context.setDefaultTimeout(20_000);
  const complaints: string[] = [];
  const visited: string[] = [];
  context.on('console', (message) => {
    if (/Content.Security.Policy/i.test(message.text())) complaints.push(message.text());
  });
  context.on('request', (request) => visited.push(request.url()));
  return {
    page: await context.newPage(),
    context,
    async arrive(): Promise<URLSearchParams> {
      const settled = () => {
        expect(complaints).toEqual([]);
        expect(visited).toContain(site.onward);
      };
      await vi.waitFor(settled, { timeout: 20_000, interval: 50 });
      visited.length = 0;
      return site.arrived.at(-1)!;
    },
  };
}

async function signIn(page: Page, user: { username: string; password: string }): Promise<void> {
  await page.getByLabel('User name or email').fill(user.username);
  await page.getByLabel('Password', { exact: true }).fill(user.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

for (const javaScriptEnabled of [true, false])
  for (const onward of ['an app', 'another port'])
    browserTest(
      `a callback that sends the browser to ${onward} gets the answer, and the logout too, ${javaScriptEnabled ? 'with' : 'without'} script (reports A1, security R96)`,
      async () => {
        site.onward = onward === 'an app' ? appUri : site.loopback;
        const user = await service.createUser();
        const first = await open(javaScriptEnabled);
        await first.page.goto(authorizationUrl(service.issuer, client, { state: 'one' }));
        await signIn(first.page, user);
        await first.page.getByRole('button', { name: 'Don’t allow' }).click();
        const denied = await first.arrive();
        expect([denied.get('error'), denied.get('state')]).toEqual(['access_denied', 'one']);
        await first.context.close();

        const second = await open(javaScriptEnabled);
        await second.page.goto(authorizationUrl(service.issuer, client, { state: 'two' }));
        await signIn(second.page, user);
        await second.page.getByRole('button', { name: 'Allow', exact: true }).click();
        const allowed = await second.arrive();
        expect([allowed.has('code'), allowed.get('state')]).toEqual([true, 'two']);
        await second.context.close();

        // consent is remembered, so that the form of the sign-in leads to the client
        const third = await open(javaScriptEnabled);
        await third.page.goto(authorizationUrl(service.issuer, client, { state: 'three' }));
        await signIn(third.page, user);
        expect((await third.arrive()).get('state')).toBe('three');
        const query = { client_id: client.clientId, post_logout_redirect_uri: `${site.origin}/bye`, state: 'four' };
        const tab = await third.context.newPage();
        await tab.goto(`${service.issuer}/logout?${new URLSearchParams(query).toString()}`);
        await tab.getByRole('button', { name: 'Sign out', exact: true }).click();
        expect((await third.arrive()).get('state')).toBe('four');
        await third.context.close();

        const fourth = await open(javaScriptEnabled);
        const posted = { state: 'five', response_mode: 'form_post' };
        await fourth.page.goto(authorizationUrl(service.issuer, client, posted));
        await signIn(fourth.page, user);
        if (!javaScriptEnabled) await fourth.page.getByRole('button', { name: 'Continue' }).click();
        expect((await fourth.arrive()).get('state')).toBe('five');
        await fourth.context.close();
      },
    );
