// The home of the account shows what needs attention first, counts the browsers, and links administrators to the console.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

async function signedIn(user: TestUser): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
}
const home = async (agent: UserAgent) => (await agent.get('/account')).body;

test('what needs attention comes before everything else: first the missing second factor, later few recovery codes (pages, account)', async () => {
  const user = await service.createUser();
  const agent = await signedIn(user);
  const before = await home(agent);
  expect(before.indexOf('id="unprotected"')).toBeGreaterThan(0);
  expect(before.indexOf('id="unprotected"')).toBeLessThan(before.indexOf('class="areas"'));
  expect((await agent.get('/account/security')).body).toContain('your password alone is no longer enough');
  await setUpAuthenticator(agent);
  expect(await home(agent)).not.toMatch(/id="(unprotected|recovery-codes)"/);
  expect((await agent.get('/account/security')).body).not.toContain('your password alone is no longer enough');
  const { sql } = service.database;
  await sql(
    `DELETE FROM recovery_codes WHERE ctid NOT IN (SELECT ctid FROM recovery_codes WHERE sub = $1 LIMIT 2) AND sub = $1`,
    [user.sub],
  );
  expect(await home(agent)).toMatch(
    /You have 2 recovery codes left\.[^]*id="recovery-codes" href="\/account\/second-factors"/,
  );
});

test('the browsers are counted in the words of the language (pages, account)', async () => {
  const user = await service.createUser();
  const first = await signedIn(user);
  expect(await home(first)).toContain('1 browser<');
  await signedIn(user);
  await signedIn(user);
  expect(await home(first)).toContain('3 browsers<');
  expect((await first.get('/account/sessions')).body).toContain('3 browsers are signed in to your account.');
  expect((await first.get('/account/sessions', { 'accept-language': 'ar' })).body).toContain('3 متصفحات');
});

test('an administrator finds the console, and no other user does (pages, account)', async () => {
  const link = 'href="/admin"';
  expect(await home(await signedIn(await service.createUser({ admin: true })))).toContain(link);
  expect(await home(await signedIn(await service.createUser()))).not.toContain(link);
});
