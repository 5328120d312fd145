// A reset of the password ends signed in: after the second factor, in a new session, and at the application that waits.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import type { TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const newPassword = 'three umbrellas under a lighthouse';
const bed = createMailBed();
const { server, newUser, forgotten, linkTo, follow } = bed;
let service: TestService;
beforeAll(async () => {
  ({ service } = await bed.start());
});
afterAll(() => bed.stop());

const sessionsOf = (sub: string) =>
  service.database.sql<{ amr: string[] }>('SELECT amr FROM sessions WHERE sub = $1', [sub]);
const resetLink = async (user: { username: string; email: string }, agent?: UserAgent) => {
  await forgotten(user.username, agent);
  return linkTo(user.email, /Reset your password/);
};
const reset = (link: string, agent: UserAgent) => follow(link, { new_password: newPassword }, agent);

test('ends all other sessions and begins a new one by the password, and the mail about the new password is sent (security R52, R54)', async () => {
  const user = await newUser();
  const elsewhere = new UserAgent(service);
  await elsewhere.signIn(user);
  const agent = new UserAgent(service);
  await agent.signIn(user);
  const before = agent.cookies.get('JSESSIONOPENID');
  const done = await reset(await resetLink(user), agent);
  expect(done.location).toBe(`${service.issuer}/account?done=password-changed`);
  expect((await agent.follow(done)).body).toContain('Password changed');
  expect(agent.cookies.get('JSESSIONOPENID')).not.toBe(before);
  expect((await elsewhere.get('/account')).status).toBe(303);
  expect(await sessionsOf(user.sub)).toEqual([{ amr: ['pwd'] }]);
  await server.find(user.email, /password was changed/);
  const [event] = await service.database.sql(
    `SELECT detail FROM audit_events WHERE sub = $1 AND type = 'user.signed_in' ORDER BY id DESC LIMIT 1`,
    [user.sub],
  );
  expect(event).toEqual({ detail: { amr: ['pwd'] } });
});

test('a user with a second factor is asked for it before there is a session (security R127)', async () => {
  const user = await newUser();
  const first = new UserAgent(service);
  await first.signIn(user);
  const { app } = await setUpAuthenticator(first);
  const agent = new UserAgent(service);
  const asked = await agent.follow(await reset(await resetLink(user), agent));
  expect(asked.url).toBe(`${service.issuer}/login/second-factor`);
  expect(await sessionsOf(user.sub)).toEqual([]);
  expect((await agent.get('/account')).status).toBe(303);
  const done = await agent.submit(asked, { code: app.code(1) });
  expect(done.url).toBe(`${service.issuer}/account`);
  expect(await sessionsOf(user.sub)).toEqual([{ amr: ['pwd', 'otp', 'mfa'] }]);
});

test('the application that sent the user continues, and only in the browser that asked for the link (security R4)', async () => {
  const user = await newUser();
  const client = await service.createClient({ client_name: 'Harbour' });
  const agent = new UserAgent(service);
  const login = await agent.follow(await agent.get(authorizationUrl(service.issuer, client)));
  const path = /href="([^"]*\/password\/forgotten[^"]*)"/.exec(login.body)![1]!;
  expect(path).toContain('?transaction=');
  const page = await agent.get(path);
  // the way back leads to the same request
  expect(page.body).toContain(`href="${new URL(login.url).pathname}${new URL(login.url).search}"`);
  await agent.submit(page, { login: user.username });
  const other = new UserAgent(service);
  const elsewhere = await reset(await linkTo(user.email, /Reset your password/), other);
  expect(elsewhere.location).toContain('/account?done=');
  server.mails.length = 0;
  await agent.submit(await agent.get(path), { login: user.username });
  const link = await linkTo(user.email, /Reset your password/);
  const form = await agent.get(link);
  expect(form.headers.get('content-security-policy')).toContain(`form-action 'self';`);
  const consent = await agent.follow(await reset(link, agent));
  const answer = await agent.submit(consent, { decision: 'allow' });
  expect(responseParameters(answer)).toMatchObject({ code: expect.any(String) as string });
});

test('a link that was ordered without an application continues none (security R4)', async () => {
  const user = await newUser();
  const client = await service.createClient();
  const agent = new UserAgent(service);
  await agent.follow(await agent.get(authorizationUrl(service.issuer, client)));
  const done = await reset(await resetLink(user, agent), agent);
  expect(done.location).toBe(`${service.issuer}/account?done=password-changed`);
});
