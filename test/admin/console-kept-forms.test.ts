// A form of the console that is sent with a sign-in that is too old comes back filled in once its user has confirmed the sign-in.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import type { Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let admin: TestUser;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: { SIGN_UP: 'on' } });
  admin = await service.createUser({ admin: true });
});
beforeEach(async () => {
  ({ agent } = await openConsole(service, admin));
});
afterAll(() => service?.stop());

const grow = (minutes = 16) =>
  service.database.sql('UPDATE sessions SET auth_time = auth_time - make_interval(mins => $1)', [minutes]);
const kept = () => service.database.sql<{ id: string; sub: string }>('SELECT id, sub FROM kept_forms');
const word = 'We’ve kept what you typed';

interface LongForm {
  path: string;
  typed: Record<string, string>;
  isThere(): Promise<boolean>;
}

/** What a browser sends of the form with the action. */
function filled(page: Page, action: string): Record<string, string> {
  const form = page.body
    .split('<form')
    .find((text) => text.includes('method="post"') && text.includes(`action="${action}"`))!;
  const fields: Record<string, string> = {};
  const decode = (text: string) =>
    text
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&');
  for (const [tag] of form.slice(0, form.indexOf('</form>')).matchAll(/<input [^>]*>/g)) {
    const [, name] = / name="([^"]*)"/.exec(tag) ?? [];
    const isTaken = !/type="(checkbox|radio)"/.test(tag) || tag.includes(' checked');
    if (name !== undefined && isTaken)
      fields[name] = decode(/ value="([^"]*)"/.exec(tag)?.[1] ?? (/type="checkbox"/.test(tag) ? 'on' : ''));
  }
  for (const [, name, value] of form.matchAll(/<textarea [^>]*?name="([^"]*)"[^>]*>\n?([^<]*)<\/textarea>/g))
    fields[name!] = decode(value!);
  for (const [, name, options] of form.matchAll(/<select [^>]*?name="([^"]*)"[^>]*>(.*?)<\/select>/gs))
    fields[name!] = / value="([^"]*)" selected/.exec(options!)?.[1] ?? '';
  return fields;
}

/** Sends a form with a sign-in that is too old. @returns the page that asks for a confirmation */
async function sendTooLate(path: string, fields: Record<string, string>, page?: Page): Promise<Page> {
  const opened = page ?? (await agent.get(path));
  const form = { ...formOf(opened, path), ...fields };
  await grow();
  return agent.follow(await agent.post(path, form));
}

describe('a form that is sent too late', () => {
  test('comes back filled in after the confirmation, sends nothing by itself, and can then be sent (pages, kept forms)', async () => {
    const name = `Ada "quoted" & <b>`;
    const opened = await agent.get('/admin/users/new');
    const confirmation = await sendTooLate(
      '/admin/users/new',
      { username: 'ada', name, email: 'ada@example.com' },
      opened,
    );
    expect(confirmation.url).toContain('/login?');
    expect(confirmation.body).toContain('Confirm');
    for (const id of ['sign-up', 'accounts']) expect(confirmation.body).not.toContain(`id="${id}"`);
    const back = await agent.signIn(admin, confirmation);
    expect(new URL(back.url).pathname).toBe('/admin/users/new');
    expect(back.body).toContain(word);
    const form = filled(back, '/admin/users/new');
    expect(form).toMatchObject({ username: 'ada', name, email: 'ada@example.com' });
    expect(await service.store.users.findByLogin('ada')).toBeUndefined();
    const sent = await agent.follow(await agent.post('/admin/users/new', form));
    expect(sent.status).toBe(200);
    expect((await service.store.users.findByLogin('ada'))?.email).toBe('ada@example.com');
  });

  test('keeps secrets, shows them as kept, and sends them on (pages, kept forms)', async () => {
    const path = '/admin/connections/new';
    const types = await agent.get(path);
    const address = /href="(\/admin\/connections\/new\/[^"]*)"/.exec(types.body)![1]!;
    const secret = 'a-secret-of-a-connection';
    const opened = await agent.get(address.replaceAll('&amp;', '&'));
    const action = /<form[^>]*method="post"[^>]*action="([^"]*)"/.exec(
      opened.body.slice(opened.body.indexOf('<main')),
    )![1]!;
    const fields = { ...filled(opened, action), display_name: 'Harbour & sons', secret };
    await grow();
    const confirmation = await agent.follow(await agent.post(action, fields));
    const back = await agent.signIn(admin, confirmation);
    expect(back.body).toContain(word);
    expect(back.body).toContain('placeholder="Kept"');
    expect(back.body).not.toContain(secret);
    expect(filled(back, action)['display_name']).toBe('Harbour & sons');
    const [row] = await service.database.sql<{ row: string }>(
      'SELECT k::text AS row FROM kept_forms k ORDER BY created_at DESC',
    );
    expect(row!.row).not.toContain(Buffer.from(secret).toString('hex'));
    // again too late, without another word about the secret: it is still there
    const again = await agent.follow(await (await grow(), agent.post(action, filled(back, action))));
    const second = await agent.signIn(admin, again);
    expect(second.body).toContain('placeholder="Kept"');
    expect(filled(second, action)['display_name']).toBe('Harbour & sons');
  });

  test('is not kept without a valid token, is not shown to another user, ends with a sign-in of another user, and is five at most (pages, kept forms)', async () => {
    const path = '/admin/users/new';
    const before = (await kept()).length;
    await grow();
    await agent.post(path, { csrf: 'A'.repeat(43), username: 'eve' });
    expect((await kept()).length).toBe(before);
    await service.database.sql('DELETE FROM kept_forms');
    const opened = await (await openFresh()).get(path);
    const form = formOf(opened, path);
    await grow();
    let last: Page | undefined;
    for (let time = 0; time < 7; time++) last = await agent.post(path, { ...form, username: `typed-${time}` });
    expect((await kept()).length).toBe(5);
    const long = await agent.post(path, { ...form, username: 'x', name: 'y'.repeat(70_000) });
    expect(long.status).toBeLessThan(500);
    expect((await kept()).length).toBe(5);
    const other = await service.createUser({ admin: true });
    const elsewhere = await openConsole(service, other);
    const back = await agent.signIn(admin, await agent.follow(last!));
    expect(back.body).toContain('typed-6');
    expect((await elsewhere.agent.get(back.url)).body).not.toContain('typed-6');
    await agent.signIn(other);
    expect(await kept()).toEqual([]);
  });

  test('that is too large to keep is named as such after the confirmation, with what to do (pages, kept forms)', async () => {
    const sentence = 'it was too large to keep';
    const path = '/admin/users/import';
    const confirmation = await sendTooLate(path, { users: `username\n${'y'.repeat(70_000)}`, act: 'check' });
    const back = await agent.signIn(admin, confirmation);
    expect(new URL(back.url).pathname).toBe(path);
    expect(back.body).toMatch(new RegExp(`role="alert">[^<]*${sentence}[^<]*Go back in your browser`));
    expect(back.body).not.toContain(word);
    expect((await agent.get(path)).body).not.toContain(sentence);
  });

  async function openFresh(): Promise<UserAgent> {
    ({ agent } = await openConsole(service, admin));
    return agent;
  }

  test('says so when it opens (pages, kept forms)', async () => {
    const path = '/admin/groups';
    expect((await agent.get(path)).body).not.toContain('asked to confirm');
    await grow();
    expect((await agent.get(path)).body).toContain('asked to confirm');
  });

  /** Each form that takes an administrator minutes: where it is, what is typed, the button, and whether its thing is there. */
  const longForms: [string, () => Promise<LongForm>][] = [
    [
      'a client',
      async () => ({
        path: '/admin/clients/new/web',
        typed: {
          client_name: 'Harbour & <b>Sons</b>',
          redirect_uris: 'https://harbour.example/callback\nhttps://harbour.example/other',
          logo_uri: 'https://harbour.example/logo.svg',
          contacts: 'ops@harbour.example',
        },
        async isThere() {
          const [found] = await service.store.clients.list({ search: 'Harbour' }, { limit: 2, after: undefined });
          return found?.metadata.redirect_uris.length === 2 && found.metadata.contacts?.[0] === 'ops@harbour.example';
        },
      }),
    ],
    [
      'a connection',
      async () => ({
        path: '/admin/connections/new/github',
        typed: {
          id: 'code',
          display_name: 'Code "of" the harbour',
          client_id: 'Iv1.harbour',
          secret: 'a-secret-that-is-kept',
          organizations: 'harbour',
          default_groups: 'pilots',
          status: 'disabled',
        },
        async isThere() {
          const found = (await service.store.connections.list()).find(({ id }) => id === 'code');
          return found?.displayName === 'Code "of" the harbour' && found.secretSince !== undefined;
        },
      }),
    ],
    [
      'a user',
      async () => ({
        path: '/admin/users/new',
        typed: { username: 'grace', name: 'Grace <i>Hopper</i>', email: 'grace@example.com' },
        isThere: async () => (await service.store.users.findByLogin('grace'))?.claims['name'] === 'Grace <i>Hopper</i>',
      }),
    ],
    [
      'a rule for claims',
      async () => {
        const { clientId } = await service.createClient({ client_name: 'Grafana' });
        return {
          path: `/admin/clients/${clientId}/rules/claim_rules/new?kind=groups`,
          typed: { claim: 'grafana_role', prefix: 'grafana-', map: 'Admin=grafana-admins' },
          isThere: async () => (await service.store.clients.find(clientId))!.claimRules[0]?.claim === 'grafana_role',
        };
      },
    ],
  ];

  test.each(longForms)('that was typed for 20 minutes is not lost: %s (pages, kept forms)', async (_what, prepare) => {
    const { path, typed, isThere } = await prepare();
    const opened = await agent.get(path);
    const form = { ...filled(opened, path), ...typed };
    await grow(20);
    const confirmation = await agent.follow(await agent.post(path, form));
    expect(confirmation.url).toContain('/login?');
    expect(await isThere()).toBe(false);
    const back = await agent.signIn(admin, confirmation);
    expect(new URL(back.url).pathname).toBe(path.split('?', 1)[0]);
    expect(back.body).toContain(word);
    const { secret, ...shown } = typed;
    const again = filled(back, path);
    expect(again).toMatchObject(shown);
    if (secret !== undefined) expect([back.body.includes(secret), again['secret']]).toEqual([false, '']);
    expect(await isThere()).toBe(false);
    const sent = await agent.follow(await agent.post(path, again));
    expect(
      [sent.status, await isThere()],
      /<[^>]*class="(?:fault|notice problem)"[^>]*>[^]{200}/.exec(sent.body)?.[0],
    ).toEqual([200, true]);
  });
});
