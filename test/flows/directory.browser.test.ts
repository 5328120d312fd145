// Walks an administrator in a real browser through the steps of docs/connections.md for Debian's slapd, and a user of it through the sign-in.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import {
  base,
  type DirectoryServer,
  groupEntry,
  hasSlapd,
  personEntry,
  serviceDn,
  servicePassword,
  startDirectoryServer,
} from '../helpers/directory-server.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl } from '../helpers/user-agent.ts';
import { type Application, openWalk, startApplication, walkersBy } from '../helpers/walk.ts';

const willRun = hasSlapd && process.env.CHROMIUM !== undefined;
let application: Application;
let browser: Browser | undefined;
beforeAll(async () => {
  if (!willRun) return;
  application = await startApplication();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await application?.stop();
});

describe.runIf(hasSlapd).each(walkersBy('desktop'))('in $locale at $width pixels, $script', (walker) => {
  let server: DirectoryServer;
  let service: TestService;
  let client: TestClient;
  beforeAll(async () => {
    if (!willRun) return;
    server = await startDirectoryServer();
    server.add(personEntry('ada', { name: 'Ada Archer' }));
    server.add(groupEntry('Staff', [`uid=ada,ou=people,${base}`]));
    service = await startTestService({
      environment: { ...withoutLimits, CONNECTIONS_ALLOW: server.hosts.join(',') },
    });
    client = await service.createClient(
      { client_name: 'Harbour', redirect_uris: [application.redirectUri] },
      { firstParty: true },
    );
  });
  afterAll(async () => {
    await service?.stop();
    await server?.stop();
  });

  browserTest(
    'an administrator connects a directory as the documentation says, and its user signs in there, with wrong passwords and while it is away (federation 4, 6, FR33)',
    async () => {
      const admin = await service.createUser({ admin: true });
      const local = await service.createUser({ username: 'local' });
      const office = await openWalk(browser!, 'directory-console', walker);
      await office.page.goto(`${service.issuer}/admin/connections`);
      await office.type('#username', admin.username);
      await office.type('#password', admin.password);
      await office.follow('#sign-in');
      await office.checked('none');
      await office.follow('main a[href="/admin/connections/new/directory"]');
      await office.type('#id', 'company');
      await office.type('#display_name', 'Company');
      await office.choose('preset', 'openldap');
      await office.type('#url', server.secureUrl);
      await office.type('#bind_dn', serviceDn);
      await office.type('#secret', servicePassword);
      await office.type('#base', `ou=people,${base}`);
      await office.goTo('main summary');
      await office.page.keyboard.press('Enter');
      await office.type('#ca', server.ca);
      // with a script the test keeps what was typed, also the password
      if (walker.javaScriptEnabled) {
        await office.goTo('[data-in-place]');
        await office.page.keyboard.press('Enter');
        await office.page.locator('#tested .works').waitFor();
      }
      await office.type('#group_base', `ou=groups,${base}`);
      await office.choose('provisioning', 'on');
      await office.checked('form');
      await office.follow('main form.card .actions button[type=submit]');
      await office.page.locator('.notice.done').waitFor();
      await office.checked('created');
      await office.follow('#group_rules a.button');
      await office.checked('kind');
      await office.goTo('input[name="kind"]');
      await office.page.keyboard.press('Space');
      // without a script the fields of the kind are the next page
      if (!walker.javaScriptEnabled) await office.follow('#next');
      await office.type('#equals', 'Staff');
      await office.type('#group', 'staff');
      await office.checked('rule');
      await office.follow('#save');
      await office.page.locator('#group_rules .rule').waitFor();
      await office.checked('ruled');
      await office.follow('#test');
      expect(await office.page.locator('#check .fault').count()).toBe(0);
      await office.checked('tested');
      await office.follow('main a[href="/admin/connections/company/directory/edit"]');
      await office.choose('status', 'enabled');
      await office.checked('edit');
      await office.follow('main form.card .actions button[type=submit]');
      await office.page.locator('.notice.done').waitFor();
      await office.page.goto(`${service.issuer}/admin/connections`);
      await office.checked('list');

      const { page, checked, type, follow, enter, context, complaints } = await openWalk(browser!, 'directory', walker);
      const parameters = () => Object.fromEntries(application.returned.at(-1)!.searchParams);
      await page.goto(authorizationUrl(service.issuer, client, { state: 'first' }));
      await checked('sign-in');
      await type('#username', 'ada');
      await type('#password', 'wrong');
      await follow('#sign-in');
      await checked('wrong-password');
      expect(await page.locator('#username').inputValue()).toBe('ada');
      expect(await service.store.users.findByUsername('ada')).toBeUndefined();
      await type('#password', 'password of ada');
      await enter(`${application.redirectUri}**`);
      expect(parameters()).toMatchObject({ state: 'first', code: expect.any(String), iss: service.issuer });
      const user = (await service.store.users.findByUsername('ada'))!;
      expect(user).toMatchObject({ groups: ['staff'], passwordHash: undefined });
      await page.goto(`${service.issuer}/account`);
      await checked('account');

      // the directory is away: its users read so, and the accounts of this service are not affected
      await context.clearCookies({ name: 'JSESSIONOPENID' });
      await server.stop();
      await page.goto(authorizationUrl(service.issuer, client, { state: 'second', prompt: 'login' }));
      await type('#username', 'ada');
      await type('#password', 'password of ada');
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === 'POST'),
        page.keyboard.press('Enter'),
      ]);
      expect(answer.status()).toBe(503);
      await page.locator('#username').waitFor();
      await checked('away');
      await type('#username', local.username);
      await type('#password', local.password);
      await enter(`${application.redirectUri}**`);
      expect(parameters()).toMatchObject({ state: 'second', code: expect.any(String), iss: service.issuer });
      await office.page.goto(`${service.issuer}/admin/connections/company/directory`);
      await office.follow('#test');
      expect(await office.page.locator('#check .fault').count()).toBe(1);
      await office.checked('unreachable');
      expect([...office.complaints, ...complaints].filter((line) => !/400|503/.test(line))).toEqual([]);
      await office.context.close();
      await context.close();
    },
  );
});
