// A user signs up and creates the account by a mailed link.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const newPassword = 'three umbrellas under a lighthouse';
const bed = createMailBed();
const { server, newUser, order, linkTo, follow, takes, eventsOf } = bed;
let service: TestService;
beforeAll(async () => {
  ({ service } = await bed.start());
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
