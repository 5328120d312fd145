// Renews tokens silently in a real browser: an application loads prompt=none into a hidden frame, as oidc-client-ts does, and reads the
// answer there.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl } from '../helpers/user-agent.ts';

// the answer's page posts to its parent page, which has put the address into a frame
const application = `<!doctype html><title>Harbour</title><link rel="icon" href="data:,"><script>
  if (window.parent !== window) window.parent.postMessage(location.href, location.origin);
  window.renew = (address) => new Promise((resolve) => {
    addEventListener('message', (event) => event.origin === location.origin && resolve(event.data), { once: true });
    const frame = document.createElement('iframe');
    frame.style.display = 'none';
    frame.src = address;
    document.body.append(frame);
  });
</script><body>`;

describe('a hidden frame with prompt=none', () => {
  let service: TestService;
  let server: Server;
  let browser: Browser;
  let sameSite: TestClient;
  let otherSite: TestClient;

  beforeAll(async () => {
    service = await startTestService({ host: '127.0.0.1' });
    server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      response.end(application);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const make = (host: string) =>
      service.createClient({ redirect_uris: [`http://${host}:${port}/callback`] }, { firstParty: true });
    sameSite = await make('127.0.0.1');
    // another site on the same machine
    otherSite = await make('localhost');
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await new Promise((resolve) => {
      server?.close(resolve);
      server?.closeAllConnections();
    });
    await service?.stop();
  });

  async function signIn(client: TestClient): Promise<Page> {
    const user = await service.createUser();
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(authorizationUrl(service.issuer, client));
    await page.fill('#username', user.username);
    await page.fill('#password', user.password);
    await page.click('button[type=submit]');
    await page.waitForURL(`${client.redirectUri}**`);
    return page;
  }
  const renew = async (page: Page, address: string): Promise<Record<string, string>> => {
    const answer = await page.evaluate<string>(`renew(${JSON.stringify(address)})`);
    return Object.fromEntries(new URL(answer).searchParams);
  };

  browserTest('a frame of the same site renews a sign-in (OpenID Connect Core 3.1.2.1, security R8)', async () => {
    const page = await signIn(sameSite);
    const address = (more: Record<string, string>) =>
      authorizationUrl(service.issuer, sameSite, { prompt: 'none', state: 's', ...more });
    expect(await renew(page, address({}))).toMatchObject({
      code: expect.any(String),
      state: 's',
      iss: service.issuer,
    });
    expect(await renew(page, address({ max_age: '0' }))).toMatchObject({ error: 'login_required', state: 's' });
  });

  browserTest('a hidden frame of another site gets login_required, and not a time-out (security R8)', async () => {
    const page = await signIn(otherSite);
    const address = authorizationUrl(service.issuer, otherSite, { prompt: 'none', state: 's' });
    expect(await renew(page, address)).toMatchObject({ error: 'login_required', state: 's' });
  });

  browserTest('a hidden frame shows no page, whatever the request asks for (security R8, R57)', async () => {
    const page = await signIn(sameSite);
    for (const address of [
      authorizationUrl(service.issuer, sameSite, { prompt: 'login' }),
      authorizationUrl(service.issuer, { ...sameSite, clientId: 'nope' }, { prompt: 'none' }),
    ]) {
      const answered = page.waitForResponse(address);
      await page.evaluate(`void renew(${JSON.stringify(address)})`);
      const answer = await answered;
      expect([400, 403]).toContain(answer.status());
      expect(answer.headers()['x-frame-options']).toBe('DENY');
    }
    const rows = await service.database.sql('SELECT 1 FROM authorization_requests');
    expect(rows).toEqual([]);
  });
});
