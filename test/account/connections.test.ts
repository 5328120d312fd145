// Tests the page on which users link identities to their accounts and remove links.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addConnection, answerOf, changeConnection, signInBy } from '../helpers/connections.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;
const path = '/account/connections';

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    environment: { ...withoutLimits, OUTBOUND_ALLOW: provider.host, LIMIT_PENDING_SIGN_INS: '0' },
  });
  await addConnection(service, provider, 'honest', { provisioning: 'on' });
  await addConnection(service, provider, 'second', { provisioning: 'on' });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});
beforeEach(() => provider.lie({}));

let number = 0;
const newSubject = () => `own-${++number}`;
const linksOf = (sub: string) => service.store.linkedIdentities.ofUser(sub);
const signedIn = async (user?: TestUser): Promise<{ agent: UserAgent; user: TestUser }> => {
  const who = user ?? (await service.createUser({ email: `own-${++number}@third.example`, emailVerified: true }));
  const agent = new UserAgent(service);
  await agent.signIn(who);
  return { agent, user: who };
};
const post = async (agent: UserAgent, fields: Record<string, string>, page?: Page) =>
  agent.post(path, { ...hiddenFields((page ?? (await agent.get(path))).body), ...fields });
/** Begins to link, and comes back from the provider. */
const begin = async (agent: UserAgent, connection = 'honest') =>
  agent.follow(await agent.get(await answerOf(await post(agent, { act: 'begin', connection }))));

describe('a link', () => {
  test('is made by one button on a page that names the account and the identity, and the user gets a mail (federation FR6, F7)', async () => {
    const { agent, user } = await signedIn();
    provider.be({ sub: newSubject(), preferred_username: 'me.elsewhere', email: 'other@third.example' });
    const page = await begin(agent);
    expect(page.url).toBe(service.issuer + path);
    expect(page.body).toContain('me.elsewhere');
    expect(page.body).toContain(user.username);
    expect(await linksOf(user.sub)).toEqual([]);
    const linked = await agent.follow(await post(agent, { act: 'confirm' }, page));
    expect(linked.body).toContain('You can now also sign in with it');
    expect(await linksOf(user.sub)).toMatchObject([{ connectionId: 'honest', how: 'person' }]);
    // the address of the account stays
    expect((await service.store.users.find(user.sub))!.email).toBe(user.email);
    const mails = () =>
      readdirSync(join(service.dataDir, 'mail')).map((name) =>
        readFileSync(join(service.dataDir, 'mail', name), 'utf8'),
      );
    await expect
      .poll(() => mails().some((mail) => mail.includes(user.email!) && mail.includes('Another account was connected')))
      .toBe(true);
    const other = new UserAgent(service);
    await signInBy(other, 'honest');
    expect((await other.get('/account/profile')).body).toContain(user.username);
  });

  test('is not made by another site, without the form token, in an old session, or twice (federation FR6, FR9, F7)', async () => {
    const { agent, user } = await signedIn();
    provider.be({ sub: newSubject() });
    const page = await begin(agent);
    const form = { ...hiddenFields(page.body), act: 'confirm' };
    expect(
      (await agent.post(path, form, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).status,
    ).toBe(403);
    expect((await agent.post(path, { act: 'confirm' })).status).toBe(400);
    const { agent: thief } = await signedIn();
    expect((await thief.post(path, form)).status).toBe(400);
    await service.database.sql(`UPDATE sessions SET auth_time = now() - interval '16 minutes' WHERE sub = $1`, [
      user.sub,
    ]);
    const old = await post(agent, { act: 'confirm' });
    expect(old.location).toContain('/login?destination=connections');
    expect(await linksOf(user.sub)).toEqual([]);
    await service.database.sql(`UPDATE sessions SET auth_time = now() WHERE sub = $1`, [user.sub]);
    const both = await Promise.all([post(agent, { act: 'confirm' }), post(agent, { act: 'confirm' })]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 400]);
    expect(await linksOf(user.sub)).toHaveLength(1);
  });

  test('is not offered if the sign-in here is 16 minutes old when the answer arrives (federation FR6, F7)', async () => {
    const { agent, user } = await signedIn();
    provider.be({ sub: newSubject() });
    const answer = await answerOf(await post(agent, { act: 'begin', connection: 'honest' }));
    await service.database.sql(`UPDATE sessions SET auth_time = now() - interval '16 minutes' WHERE sub = $1`, [
      user.sub,
    ]);
    expect((await agent.follow(await agent.get(answer))).body).toContain('You’re no longer signed in');
    expect((await agent.get(path)).body).not.toContain('id="confirm"');
    expect(await linksOf(user.sub)).toEqual([]);
  });

  test('is not made with another identity than the page named, which then names the other one (federation FR6, F7)', async () => {
    const { agent, user } = await signedIn();
    const [first, second] = [newSubject(), newSubject()];
    provider.be({ sub: first, preferred_username: 'the.first' });
    const page = await begin(agent);
    provider.be({ sub: second, preferred_username: 'the.second' });
    await begin(agent);
    const answer = await post(agent, { act: 'confirm' }, page);
    expect(answer).toMatchObject({ status: 409, body: expect.stringContaining('the.second') });
    expect(await linksOf(user.sub)).toEqual([]);
    await post(agent, { act: 'confirm' }, answer);
    expect(await linksOf(user.sub)).toMatchObject([{ subject: second }]);
  });

  test('is not made by the answer to a sign-in, and the answer to a link signs no user in (federation FR4)', async () => {
    const { agent, user } = await signedIn();
    const sub = newSubject();
    provider.be({ sub, preferred_username: `nobody ${number}` });
    const answer = await answerOf(await post(agent, { act: 'begin', connection: 'honest' }));
    // another user has taken the browser meanwhile
    const { user: other } = await signedIn();
    await agent.signIn(other, await agent.get('/login?account=other'));
    const page = await agent.follow(await agent.get(answer));
    expect(page.body).toContain('You’re no longer signed in');
    expect([await linksOf(user.sub), await linksOf(other.sub)]).toEqual([[], []]);
  });

  test('of one identity to two users is refused with a sentence, also in concurrent requests (federation FR1, F9)', async () => {
    const [one, two] = [await signedIn(), await signedIn()];
    provider.be({ sub: newSubject() });
    const pages = [await begin(one.agent), await begin(two.agent)];
    const answers = await Promise.all([
      post(one.agent, { act: 'confirm' }, pages[0]),
      post(two.agent, { act: 'confirm' }, pages[1]),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 409]);
    expect(answers.find(({ status }) => status === 409)!.body).toContain('is already connected to another account');
    expect([...(await linksOf(one.user.sub)), ...(await linksOf(two.user.sub))]).toHaveLength(1);
    // a second identity of the same connection
    const linked = (await linksOf(one.user.sub)).length === 1 ? one : two;
    provider.be({ sub: newSubject() });
    expect((await begin(linked.agent)).body).toContain('is already connected to another');
  });
});

describe('removing a link', () => {
  test('ends the sessions that came by it, and no sign-in restores it by the address (federation FR8)', async () => {
    const { agent, user } = await signedIn();
    const sub = newSubject();
    provider.be({ sub, email: user.email, email_verified: true });
    await post(agent, { act: 'confirm' }, await begin(agent));
    const other = new UserAgent(service);
    await signInBy(other, 'honest');
    expect((await other.get('/account')).status).toBe(200);
    const removed = await agent.follow(await post(agent, { act: 'remove', connection: 'honest' }));
    expect(removed.body).toContain('Connection removed');
    expect((await other.get('/account')).status).toBe(303);
    expect((await agent.get('/account')).status).toBe(200);
    expect((await signInBy(new UserAgent(service), 'honest')).body).toContain(
      'An account with your email address already exists',
    );
    // the user does so
    await post(agent, { act: 'confirm' }, await begin(agent));
    expect(await linksOf(user.sub)).toHaveLength(1);
  });

  test('is refused for the last way in, also for two links at once (federation FR8, F30)', async () => {
    const sub = newSubject();
    provider.be({ sub, preferred_username: `only ${number}` });
    provider.lie({ idToken: { auth_time: Math.floor(Date.now() / 1000) } });
    const agent = new UserAgent(service);
    await signInBy(agent, 'honest');
    const [{ sub: user }] = (await service.database.sql<{ sub: string }>(
      'SELECT sub FROM linked_identities WHERE subject = $1',
      [sub],
    )) as [{ sub: string }];
    const only = await post(agent, { act: 'remove', connection: 'honest' });
    expect(only).toMatchObject({ status: 409, body: expect.stringContaining('This is the only way to sign in') });
    await post(agent, { act: 'confirm' }, await begin(agent, 'second'));
    expect(await linksOf(user)).toHaveLength(2);
    const page = await agent.get(path);
    await Promise.all([
      post(agent, { act: 'remove', connection: 'honest' }, page),
      post(agent, { act: 'remove', connection: 'second' }, page),
    ]);
    expect(await linksOf(user)).toHaveLength(1);
  });

  test('is refused while the other connection is disabled (federation FR8)', async () => {
    provider.lie({ idToken: { auth_time: Math.floor(Date.now() / 1000) } });
    const sub = newSubject();
    provider.be({ sub, preferred_username: `disabled ${number}` });
    const agent = new UserAgent(service);
    await signInBy(agent, 'honest');
    await post(agent, { act: 'confirm' }, await begin(agent, 'second'));
    await changeConnection(service, 'second', { status: 'disabled' });
    expect((await post(agent, { act: 'remove', connection: 'honest' })).status).toBe(409);
    await changeConnection(service, 'second', { status: 'enabled' });
  });
});
