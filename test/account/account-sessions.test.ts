// The account pages list the sessions by device, show the stored data and who can read it, and offer all of it for download.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openConsole } from '../helpers/console.ts';
import { adminToken, call, obtainTokens, refresh, userinfo } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Safari/604.1';
const endOne = '/account/sessions';
const endOthers = '/account/other-sessions';
const endAll = '/account/all-sessions';
const download = '/account/data';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
});
afterAll(() => service?.stop());

async function signedIn(user: TestUser, userAgent = firefox): Promise<UserAgent> {
  const agent = new UserAgent(service);
  const csrf = /name="csrf" value="([^"]*)"/.exec((await agent.get('/login')).body)![1]!;
  const { username, password } = user;
  await agent.post('/login', { csrf, username, password }, { 'user-agent': userAgent });
  return agent;
}
/** Reads the anti-forgery token of one form of the page. */
function tokenOf({ body }: Page, action: string): string {
  const [, form = ''] = body.split(`action="${new URL(service.issuer).pathname.replace(/\/$/, '')}${action}"`);
  const token = /name="csrf" value="([^"]*)"/.exec(form)?.[1];
  if (token === undefined) throw new Error(`no form for ${action}`);
  return token;
}
/** The page that contains each form. */
const pageOf: Record<string, string> = {
  [endOne]: endOne,
  [endOthers]: endOne,
  [endAll]: endOne,
  [download]: download,
};
const token = async (agent: UserAgent, action: string) => tokenOf(await agent.get(pageOf[action]!), action);
const isSignedIn = async (agent: UserAgent, base = service.instances[1]!) =>
  (await agent.get(`${base}/account`)).status === 200;
const sidsOf = async ({ sub }: TestUser) =>
  (
    await service.database.sql<{ sid: string }>('SELECT sid FROM sessions WHERE sub = $1 ORDER BY created_at, id', [
      sub,
    ])
  ).map(({ sid }) => sid);
const eventsOf = ({ sub }: TestUser, type: string) =>
  service.database.sql(
    'SELECT actor, address IS NOT NULL AS located, detail FROM audit_events WHERE sub = $1 AND type = $2',
    [sub, type],
  );
const moveSignInIntoPast = ({ sub }: TestUser) =>
  service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '16 minutes' WHERE sub = $1`, [sub]);

test('browsers of one name have numbers, an address and the time since when they are in use; a header is only text (pages, account)', async () => {
  const user = await service.createUser();
  const here = await signedIn(user);
  await signedIn(user);
  await signedIn(user, iphone);
  await signedIn(user, '<b>Evil</b>/1.0');
  await signedIn(user, `E${'v'.repeat(100)}il/1.0`);
  await service.database.sql(`UPDATE sessions SET created_at = created_at - interval '1 day' WHERE sub = $1`, [
    user.sub,
  ]);
  const { body } = await here.get(endOne);
  const names = [...body.matchAll(/<h2 id="browser-[^>]*>(.*?)<\/h2>/g)].map(([, name]) =>
    name!.replace(/<[^>]*>/g, ''),
  );
  // the others are sorted by their last use
  expect(names[0]).toBe('Firefox on Linux');
  expect(names.slice(1).toSorted()).toEqual([
    `E${'v'.repeat(29)}`,
    'Firefox on Linux (2)',
    'Safari on iPhone',
    'Unknown browser',
  ]);
  expect(body).not.toContain('<b>');
  expect(body.match(/IP address: <bdi[^>]*>(127\.0\.0\.1|::1)/g)).toHaveLength(5);
  expect(body.match(/In use since /g)).toHaveLength(5);
  expect(body).toContain('aria-label="Sign out: Firefox on Linux (2), last used');
});

describe('sessions', () => {
  let user: TestUser;
  let here: UserAgent;
  let there: UserAgent;
  beforeAll(async () => {
    user = await service.createUser();
    here = await signedIn(user);
    there = await signedIn(user, iphone);
  });

  test('each session is listed with its browser, its times and its clients, the current one first (security R54)', async () => {
    const harbour = await service.createClient({ client_name: 'Harbour & Sons' });
    await there.authorize(harbour, undefined);
    const list = (await there.get(endOne)).body.split('id="sessions"')[1]!.split('</ul>')[0]!;
    const [, current, other] = list.split('<li>');
    expect(current).toMatch(/Safari[^]*iPhone[^]*This browser[^]*Signed in [^]*Last used [^]*Harbour &amp; Sons/);
    expect(other).toMatch(/Firefox[^]*Linux[^]*Signed in[^]*Last used/);
    expect(other).not.toMatch(/This browser|Harbour/);
    expect(list).not.toMatch(/gh[a-z]*_|token_hash/);
  });

  test('the chosen session and its tokens end on every instance, and the audit trail names the user (security R54)', async () => {
    const client = await service.createClient({ scope: 'openid offline_access' });
    const tokens = await obtainTokens(service, client, undefined, { scope: 'openid offline_access' }, there);
    const [, sid] = await sidsOf(user);
    const page = await here.post(endOne, { csrf: await token(here, endOne), end: sid! });
    expect([page.status, page.location]).toEqual([303, `${service.issuer}/account/sessions?done=session-ended`]);
    expect([await isSignedIn(there), await isSignedIn(here)]).toEqual([false, true]);
    expect((await userinfo(service.instances[1]!, tokens.access_token)).status).toBe(401);
    expect((await refresh(service.issuer, client, tokens.refresh_token)).status).toBe(400);
    expect(await eventsOf(user, 'session.ended')).toEqual([
      { actor: user.sub, located: true, detail: { session: sid } },
    ]);
    // the second submission finds no session to end
    const again = await here.post(endOne, { csrf: await token(here, endOne), end: sid! });
    expect([again.status, again.location]).toEqual([303, `${service.issuer}/account/sessions`]);
    expect((await here.get(endOne)).body).not.toContain('id="end-others"');
  });

  test('all other sessions and refresh tokens from earlier sessions end at once, and the current session stays (security R54)', async () => {
    const client = await service.createClient({ scope: 'openid offline_access' });
    const others = [await signedIn(user), await signedIn(user, iphone)];
    const tokens = await obtainTokens(service, client, undefined, { scope: 'openid offline_access' }, others[0]);
    const currentTokens = await obtainTokens(service, client, undefined, { scope: 'openid' }, here);
    const page = await here.post(endOthers, { csrf: await token(here, endOthers) });
    expect([page.status, page.location]).toEqual([303, `${service.issuer}/account/sessions?done=others-ended`]);
    expect((await here.follow(page)).body).toMatch(/role="status"[^]*Signed out everywhere else/);
    expect(await Promise.all([here, ...others].map((agent) => isSignedIn(agent)))).toEqual([true, false, false]);
    expect((await refresh(service.issuer, client, tokens.refresh_token)).status).toBe(400);
    expect((await userinfo(service.instances[1]!, currentTokens.access_token)).status).toBe(200);
    expect(await eventsOf(user, 'session.ended')).toContainEqual({
      actor: user.sub,
      located: true,
      detail: { sessions: 2 },
    });
  });

  test('all sessions of a user end at once, with the current one and refresh tokens from earlier sessions (security R54)', async () => {
    const newUser = await service.createUser();
    const client = await service.createClient({ scope: 'openid offline_access' });
    const agents = [await signedIn(newUser), await signedIn(newUser, iphone), await signedIn(newUser)];
    const tokens = await obtainTokens(service, client, undefined, { scope: 'openid offline_access' }, agents[1]);
    // the session of this token has ended, and the refresh token is still valid
    await service.database.sql('DELETE FROM sessions WHERE sid = $1', [(await sidsOf(newUser))[1]]);
    const page = await agents[0]!.post(endAll, { csrf: await token(agents[0]!, endAll) });
    expect([page.status, page.location]).toEqual([303, `${service.issuer}/logout`]);
    expect(page.headers.getSetCookie().join()).toMatch(/JSESSIONOPENID=;/);
    expect((await agents[0]!.follow(page)).body).toContain('You’re signed out');
    for (const base of service.instances)
      expect(await Promise.all(agents.map((agent) => isSignedIn(agent, base)))).toEqual([false, false, false]);
    expect(await sidsOf(newUser)).toEqual([]);
    expect((await refresh(service.issuer, client, tokens.refresh_token)).status).toBe(400);
    expect(await eventsOf(newUser, 'session.ended')).toContainEqual({
      actor: newUser.sub,
      located: true,
      detail: { sessions: 2 },
    });
    expect(await isSignedIn(here)).toBe(true);
    // the form of one page cannot be used for another operation
    const refused = await here.post(endAll, { csrf: await token(here, download) });
    expect([refused.status, await isSignedIn(here)]).toEqual([400, true]);
  });

  test('the current session ends only if the user chooses it, and the next page says so (security R54)', async () => {
    const agent = await signedIn(user);
    const end = (await sidsOf(user)).at(-1)!;
    const page = await agent.post(endOne, { csrf: await token(agent, endOne), end });
    expect(page.status).toBe(303);
    expect((await agent.follow(page)).body).toContain('You’re signed out');
    expect([await isSignedIn(agent), await isSignedIn(here)]).toEqual([false, true]);
  });

  test('with the end of the current session, the browser notifies the clients by front-channel logout (decisions section 6)', async () => {
    const uri = 'https://harbour.example/bye';
    const client = await service.createClient({
      frontchannel_logout_uri: uri,
      redirect_uris: ['https://harbour.example/'],
    });
    const agent = await signedIn(user);
    await agent.authorize(client, undefined);
    const end = (await sidsOf(user)).at(-1)!;
    const page = await agent.post(endOne, { csrf: await token(agent, endOne), end });
    expect(page.body).toMatch(new RegExp(`<iframe src="${uri}\\?iss=[^"]*sid=${end}`));
    expect(page.headers.get('content-security-policy')).toContain('frame-src https://harbour.example');
    expect(await isSignedIn(agent)).toBe(false);
  });

  test('another user’s session does not end, even if the form contains its id (security R55)', async () => {
    const mallory = await service.createUser();
    const agent = await signedIn(mallory);
    const [sid] = await sidsOf(user);
    const page = await agent.post(endOne, { csrf: await token(agent, endOne), end: sid! });
    // the answer is the same as for a session that does not exist
    const unknown = await agent.post(endOne, { csrf: await token(agent, endOne), end: 'unknown' });
    expect([page.status, page.location]).toEqual([unknown.status, unknown.location]);
    await agent.post(endOne, { csrf: await token(agent, endOne), end: `' OR 1=1 --` });
    expect([await isSignedIn(here), await isSignedIn(agent)]).toEqual([true, true]);
    expect(await eventsOf(mallory, 'session.ended')).toEqual([]);
  });
});

describe('a form', () => {
  let user: TestUser;
  let agent: UserAgent;
  let other: UserAgent;
  beforeAll(async () => {
    user = await service.createUser();
    agent = await signedIn(user);
    other = await signedIn(user, iphone);
  });

  test.each([
    [endOne, endOthers],
    [endOthers, endOne],
    [download, endOne],
    [endOne, download],
  ])('for %s accepts no token of %s, of another session or an invented one (security R55)', async (action, from) => {
    const end = (await sidsOf(user)).at(-1)!;
    const tokens = [await token(agent, from), await token(other, action), 'A'.repeat(43), ''];
    for (const csrf of tokens) expect((await agent.post(action, { csrf, end })).status).toBe(400);
    expect([await isSignedIn(agent), await isSignedIn(other)]).toEqual([true, true]);
    expect(await eventsOf(user, 'user.data_downloaded')).toEqual([]);
  });

  test.each([endOne, endOthers, download])(
    'for %s is invalid after the next sign-in in that browser (security R55)',
    async (action) => {
      const csrf = await token(agent, action);
      await agent.signIn(user);
      expect((await agent.post(action, { csrf, end: (await sidsOf(user)).at(-1)! })).status).toBe(400);
      expect(await isSignedIn(other)).toBe(true);
    },
  );

  test.each([endOne, endOthers, download])('for %s is refused from another site (security R55)', async (action) => {
    const end = (await sidsOf(user)).at(-1)!;
    const csrf = await token(agent, action);
    const foreignHeaders: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of foreignHeaders) {
      const page = await agent.post(action, { csrf, end }, headers);
      expect(page.status).toBe(403);
      expect(page.headers.get('content-disposition')).toBeNull();
    }
    expect(await isSignedIn(other)).toBe(true);
  });

  test.each([endOne, endOthers, download])(
    'for %s without a session redirects to the sign-in page (security R55)',
    async (action) => {
      const page = await new UserAgent(service).post(action, { csrf: 'A'.repeat(43), end: 'x' });
      expect([page.status, page.location]).toEqual([303, `${service.issuer}/login`]);
      expect((await new UserAgent(service).get(pageOf[action]!)).location).toBe(`${service.issuer}/login`);
    },
  );
});

describe('the stored data', () => {
  let user: TestUser;
  let agent: UserAgent;
  beforeAll(async () => {
    user = await service.createUser({
      email: 'grace@example.org',
      groups: ['navy'],
      claims: { name: 'Grace <i>', address: { street_address: '1 Pier', locality: 'Arlington' } },
    });
    agent = await signedIn(user);
    const harbour = await service.createClient({ client_name: 'Harbour', scope: 'openid email' });
    const light = await service.createClient({ client_name: 'Light & House', scope: 'openid profile' });
    const { access_token } = await obtainTokens(service, harbour, undefined, { scope: 'openid email' }, agent);
    await obtainTokens(service, light, undefined, { scope: 'openid profile' }, agent);
    const settings = { theme: 'dark <b>', layout: 'x'.repeat(2000) };
    const path = `/user/${user.sub}/settings`;
    await call(service.issuer + path, { method: 'PUT', token: access_token, body: { settings } });
  });

  test('is shown claim by claim, with the clients whose grant covers each claim (pages, account)', async () => {
    const profile = (await agent.get('/account/profile')).body.split('id="profile"')[1]!.split('</dl>')[0]!;
    const row = (label: string) => profile.split('<dt>').find((part) => part.startsWith(`${label}<`)) ?? '';
    expect(row('Full name')).toMatch(/Grace &lt;i&gt;[^]*Visible to <bdi>Light &amp; House<\/bdi>/);
    expect(row('Email address')).toMatch(/grace@example\.org[^]*Visible to <bdi>Harbour<\/bdi>/);
    expect(row('Postal address')).toMatch(/1 Pier[^]*Arlington[^]*Not visible to any/);
    expect(row('Groups')).toMatch(/navy[^]*Not visible to any/);
  });

  test('of a client is shown key by key, with short values in full and long ones by size (pages, account)', async () => {
    const { body } = await agent.get('/account/applications');
    expect(body).toMatch(/theme[^]*&quot;dark &lt;b&gt;&quot;/);
    expect(body).toMatch(/layout[^]*2 kB/);
    expect(body).not.toContain('xxxx');
  });

  test('is downloaded as one file, without secrets and without data of other users (pages, account)', async () => {
    const administrator = await service.createUser({ admin: true });
    const otherUser = await service.createUser({ email: 'eve@example.org' });
    await signedIn(otherUser);
    await service.database.sql(
      `INSERT INTO audit_events (type, outcome, actor, sub, address, detail)
       VALUES ('user.changed', 'success', $1, $2, '203.0.113.77', '{"members": ["groups"], "database_role": "keeper"}')`,
      [administrator.sub, user.sub],
    );
    const page = await agent.post(download, { csrf: await token(agent, download) });
    const header = (name: string) => page.headers.get(name);
    expect(page.status).toBe(200);
    expect(header('content-type')).toBe('application/json; charset=utf-8');
    expect(header('content-disposition')).toBe('attachment; filename="account.json"');
    expect(header('cache-control')).toContain('no-store');
    const file = JSON.parse(page.body) as Record<string, unknown>;
    expect(file).toMatchObject({
      issuer: service.issuer,
      profile: { sub: user.sub, email: 'grace@example.org', groups: ['navy'], claims: { name: 'Grace <i>' } },
      sessions: [{ browser: 'Firefox on Linux', clients: expect.any(Array) }],
      grants: [{ client_name: 'Light & House' }, { client_name: 'Harbour', scope: expect.stringContaining('email') }],
      settings: [{ client_name: 'Harbour', settings: { theme: 'dark <b>', layout: 'x'.repeat(2000) } }],
    });
    const events = file['audit_events'] as Record<string, unknown>[];
    expect(events.find(({ type }) => type === 'user.changed')).toMatchObject({
      actor: 'another account',
      detail: { members: ['groups'] },
    });
    expect(events.find(({ type }) => type === 'user.signed_in')).toMatchObject({
      actor: user.sub,
      address: expect.any(String),
    });
    expect(events.map(({ type }) => type)).toContain('user.data_downloaded');
    for (const secret of [
      administrator.sub,
      otherUser.sub,
      'eve@example.org',
      '203.0.113.77',
      'keeper',
      'argon2',
      'hash',
    ])
      expect(page.body).not.toContain(secret);
    for (const cookie of agent.cookies.values()) expect(page.body).not.toContain(cookie);
  });

  test('is complete even if it spans many pages of the database (pages, account)', async () => {
    await service.database.sql(
      `INSERT INTO audit_events (type, outcome, sub, detail)
       SELECT 'user.sign_in_failed', 'failure', $1, jsonb_build_object('try', n) FROM generate_series(1, 450) AS n`,
      [user.sub],
    );
    const { body } = await agent.post(download, { csrf: await token(agent, download) });
    const events = (JSON.parse(body) as { audit_events: { detail: { try?: number } }[] }).audit_events;
    const tries = events.flatMap(({ detail }) => detail.try ?? []);
    expect(tries.sort((a, b) => a - b)).toEqual(Array.from({ length: 450 }, (_, index) => index + 1));
  });

  test('is downloaded only after a recent sign-in, which continues to the page (pages, account)', async () => {
    await moveSignInIntoPast(user);
    const refused = await agent.post(download, { csrf: await token(agent, download) });
    expect([refused.status, refused.location]).toEqual([303, `${service.issuer}/login?destination=data`]);
    expect(refused.headers.get('content-disposition')).toBeNull();
    const login = await agent.follow(refused);
    expect(login.body).toContain('to download your data');
    const page = await agent.signIn(user, login);
    expect(page.url).toBe(`${service.issuer}/account/data`);
    expect((await agent.post(download, { csrf: tokenOf(page, download) })).status).toBe(200);
  });
});

describe('a name for a browser', () => {
  const laptop = 'Work “laptop” <b>';
  const rename = async (agent: UserAgent, sid: string, name: string) =>
    agent.post(endOne, { csrf: await token(agent, endOne), rename: sid, name });
  const headings = ({ body }: Page) =>
    [...body.matchAll(/<h2 id="browser-[^>]*>(?:<bdi[^>]*>)?(.*?)(?:<\/bdi>)?<\/h2>/g)].map(([, text]) => text);

  test('is shown in the list and to administrators as text, and stays with the browser (pages, account)', async () => {
    const user = await service.createUser();
    const here = await signedIn(user);
    const [sid] = await sidsOf(user);
    const named = await rename(here, sid!, ` ${laptop} `);
    expect(named.location).toBe(`${service.issuer}${endOne}?done=browser-named`);
    const page = await here.get(endOne);
    expect(headings(page)[0]).toBe('Work “laptop” &lt;b&gt;');
    expect(page.body).toContain('Firefox on Linux');
    const list = await call(`${service.issuer}/admin/api/sessions?sub=${user.sub}`, {
      token: await adminToken(service),
    });
    expect(list.body).toMatchObject({ sessions: [{ browser_name: laptop }] });
    const admin = await service.createUser({ admin: true });
    const console = await openConsole(service, admin, `/admin/sessions?user=${user.username}`);
    expect(console.page.body).toContain('<q>Work “laptop” &lt;b&gt;</q>');
    // a later session of the browser has the name, that of another browser has none
    await here.post(endAll, { csrf: await token(here, endAll) });
    await here.signIn(user);
    await signedIn(user);
    const later = await service.store.sessions.list({ sub: user.sub }, { limit: 10, after: undefined });
    expect(later.map(({ browserName }) => browserName)).toEqual([undefined, laptop]);
    // what another browser renames is that browser's name, too
    const other = await signedIn(user);
    await rename(other, later[1]!.sid, 'Home');
    await here.post(endAll, { csrf: await token(here, endAll) });
    await here.signIn(user);
    expect(
      (await service.store.sessions.list({ sub: user.sub }, { limit: 10, after: undefined }))[0]!.browserName,
    ).toBe('Home');
    // an empty field removes it
    const [last] = (await sidsOf(user)).toReversed();
    expect((await rename(here, last!, '  ')).status).toBe(303);
    expect(headings(await here.get(endOne))[0]).toBe('node');
  });

  test('has 1 to 60 characters, none of which is invisible or changes the direction (pages, account)', async () => {
    const user = await service.createUser();
    const agent = await signedIn(user);
    const [sid] = await sidsOf(user);
    const refused = ['x'.repeat(61), 'a\u202eb', 'a\u0007b', 'a\u200bb', 'a\nb', '…'];
    for (const name of refused) {
      const page = await rename(agent, sid!, name);
      expect([page.status, page.body.includes(`id="name-${sid}-fault"`)], JSON.stringify(name)).toEqual([400, true]);
    }
    expect((await rename(agent, sid!, 'ä'.repeat(60))).status).toBe(303);
    expect((await rename(agent, sid!, '仕事用')).status).toBe(303);
  });

  test('is given only by the user of the session, by the form of the own page (security R55)', async () => {
    const [alice, mallory] = [await service.createUser(), await service.createUser()];
    const hers = await signedIn(alice);
    const [sid] = await sidsOf(alice);
    const agent = await signedIn(mallory);
    expect((await rename(agent, sid!, 'Mine')).location).toBe(`${service.issuer}${endOne}`);
    for (const csrf of ['', await token(agent, endOne)])
      expect((await hers.post(endOne, { csrf, rename: sid!, name: 'Mine' })).status).toBe(400);
    expect(
      (await new UserAgent(service).post(endOne, { csrf: await token(hers, endOne), rename: sid!, name: 'Mine' }))
        .location,
    ).toContain('/login');
    expect(headings(await hers.get(endOne))[0]).not.toBe('Mine');
  });
});
