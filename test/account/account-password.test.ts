// GET and POST /account/password change the user's password, and end all other sessions.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { obtainTokens, refresh, userinfo } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

const path = '/account/password';
const newPassword = 'three umbrellas under a lighthouse';
const failures = 3;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { LIMIT_SIGN_IN_PER_ACCOUNT: String(failures) } });
});
afterAll(() => service?.stop());

async function signedIn(user: TestUser): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
}
async function change(agent: UserAgent, current: string, chosen: string, base = service.issuer): Promise<Page> {
  const fields = hiddenFields((await agent.get(base + path)).body);
  return agent.post(base + path, { ...fields, current_password: current, new_password: chosen });
}
const isSignedIn = async (agent: UserAgent) => (await agent.get(`${service.instances[1]!}/account`)).status === 200;
const canSignIn = async (user: TestUser, password: string) => isSignedIn(await signedIn({ ...user, password }));
const eventsOf = ({ sub }: TestUser, type: string) =>
  service.database.sql(
    'SELECT actor, outcome, address IS NOT NULL AS located, detail FROM audit_events WHERE sub = $1 AND type = $2',
    [sub, type],
  );

test('a new password ends all other sessions and their tokens on all instances; this session continues under a new cookie, in a browser that stays known (security R52, R54)', async () => {
  const user = await service.createUser();
  const here = await signedIn(user);
  const there = await signedIn(user);
  const scope = 'openid offline_access';
  const client = await service.createClient({ scope });
  const otherTokens = await obtainTokens(service, client, undefined, { scope }, there);
  const currentTokens = await obtainTokens(service, client, undefined, { scope: 'openid' }, here);
  const before = new Map(here.cookies);
  const page = await change(here, user.password, newPassword, service.instances[1]);
  expect([page.status, page.location]).toEqual([
    303,
    `${service.instances[1]!}/account/security?done=password-changed`,
  ]);

  expect([await isSignedIn(here), await isSignedIn(there)]).toEqual([true, false]);
  // a request that another tab sent before does not clear the new session's cookie, whichever response arrives last
  const stale = { cookie: [...before].map(([name, value]) => `${name}=${value}`).join('; ') };
  for (const response of [await here.get('/account', stale), await here.post(path, { csrf: 'x' }, stale)])
    expect(response.location).toContain('/login');
  expect(await isSignedIn(here)).toBe(true);
  const stolen = new UserAgent(service);
  for (const [name, value] of before) stolen.cookies.set(name, value);
  expect(await isSignedIn(stolen)).toBe(false);
  expect((await userinfo(service.issuer, otherTokens.access_token)).status).toBe(401);
  expect((await refresh(service.issuer, client, otherTokens.refresh_token)).status).toBe(400);
  expect((await userinfo(service.issuer, currentTokens.access_token)).status).toBe(200);
  expect([await canSignIn(user, user.password), await canSignIn(user, newPassword)]).toEqual([false, true]);

  const known = 'GATEHOUSE_KNOWN_BROWSER';
  expect(here.cookies.get(known)).not.toBe(before.get(known));
  const [row] = await service.database.sql<{ n: number }>(
    'SELECT count(*)::int AS n FROM known_browsers WHERE sub = $1',
    [user.sub],
  );
  // this browser, and the one that signed in afterwards
  expect(row!.n).toBe(2);
  expect(await eventsOf(user, 'user.password_changed')).toEqual([
    { actor: user.sub, outcome: 'success', located: true, detail: { members: ['password'] } },
  ]);
});

test('the page states the rule and the consequences, and marks both fields for password managers (pages, account)', async () => {
  const user = await service.createUser({ username: 'ada & co' });
  const agent = await signedIn(user);
  expect((await agent.get('/account/security')).body).toContain(`href="${path}"`);
  const { status, body, headers } = await agent.get(path);
  expect([status, headers.get('cache-control')]).toEqual([200, expect.stringContaining('no-store')]);
  expect(body).toMatch(/This signs you out everywhere else[^]*12 to 128 characters/);
  expect(body).toMatch(/<input name="username"[^>]*value="ada &amp; co" autocomplete="username"[^>]*hidden>/);
  expect(body).toMatch(/name="current_password" type="password" autocomplete="current-password"/);
  expect(body).toMatch(/name="new_password" type="password" autocomplete="new-password"/);
});

test('a wrong current password counts as a failed sign-in on all instances, and the account is delayed as after any other (security R64, A79)', async () => {
  const user = await service.createUser();
  const agent = await signedIn(user);
  // as in a browser with a copy of the session cookie
  agent.cookies.delete('GATEHOUSE_KNOWN_BROWSER');
  for (let count = 0; count < failures; count++) {
    const page = await change(agent, 'not the password', newPassword, service.instances[count % 2]);
    expect([page.status, page.body]).toEqual([400, expect.stringContaining('Incorrect password.')]);
    expect(page.body).toContain('id="current-fault"');
  }
  // the password is no longer checked, neither here nor at sign-in
  expect((await change(agent, user.password, newPassword)).status).toBe(400);
  expect([await canSignIn(user, user.password), await isSignedIn(agent)]).toEqual([false, true]);
  expect(await eventsOf(user, 'user.locked_out')).toHaveLength(2);
  expect(await eventsOf(user, 'user.sign_in_failed')).toHaveLength(failures + 2);
  expect(await eventsOf(user, 'user.password_changed')).toEqual([]);
});

test('a common, short, long, missing or unchanged password is refused with a sentence at the field, and the response contains no password (security R59)', async () => {
  const user = await service.createUser({ username: 'hildegard' });
  const agent = await signedIn(user);
  service.logs.length = 0;
  for (const [chosen, sentence] of [
    ['Password1234', 'easy to guess'],
    ['Hildegard-2026!', 'easy to guess'],
    ['x9-eleven-l', '12 to 128 characters'],
    ['x9 '.repeat(43), '12 to 128 characters'],
    [user.password, 'different from your current one'],
    ['', 'Enter a new password'],
  ] as const) {
    const page = await change(agent, user.password, chosen);
    expect(page.status, chosen).toBe(400);
    expect(/id="password-fault">([^<]*)/.exec(page.body)?.[1]).toContain(sentence);
    for (const text of [page.body, JSON.stringify(service.logs)])
      for (const typed of [user.password, chosen || user.password]) expect(text).not.toContain(typed);
  }
  expect([await canSignIn(user, user.password), await eventsOf(user, 'user.password_changed')]).toEqual([true, []]);
});

test('a form from another site, of another page or of another session changes nothing (security R55)', async () => {
  const user = await service.createUser();
  const agent = await signedIn(user);
  const other = await signedIn(user);
  const passwords = { current_password: user.password, new_password: newPassword };
  const csrf = async (from: UserAgent, page: string) => hiddenFields((await from.get(page)).body)['csrf']!;
  for (const token of [await csrf(agent, '/account'), await csrf(other, path), 'A'.repeat(43), ''])
    expect((await agent.post(path, { csrf: token, ...passwords })).status).toBe(400);
  const ownCsrf = await csrf(agent, path);
  const foreignHeaders: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
  ];
  for (const headers of foreignHeaders)
    expect((await agent.post(path, { csrf: ownCsrf, ...passwords }, headers)).status).toBe(403);
  expect((await agent.get(path, { 'sec-fetch-dest': 'iframe' })).status).toBe(403);
  expect(await eventsOf(user, 'user.password_changed')).toEqual([]);
  expect((await agent.post(path, { csrf: ownCsrf, ...passwords })).status).toBe(303);
  // the token works once, since the session has a new identifier
  expect(
    (await agent.post(path, { csrf: ownCsrf, current_password: newPassword, new_password: `${newPassword}!` })).status,
  ).toBe(400);
});

test('a signed-out browser and a user who was disabled meanwhile are redirected to the sign-in page (security R55)', async () => {
  const user = await service.createUser();
  const agent = await signedIn(user);
  const fields = hiddenFields((await agent.get(path)).body);
  await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [user.sub]);
  for (const browser of [agent, new UserAgent(service)]) {
    const pages = [
      await browser.post(path, { ...fields, current_password: user.password, new_password: newPassword }),
      await browser.get(path),
    ];
    for (const page of pages) expect([page.status, page.location]).toEqual([303, `${service.issuer}/login`]);
  }
  expect(await eventsOf(user, 'user.password_changed')).toEqual([]);
});

test('of two simultaneous changes one succeeds, and only its session stays (security R54)', async () => {
  const user = await service.createUser();
  const agents = [await signedIn(user), await signedIn(user)];
  await Promise.all(
    agents.map((agent, index) => change(agent, user.password, `${newPassword} ${index}`, service.instances[index])),
  );
  const won = await Promise.all(agents.map((_, index) => canSignIn(user, `${newPassword} ${index}`)));
  expect(won.filter(Boolean)).toHaveLength(1);
  expect(await Promise.all(agents.map(isSignedIn))).toEqual(won);
  expect(await eventsOf(user, 'user.password_changed')).toHaveLength(1);
});

test('too many attempts are asked to wait, and their passwords are not checked (security R64)', async () => {
  const limited = await startTestService({ environment: { LIMIT_SIGN_IN_PER_NETWORK: '1' } });
  try {
    const user = await limited.createUser();
    const agent = new UserAgent(limited);
    await agent.signIn(user);
    // a known browser counts as its own network
    expect((await change(agent, 'not the password', newPassword, limited.issuer)).status).toBe(400);
    const page = await change(agent, user.password, newPassword, limited.issuer);
    expect([page.status, page.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    expect(page.body).toMatch(/Your password wasn’t changed[^]*too many attempts from this network/);
    expect((await agent.get('/account')).status).toBe(200);
  } finally {
    await limited.stop();
  }
});
