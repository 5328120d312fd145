// A user signs up and creates the account by a mailed link.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { recoveryCodesOf } from '../helpers/authenticator.ts';
import { Authenticator, passkeyForm } from '../helpers/passkey.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const newPassword = 'three umbrellas under a lighthouse';
const bed = createMailBed();
const { server, newUser, order, linkTo, follow, takes, eventsOf } = bed;
let service: TestService;
let admin: string;
beforeAll(async () => {
  ({ service, admin } = await bed.start());
});
afterAll(() => bed.stop());

describe('sign-up', () => {
  test('ends with a signed-in user, in a new session that another user of the browser loses (security R52)', async () => {
    const before = await newUser();
    const agent = new UserAgent(service);
    await agent.signIn(before);
    const cookie = agent.cookies.get('JSESSIONOPENID');
    await order('/sign-up', { email: 'signed-in@example.com' });
    const link = await linkTo('signed-in@example.com', /Finish creating your account/);
    const done = await follow(link, { username: 'signed-in', new_password: newPassword }, agent);
    expect([done.status, done.location]).toEqual([303, `${service.issuer}/account?done=welcome`]);
    expect(agent.cookies.get('JSESSIONOPENID')).not.toBe(cookie);
    expect((await agent.get('/account')).body).toContain('signed-in');
    const sessions = await service.database.sql<{ username: string; amr: string[] }>(
      `SELECT username, amr FROM sessions JOIN users USING (sub) WHERE username = ANY ($1)`,
      [['signed-in', before.username]],
    );
    expect(sessions).toEqual([{ username: 'signed-in', amr: ['pwd'] }]);
  });

  test('creates one account by a mailed link, and only the recipient of the mail learns whether the address has an account (security R60)', async () => {
    const user = await newUser();
    const email = 'newcomer@example.com';
    expect((await new UserAgent(service).get('/login')).body).toContain('href="/sign-up"');
    const answers = [];
    for (const address of [email, user.email])
      answers.push((await order('/sign-up', { email: address })).body.replace(/value="[^"]*"/g, ''));
    expect(answers[0]).toBe(answers[1]);
    const known = await server.find(user.email, /already have an account/);
    expect([known.link, known.text]).toEqual([undefined, expect.stringContaining(user.username)]);
    const link = await linkTo(email, /Finish creating your account/);
    expect(await service.store.users.findByEmail(email)).toBeUndefined();
    for (const [username, sentence] of [
      [user.username, 'This user name is taken'],
      ['eve@example.com', 'Use up to 64 letters'],
      ['https://evil.example', 'Use up to 64 letters'],
      ['www.evil.example', 'Use up to 64 letters'],
      ['You won! Look at evil', 'Use up to 64 letters'],
      ['Go to evil.example now', 'Use up to 64 letters'],
      ['Ada\nLovelace', 'Use up to 64 letters'],
      // each check is of the normal form (security R154)
      ['Go to ｅｖｉｌ．ｅｘａｍｐｌｅ now', 'Use up to 64 letters'],
      ['eve＠example.com', 'Use up to 64 letters'],
      ['new\u200bcomer', 'Use up to 64 letters'],
      ['new\u034fcomer', 'Use up to 64 letters'],
      [user.sub, 'Use up to 64 letters'],
      [` ${user.sub.toUpperCase()}`, 'Use up to 64 letters'],
      ['a'.repeat(65), 'Use up to 64 letters'],
      ['', 'Enter a user name'],
    ] as const)
      expect((await follow(link, { username, new_password: newPassword })).body).toContain(sentence);
    const pages = await Promise.all(
      ["J. R. d'Été-1", 'newcomer.2'].map((username) => follow(link, { username, new_password: newPassword })),
    );
    expect(pages.map(({ status }) => status).sort()).toEqual([303, 410]);
    const account = await service.store.users.findByEmail(email);
    expect(account).toMatchObject({ emailVerified: true, admin: false, groups: [] });
    expect(await takes({ username: email }, newPassword)).toBe(true);
    expect(await eventsOf(account!.sub, 'user.signed_up')).toHaveLength(1);
  });

  test('an address that is the name of another user gets the usual page, and a mail that says whom to ask (security R153, R154)', async () => {
    const address = 'held@example.com';
    await service.createUser({ username: 'HELD@example.com' });
    const free = await order('/sign-up', { email: 'free@example.com' });
    const page = await order('/sign-up', { email: address });
    const without = ({ body }: { body: string }) => body.replace(/value="[^"]*"/g, '');
    expect(without(page)).toBe(without(free));
    const mail = await server.find(address, /This email address is in use/);
    expect(mail.text).toContain('contact an administrator of this service');
    expect(mail.link).toBeUndefined();
    expect(mail.text).not.toContain('HELD');
    expect(await service.store.users.findByEmail(address)).toBeUndefined();
  });

  test('continues to the client that requested a new account, in the browser that sent the request (Initiating User Registration 1.0, 4.1)', async () => {
    const { body } = await call(`${service.issuer}/.well-known/openid-configuration`);
    expect(body['prompt_values_supported']).toEqual(['none', 'login', 'consent', 'select_account', 'create']);
    const client = await service.createClient({ client_name: 'Harbour' });
    const ask = (agent: UserAgent, prompt = 'create') =>
      agent.get(authorizationUrl(service.issuer, client, { prompt })).then((page) => agent.follow(page));
    // a signed-in user may also create an account
    const agent = new UserAgent(service);
    await agent.authorize(client, await newUser());
    const page = await ask(agent);
    expect(page.url).toContain('/sign-up?transaction=');
    expect(page.body).toContain('Harbour');
    const [email, username] = ['harbour@example.com', 'harbourer'];
    await agent.submit(page, { email });
    const link = await linkTo(email, /Finish creating your account/);
    // another browser shows the sign-up without the client
    expect((await new UserAgent(service).get(page.url)).body).not.toContain('Harbour');
    expect((await agent.get(link)).body).toContain('Harbour');
    const done = await agent.follow(await follow(link, { username, new_password: newPassword }, agent));
    expect(done.body).toContain('Harbour');
    expect(agent.cookies.has('GATEHOUSE_PENDING_REQUEST')).toBe(false);
    const answer = await agent.submit(done, { decision: 'allow' });
    expect(responseParameters(answer)).toMatchObject({ code: expect.any(String) as string });
    // together with another value, create is reported to the client as an error
    for (const prompt of ['create login', 'create consent', 'create none', 'none create'])
      expect(responseParameters(await ask(agent, prompt))['error'], prompt).toBe('invalid_request');
  });

  test('has mails that open its own page only, and so has a sign-up link (pages, sign-up links)', async () => {
    const { body } = await call(`${service.issuer}/admin/api/sign-up-links`, {
      token: admin,
      body: { name: 'Crew', uses: 9, expires_at: new Date(Date.now() + 86_400_000).toISOString() },
    });
    const path = (body['uri'] as string).slice(service.issuer.length);
    await order(path, { email: 'by-link@example.com' });
    await order('/sign-up', { email: 'by-page@example.com' });
    const [byLink, byPage] = await Promise.all(
      ['by-link', 'by-page'].map((name) => linkTo(`${name}@example.com`, /Finish creating your account/)),
    );
    const status = async (link: string) => (await new UserAgent(service).get(link)).status;
    expect(await Promise.all([byLink!, byPage!].map(status))).toEqual([200, 200]);
    const swapped = [byLink!.replace('/link/complete', '/complete'), byPage!.replace('/complete', '/link/complete')];
    expect(await Promise.all(swapped.map(status))).toEqual([410, 410]);
  });

  test('is off by default, and allowed for the domains that the operator lists (pages, sign-in)', async () => {
    const off = await startTestService();
    const some = await startTestService({
      environment: { SIGN_UP: 'on', SIGN_UP_DOMAINS: 'example.org, Example.NET' },
    });
    try {
      const agent = new UserAgent(off);
      expect((await agent.get('/sign-up')).status).toBe(404);
      expect((await agent.get('/login')).body).not.toContain('/sign-up');
      const { body } = await call(`${off.issuer}/.well-known/openid-configuration`);
      expect(body['prompt_values_supported']).not.toContain('create');
      const [user, client] = [await off.createUser(), await off.createClient()];
      await agent.authorize(client, user);
      const answer = await agent.follow(await agent.get(authorizationUrl(off.issuer, client, { prompt: 'create' })));
      expect(responseParameters(answer)['error']).toBe('invalid_request');
      const browser = new UserAgent(some);
      for (const [email, status] of [
        ['a@example.org', 200],
        ['b@EXAMPLE.net', 200],
        ['c@example.com', 400],
        ['d@evil.example.org', 400],
      ] as const)
        expect((await order('/sign-up', { email }, browser)).status, email).toBe(status);
    } finally {
      await off.stop();
      await some.stop();
    }
  });
});

describe('a new user', () => {
  const linkFor = async (email: string): Promise<string> => {
    await order('/sign-up', { email });
    return linkTo(email, /Finish creating your account/);
  };
  const namesOf = async (username: string) => (await service.store.users.findByUsername(username))?.claims;

  test('types a display name, which is checked and stored (pages, sign-in)', async () => {
    const link = await linkFor('named@example.com');
    expect((await new UserAgent(service).get(link)).body).toContain('id="name"');
    const wrong = await follow(link, { username: 'named', name: 'Ada\u0007', new_password: newPassword });
    expect([wrong.status, wrong.body]).toEqual([400, expect.stringContaining('id="name-fault"')]);
    const long = await follow(link, { username: 'named', name: 'a'.repeat(256), new_password: newPassword });
    expect(long.body).toContain('Use at most 255 characters for your name.');
    await follow(link, { username: 'named', name: ' Ada Lovelace ', new_password: newPassword });
    expect(await namesOf('named')).toEqual({ name: 'Ada Lovelace' });
    const without = await linkFor('unnamed@example.com');
    await follow(without, { username: 'unnamed', name: '', new_password: newPassword });
    expect(await namesOf('unnamed')).toEqual({});
  });

  test('chooses a passkey, never sets a password, gets recovery codes, and signs in by it alone (pages, sign-in)', async () => {
    const link = await linkFor('keyed@example.com');
    const agent = new UserAgent(service);
    const first = await agent.get(link);
    expect(first.body).toMatch(/id="choose-passkey" name="act" value="passkey" data-with-passkey hidden/);
    const taken = await newUser();
    const choose = async (username: string) =>
      agent.submit(await agent.get(link), { username, name: 'Kay', act: 'passkey' });
    expect((await choose(taken.username)).body).toContain('This user name is taken');
    expect((await choose('')).body).toContain('Enter a user name');
    const asked = await choose('keyed');
    const { action, options, fields } = passkeyForm(asked);
    expect(options).toMatchObject({ user: { name: 'keyed', displayName: 'Kay' } });
    expect(await service.store.users.findByEmail('keyed@example.com')).toBeUndefined();
    const key = new Authenticator(service.issuer);
    const credential = key.create(options);
    // the key was made for this name, handle, link and browser
    const others: Record<string, string>[] = [{ username: 'keyed-2' }, { name: 'Kai' }, { handle: 'AAAA' }];
    for (const other of others)
      expect((await agent.post(action, { ...fields, credential, ...other })).status, JSON.stringify(other)).toBe(400);
    expect((await new UserAgent(service).post(action, { ...fields, credential })).status).toBe(400);
    const done = await agent.post(action, { ...fields, credential });
    expect(done.status).toBe(200);
    expect(recoveryCodesOf(done)).toHaveLength(10);
    expect(done.body).toContain('href="/account?done=welcome"');
    expect((await agent.get('/account')).body).toContain('Kay');
    const user = (await service.store.users.findByUsername('keyed'))!;
    expect(user).toMatchObject({ passwordHash: undefined, emailVerified: true, claims: { name: 'Kay' } });
    expect(await eventsOf(user.sub, 'user.second_factor_added')).toHaveLength(1);
    expect((await new UserAgent(service).get(link)).status).toBe(410);
    const browser = new UserAgent(service);
    const login = passkeyForm(await browser.get('/login'));
    const signedIn = await browser.post(login.action, { ...login.fields, credential: key.get(login.options) });
    expect(signedIn.location).toBe(`${service.issuer}/account`);
  });

  test('has one account when the passkey is sent twice (security R62)', async () => {
    const link = await linkFor('twice@example.com');
    const agent = new UserAgent(service);
    const asked = await agent.submit(await agent.get(link), { username: 'twice', act: 'passkey' });
    const { action, options, fields } = passkeyForm(asked);
    const credential = new Authenticator(service.issuer).create(options);
    const answers = await Promise.all([1, 2].map(() => agent.post(action, { ...fields, credential })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(recoveryCodesOf(answers[0]!)).toEqual(recoveryCodesOf(answers[1]!));
  });
});
