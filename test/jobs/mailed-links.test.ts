// A mailed link, for a forgotten password or for an address, works once, and does not show who has an account.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { call } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { type TestService } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

const newPassword = 'three umbrellas under a lighthouse';
const bed = createMailBed();
const { server, newUser, order, forgotten, linkTo, follow, takes, eventsOf, quiet, mailsTo } = bed;
let service: TestService;
let admin: string;
beforeAll(async () => {
  ({ service, admin } = await bed.start());
});
afterAll(() => bed.stop());

/** Four browsers open a link, and send its form at once, to both instances; returns the sorted statuses. */
async function useAtOnce(link: string, typed: (index: number) => Record<string, string>): Promise<number[]> {
  const agents = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const agent = new UserAgent(service);
      return { agent, fields: hiddenFields((await agent.get(link)).body) };
    }),
  );
  const pages = await Promise.all(
    agents.map(({ agent, fields }, index) =>
      agent.post(service.instances[index % 2]! + link.split('?')[0]!, { ...fields, ...typed(index) }),
    ),
  );
  return pages.map(({ status }) => status).sort();
}

describe('a forgotten password', () => {
  test.each([
    ['en', 'Reset your password', 'works once and expires in 30 minutes', 'ltr'],
    ['de', 'Passwort zurücksetzen', 'kann einmal verwendet werden und ist 30 Minuten gültig', 'ltr'],
    ['ar', 'إعادة تعيين كلمة المرور', 'يمكن استخدام الرابط مرة واحدة', 'rtl'],
  ])(
    'a mailed link replaces a forgotten password once, in %s (pages, mails)',
    async (locale, subject, sentence, dir) => {
      const user = await newUser({ claims: { locale } });
      const elsewhere = new UserAgent(service);
      await elsewhere.signIn(user);
      await forgotten(locale === 'en' ? user.username.toUpperCase() : user.email);
      const mail = await server.find(user.email, new RegExp(subject));
      expect(mail.parsed.to).toMatchObject({ text: user.email });
      expect(mail.parsed.from).toMatchObject({ text: '"Gatehouse" <no-reply@localhost>' });
      expect(mail.parsed.messageId).toMatch(/^<[0-9a-f-]{36}@localhost>$/);
      expect(mail.parsed.headers.get('auto-submitted')).toBe('auto-generated');
      for (const part of [mail.text, mail.html])
        for (const text of [sentence, user.username]) expect(part).toContain(text);
      expect(mail.html).toContain(`<html lang="${locale}" dir="${dir}">`);
      // the mail loads nothing, so that the sender cannot see who reads it
      expect(mail.html).not.toMatch(/<img|<link|<script|url\(|@import/i);
      expect(mail.html).not.toMatch(/undefined|\[object|[{}]\w+\}/);
      expect(mail.html.split(`href="${mail.link}"`)).toHaveLength(3);
      const link = mail.link!.replace(service.issuer, '');
      // mail programs open links before the user does
      for (let look = 0; look < 2; look++) expect((await new UserAgent(service).get(link)).status).toBe(200);
      const page = await follow(link, { new_password: newPassword });
      expect([page.status, page.location]).toEqual([303, `${service.issuer}/account?done=password-changed`]);
      expect((await elsewhere.get('/account')).status).toBe(303);
      expect([await takes(user, user.password), await takes(user, newPassword)]).toEqual([false, true]);
      expect(await follow(link, { new_password: `${newPassword} again` })).toMatchObject({ status: 410 });
      expect(await eventsOf(user.sub, 'link.used')).toEqual([{ detail: { purpose: 'reset_password' } }]);
      expect(await eventsOf(user.sub, 'link.sent')).toEqual([{ detail: { purpose: 'reset_password' } }]);
      const notice = await server.find(user.email, /password was changed|Passwort wurde geändert|تم تغيير كلمة المرور/);
      expect(notice.text).toMatch(/127\.0\.0\.1|::1/);
    },
  );

  test('an unknown name, an unconfirmed address and a disabled account get the same answer as a known user, and no mail (security R60)', async () => {
    const known = await newUser();
    const unconfirmed = await newUser({ emailVerified: false });
    const disabled = await newUser();
    await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [disabled.sub]);
    // the job looks the user up afterwards
    service.ofRequests.length = 0;
    const answers = [];
    const sent: string[][] = [];
    for (const login of [known.username, 'nobody at all', unconfirmed.email, disabled.username]) {
      const page = await forgotten(login);
      answers.push([page.status, page.body.replace(/value="[^"]*"/g, ''), [...page.headers.keys()]]);
      sent.push(service.ofRequests.splice(0).filter((name) => name.startsWith('users.')));
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    // the service looks up no user before the answer
    expect(sent.flat().filter((name) => name === 'users.find_by_login')).toEqual([]);
    await server.to(known.email);
    await quiet();
    expect([known, unconfirmed, disabled].map(({ email }) => mailsTo(email).length)).toEqual([1, 0, 0]);
  });

  test('only one of several concurrent uses of a link succeeds, on any instance (security R62)', async () => {
    const user = await newUser();
    await forgotten(user.username);
    const link = await linkTo(user.email, /Reset your password/);
    expect(await useAtOnce(link, (index) => ({ new_password: `${newPassword} ${index}` }))).toEqual([
      303, 410, 410, 410,
    ]);
    expect(await eventsOf(user.sub, 'user.password_changed')).toHaveLength(1);
  });

  test('a link stops working when it expires, a password is set or the address changes, and is refused in another form or for another purpose (security R55)', async () => {
    const user = await newUser();
    const links: string[] = [];
    const another = async () => {
      server.mails.length = 0;
      await forgotten(user.username);
      links.push(await linkTo(user.email, /Reset your password/));
    };
    await another();
    await service.database.sql(`UPDATE mailed_links SET expires_at = now() - interval '1 second'`);
    await another();
    await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [user.sub]);
    await another();
    await service.database.sql('UPDATE users SET email = $2 WHERE sub = $1', [user.sub, user.email.toUpperCase()]);
    for (const link of links) expect((await follow(link, { new_password: newPassword })).status).toBe(410);
    await service.database.sql('UPDATE users SET email = $2 WHERE sub = $1', [user.sub, user.email]);
    await another();
    const link = links.at(-1)!;
    const elsewhere = link.replace('/password/reset', '/account/email/confirm');
    expect((await new UserAgent(service).get(elsewhere)).status).toBe(410);
    const agent = new UserAgent(service);
    const fields = hiddenFields((await agent.get(link)).body);
    const other = hiddenFields((await agent.get('/password/forgotten')).body);
    const refused = [
      await agent.post('/password/reset', { ...fields, ...other, new_password: newPassword }),
      await agent.post('/password/reset', { ...fields, new_password: 'short' }),
      await agent.post('/password/reset', { ...fields, new_password: `${user.username} 2026` }),
      await new UserAgent(service).post('/password/reset', { ...fields, new_password: newPassword }),
    ];
    for (const page of refused)
      expect([page.status, page.body]).toEqual([400, expect.stringMatching(/wasn’t changed|class="fault"/)]);
    const foreign = { 'sec-fetch-site': 'cross-site' };
    expect((await agent.post('/password/reset', { ...fields, new_password: newPassword }, foreign)).status).toBe(403);
    expect((await agent.get(link, { 'sec-purpose': 'prefetch' })).status).toBe(403);
    expect((await agent.post('/password/reset', { ...fields, new_password: newPassword })).status).toBe(303);
  });

  test.each([
    ['is no longer confirmed', 'UPDATE users SET email_verified = false WHERE sub = $1'],
    [
      'is no longer confirmed, though the link is unused',
      'UPDATE users SET email_verified = false WHERE sub = $1',
      true,
    ],
    ['is disabled, and enabled again', `UPDATE users SET status = 'disabled' WHERE sub = $1`],
  ])('a link stops working when its address or account %s (security R55)', async (_how, change, revived = false) => {
    const user = await newUser();
    await forgotten(user.username);
    const link = await linkTo(user.email, /Reset your password/);
    const agent = new UserAgent(service);
    const fields = hiddenFields((await agent.get(link)).body);
    await service.database.sql(change, [user.sub]);
    if (revived) await service.database.sql('UPDATE mailed_links SET used_at = NULL WHERE sub = $1', [user.sub]);
    else
      await service.database.sql(`UPDATE users SET status = 'enabled', email_verified = true WHERE sub = $1`, [
        user.sub,
      ]);
    expect((await agent.post('/password/reset', { ...fields, new_password: newPassword })).status).toBe(410);
    expect(await takes(user, user.password)).toBe(true);
  });

  test('an administrator issues a recovery link, by admin route and by command line (pages, mails)', async () => {
    const user = await service.createUser();
    const created = await call(`${service.issuer}/admin/api/users/${user.sub}/recovery-link`, {
      token: admin,
      body: {},
    });
    expect(created.status).toBe(201);
    const link = (created.body['recovery_uri'] as string).replace(service.issuer, '');
    expect((await follow(link, { new_password: newPassword })).status).toBe(303);
    expect([await takes(user, newPassword), (await follow(link, { new_password: newPassword })).status]).toEqual([
      true,
      410,
    ]);
    const printed = await runCommand(service, ['user', 'recovery-link', user.username, '--lifetime', '60']);
    const second = /http\S+/.exec(printed.stdout)![0].replace(service.issuer, '');
    expect((await follow(second, { new_password: `${newPassword}!` })).status).toBe(303);
    expect(await eventsOf(user.sub, 'link.created')).toHaveLength(2);
  });
});

describe('an address', () => {
  test.each([
    ['en', /Verify your email address/, '/account'],
    ['de', /Bestätigen Sie Ihre E-Mail-Adresse/, '/account/email'],
    ['ar', /تأكيد عنوان بريدك الإلكتروني/, '/account'],
  ])(
    'a user confirms an address by a link that works once, in %s, the language of the browser (pages, mails)',
    async (language, subject, from) => {
      const user = await newUser({ emailVerified: false });
      const agent = new UserAgent(service);
      await agent.signIn(user);
      const page = await agent.get(from);
      const csrf = /action="\/account\/email\/verification"[^]*?name="csrf" value="([^"]*)"/.exec(page.body)![1]!;
      const sent = await agent.post(
        '/account/email/verification',
        { csrf },
        { 'accept-language': `${language},en;q=0.1` },
      );
      expect([sent.status, sent.body]).toEqual([200, expect.stringContaining(user.email)]);
      const link = await linkTo(user.email, subject);
      expect((await follow(link)).body).toContain('Email address verified');
      expect((await follow(link)).status).toBe(410);
      expect(await service.store.users.find(user.sub)).toMatchObject({ email: user.email, emailVerified: true });
      expect(await eventsOf(user.sub, 'user.email_verified')).toHaveLength(1);
    },
  );

  test('a new address takes effect once its link is used, and the old address is notified; the address of another account never takes effect (pages, mails)', async () => {
    const user = await newUser();
    const other = await newUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    for (const [email, fault] of [
      ['not an address', 'name@example.com'],
      ['a@b\r\nBcc: eve@example.com', 'name@example.com'],
      [user.email.toUpperCase(), 'already'],
    ] as const)
      expect((await order('/account/email', { email }, agent)).body).toMatch(new RegExp(`email-fault">[^<]*${fault}`));
    const newAddress = `new-${user.email}`;
    expect((await order('/account/email', { email: newAddress }, agent)).body).toContain(newAddress);
    expect((await order('/account/email', { email: other.email }, agent)).body).toContain(other.email);
    // an address that is held gets no link, but whom to ask (security R154)
    const held = await server.find(other.email, /This email address is in use/);
    expect([held.link, held.text]).toEqual([undefined, expect.not.stringContaining(user.username)]);
    // one that another user takes meanwhile
    await order('/account/email', { email: `late-${user.email}` }, agent);
    const otherLink = await linkTo(`late-${user.email}`, /Verify your email address/);
    await service.createUser({ username: `late-${user.email}` });
    const link = await linkTo(newAddress, /Verify your email address/);
    expect((await service.store.users.find(user.sub))?.email).toBe(user.email);
    const taken = await follow(otherLink);
    expect([taken.status, taken.body]).toEqual([
      409,
      expect.stringContaining('Another account uses this email address'),
    ]);
    const pages = await Promise.all([follow(link), follow(link), follow(link)]);
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 410, 410]);
    expect(await service.store.users.find(user.sub)).toMatchObject({ email: newAddress, emailVerified: true });
    await server.find(user.email, /email address was changed/);
    expect(await eventsOf(user.sub, 'user.email_changed')).toHaveLength(1);
    // a link that was requested before the change no longer works
    expect((await follow(otherLink)).status).toBe(410);
  });

  test('a user confirms an address in another browser only by a button, and the page names the user (security R55)', async () => {
    const user = await newUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const newAddress = `new-${user.email}`;
    await order('/account/email', { email: newAddress }, agent);
    const link = await linkTo(newAddress, /Verify your email address/);
    const telephone = new UserAgent(service);
    for (let look = 0; look < 2; look++) {
      const page = await telephone.get(link);
      for (const text of [user.username, newAddress]) expect(page.body).toContain(text);
    }
    expect((await service.store.users.find(user.sub))?.email).toBe(user.email);
    expect(
      (await new UserAgent(service).post('/account/email/confirm', { token: link.split('token=')[1]! })).status,
    ).toBe(400);
    expect((await follow(link, {}, telephone)).body).toContain(user.username);
    expect((await service.store.users.find(user.sub))?.email).toBe(newAddress);
    // the link does not sign the user in
    expect((await telephone.get('/account')).status).toBe(303);
  });

  test('a user changes the address only after a recent sign-in (security R91)', async () => {
    const user = await newUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const fields = hiddenFields((await agent.get('/account/email')).body);
    await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '16 minutes' WHERE sub = $1`, [
      user.sub,
    ]);
    const pages = [
      await agent.get('/account/email'),
      await agent.post('/account/email', { ...fields, email: 'x@example.com' }),
    ];
    for (const page of pages) expect(page.location).toBe(`${service.issuer}/login?destination=email`);
    const back = await agent.signIn(user, await agent.follow(pages[0]!));
    expect(back.url).toBe(`${service.issuer}/account/email`);
  });
});

test.each(['recovery', 'confirm', 'sign-up'])(
  'only one of several concurrent uses of a link of the kind %s succeeds, on any instance (security R62)',
  async (kind) => {
    const user = await newUser();
    let link: string;
    if (kind === 'recovery') {
      const path = `${service.issuer}/admin/api/users/${user.sub}/recovery-link`;
      link = (await call(path, { token: admin, body: {} })).body['recovery_uri'] as string;
    } else if (kind === 'confirm') {
      const agent = new UserAgent(service);
      await agent.signIn(user);
      await order('/account/email', { email: `raced-${user.email}` }, agent);
      link = await linkTo(`raced-${user.email}`, /Verify your email address/);
    } else {
      await order('/sign-up', { email: `raced-up-${user.email}` });
      link = await linkTo(`raced-up-${user.email}`, /Finish/);
    }
    link = link.replace(service.issuer, '');
    const fields = (index: number) => ({ username: `raced ${kind} ${index}`, new_password: `${newPassword} ${index}` });
    expect(await useAtOnce(link, fields)).toEqual([kind === 'confirm' ? 200 : 303, 410, 410, 410]);
  },
);
