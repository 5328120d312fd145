// Notifications are mailed in each language, and the queue loses no mail and sends none twice.
import { statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { call } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { mailsIn, type ReceivedMail } from '../helpers/mail-server.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

const newPassword = 'three umbrellas under a lighthouse';
const bed = createMailBed();
const { server, newUser, order, forgotten, eventsOf, quiet, mailsTo } = bed;
let service: TestService;
let admin: string;
beforeAll(async () => {
  ({ service, admin } = await bed.start());
});
afterAll(() => bed.stop());

describe('a notification', () => {
  test("a mail reports the first sign-in in a new browser, once, in the user's language (pages, mails)", async () => {
    const user = await newUser({ claims: { locale: 'de-CH' } });
    const agent = new UserAgent(service);
    const firefox = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };
    const fields = hiddenFields((await agent.get('/login')).body);
    await agent.post('/login', { ...fields, username: user.username, password: user.password }, firefox);
    const mail = await server.find(user.email, /Neue Anmeldung/);
    for (const part of [mail.text, mail.html]) {
      expect(part).toContain('Firefox auf Linux');
      expect(part).toMatch(/127\.0\.0\.1|::1/);
      expect(part).toContain('UTC');
    }
    await agent.signIn(user);
    await quiet();
    expect(mailsTo(user.email)).toHaveLength(1);
    // an unconfirmed address may belong to another person
    const unconfirmed = await newUser({ emailVerified: false });
    await new UserAgent(service).signIn(unconfirmed);
    await quiet();
    expect(mailsTo(unconfirmed.email)).toEqual([]);
  });

  test.each([
    ['en', /sign-in methods were changed/, /password was changed/, 'ltr', { claims: {}, browser: 'fi' }],
    ['de', /Anmeldemethoden wurden geändert/, /Passwort wurde/, 'ltr', { claims: { locale: 'de' }, browser: 'ar' }],
    ['ar', /طرق تسجيل الدخول/, /تم تغيير كلمة المرور/, 'rtl', { claims: {}, browser: 'ar-EG,ar;q=0.9' }],
  ])(
    "a mail in %s, the user's language or else the browser's, reports each second factor that is added or removed, and a new password (pages, mails)",
    async (locale, factors, password, dir, { claims, browser }) => {
      const user = await newUser({ claims });
      const agent = new UserAgent(service, { 'accept-language': browser });
      await agent.signIn(user);
      await setUpAuthenticator(agent);
      await server.find(user.email, factors);
      const form = hiddenFields((await agent.get('/account/second-factors')).body);
      const [factor] = await service.store.totpAuthenticators.list(user.sub);
      await agent.post('/account/second-factors', { ...form, remove: factor!.id });
      await order('/account/password', { current_password: user.password, new_password: newPassword }, agent);
      const notice = await server.find(user.email, password);
      for (const mail of [await server.find(user.email, factors), notice])
        expect(mail.html).toContain(`<html lang="${locale}" dir="${dir}">`);
      await quiet();
      const factorMails = mailsTo(user.email).filter(({ parsed }) => factors.test(parsed.subject!));
      expect(factorMails).toHaveLength(2);
      for (const mail of [...factorMails, notice])
        for (const part of [mail.text, mail.html]) {
          expect(part).toContain(user.username);
          expect(part).toContain(`${service.issuer}/account`);
          expect(part).toMatch(/127\.0\.0\.1|::1/);
        }
    },
  );

  test('one mail tells administrators of all waiting registrations, and each registrant gets the decision with its reason (pages, mails)', async () => {
    const administrator = await newUser({ admin: true });
    const names = ['Harbour', 'Lighthouse'];
    const registered = [];
    for (const client_name of names)
      registered.push(
        await call(`${service.issuer}/register`, {
          body: {
            redirect_uris: ['https://rp.example.com/callback'],
            client_name,
            contacts: [`${client_name}@example.org`, 'the desk'],
          },
        }),
      );
    const mail = await server.find(administrator.email, /pending approval/);
    expect(mail.text).toContain('Harbour');
    const [first, second] = registered.map(({ body }) => body['client_id'] as string);
    const api = `${service.issuer}/admin/api/clients`;
    const { body } = await call(`${api}/${first}`, { token: admin });
    await call(`${api}/${first}/approve`, { token: admin, body: { version: body['version'] } });
    const reason = 'Nobody here\r\nBcc: eve@example.com knows it.';
    await service.store.clients.refuse(second!, reason);
    await server.find('Harbour@example.org', /approved: Harbour/);
    const refused = await server.find('Lighthouse@example.org', /not approved: Lighthouse/);
    expect(refused.text).toContain('Nobody here Bcc: eve@example.com knows it.');
    await quiet();
    expect(mailsTo(administrator.email).filter(({ parsed }) => /pending/.test(parsed.subject!))).toHaveLength(1);
    expect(server.mails.some(({ to }) => to.includes('eve@example.com'))).toBe(false);
  });

  test('a name cannot add a header to a mail, and an address cannot become two (security R107)', async () => {
    const user = await newUser();
    const name = 'x\r\nBcc: eve@example.com\r\n\r\nhello';
    await service.database.sql('UPDATE users SET username = $2 WHERE sub = $1', [user.sub, name]);
    await forgotten(user.email);
    const mail = await server.find(user.email, /Reset your password/);
    expect(mail.parsed.bcc).toBeUndefined();
    expect(mail.text).toContain('x Bcc: … hello');
    await service.store.mails.insert({ name: 'sign-up', recipient: 'a@example.com, eve@example.com' });
    await service.store.mails.insert({ name: 'sign-up', recipient: 'a@example.com>\r\nRCPT TO:<eve@example.com' });
    await quiet();
    expect(server.mails.some(({ to }) => to.includes('eve@example.com'))).toBe(false);
    const given = await service.database.sql(`SELECT detail FROM audit_events WHERE type = 'mail.given_up'`);
    expect(given).toHaveLength(2);
  });
});

describe('the queue', () => {
  const due = async () => {
    await service.database.sql('UPDATE outbox SET next_attempt_at = now()');
    await service.database.sql(`NOTIFY gatehouse, 'mail'`);
  };

  test('the queue keeps mails while the mail server is down, and two instances send each once when it is up again (pages, mails)', async () => {
    await quiet();
    await server.stop();
    const users = await Promise.all(Array.from({ length: 12 }, () => newUser()));
    for (const user of users) expect((await forgotten(user.username)).status).toBe(200);
    await vi.waitUntil(
      async () =>
        (await service.database.sql(`SELECT FROM outbox WHERE last_failure LIKE '%ECONNREFUSED%'`)).length ===
        users.length,
      { timeout: 10_000, interval: 20 },
    );
    await server.start();
    await due();
    for (const { email } of users) await server.to(email);
    await quiet();
    for (const { email } of users) expect(mailsTo(email)).toHaveLength(1);
  });

  test('the queue keeps a mail of a later version for an instance that knows it (security R118)', async () => {
    const user = await newUser();
    await service.database.sql(`INSERT INTO outbox (channel, name, sub) VALUES ('mail', 'of-a-later-version', $1)`, [
      user.sub,
    ]);
    await due();
    const tried = `SELECT FROM outbox WHERE name = 'of-a-later-version' AND last_failure LIKE '%does not know%'`;
    await vi.waitUntil(async () => (await service.database.sql(tried)).length === 1, { timeout: 10_000, interval: 20 });
    await service.database.sql(`DELETE FROM outbox WHERE name = 'of-a-later-version'`);
  });

  test('a new password cancels the links that were requested while the mail server was down (security R55)', async () => {
    await quiet();
    const user = await newUser();
    const attacker = new UserAgent(service);
    await attacker.signIn(user);
    await quiet();
    await server.stop();
    await order('/account/email', { email: `attacker-of-${user.email}` }, attacker);
    await forgotten(user.username);
    const failed = () =>
      service.database.sql(`SELECT FROM outbox WHERE last_failure IS NOT NULL AND sub = $1`, [user.sub]);
    await vi.waitUntil(async () => (await failed()).length === 3, { timeout: 10_000, interval: 20 });
    const owner = new UserAgent(service);
    await owner.signIn(user);
    const page = await owner.get('/account/password');
    await owner.submit(page, { current_password: user.password, new_password: newPassword });
    const orders = () => service.database.sql(`SELECT name FROM outbox WHERE sub = $1 ORDER BY name`, [user.sub]);
    await vi.waitUntil(async () => (await orders()).some(({ name }) => name === 'password-changed'), {
      timeout: 10_000,
    });
    expect(await orders()).toEqual([
      // the previous address is still notified
      { name: 'address-change-ordered' },
      { name: 'new-sign-in' },
      { name: 'password-changed' },
    ]);
    await server.start();
    await due();
    await quiet();
    expect(mailsTo(`attacker-of-${user.email}`)).toEqual([]);
    expect(
      await service.database.sql('SELECT purpose FROM mailed_links WHERE sub = $1 AND used_at IS NULL', [user.sub]),
    ).toEqual([{ purpose: 'stop_change' }]);
  });

  test('a request that is cancelled while its mail is composed creates no link (security R55)', async () => {
    await quiet();
    const user = await newUser();
    await service.store.transaction(async ({ users }) => {
      await users.lock(user.sub);
      await service.store.mails.insert({ name: 'reset-password', sub: user.sub });
      const waits = () =>
        service.database.sql(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
      await vi.waitUntil(async () => (await waits()).length > 0, { timeout: 10_000, interval: 20 });
      await users.setPassword(user.sub, user.passwordHash!.replace(/.$/, 'x'));
    });
    await vi.waitUntil(
      () =>
        service.logs.some(
          ({ msg, sub }) => String(msg).startsWith('a mail no longer has a recipient') && sub === user.sub,
        ),
      { timeout: 10_000, interval: 20 },
    );
    expect(await service.database.sql('SELECT FROM mailed_links WHERE sub = $1', [user.sub])).toEqual([]);
  });

  test('the queue gives up a refused mail at once, and any mail after a day, and records both (pages, mails)', async () => {
    await quiet();
    const [user, late] = [await newUser(), await newUser()];
    server.unknown.add(user.email);
    await forgotten(user.username);
    await vi.waitUntil(async () => (await eventsOf(user.sub, 'mail.given_up')).length === 1, { timeout: 10_000 });
    await server.stop();
    await forgotten(late.username);
    await vi.waitUntil(
      async () => (await service.database.sql('SELECT FROM outbox WHERE last_failure IS NOT NULL')).length === 1,
      { timeout: 10_000, interval: 20 },
    );
    await service.database.sql(`UPDATE outbox SET created_at = now() - interval '25 hours'`);
    await due();
    await vi.waitUntil(async () => (await eventsOf(late.sub, 'mail.given_up')).length === 1, { timeout: 10_000 });
    await server.start();
    expect(await eventsOf(late.sub, 'mail.given_up')).toEqual([{ detail: { mail: 'reset-password', attempts: 1 } }]);
  });

  test('the queue and the log hold no secret (security R26, R99)', async () => {
    const logs = JSON.stringify(service.logs);
    for (const mail of server.mails.filter(({ link }) => link !== undefined))
      expect(logs).not.toContain(new URL(mail.link!).searchParams.get('token'));
    expect(logs).not.toContain('let me in');
    expect(logs).not.toContain('let%20me%20in');
    const columns = await service.database.sql<{ text: string }>('SELECT m::text AS text FROM outbox m');
    for (const { text } of columns) expect(text).not.toContain('ghml_');
  });

  test('the service limits the links that it sends to one address, and the requests of one network (security R62)', async () => {
    const limited = await startTestService({
      environment: { LIMIT_MAILED_LINKS: '2', LIMIT_MAILED_LINKS_PER_NETWORK: '4' },
    });
    try {
      const user = await limited.createUser({ email: 'many@example.com', emailVerified: true });
      const agent = new UserAgent(limited);
      const answers: Page[] = [];
      for (let count = 0; count < 5; count++) answers.push(await forgotten(user.username, agent));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429]);
      expect(answers[4]!.body).toContain('Too many links were requested');
      await vi.waitUntil(async () => (await limited.database.sql('SELECT FROM outbox')).length === 0, {
        timeout: 10_000,
      });
      expect(await mailsIn(limited.dataDir)).toHaveLength(2);
      // requests for one kind of link do not use up the limit of the others
      for (let count = 0; count < 3; count++)
        for (const name of ['sign-up-known', 'verify-address'])
          await limited.store.mails.insert({ name, sub: user.sub, data: { replaces: user.email } });
      await vi.waitUntil(async () => (await limited.database.sql('SELECT FROM outbox')).length === 0, {
        timeout: 10_000,
      });
      expect(await mailsIn(limited.dataDir)).toHaveLength(6);
    } finally {
      await limited.stop();
    }
  });
});

test('without a mail server each mail is a file that only its owner can read, and the log mentions it without the link (pages, mails)', async () => {
  const alone = await startTestService();
  try {
    const user = await alone.createUser({ email: 'ada@example.com', emailVerified: true });
    await forgotten(user.username, new UserAgent(alone));
    let mails: Awaited<ReturnType<typeof mailsIn>> = [];
    await vi.waitUntil(async () => (mails = await mailsIn(alone.dataDir)).length === 1, {
      timeout: 10_000,
      interval: 20,
    });
    const [mail] = mails as [ReceivedMail & { file: string }];
    expect(mail.parsed).toMatchObject({ subject: 'Reset your password', to: { text: 'ada@example.com' } });
    expect([statSync(mail.file).mode & 0o777, statSync(`${alone.dataDir}/mail`).mode & 0o777]).toEqual([0o600, 0o700]);
    await vi.waitUntil(() => alone.logs.some(({ msg }) => String(msg).startsWith('mail not sent, but written')), {
      timeout: 10_000,
    });
    expect(alone.logs.filter(({ msg }) => String(msg).startsWith('SMTP_URL is not set'))).toHaveLength(1);
    expect(JSON.stringify(alone.logs)).not.toContain(new URL(mail.link!).searchParams.get('token'));
    expect((await new UserAgent(alone).get(mail.link!)).status).toBe(200);
  } finally {
    await alone.stop();
  }
});
