// A change of the email address waits for confirmation, ends with its session, and can be stopped from the previous address.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { call, withoutLimits } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

const bed = createMailBed();
const { server, newUser, order, forgotten, linkTo, follow, eventsOf, quiet, mailsTo } = bed;
type User = Awaited<ReturnType<typeof newUser>>;
const newPassword = 'three umbrellas under a lighthouse';
let service: TestService;
let admin: string;
beforeAll(async () => {
  ({ service, admin } = await bed.start());
});
afterAll(() => bed.stop());

const signedIn = async (user: { username: string; password: string }) => {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
};
const emailOf = async ({ sub }: { sub: string }) => (await service.store.users.find(sub))?.email;
const sidOf = async ({ sub }: User, position: 'first' | 'last') => {
  const rows = await service.database.sql<{ sid: string }>('SELECT sid FROM sessions WHERE sub = $1 ORDER BY id', [
    sub,
  ]);
  return rows.at(position === 'first' ? 0 : -1)!.sid;
};
/** Submits one of the forms of a page. */
async function submitForm(agent: UserAgent, path: string, action: string, fields: Record<string, string> = {}) {
  const [, form = ''] = (await agent.get(path)).body.split(
    `action="${new URL(service.issuer).pathname.replace(/\/$/, '')}${action}"`,
  );
  return agent.post(action, { ...hiddenFields(form.split('</form>')[0]!), ...fields });
}
/** Creates a user with a pending change, in the browser that ordered it, and signs the user in in another browser afterwards. */
async function orderChange() {
  const user = await newUser();
  const agent = await signedIn(user);
  const other = await signedIn(user);
  const wanted = `new-${user.email}`;
  expect((await order('/account/email', { email: wanted }, agent)).status).toBe(200);
  const link = await linkTo(wanted, /Verify your email address/);
  const stop = await linkTo(user.email, /email address is about to change/);
  return { user, agent, other, wanted, link, stop };
}
type PendingChange = Awaited<ReturnType<typeof orderChange>>;

const endings: Record<string, (at: PendingChange) => Promise<unknown>> = {
  'the browser that ordered it signs out': ({ agent }) =>
    submitForm(agent, '/logout', '/logout', { decision: 'sign-out' }),
  'its user ends that session elsewhere': async ({ other, user }) =>
    submitForm(other, '/account/sessions', '/account/sessions', { end: await sidOf(user, 'first') }),
  'its user ends all other sessions elsewhere': ({ other }) =>
    submitForm(other, '/account/sessions', '/account/other-sessions'),
  'its user ends all other sessions where it was ordered': ({ agent }) =>
    submitForm(agent, '/account/sessions', '/account/other-sessions'),
  'its user changes the password where it was ordered': ({ agent, user }) =>
    submitForm(agent, '/account/password', '/account/password', {
      current_password: user.password,
      new_password: newPassword,
    }),
  'its user changes the password elsewhere': ({ other, user }) =>
    submitForm(other, '/account/password', '/account/password', {
      current_password: user.password,
      new_password: newPassword,
    }),
  'its user chooses another password by a mailed link': async ({ user }) => {
    await forgotten(user.username);
    await follow(await linkTo(user.email, /Reset your password/), { new_password: newPassword });
  },
  'an administrator ends all sessions by route': ({ user }) =>
    call(`${service.issuer}/admin/api/users/${user.sub}/sessions`, { method: 'DELETE', token: admin }),
  'an administrator ends that session by route': async ({ user }) =>
    call(`${service.issuer}/admin/api/sessions/${await sidOf(user, 'first')}`, { method: 'DELETE', token: admin }),
  'an administrator ends another session by route': async ({ user }) =>
    call(`${service.issuer}/admin/api/sessions/${await sidOf(user, 'last')}`, { method: 'DELETE', token: admin }),
  'an administrator ends all sessions by command': ({ user }) =>
    runCommand(service, ['session', 'end-all', user.username]),
  'an administrator sets the password by command': ({ user }) =>
    runCommand(service, ['user', 'set-password', user.username, '--password-stdin'], { stdin: newPassword }),
  'the sessions are deleted by SQL': ({ user }) =>
    service.database.sql('DELETE FROM sessions WHERE sub = $1', [user.sub]),
  'the session has expired': ({ user }) =>
    service.database.sql('UPDATE sessions SET idle_expires_at = now() WHERE sub = $1', [user.sub]),
};

describe('a pending change of the email address', () => {
  test.each(Object.keys(endings))('ends when %s (security R118)', async (how) => {
    const change = await orderChange();
    const { user, link, stop } = change;
    const otherDevice = new UserAgent(service);
    const fields = hiddenFields((await otherDevice.get(link)).body);
    await endings[how]!(change);
    expect((await otherDevice.post('/account/email/confirm', fields)).status).toBe(410);
    expect((await follow(link)).status).toBe(410);
    expect(await emailOf(user)).toBe(user.email);
    // the new address cannot be used to reset the password
    const stopPage = await follow(stop);
    expect([stopPage.status, stopPage.body]).toEqual([410, expect.stringContaining('no change to cancel')]);
    // a mail that is still on its way to the queue is not sent
    const data = { replaces: user.email };
    const [session] = await service.database.sql<{ id: string }>(
      `SELECT session_id::text AS id FROM mailed_links WHERE sub = $1 AND email = $2`,
      [user.sub, change.wanted],
    );
    const lives = await service.database.sql('SELECT 1 FROM sessions WHERE id = $1 AND idle_expires_at > now()', [
      session!.id,
    ]);
    if (lives.length > 0) return;
    const lateMail = { name: 'verify-address', sub: user.sub, recipient: `late-${user.email}`, data };
    await service.store.mails.insert({ ...lateMail, sessionId: session!.id });
    await quiet();
    expect(mailsTo(`late-${user.email}`)).toEqual([]);
  });

  test('continues after a sign-out in another browser, and the confirmation of the current address after any sign-out (security R118)', async () => {
    const { other, link, user, wanted } = await orderChange();
    await submitForm(other, '/logout', '/logout', { decision: 'sign-out' });
    expect((await follow(link)).status).toBe(200);
    expect(await emailOf(user)).toBe(wanted);
    const unproven = await newUser({ emailVerified: false });
    const agent = await signedIn(unproven);
    await submitForm(agent, '/account/email', '/account/email/verification');
    const proof = await linkTo(unproven.email, /Verify your email address/);
    await submitForm(agent, '/logout', '/logout', { decision: 'sign-out' });
    expect((await follow(proof)).status).toBe(200);
  });

  test('is confirmed before the end of its session or not at all, if both happen at once (security R118)', async () => {
    for (let round = 0; round < 6; round++) {
      const { agent, user, wanted, link } = await orderChange();
      const otherDevice = new UserAgent(service);
      const fields = hiddenFields((await otherDevice.get(link)).body);
      const [confirmed] = await Promise.all([
        otherDevice.post(`${service.instances[1]!}/account/email/confirm`, fields),
        round % 2 === 0
          ? submitForm(agent, '/logout', '/logout', { decision: 'sign-out' })
          : call(`${service.issuer}/admin/api/users/${user.sub}/sessions`, { method: 'DELETE', token: admin }),
      ]);
      expect([200, 410]).toContain(confirmed.status);
      expect(await emailOf(user)).toBe(confirmed.status === 200 ? wanted : user.email);
      expect((await follow(link)).status).toBe(410);
    }
  });

  test('that is ordered while its session ends is never confirmed (security R118)', async () => {
    for (let round = 0; round < 4; round++) {
      const user = await newUser();
      const agent = await signedIn(user);
      const fields = hiddenFields((await agent.get('/account/email')).body);
      const wanted = `raced-${user.email}`;
      await Promise.all([
        agent.post('/account/email', { ...fields, email: wanted }),
        call(`${service.instances[1]!}/admin/api/users/${user.sub}/sessions`, { method: 'DELETE', token: admin }),
      ]);
      await quiet();
      for (const { link } of mailsTo(wanted))
        expect((await follow(link!.replace(service.issuer, ''))).status).toBe(410);
      expect(await emailOf(user)).toBe(user.email);
    }
  });
});

describe('the previous address', () => {
  test.each([
    ['en', /Your account’s email address is about to change/, 'Cancel the change', 'ltr'],
    ['de', /E-Mail-Adresse Ihres Kontos soll geändert werden/, 'Änderung abbrechen', 'ltr'],
    ['ar', /سيتم تغيير عنوان البريد/, 'إلغاء التغيير', 'rtl'],
  ])(
    'gets a mail about an ordered change, and stops it with one button and without sign-in, in %s (security R118)',
    async (locale, subject, words, dir) => {
      const user = await newUser({ claims: { locale } });
      const agent = await signedIn(user);
      const wanted = `new-${user.email}`;
      await order('/account/email', { email: wanted }, agent);
      const mail = await server.find(user.email, subject);
      for (const part of [mail.text, mail.html]) {
        for (const text of [user.username, words]) expect(part).toContain(text);
        // the recipient does not learn the new address
        expect(part).not.toContain(wanted);
      }
      const stop = mail.link!.replace(service.issuer, '');
      const confirm = await linkTo(wanted, /./);
      const otherBrowser = new UserAgent(service, { 'accept-language': locale });
      for (let look = 0; look < 2; look++) {
        const page = await otherBrowser.get(stop);
        expect(page.status).toBe(200);
        for (const text of [user.username, words, `dir="${dir}"`, 'id="stop"']) expect(page.body).toContain(text);
        expect(page.body).not.toContain(wanted);
      }
      expect((await new UserAgent(service).get(confirm)).status).toBe(200);
      const token = stop.split('token=')[1]!;
      expect((await new UserAgent(service).post('/account/email/stop', { token })).status).toBe(400);
      expect((await otherBrowser.get(stop, { 'sec-purpose': 'prefetch' })).status).toBe(403);
      expect((await follow(stop, {}, otherBrowser)).status).toBe(200);
      expect((await follow(confirm)).status).toBe(410);
      expect(await emailOf(user)).toBe(user.email);
      // the link works once, and then says that there is nothing to stop
      expect((await follow(stop)).status).toBe(410);
      expect(await eventsOf(user.sub, 'user.email_change_stopped')).toHaveLength(1);
      expect(await eventsOf(user.sub, 'link.used')).toEqual([{ detail: { purpose: 'stop_change' } }]);
      // only a digest of the token is stored
      const stored = await service.database.sql('SELECT l::text AS row FROM mailed_links l WHERE sub = $1', [user.sub]);
      expect(JSON.stringify(stored)).not.toContain(token.slice(5, 20));
    },
  );

  test('stops all pending changes by the link of any of them (security R118)', async () => {
    const { agent, user, link, stop } = await orderChange();
    await order('/account/email', { email: `second-${user.email}` }, agent);
    const second = await linkTo(`second-${user.email}`, /Verify your email address/);
    expect((await follow(stop)).body).toContain('The change was canceled');
    expect([(await follow(link)).status, (await follow(second)).status]).toEqual([410, 410]);
  });

  test('cannot stop a confirmed change, and if both happen at once, one of them takes effect (security R118)', async () => {
    const done = await orderChange();
    expect((await follow(done.link)).status).toBe(200);
    expect((await follow(done.stop)).body).toContain('no change to cancel');
    for (let round = 0; round < 4; round++) {
      const { link, stop, user, wanted } = await orderChange();
      const pages = await Promise.all([follow(link), follow(stop)]);
      expect(pages.map(({ status }) => status).sort()).toEqual([200, 410]);
      expect(await emailOf(user)).toBe(pages[0].status === 200 ? wanted : user.email);
    }
  });

  test('can stop a change for longer than it can be confirmed, however late the mail with the link is sent (security R118)', async () => {
    const { user } = await orderChange();
    const [row] = await service.database.sql<{ longer: boolean }>(
      `SELECT max(expires_at) FILTER (WHERE purpose = 'stop_change')
                > max(expires_at) FILTER (WHERE purpose = 'verify_address') + interval '1 day' AS longer
         FROM mailed_links WHERE sub = $1`,
      [user.sub],
    );
    expect(row!.longer).toBe(true);
  });

  test('gets the mail even if it was never confirmed, and a user without a previous address gets none (security R118)', async () => {
    const unproven = await newUser({ emailVerified: false });
    const email = `new-${unproven.email}`;
    await submitForm(await signedIn(unproven), '/account/email', '/account/email', { email });
    expect((await follow(await linkTo(unproven.email, /email address is about to change/))).status).toBe(200);
    const none = await service.createUser();
    await order('/account/email', { email: 'first-address@example.com' }, await signedIn(none));
    expect((await follow(await linkTo('first-address@example.com', /Verify your email address/))).status).toBe(200);
    await quiet();
    expect(await eventsOf(none.sub, 'link.sent')).toEqual([{ detail: { purpose: 'verify_address' } }]);
  });

  test('gets a mail about each change: beyond the limit of mails no change is ordered (security R62, R118)', async () => {
    const limited = await startTestService({
      environment: { ...withoutLimits, LIMIT_MAILED_LINKS: '2', LIMIT_MAILED_LINKS_PER_NETWORK: '0' },
    });
    try {
      const user = await limited.createUser({ email: 'ada@example.com', emailVerified: true });
      const agent = new UserAgent(limited);
      await agent.signIn(user);
      const fields = hiddenFields((await agent.get('/account/email')).body);
      const change = async (email: string) => (await agent.post('/account/email', { ...fields, email })).status;
      const statuses = [];
      for (const name of ['b', 'c', 'd']) statuses.push(await change(`${name}@example.com`));
      expect(statuses).toEqual([200, 200, 429]);
    } finally {
      await limited.stop();
    }
  });
});
