// With ALLOW_HTTP the issuer is http on a host that is no loopback: warnings, cookies without Secure, and no passkeys.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConfigError, loadConfig } from '../../src/config.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

const name = 'http://nas';
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: { BASE_URL: name, ALLOW_HTTP: 'true' } });
});
afterAll(() => service?.stop());

/** A browser that resolves the name of the issuer to this service. */
class Browser extends UserAgent {
  constructor() {
    super({ issuer: name });
  }
  override async fetch(...[address, init]: Parameters<UserAgent['fetch']>): Promise<Page> {
    const page = await super.fetch(
      (address.startsWith('/') ? name + address : address).replace(name, service.issuer),
      init,
    );
    return {
      ...page,
      url: page.url.replace(service.issuer, name),
      location: page.location?.replace(service.issuer, name),
    };
  }
}

test('BASE_URL is http on another host than a loopback only with ALLOW_HTTP (delivery 3)', () => {
  const read = (more: Record<string, string>) => loadConfig({ BASE_URL: name, ...more });
  const refused: Record<string, string>[] = [{}, { ALLOW_HTTP: 'false' }, { BASE_URL: 'http://192.168.1.2:3000' }];
  for (const given of refused)
    expect(() => read(given)).toThrow(
      new ConfigError(
        'The setting BASE_URL must be an https URL (http only on a loopback host) in normalized form, without a query, a fragment or a trailing slash; ALLOW_HTTP=true admits http for a trial without a certificate.',
      ),
    );
  expect(() => read({ ALLOW_HTTP: 'true', BASE_URL: 'ftp://nas' })).toThrow(ConfigError);
  expect(read({ ALLOW_HTTP: 'true' })).toMatchObject({ issuer: name, secureCookies: false, unencrypted: true });
});

test('one line warns at the start while browsers come without encryption, and no other start has it (delivery 3)', () => {
  const warnings = (more: Record<string, string>) =>
    loadConfig(more).notices.filter((line) => line.startsWith('ALLOW_HTTP'));
  expect(warnings({ BASE_URL: name, ALLOW_HTTP: 'true' })).toHaveLength(1);
  expect(warnings({ BASE_URL: 'https://nas.example', ALLOW_HTTP: 'true' })).toEqual([]);
  expect(warnings({})).toEqual([]);
});

test('cookies are not Secure, no page has passkeys, and one says why (delivery 3)', async () => {
  const agent = new Browser();
  const login = await agent.get('/login');
  expect(login.body).not.toContain('passkey');
  const page = await agent.signIn(await service.createUser(), login);
  expect(page.status).toBe(200);
  expect((await agent.get('/account/passkeys')).body).toContain(
    'Passkeys are off because this service runs without encryption.',
  );
  const cookies = [...login.headers.getSetCookie(), ...(await agent.get('/login?prompt=login')).headers.getSetCookie()];
  expect(cookies.length).toBeGreaterThan(0);
  expect(cookies.filter((cookie) => /; *secure/i.test(cookie))).toEqual([]);
});

test('the overview of the console warns (delivery 3)', async () => {
  const agent = new Browser();
  const page = await agent.signIn(
    await service.createUser({ admin: true }),
    await agent.follow(await agent.get('/admin')),
  );
  expect(page.body).toContain('ALLOW_HTTP is on: passwords, cookies and tokens pass the network without encryption');
});
