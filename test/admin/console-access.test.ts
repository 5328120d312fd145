// The console admits administrators through its own client, for as long as their session and admin flag last.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAdministration } from '../../src/domain/administration/administration.ts';
import { openConsole } from '../helpers/console.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let admin: Awaited<ReturnType<TestService['createUser']>>;
beforeAll(async () => {
  service = await startTestService({ instances: 2, basePath: '/idp' });
  admin = await service.createUser({ admin: true });
});
afterAll(() => service?.stop());

const isLogin = /<form method="post" action="\/idp\/login"/;

test("an administrator enters the console by a code flow with PKCE through the console's own client, with one sign-in (RFC 7636 4.1)", async () => {
  const agent = new UserAgent(service);
  const sent = await agent.get('/admin');
  const request = new URL(sent.location!, service.issuer);
  expect(request.pathname).toBe('/idp/authorize');
  expect(Object.fromEntries(request.searchParams)).toMatchObject({
    response_type: 'code',
    client_id: 'gatehouse-console',
    redirect_uri: `${service.issuer}/admin/callback`,
    scope: 'openid admin',
    code_challenge_method: 'S256',
  });
  const page = await agent.signIn(admin, await agent.follow(sent));
  expect(page).toMatchObject({ status: 200, url: `${service.issuer}/admin` });
  expect(page.body).toContain('<title>Overview - Console - Gatehouse</title>');
  expect((await agent.get(`${service.instances[1]!}/admin`)).status).toBe(200);
});

test('a user who is not an administrator, or no longer one, cannot enter the console (security R89)', async () => {
  const user = await service.createUser();
  const { agent, page } = await openConsole(service, user);
  expect(page.status).toBe(403);
  expect(page.body).not.toContain('Overview');
  expect((await agent.get('/admin')).status).toBe(403);

  const second = await service.createUser({ admin: true });
  const { agent: secondAgent } = await openConsole(service, second);
  expect((await secondAgent.get('/admin')).status).toBe(200);
  await service.database.sql('UPDATE users SET admin = false WHERE sub = $1', [second.sub]);
  const after = await secondAgent.follow(await secondAgent.get('/admin'));
  expect(after.body).toMatch(isLogin);
});

test("a session without the console's access token obtains one, and the console refuses a token of another session (security R52)", async () => {
  const { agent } = await openConsole(service, admin);
  const token = agent.cookies.get('GATEHOUSE_CONSOLE')!;
  const other = new UserAgent(service);
  await other.signIn(admin);
  other.cookies.set('GATEHOUSE_CONSOLE', token);
  expect((await other.get('/admin')).location).toContain('/authorize?');
  other.cookies.delete('GATEHOUSE_CONSOLE');
  // the user is signed in: the redirects show no page
  expect(await other.follow(await other.get('/admin'))).toMatchObject({ status: 200, url: `${service.issuer}/admin` });
});

test('an access token of another client does not open the console, even with the scope admin (security R89)', async () => {
  const client = await service.createClient({ scope: 'openid admin' });
  const { agent } = await openConsole(service, admin);
  const page = await agent.authorize(client, undefined, { scope: 'openid admin' });
  const code = new URL(page.location!).searchParams.get('code')!;
  const { body } = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: client.redirectUri,
  });
  agent.cookies.set('GATEHOUSE_CONSOLE', String(body['access_token']));
  expect((await agent.get('/admin')).location).toContain('/authorize?');
});

test('the console ends with the session (security R54)', async () => {
  const { agent } = await openConsole(service, admin);
  await service.database.sql('DELETE FROM sessions WHERE sub = $1', [admin.sub]);
  const page = await agent.follow(await agent.get('/admin'));
  expect(page.body).toMatch(isLogin);
});

test('the console refuses an authorization response that this browser did not request, or has used before (RFC 6749 10.12, RFC 9207 2.4)', async () => {
  const victim = new UserAgent(service);
  await victim.signIn(admin);
  const { agent } = await openConsole(service, admin);
  agent.cookies.delete('GATEHOUSE_CONSOLE');
  const authorized = await agent.get((await agent.get('/admin')).location!);
  const answer = new URL(authorized.location!);
  expect(answer.searchParams.get('code')).toBeTruthy();
  // the victim's browser receives the attacker's response
  expect((await victim.get(answer.href)).status).toBe(400);
  await victim.get('/admin');
  expect((await victim.get(answer.href)).status).toBe(400);
  expect(victim.cookies.has('GATEHOUSE_CONSOLE')).toBe(false);
  const request = agent.cookies.get('GATEHOUSE_CONSOLE_REQUEST')!;
  const elsewhere = new URL(answer);
  elsewhere.searchParams.set('iss', 'https://other.example');
  expect((await agent.get(elsewhere.href)).status).toBe(400);
  agent.cookies.set('GATEHOUSE_CONSOLE_REQUEST', request);
  expect((await agent.get(answer.href)).status).toBe(303);
  agent.cookies.set('GATEHOUSE_CONSOLE_REQUEST', request);
  expect((await agent.get(answer.href)).status).toBe(400);
});

test("disabling the console's client closes the console (decisions section 2)", async () => {
  const { agent } = await openConsole(service, admin);
  await service.database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = 'gatehouse-console'`);
  await expect.poll(async () => (await agent.get('/admin')).status).toBe(303);
  const page = await agent.follow(await agent.get('/admin'));
  expect(page.status).toBe(400);
  await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = 'gatehouse-console'`);
  await expect.poll(async () => (await agent.follow(await agent.get('/admin'))).status).toBe(200);
});

test('the console returns from sign-in only to its own pages, whatever the query holds (security R13)', async () => {
  const agent = new UserAgent(service);
  for (const address of ['/admin?next=//evil.example', '/admin?a=%0d%0aLocation:%20https://evil.example']) {
    const page = await agent.signIn(admin, await agent.follow(await agent.get(address)));
    expect(page).toMatchObject({ status: 200, url: service.issuer + address });
    agent.cookies.clear();
  }
});

test("an administrator cannot change the registration of the console's client, and the console undoes a change by SQL (security R45)", async () => {
  const administration = createAdministration(service.store);
  const by = { actor: admin.sub };
  const before = (await service.store.clients.find('gatehouse-console'))!;
  const metadata = { ...before.metadata, redirect_uris: [...before.metadata.redirect_uris, 'https://evil.example/cb'] };
  const refused = expect.objectContaining({ code: 'conflict' }) as unknown;
  await expect(administration.changeClient(by, 'gatehouse-console', () => ({ metadata }))).rejects.toEqual(refused);
  await expect(administration.renewSecrets(by, 'gatehouse-console', () => ({}))).rejects.toEqual(refused);
  expect((await service.store.clients.find('gatehouse-console'))!.metadata).toEqual(before.metadata);
  // the next sign-in to the console restores the registration
  await service.database.sql(`UPDATE clients SET metadata = $1 WHERE client_id = 'gatehouse-console'`, [metadata]);
  await expect
    .poll(async () => {
      await new UserAgent(service).get('/admin');
      return (await service.store.clients.find('gatehouse-console'))!.metadata;
    })
    .toEqual(before.metadata);
});

test.each(['localhost', '127.0.0.1'] as const)(
  "the console's client gets a code only at the console's port, with the issuer on %s (security R123)",
  async (host) => {
    const own = await startTestService({ host });
    try {
      const { agent } = await openConsole(own, await own.createUser({ admin: true }));
      expect((await own.store.clients.find('gatehouse-console'))!.metadata.redirect_uris).toEqual([
        `${own.issuer}/admin/callback`,
      ]);
      const asked = (redirect_uri: string) =>
        agent.get(
          `/authorize?${new URLSearchParams({
            response_type: 'code',
            client_id: 'gatehouse-console',
            redirect_uri,
            scope: 'openid admin',
            code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
            code_challenge_method: 'S256',
          })}`,
        );
      const other = Number(new URL(own.issuer).port) === 51004 ? 51005 : 51004;
      for (const elsewhere of [`http://${host}:${other}`, `http://${host}`])
        expect((await asked(`${elsewhere}/admin/callback`)).location).toBe(`${own.issuer}/login?problem=client`);
      expect((await asked(`${own.issuer}/admin/callback`)).location).toMatch(`${own.issuer}/admin/callback?code=`);
    } finally {
      await own.stop();
    }
  },
);
