// An invited user sets a password or creates a passkey by a link that works once, and is signed in.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Authenticator as App, recoveryCodesOf } from '../helpers/authenticator.ts';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { call } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { Authenticator, passkeyForm } from '../helpers/passkey.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const newPassword = 'three umbrellas under a lighthouse';
const subject = /You’re invited to Gatehouse/;
const bed = createMailBed();
const { server, linkTo, follow, takes, eventsOf, quiet, mailsTo } = bed;
let service: TestService;
let admin: string;
let made = 0;
beforeAll(async () => {
  ({ service, admin } = await bed.start());
});
afterAll(() => bed.stop());

const api = (path: string, options: Parameters<typeof call>[1] = {}) =>
  call(`${service.issuer}/admin/api/users${path}`, { token: admin, ...options });

interface Invited {
  sub: string;
  username: string;
  email: string;
  link: string;
}

/** Creates a user with an invitation, which arrives by mail. */
async function invite(more: Record<string, unknown> = {}): Promise<Invited> {
  const [username, email] = [`invited-${++made}`, `invited-${made}@example.com`];
  const created = await api('', { body: { username, email, invite: true, ...more } });
  expect(created.status).toBe(201);
  expect(created.body).not.toHaveProperty('invitation_uri');
  return { sub: created.body['sub'] as string, username, email, link: await linkTo(email, subject) };
}
/** The same without an address: the answer holds the link. */
async function inviteByLink(): Promise<Omit<Invited, 'email'>> {
  const username = `handed-${++made}`;
  const { body } = await api('', { body: { username, invite: true } });
  return { sub: body['sub'] as string, username, link: pathOf(body['invitation_uri'] as string) };
}
const pathOf = (uri: string) => uri.replace(service.issuer, '');
const accept = (link: string, agent?: UserAgent) => follow(link, { new_password: newPassword }, agent);
const find = async (sub: string) => (await service.store.users.find(sub))!;
const amrOf = async (sub: string) =>
  (await service.database.sql<{ amr: string[] }>('SELECT amr FROM sessions WHERE sub = $1', [sub])).map(
    ({ amr }) => amr,
  );
const at = (path: string) => `${service.issuer}${path}`;
async function createPasskey(link: string, agent: UserAgent, key = new Authenticator(service.issuer)) {
  const { action, options, fields } = passkeyForm(await agent.get(link));
  return { key, page: await agent.post(action, { ...fields, credential: key.create(options) }) };
}

describe('an invitation', () => {
  test('is mailed when an administrator creates a user, greets by name, and ends with a signed-in user whose address is confirmed (pages, users)', async () => {
    const user = await invite({ claims: { name: 'Zoë Bold' } });
    const mail = await server.find(user.email, subject);
    for (const part of [mail.text, mail.html])
      for (const text of [user.username, 'Gatehouse', 'works once and expires in 7 days']) expect(part).toContain(text);
    expect(await find(user.sub)).toMatchObject({ emailVerified: false, passwordHash: undefined });
    const agent = new UserAgent(service);
    const page = await agent.get(user.link);
    for (const text of ['Zoë Bold', 'invited to Gatehouse', user.username, user.email])
      expect(page.body).toContain(text);
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');
    const done = await accept(user.link, agent);
    expect([done.status, done.location]).toEqual([303, at('/account?done=welcome')]);
    expect((await agent.follow(done)).body).toContain('Your account is ready');
    expect(await amrOf(user.sub)).toEqual([['pwd']]);
    expect(await find(user.sub)).toMatchObject({ emailVerified: true });
    expect(await takes(user, newPassword)).toBe(true);
    const events = await Promise.all(
      ['user.invited', 'link.sent', 'user.invitation_used', 'user.email_verified'].map((type) =>
        eventsOf(user.sub, type),
      ),
    );
    expect(events).toEqual([
      [{ detail: { by_mail: true } }],
      [{ detail: { purpose: 'invitation' } }],
      [{ detail: { method: 'password', by_mail: true } }],
      [{ detail: {} }],
    ]);
    await server.find(user.email, /New sign-in/);
  });

  test.each([
    ['de', 'Einladung zu Gatehouse', 'ltr'],
    ['ar', 'دعوة إلى Gatehouse', 'rtl'],
  ])('is mailed in the language of the user: %s (pages, users)', async (locale, sentence, dir) => {
    const [username, email] = [`invited-${++made}`, `invited-${made}@example.com`];
    await api('', { body: { username, email, invite: true, claims: { locale } } });
    const mail = await server.find(email, new RegExp(sentence));
    expect(mail.html).toContain(`<html lang="${locale}" dir="${dir}">`);
    expect(mail.html).not.toMatch(/<img|undefined|\[object|[{}]\w+\}/);
  });

  test('asks for the display name, shows the present one, and stores it with a password and with a passkey (pages, users)', async () => {
    const first = await invite({ claims: { name: 'Ada L.', nickname: 'ada' } });
    expect((await new UserAgent(service).get(first.link)).body).toContain('value="Ada L."');
    await follow(first.link, { name: 'Ada Lovelace', new_password: newPassword });
    expect((await find(first.sub)).claims).toEqual({ name: 'Ada Lovelace', nickname: 'ada' });
    const second = await invite({ claims: { name: 'Grace H.' } });
    const agent = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await agent.get(second.link));
    const credential = new Authenticator(service.issuer).create(options);
    const wrong = await agent.post(action, { ...fields, name: 'a'.repeat(256), credential });
    expect([wrong.status, wrong.body]).toEqual([400, expect.stringContaining('id="name-fault"')]);
    await agent.post(action, { ...fields, name: 'Grace Hopper', credential });
    expect((await find(second.sub)).claims).toEqual({ name: 'Grace Hopper' });
    // a form of the version before has no such field
    const third = await invite({ claims: { name: 'Alan' } });
    await accept(third.link);
    expect((await find(third.sub)).claims).toEqual({ name: 'Alan' });
  });

  test('is not used up by programs that open it, and opening it writes nothing (security R55)', async () => {
    const user = await invite();
    await quiet();
    service.ofRequests.length = 0;
    for (let look = 0; look < 3; look++) expect((await new UserAgent(service).get(user.link)).status).toBe(200);
    const written = service.ofRequests.filter((name) => /insert|update|set_|use$|make|end_|delete/.test(name));
    expect(written).toEqual([]);
    expect((await new UserAgent(service).get(user.link, { 'sec-purpose': 'prefetch' })).status).toBe(403);
    expect((await accept(user.link)).status).toBe(303);
  });

  test('works once, also for concurrent uses on any instance (security R62)', async () => {
    const user = await invite();
    const agents = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const agent = new UserAgent(service);
        return { agent, fields: hiddenFields((await agent.get(user.link)).body) };
      }),
    );
    const pages = await Promise.all(
      agents.map(({ agent, fields }, index) =>
        agent.post(`${service.instances[index % 2]!}/invitation`, {
          ...fields,
          new_password: `${newPassword} ${index}`,
        }),
      ),
    );
    expect(pages.map(({ status }) => status).sort()).toEqual([303, 410, 410, 410]);
    expect(await amrOf(user.sub)).toHaveLength(1);
    expect(await eventsOf(user.sub, 'user.invitation_used')).toHaveLength(1);
    const again = await new UserAgent(service).get(user.link);
    expect([again.status, again.body]).toEqual([410, expect.stringContaining('This link no longer works')]);
  });

  test('one of a password and a passkey at once is stored (security R62)', async () => {
    const user = await invite();
    const [first, second] = [new UserAgent(service), new UserAgent(service)];
    const { action, options, fields } = passkeyForm(await first.get(user.link));
    const form = hiddenFields((await second.get(user.link)).body);
    const pages = await Promise.all([
      first.post(action, { ...fields, credential: new Authenticator(service.issuer).create(options) }),
      second.post(`${service.instances[1]!}/invitation`, { ...form, new_password: newPassword }),
    ]);
    expect(pages.filter(({ status }) => status === 410)).toHaveLength(1);
    const methods = [(await find(user.sub)).passwordHash, ...(await service.store.passkeys.list(user.sub))];
    expect(methods.filter((method) => method !== undefined)).toHaveLength(1);
  });

  test.each([
    ['a newer invitation', async ({ sub }: Invited) => void (await api(`/${sub}/invitation`, { method: 'POST' }))],
    ['its revocation', async ({ sub }: Invited) => void (await api(`/${sub}/invitation`, { method: 'DELETE' }))],
    [
      'a password of an administrator',
      async ({ sub }: Invited) => void (await api(`/${sub}`, { method: 'PATCH', body: { password: newPassword } })),
    ],
    [
      'another address',
      async ({ sub }: Invited) => void (await api(`/${sub}`, { method: 'PATCH', body: { email: 'x@example.com' } })),
    ],
    [
      'disabling the user, also when the user is enabled again',
      async ({ sub }: Invited) => {
        await api(`/${sub}`, { method: 'PATCH', body: { status: 'disabled' } });
        await api(`/${sub}`, { method: 'PATCH', body: { status: 'enabled' } });
      },
    ],
    [
      'making the user an administrator, also by plain SQL and when the user is none again',
      async ({ sub }: Invited) => {
        await service.database.sql('UPDATE users SET admin = true WHERE sub = $1', [sub]);
        await api(`/${sub}`, { method: 'PATCH', body: { admin: false } });
      },
    ],
    ['deleting the user', async ({ sub }: Invited) => void (await api(`/${sub}`, { method: 'DELETE' }))],
    [
      'its time',
      async ({ sub }: Invited) =>
        void (await service.database.sql(
          `UPDATE mailed_links SET expires_at = now() - interval '1 second' WHERE sub = $1`,
          [sub],
        )),
    ],
  ])('is ended by %s, also where its page is open (security R55)', async (_how, end) => {
    const user = await invite();
    const agent = new UserAgent(service);
    const fields = hiddenFields((await agent.get(user.link)).body);
    await end(user);
    expect((await agent.get(user.link)).status).toBe(410);
    expect((await agent.post('/invitation', { ...fields, new_password: newPassword })).status).toBe(410);
    expect(await amrOf(user.sub)).toEqual([]);
  });

  test.each([
    ['a disabled user', `UPDATE users SET status = 'disabled' WHERE sub = $1`],
    ['a user with another address', `UPDATE users SET email = 'y@example.com' WHERE sub = $1`],
    ['a user with a password', `UPDATE users SET password_hash = 'x' WHERE sub = $1`],
    [
      'a user with a second factor',
      `INSERT INTO passkeys (id, credential_id, sub, public_key, sign_count, aaguid, backup_eligible, backed_up, name)
       VALUES ($1, sha256($1::text::bytea), $1, '\\x00', 0, gen_random_uuid(), false, false, '')`,
    ],
  ])('is refused for %s, though the link is unused (security R127)', async (_who, change) => {
    const user = await invite();
    const agent = new UserAgent(service);
    const fields = hiddenFields((await agent.get(user.link)).body);
    await service.database.sql(change, [user.sub]);
    await service.database.sql('UPDATE mailed_links SET used_at = NULL WHERE sub = $1', [user.sub]);
    expect((await agent.get(user.link)).status).toBe(410);
    expect((await agent.post('/invitation', { ...fields, new_password: newPassword })).status).toBe(410);
  });

  test('is not sent to a user who was disabled, or has another address, while the mail waited (security R55)', async () => {
    for (const change of [`status = 'disabled'`, `email = 'late-' || email`, `password_hash = 'x'`]) {
      const [username, email] = [`invited-${++made}`, `invited-${made}@example.com`];
      const user = await service.createUser({ username, email, passwordHash: undefined });
      const order = `INSERT INTO outbox (channel, name, sub, recipient, data, next_attempt_at)
        VALUES ('mail', 'invitation', $1, $2, '{}', now() + interval '1 hour')`;
      await service.database.sql(order, [user.sub, email]);
      await service.database.sql(`UPDATE users SET ${change} WHERE sub = $1`, [user.sub]);
      const rows = await service.database.sql(`SELECT 1 FROM outbox WHERE sub = $1 AND name = 'invitation'`, [
        user.sub,
      ]);
      expect(rows, change).toEqual([]);
    }
  });

  test('is refused in a form of another page, browser, site or purpose, and keeps its password rules (security R55, R59)', async () => {
    const user = await invite();
    const other = await inviteByLink();
    const agent = new UserAgent(service);
    const fields = hiddenFields((await agent.get(user.link)).body);
    const ofOther = hiddenFields((await agent.get(other.link)).body);
    const choice = { new_password: newPassword };
    const refused = [
      await agent.post('/invitation', { ...fields, ...choice, csrf: ofOther['csrf']! }),
      await new UserAgent(service).post('/invitation', { ...fields, ...choice }),
      await agent.post('/invitation', { ...fields, new_password: 'short' }),
      await agent.post('/invitation', { ...fields, new_password: `${user.username} 2026` }),
      await agent.post('/invitation', fields),
      await agent.post('/invitation', { ...fields, credential: '{}' }),
    ];
    for (const page of refused)
      expect([page.status, page.body]).toEqual([400, expect.stringMatching(/wasn’t accepted yet|id="password-fault"/)]);
    expect((await agent.post('/invitation', { ...fields, ...choice }, { 'sec-fetch-site': 'cross-site' })).status).toBe(
      403,
    );
    // a link of one kind does not work as another
    const token = user.link.split('?')[1]!;
    for (const path of ['/password/reset', '/account/email/confirm', '/sign-up/complete'])
      expect((await agent.get(`${path}?${token}`)).status, path).toBe(410);
    const recovery = (await api(`/${(await service.createUser()).sub}/recovery-link`, { body: {} })).body;
    const elsewhere = pathOf(recovery['recovery_uri'] as string).replace('/password/reset', '/invitation');
    expect((await agent.get(elsewhere)).status).toBe(410);
    expect((await agent.post('/invitation', { ...fields, ...choice })).status).toBe(303);
  });

  test('by a link that an administrator hands over does not confirm the address (pages, users)', async () => {
    const user = await inviteByLink();
    await service.database.sql('UPDATE users SET email = $2 WHERE sub = $1', [
      user.sub,
      `${user.username}@example.com`,
    ]);
    await service.database.sql('UPDATE mailed_links SET used_at = NULL WHERE sub = $1', [user.sub]);
    expect((await accept(user.link)).status).toBe(303);
    expect(await find(user.sub)).toMatchObject({ emailVerified: false });
    expect(await eventsOf(user.sub, 'user.email_verified')).toEqual([]);
    expect(await eventsOf(user.sub, 'user.invitation_used')).toEqual([
      { detail: { method: 'password', by_mail: false } },
    ]);
  });

  test('is stored as a digest, and appears in no log (security R27, R99)', async () => {
    const user = await inviteByLink();
    const token = user.link.split('token=')[1]!;
    await new UserAgent(service).get(user.link);
    const rows = await service.database.sql<{ row: string }>(
      `SELECT mailed_links::text AS row FROM mailed_links WHERE sub = $1`,
      [user.sub],
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]!.row).not.toContain(token);
    expect(JSON.stringify(service.logs)).not.toContain(token);
  });
});

describe('a passkey of an invitation', () => {
  test('signs the user in, comes with recovery codes, and signs in alone afterwards (Web Authentication 7.1)', async () => {
    const user = await invite();
    const agent = new UserAgent(service);
    const { key, page } = await createPasskey(user.link, agent);
    expect(page.status).toBe(200);
    expect(recoveryCodesOf(page)).toHaveLength(10);
    expect(page.body).toContain('href="/account?done=welcome"');
    expect((await agent.get('/account')).status).toBe(200);
    // the key has signed nothing yet: the session does not count as phishing-resistant
    expect(await amrOf(user.sub)).toEqual([['user', 'mfa']]);
    expect(await find(user.sub)).toMatchObject({ emailVerified: true, passwordHash: undefined });
    expect(await eventsOf(user.sub, 'user.invitation_used')).toEqual([
      { detail: { method: 'passkey', by_mail: true } },
    ]);
    expect(await eventsOf(user.sub, 'user.second_factor_added')).toHaveLength(1);
    expect((await new UserAgent(service).get(user.link)).status).toBe(410);
    const browser = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await browser.get('/login'));
    const signedIn = await browser.post(action, { ...fields, credential: key.get(options) });
    expect(signedIn.location).toBe(at('/account'));
  });

  test('ends older recovery and reset links of the user, also one whose mail waits (security R55, R59)', async () => {
    const user = await invite();
    const made = await api(`/${user.sub}/recovery-link`, { body: {} });
    const recovery = pathOf(made.body['recovery_uri'] as string);
    await service.database.sql(
      `INSERT INTO outbox (channel, name, sub, recipient, data, next_attempt_at)
       VALUES ('mail', 'reset-password', $1, $2, '{}', now() + interval '1 hour')`,
      [user.sub, user.email],
    );
    expect((await new UserAgent(service).get(recovery)).status).toBe(200);
    expect((await createPasskey(user.link, new UserAgent(service))).page.status).toBe(200);
    expect((await new UserAgent(service).get(recovery)).status).toBe(410);
    const left = await service.database.sql(
      `SELECT purpose AS what FROM mailed_links WHERE sub = $1 AND used_at IS NULL
        UNION ALL SELECT name FROM outbox WHERE sub = $1 AND name = 'reset-password'`,
      [user.sub],
    );
    expect(left).toEqual([]);
  });

  test('is refused with the challenge of another invitation, or without user verification (Web Authentication 7.1)', async () => {
    const [user, other] = [await invite(), await invite()];
    const agent = new UserAgent(service);
    const key = new Authenticator(service.issuer);
    const { action, options, fields } = passkeyForm(await agent.get(user.link));
    const foreign = passkeyForm(await agent.get(other.link)).options;
    for (const credential of [key.create(foreign), key.create(options, { flags: 65 })]) {
      const page = await agent.post(action, { ...fields, credential });
      expect([page.status, page.body]).toEqual([400, expect.stringContaining('couldn’t be verified')]);
    }
    expect(await service.store.passkeys.list(user.sub)).toEqual([]);
    expect((await agent.post(action, { ...fields, credential: key.create(options) })).status).toBe(200);
  });
});

describe('after an invitation', () => {
  test('the pending authorization request continues, and the session is a new one (security R52)', async () => {
    const client = await service.createClient({ client_name: 'Harbour' });
    const agent = new UserAgent(service);
    const login = await agent.follow(await agent.get(authorizationUrl(service.issuer, client)));
    expect(login.url).toContain('/login?transaction=');
    const user = await invite();
    agent.cookies.set('JSESSIONOPENID', 'ghse_planted');
    const page = await agent.get(user.link);
    expect(page.body).toContain('Harbour');
    const consent = await agent.follow(await accept(user.link, agent));
    expect(agent.cookies.get('JSESSIONOPENID')).not.toBe('ghse_planted');
    const answer = await agent.submit(consent, { decision: 'allow' });
    expect(responseParameters(answer)).toMatchObject({ code: expect.any(String) as string });
    expect(agent.cookies.has('GATEHOUSE_PENDING_REQUEST')).toBe(false);
  });

  test('another user of the browser is signed out there (security R52)', async () => {
    const before = await service.createUser();
    const agent = new UserAgent(service);
    await agent.signIn(before);
    const user = await invite();
    await accept(user.link, agent);
    expect((await agent.get('/account')).body).toContain(user.username);
    expect(await amrOf(before.sub)).toEqual([]);
  });

  test('a user of whom a second factor is demanded has no session before adding one (security R127)', async () => {
    const strict = await startTestService({ environment: { REQUIRE_SECOND_FACTOR: 'everyone' } });
    try {
      const printed = await runCommand(strict, ['user', 'invite', 'demanded']);
      const link = /http\S+/.exec(printed.stdout)![0].replace(strict.issuer, '');
      const agent = new UserAgent(strict);
      const fields = hiddenFields((await agent.get(link)).body);
      const asked = await agent.follow(await agent.post('/invitation', { ...fields, new_password: newPassword }));
      expect(asked.url).toContain('/login/authenticator');
      expect(await strict.database.sql('SELECT 1 FROM sessions')).toEqual([]);
      const added = await agent.submit(asked, { code: new App(asked).code() });
      expect(recoveryCodesOf(added)).toHaveLength(10);
      expect((await agent.get('/account')).status).toBe(200);
    } finally {
      await strict.stop();
    }
  });
});

describe('an administrator', () => {
  test('invites by admin route: a password is refused beside it, a user who can sign in is refused, and without mail the answer holds the link (pages, users)', async () => {
    const both = await api('', { body: { username: 'both', invite: true, password: newPassword } });
    expect([both.status, both.body['error_description']]).toEqual([400, expect.stringContaining('invite')]);
    expect(await service.store.users.findByUsername('both')).toBeUndefined();
    const user = await inviteByLink();
    const again = await api(`/${user.sub}/invitation`, { method: 'POST' });
    expect([again.status, again.body]).toEqual([
      201,
      { invitation_uri: expect.any(String) as string, invitation_expires_at: expect.any(String) as string },
    ]);
    expect((await new UserAgent(service).get(user.link)).status).toBe(410);
    expect((await accept(pathOf(again.body['invitation_uri'] as string))).status).toBe(303);
    const known = await api(`/${user.sub}/invitation`, { method: 'POST' });
    expect([known.status, known.body['error']]).toEqual([409, 'conflict']);
    const disabled = await service.createUser({ passwordHash: undefined });
    await service.store.users.update(disabled.sub, { status: 'disabled' });
    expect((await api(`/${disabled.sub}/invitation`, { method: 'POST' })).status).toBe(409);
    expect((await api('/nobody/invitation', { method: 'POST' })).status).toBe(404);
  });

  test('invites by command line: a new user, and an existing one without a password again (pages, users)', async () => {
    const run = (...words: string[]) => runCommand(service, words);
    const first = await run('user', 'invite', 'commanded', '--claim', 'name=Commanded', '--group', 'crew');
    const [link] = /http\S+/.exec(first.stdout)!;
    const user = (await service.store.users.findByUsername('commanded'))!;
    expect(user).toMatchObject({ groups: ['crew'], claims: { name: 'Commanded' }, passwordHash: undefined });
    const refused = await run('user', 'invite', 'commanded', '--email', 'commanded@example.com');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('here is a user of this name')]);
    const second = /http\S+/.exec((await run('user', 'invite', 'commanded')).stdout)![0];
    expect((await new UserAgent(service).get(pathOf(link))).status).toBe(410);
    expect((await run('user', 'revoke-invitation', 'commanded')).stdout).toContain('revoked');
    expect((await run('user', 'revoke-invitation', 'commanded')).stdout).toContain('nothing changed');
    expect((await new UserAgent(service).get(pathOf(second))).status).toBe(410);
    expect(await eventsOf(user.sub, 'user.invitation_revoked')).toHaveLength(1);
  });

  test('invites in the console, sends the invitation again and revokes it (pages, users)', async () => {
    const root = await service.createUser({ admin: true });
    const { agent } = await openConsole(service, root);
    const path = '/admin/users/new';
    const email = 'console-invited@example.com';
    const typed = { ...formOf(await agent.get(path), path), username: 'console-invited', email, access: 'invite' };
    const created = await agent.follow(await agent.post(path, typed));
    expect(created.url).toContain('done=user-invited');
    const link = await linkTo(email, subject);
    await quiet();
    const user = (await service.store.users.findByUsername('console-invited'))!;
    const page = await agent.get(`/admin/users/${user.sub}`);
    for (const text of [email, 'Send invitation again', 'Revoke invitation']) expect(page.body).toContain(text);
    const act = async (name: string) =>
      agent.follow(
        await agent.post(`/admin/users/${user.sub}`, { ...formOf(page, `/admin/users/${user.sub}`), act: name }),
      );
    expect((await act('invite')).url).toContain('done=invitation-sent');
    expect((await new UserAgent(service).get(link)).status).toBe(410);
    await quiet();
    expect(mailsTo(email)).toHaveLength(2);
    expect((await act('revoke-invitation')).url).toContain('done=invitation-revoked');
    const last = pathOf(mailsTo(email).at(-1)!.link!);
    expect((await new UserAgent(service).get(last)).status).toBe(410);
    expect((await agent.get(`/admin/users/${user.sub}`)).body).not.toContain('Revoke invitation');
    const withPassword = { ...formOf(await agent.get(path), path), username: 'console-set', access: 'password' };
    expect((await agent.post(path, withPassword)).body).toContain('id="password-fault"');
    const set = await agent.follow(await agent.post(path, { ...withPassword, password: newPassword }));
    expect(set.url).toContain('done=user-made');
    expect(await takes({ username: 'console-set' }, newPassword)).toBe(true);
  });
});
