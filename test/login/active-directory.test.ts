// Tests sign-in and import with Samba as a domain controller of Active Directory.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type ActiveDirectory, hasSamba, startActiveDirectory, startLimit } from '../helpers/active-directory.ts';
import { runCommand } from '../helpers/command-line.ts';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { addDirectory, changeSettings, settingsOfActiveDirectory, signInWith } from '../helpers/directories.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { openWalk, walkersBy } from '../helpers/walk.ts';

const passwordOf = (name: string) => `Passw0rd-of-${name}`;

describe.runIf(hasSamba)('Active Directory', () => {
  let server: ActiveDirectory;
  let service: TestService;
  beforeAll(async () => {
    server = await startActiveDirectory();
    for (const name of ['anna', 'ben', 'carl', 'dave'])
      server.tool('user', 'create', name, passwordOf(name), `--mail-address=${name}@example.com`);
    for (const name of ['Builders', 'Everybody', 'ops']) server.tool('group', 'add', name);
    server.tool('group', 'addmembers', 'Builders', 'anna');
    server.tool('group', 'addmembers', 'Everybody', 'Builders');
    server.tool('group', 'addmembers', 'ops', 'anna');
    service = await startTestService({
      environment: { ...withoutLimits, CONNECTIONS_ALLOW: server.host, REQUIRE_SECOND_FACTOR_GROUPS: 'ops' },
    });
    await addDirectory(service, 'ad', settingsOfActiveDirectory(server), {
      password: server.administrator.password,
      group_rules: [
        { equals: 'Builders', group: 'builders' },
        { equals: 'Everybody', group: 'everybody' },
        { equals: 'ops', group: 'ops' },
      ],
    });
  }, startLimit);
  afterAll(async () => {
    await service?.stop();
    await server?.stop();
  });
  const userOf = (name: string) => service.store.users.findByUsername(name);

  test('signs users in by each of their names, with nested groups and without guarded ones (federation 6, F57, FR40)', async () => {
    const { page } = await signInWith(service, 'anna', passwordOf('anna'));
    expect(page.url).toBe(`${service.issuer}/account`);
    const anna = (await userOf('anna'))!;
    expect(anna.groups.sort()).toEqual(['builders', 'everybody']);
    const [link] = await service.store.linkedIdentities.ofUser(anna.sub);
    expect(link!.subject).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    for (const name of ['anna@example.com', 'ANNA']) {
      const again = await signInWith(service, name, passwordOf('anna'));
      expect(again.page.url).toBe(`${service.issuer}/account`);
    }
    expect((await service.store.linkedIdentities.ofUser(anna.sub)).length).toBe(1);
    // without groups in groups, and by memberOf
    await changeSettings(service, 'ad', { nested: false });
    await signInWith(service, 'anna', passwordOf('anna'));
    expect((await userOf('anna'))!.groups).toEqual(['builders']);
    await changeSettings(service, 'ad', { member_attribute: 'memberOf' });
    await signInWith(service, 'anna', passwordOf('anna'));
    expect((await userOf('anna'))!.groups).toEqual(['builders']);
    await changeSettings(service, 'ad', { nested: true, member_attribute: 'member' });
  });

  test('gives a user the primary group, which does not list the user, and the groups that contain it (reports A6)', async () => {
    server.tool('user', 'create', 'pia', passwordOf('pia'));
    server.tool('group', 'addmembers', 'Builders', 'pia');
    server.tool('user', 'setprimarygroup', 'pia', 'Builders');
    for (const member_attribute of ['member', 'memberOf']) {
      await changeSettings(service, 'ad', { member_attribute, nested: true });
      await signInWith(service, 'pia', passwordOf('pia'));
      expect((await userOf('pia'))!.groups.sort(), member_attribute).toEqual(['builders', 'everybody']);
      await changeSettings(service, 'ad', { nested: false });
      await signInWith(service, 'pia', passwordOf('pia'));
      expect((await userOf('pia'))!.groups, member_attribute).toEqual(['builders']);
    }
    await changeSettings(service, 'ad', { member_attribute: 'member', nested: true });
    const tested = await runCommand(service, ['connection', 'test', 'ad', '--login', 'pia'], {
      environment: { CONNECTIONS_ALLOW: server.host },
    });
    expect(tested.stdout).toMatch(/^Groups of pia: Builders, Domain Users, Everybody/m);
  });

  test('says only for the right password why the directory no longer accepts it (federation 6)', async () => {
    server.tool('user', 'setpassword', 'carl', `--newpassword=${passwordOf('carl')}`, '--must-change-at-next-login');
    server.tool('user', 'disable', 'ben');
    for (const [name, words] of [
      ['carl', 'You have to change your password first'],
      ['ben', 'Your account is disabled'],
    ] as const) {
      const { page } = await signInWith(service, name, passwordOf(name));
      expect(page.status).toBe(400);
      expect(page.body).toContain(words);
      const { page: wrong } = await signInWith(service, name, 'wrong');
      expect(wrong.body).toContain('Incorrect user name or password');
      expect(wrong.body).not.toContain(words);
    }
    expect(await userOf('ben')).toBeUndefined();
    server.tool('user', 'enable', 'ben');
  });

  describe.each(walkersBy('telephone'))('in a browser in $locale at $width pixels, $script', (walker) => {
    browserTest(
      'a user signs in on the page by each name, and reads with the right password alone why it is no longer accepted (federation 6, F57)',
      async () => {
        const name = `emil-${walker.locale}-${walker.width}`;
        const group = `Masons-${walker.locale}-${walker.width}`;
        server.tool('user', 'create', name, passwordOf(name), `--mail-address=${name}@example.com`);
        for (const one of [group, `${group}-all`]) server.tool('group', 'add', one);
        server.tool('group', 'addmembers', group, name);
        server.tool('group', 'addmembers', `${group}-all`, group);
        await service.database.sql(`UPDATE connections SET group_rules = group_rules || $1 WHERE id = 'ad'`, [
          JSON.stringify([{ equals: `${group}-all`, group: 'masons' }]),
        ]);
        const browser: Browser = await launchBrowser();
        const { page, checked, type, context, complaints } = await openWalk(browser, 'active-directory', walker);
        // a wrong name or password is said at the field alone
        const said = () => page.locator('#problem, #password-fault').first().textContent({ timeout: 30_000 });
        const signIn = async (typed: string, password: string) => {
          await context.clearCookies({ name: 'JSESSIONOPENID' });
          await page.goto(`${service.issuer}/login`);
          await type('#username', typed);
          await type('#password', password);
          const [answer] = await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
          return new URL(answer.url()).pathname;
        };
        expect(await signIn('no-such-user', 'wrong')).toBe('/login');
        await checked('wrong');
        const wrong = await said();
        for (const typed of [name, `${name}@example.com`, `${name.toUpperCase()}@EXAMPLE.COM`])
          expect([typed, await signIn(typed, passwordOf(name))]).toEqual([typed, '/account']);
        await checked('account');
        expect((await userOf(name))!.groups).toEqual(['masons']);
        const sentences = new Set([wrong]);
        const change = [`--newpassword=${passwordOf(name)}`, '--must-change-at-next-login'];
        for (const [state, command] of [
          ['disabled', ['user', 'disable', name]],
          ['expired-account', ['user', 'setexpiry', name, '--days=-1']],
          ['must-change', ['user', 'setpassword', name, ...change]],
        ] as const) {
          server.tool(...command);
          expect(await signIn(name, 'wrong')).toBe('/login');
          expect([state, await said()]).toEqual([state, wrong]);
          expect(await signIn(name, passwordOf(name))).toBe('/login');
          await checked(state);
          const sentence = await said();
          expect([state, sentences.has(sentence)]).toEqual([state, false]);
          sentences.add(sentence);
          if (state === 'disabled') server.tool('user', 'enable', name);
          if (state === 'expired-account') server.tool('user', 'setexpiry', name, '--days=30');
        }
        // the right password was no try, so that the new one is accepted at once
        server.tool('user', 'setpassword', name, `--newpassword=${passwordOf('emil-again')}`);
        expect(await signIn(name, passwordOf('emil-again'))).toBe('/account');
        expect(complaints.filter((line) => !/400/.test(line))).toEqual([]);
        await browser.close();
      },
    );
  });

  test('is imported by the changes of its numbers, and a disabled user loses access (federation 6, F58)', async () => {
    await changeSettings(service, 'ad', { import: 60 });
    const token = await adminToken(service);
    const address = `${service.issuer}/admin/api/connections/ad/import`;
    const runImport = async () => {
      const { body: before } = await call(address, { token });
      expect((await call(address, { token, body: {} })).status).toBe(204);
      return vi.waitFor(
        async () => {
          const { body } = await call(address, { token });
          expect(body['running'] || body['finished_at'] === before['finished_at']).toBe(false);
          return body;
        },
        { timeout: 30_000, interval: 50 },
      );
    };
    // krbtgt and Guest are disabled there; the administrator is a user, too
    expect(await runImport()).toMatchObject({ state: 'done' });
    expect((await userOf('dave'))!.status).toBe('enabled');
    expect((await userOf('anna'))!.groups.sort()).toEqual(['builders', 'everybody']);
    expect(await userOf('krbtgt')).toBeUndefined();
    const mark = async () => (await service.store.directoryImports.find('ad'))!.mark;
    const first = await mark();
    server.tool('user', 'disable', 'dave');
    expect(await runImport()).toMatchObject({ state: 'done', counts: { disabled: 1, created: 0 } });
    expect((await userOf('dave'))!.status).toBe('disabled');
    expect(await mark()).not.toBe(first);
    server.tool('user', 'enable', 'dave');
    expect(await runImport()).toMatchObject({ state: 'done', counts: { enabled: 1 } });
    // an account that has expired is one that may not sign in (reports D)
    server.tool('user', 'setexpiry', 'dave', '--days=-1');
    expect(await runImport()).toMatchObject({ state: 'done', counts: { disabled: 1 } });
    server.tool('user', 'setexpiry', 'dave', '--noexpiry');
    expect(await runImport()).toMatchObject({ state: 'done', counts: { enabled: 1 } });
    // the primary group counts for an import, too (reports A6)
    expect((await userOf('pia'))!.groups.sort()).toEqual(['builders', 'everybody']);
    server.tool('group', 'removemembers', 'Everybody', 'Builders');
    expect(await runImport()).toMatchObject({ state: 'done', counts: { changed: 2 } });
    expect((await userOf('anna'))!.groups).toEqual(['builders']);
  });
});
