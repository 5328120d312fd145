// Two issuers on one host do not disturb each other: browsers keep cookies apart by host and path, and not by port.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issuerTag } from '../../src/browser/cookies.ts';
import { loadConfig } from '../../src/config.ts';
import { newOpaqueToken } from '../../src/tokens/opaque-token.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

const session = 'JSESSIONOPENID';
let root: TestService;
let idp: TestService;
let users: [TestUser, TestUser];
beforeAll(async () => {
  root = await startTestService({ environment: withoutLimits });
  idp = await startTestService({ basePath: '/idp', environment: withoutLimits });
  users = [await root.createUser(), await idp.createUser()];
});
afterAll(async () => {
  await root?.stop();
  await idp?.stop();
});

const isSignedIn = async (agent: UserAgent) => (await agent.get(`${agent.issuer}/account`)).status === 200;
const expired = (page: Page) => page.headers.getSetCookie().filter((line) => /Expires=Thu, 01 Jan 1970/.test(line));
/** A browser that is signed in at the service for the whole host, and then visits the one below /idp, which gets the cookies of both. */
async function visit() {
  const above = new UserAgent(root);
  await above.signIn(users[0]);
  const below = new UserAgent(idp);
  below.neighbour = above;
  return { above, below };
}

describe('beside an issuer at the root of the host, one below a path', () => {
  test('signs users in, and neither reads nor expires the cookies of the other (reports A9, security R51)', async () => {
    const { above, below } = await visit();
    expect(await isSignedIn(below)).toBe(false);
    const page = await below.get(`${idp.issuer}/login`);
    expect(page.status).toBe(200);
    const done = await below.submit(page, { username: users[1].username, password: users[1].password });
    expect(done.url).toBe(`${idp.issuer}/account`);
    expect(await isSignedIn(below)).toBe(true);
    expect(await isSignedIn(above)).toBe(true);
    const end = await below.submit(await below.get(`${idp.issuer}/logout`), { decision: 'sign-out' });
    for (const line of expired(end)) expect(line).toContain('Path=/idp');
    expect(await isSignedIn(above)).toBe(true);
  });

  test('counts its own cookies alone, and expires a planted one only where the other has none (reports A9, security R51)', async () => {
    const { above, below } = await visit();
    await below.signIn(users[1]);
    const value = below.cookies.get(session)!;
    const cookie = [
      `${session}=${value}`,
      `${session}=${issuerTag(idp.issuer)}.planted`,
      `${session}=${above.cookies.get(session)}`,
    ];
    const page = await below.get(`${idp.issuer}/account`, { cookie: cookie.join('; ') });
    expect(page.location).toBe(`${idp.issuer}/login`);
    expect(expired(page).some((line) => line.startsWith(`${session}=;`) && line.includes('Path=/idp'))).toBe(true);
    expect(expired(page).filter((line) => /Path=\/(;|$)/.test(line) && !line.includes('Domain'))).toEqual([]);
  });
});

test('the page about blocked cookies is shown only if no cookie came back (reports A9)', async () => {
  const form = { username: users[0].username, password: users[0].password };
  const agent = new UserAgent(root);
  const hidden = hiddenFields((await agent.get('/login')).body);
  agent.cookies.clear();
  expect((await agent.post('/login', { ...hidden, ...form })).body).toContain('Cookies are blocked');
  const other = await agent.post('/login', { ...hidden, ...form }, { cookie: 'theme=dark' });
  expect([other.status, other.body]).toEqual([400, expect.not.stringContaining('Cookies are blocked')]);
});

test('two issuers on one host and path have cookies of other names by SESSION_COOKIE, and both sessions live (reports A9)', async () => {
  const second = await startTestService({ environment: { ...withoutLimits, SESSION_COOKIE: 'SECOND_ISSUER' } });
  const user = await second.createUser();
  const [one, two] = [new UserAgent(root), new UserAgent(second)];
  await one.signIn(users[0]);
  two.neighbour = one;
  expect((await two.signIn(user)).url).toBe(`${second.issuer}/account`);
  expect([two.cookies.has('SECOND_ISSUER'), two.cookies.has(session)]).toEqual([true, false]);
  one.neighbour = two;
  expect([await isSignedIn(one), await isSignedIn(two)]).toEqual([true, true]);
  const names = [...one.cookies.keys()].filter((name) => two.cookies.has(name));
  expect(names).toEqual([]);
  await second.stop();
});

test('each cookie names its issuer: the session in its value, the others in their names (reports A9)', async () => {
  const agent = new UserAgent(root);
  await agent.signIn(users[0]);
  const tag = issuerTag(root.issuer);
  expect(agent.cookies.get(session)).toMatch(new RegExp(`^${tag}\\.ghse_`));
  for (const name of agent.cookies.keys()) expect(name === session || name.endsWith(`_${tag}`), name).toBe(true);
});

test('a session of an older version, whose cookie has no tag, goes on (reports A9)', async () => {
  const agent = new UserAgent(root);
  await agent.signIn(users[0]);
  const [, token] = agent.cookies.get(session)!.split('.');
  agent.cookies.set(session, token!);
  expect(await isSignedIn(agent)).toBe(true);
  const two = `${session}=${token}; ${session}=${newOpaqueToken('session').token}`;
  expect((await agent.get('/account', { cookie: two })).status).toBe(303);
});

test.each(['', 'a b', 'GATEHOUSE_X', '__Host-x', 'x=y'])(
  'SESSION_COOKIE=%s stops the start with a sentence (reports A9)',
  (name) => {
    const settings = { DATABASE_URL: 'postgresql://localhost/x', SECRET_KEY: root.secretKey, SESSION_COOKIE: name };
    if (name === '') expect(loadConfig(settings).sessionCookie).toBe(session);
    else expect(() => loadConfig(settings)).toThrow('SESSION_COOKIE');
  },
);
