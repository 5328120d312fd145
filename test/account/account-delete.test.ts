// GET and POST /account/delete delete the account of the signed-in user, if the setting allows it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { obtainTokens, refresh, userinfo } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

const path = '/account/delete';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { ACCOUNT_DELETION: 'on' } });
});
afterAll(() => service?.stop());

async function signedIn(user: TestUser): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
}
async function remove(agent: UserAgent, username: string) {
  return agent.post(path, { ...hiddenFields((await agent.get(path)).body), username });
}
const exists = async ({ sub }: TestUser) => (await service.store.users.find(sub)) !== undefined;

test('a user who types the user name is deleted with all stored data and tokens; the audit trail keeps the sub, not the name (pages, account, security R54, R101)', async () => {
  const user = await service.createUser({ email: 'grace@example.org', claims: { name: 'Grace Hopper' } });
  const agent = await signedIn(user);
  const other = await signedIn(user);
  const scope = 'openid offline_access';
  const uri = 'https://harbour.example/bye';
  const client = await service.createClient({
    client_name: 'Harbour & Sons',
    scope,
    frontchannel_logout_uri: uri,
    redirect_uris: ['https://harbour.example/'],
  });
  const tokens = await obtainTokens(service, client, undefined, { scope }, agent);
  const question = await agent.get(path);
  expect(question.body).toMatch(/can’t be undone[^]*Harbour &amp; Sons[^]*enter your user name/);
  const page = await remove(agent, ` ${user.username} `);
  expect(page.status).toBe(200);
  expect(page.body).toContain('Account deleted');
  expect(page.body).toContain(`<iframe src="${uri}?iss=`);
  expect(await exists(user)).toBe(false);
  expect(agent.cookies.has('JSESSIONOPENID')).toBe(false);
  for (const browser of [agent, other])
    expect((await browser.get(`${service.instances[1]!}/account`)).status).toBe(303);
  expect((await userinfo(service.instances[1]!, tokens.access_token)).status).toBe(401);
  expect((await refresh(service.issuer, client, tokens.refresh_token)).status).toBe(400);
  expect((await new UserAgent(service).signIn(user)).status).toBe(400);
  const events = await service.database.sql(
    `SELECT actor, address IS NOT NULL AS located, detail FROM audit_events WHERE sub = $1 AND type = 'user.deleted'`,
    [user.sub],
  );
  expect(events).toEqual([{ actor: user.sub, located: true, detail: { admin: false } }]);
});

test('another name deletes no user (pages, account)', async () => {
  const [user, bob] = [await service.createUser(), await service.createUser()];
  const agent = await signedIn(user);
  for (const name of ['', bob.username, user.username.toUpperCase(), `${user.username}x`]) {
    const page = await remove(agent, name);
    expect(page.status).toBe(400);
    expect(page.body).toContain('id="username-fault"');
  }
  expect([await exists(user), await exists(bob)]).toEqual([true, true]);
});

test('the deletion requires a recent sign-in, which continues to the page (security R91)', async () => {
  const user = await service.createUser();
  const agent = await signedIn(user);
  await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '16 minutes' WHERE sub = $1`, [
    user.sub,
  ]);
  const refused = await remove(agent, user.username);
  expect([refused.status, refused.location]).toEqual([303, `${service.issuer}/login?destination=deletion`]);
  expect(await exists(user)).toBe(true);
  const back = await agent.signIn(user, await agent.follow(refused));
  expect(back.url).toBe(`${service.issuer}${path}`);
  expect((await agent.post(path, { ...hiddenFields(back.body), username: user.username })).status).toBe(200);
  expect(await exists(user)).toBe(false);
});

test('the last administrator cannot be deleted, and learns why (security R91)', async () => {
  const first = await service.createUser({ admin: true });
  const agent = await signedIn(first);
  const refused = await remove(agent, first.username);
  expect(refused.status).toBe(409);
  expect(refused.body).toContain('You’re the last administrator');
  await service.createUser({ admin: true });
  expect((await remove(agent, first.username)).status).toBe(200);
  expect(await exists(first)).toBe(false);
});

test('a form of another page, user or site deletes no user (security R55)', async () => {
  const user = await service.createUser();
  const agent = await signedIn(user);
  const { username } = user;
  const ownCsrf = hiddenFields((await agent.get(path)).body)['csrf']!;
  const bobCsrf = hiddenFields((await (await signedIn(await service.createUser())).get(path)).body)['csrf']!;
  const data = hiddenFields((await agent.get('/account/data')).body)['csrf']!;
  for (const csrf of [bobCsrf, data, 'A'.repeat(43), ''])
    expect((await agent.post(path, { csrf, username })).status).toBe(400);
  expect((await agent.post(path, { csrf: ownCsrf, username }, { origin: 'https://evil.example' })).status).toBe(403);
  expect((await new UserAgent(service).post(path, { csrf: ownCsrf, username })).location).toBe(
    `${service.issuer}/login`,
  );
  expect(await exists(user)).toBe(true);
});

test('where the setting is off, as by default, there is no such page and no such operation (pages, account)', async () => {
  const closed = await startTestService();
  try {
    const user = await closed.createUser();
    const agent = new UserAgent(closed);
    await agent.signIn(user);
    expect((await agent.get('/account/data')).body).not.toContain(path);
    expect((await agent.get(path)).status).toBe(404);
    const { csrf = '' } = hiddenFields((await agent.get('/account/data')).body);
    expect((await agent.post(path, { csrf, username: user.username })).status).toBe(400);
    expect(await closed.store.users.find(user.sub)).toBeDefined();
  } finally {
    await closed.stop();
  }
});
