// Tests the console's forms of connections, of the links of a user, and of the sources of a guarded group: who may use them, and what the trail holds.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { addConnection, signInBy } from '../helpers/connections.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;
let agent: UserAgent;
let adminSub: string;

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      REQUIRE_SECOND_FACTOR_GROUPS: 'ops',
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
      CONNECTIONS_ALLOW: 'ldap.example:636',
    },
  });
  await addConnection(service, provider, 'corporate', { provisioning: 'on', domains: ['old.example'] });
  await addConnection(service, provider, 'partners', { provisioning: 'on' });
  await service.database.sql(`INSERT INTO connection_domains VALUES ('route', 'old.example', 'corporate')`);
  const admin = await service.createUser({ username: 'admin', admin: true });
  adminSub = admin.sub;
  ({ agent } = await openConsole(service, admin));
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

/** What a browser sends of the form of a connection. */
function typed({ body }: Page): Record<string, string> {
  const form: Record<string, string> = {};
  const main = body.slice(body.indexOf('<form class="card"'));
  for (const [tag] of main.matchAll(/<input [^>]*>/g)) {
    const of = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
    if (!/type="(checkbox|radio)"/.test(tag) || tag.includes(' checked')) form[of('name')!] = of('value') ?? '';
  }
  for (const [, name, value] of main.matchAll(/<textarea [^>]*?name="([^"]*)"[^>]*>\n?([^<]*)<\/textarea>/g))
    form[name!] = value!;
  return form;
}
const edit = '/admin/connections/corporate/edit';
const last = async (type: string) =>
  (
    await service.database.sql<{ actor: string; detail: Record<string, unknown> }>(
      'SELECT actor, detail FROM audit_events WHERE type = $1 ORDER BY id DESC LIMIT 1',
      [type],
    )
  )[0]!;
const setSignInAge = (minutes: number) =>
  service.database.sql('UPDATE sessions SET auth_time = now() - make_interval(mins => $2) WHERE sub = $1', [
    adminSub,
    minutes,
  ]);

describe('the form of a connection', () => {
  test('shows and changes domains, order, visibility and lifetime; the event has the members about trust before and after (federation FR14)', async () => {
    const page = await agent.get(edit);
    expect(typed(page)).toMatchObject({ domains: 'old.example', position: '0', session_lifetime: '' });
    const fields = { ...typed(page), domains: 'corp.example\r\nbücher.example', authoritative_domains: 'corp.example' };
    const sent = {
      ...fields,
      enforced: 'true',
      subdomains: 'true',
      hidden: 'true',
      position: '7',
      session_lifetime: '3600',
    };
    const done = await agent.post(edit, sent);
    expect(done.status).toBe(303);
    const shown = await agent.follow(done);
    expect(shown.body).toContain('corp.example, xn--bcher-kva.example');
    expect(shown.body).toContain('Require this connection for users of these domains');
    expect(await service.store.connections.find('corporate')).toMatchObject({
      domains: ['corp.example', 'xn--bcher-kva.example'],
      enforced: true,
      subdomains: true,
      hidden: true,
      position: 7,
      sessionLifetime: 3600,
      authoritativeDomains: ['corp.example'],
    });
    expect(await last('connection.changed')).toMatchObject({
      actor: adminSub,
      detail: {
        connection: 'corporate',
        enforced_before: false,
        enforced: true,
        subdomains_before: false,
        subdomains: true,
        domains_before: ['old.example'],
        domains: ['corp.example', 'xn--bcher-kva.example'],
        authoritative_domains_before: [],
        authoritative_domains: ['corp.example'],
      },
    });
    const again = await agent.get(edit);
    expect(typed(again)).toMatchObject({ enforced: 'true', hidden: 'true', position: '7', session_lifetime: '3600' });
    // a browser sends no box that is not checked
    const off = Object.fromEntries(
      Object.entries(typed(again)).filter(([name]) => !['enforced', 'hidden'].includes(name)),
    );
    expect((await agent.post(edit, { ...off, session_lifetime: '', position: '' })).status).toBe(303);
    const after = (await service.store.connections.find('corporate'))!;
    expect(after).toMatchObject({ enforced: false, hidden: false, position: 0 });
    expect(after.sessionLifetime).toBeUndefined();
  });

  test.each<[string, string, Record<string, string>, string]>([
    ['token endpoint', 'oauth', { token_endpoint: 'ftp://else.example' }, 'token_endpoint'],
    ['UserInfo endpoint', 'oauth', { userinfo_endpoint: 'nonsense' }, 'userinfo_endpoint'],
    ['bind DN', 'directory', { bind_dn: 'no name' }, 'bind_dn'],
    ['base of groups', 'directory', { group_base: 'no name' }, 'group_base'],
  ])('marks the %s that is wrong, and no other field (pages, forms)', async (_what, type, wrong, field) => {
    const path = `/admin/connections/new/${type}`;
    const page = await agent.get(path);
    const right = {
      id: 'marked',
      display_name: 'Marked',
      client_id: 'c',
      secret: 's',
      subject_claim: 'sub',
      authorization_endpoint: `${provider.issuer}/authorize`,
      token_endpoint: `${provider.issuer}/token`,
      userinfo_endpoint: `${provider.issuer}/userinfo`,
      url: 'ldaps://ldap.example',
      bind_dn: 'cn=a,dc=x',
      base: 'dc=x',
      preset: 'openldap',
      status: 'disabled',
      linking: 'ask',
      provisioning: 'off',
      logout: 'local',
    };
    const answer = await agent.post(path, { ...typed(page), ...right, ...wrong });
    expect(answer.status).toBe(400);
    const marked = [...answer.body.matchAll(/<(?:input|textarea) [^>]*aria-invalid="true"/g)].map(
      ([tag]) => / name="([^"]*)"/.exec(tag)?.[1],
    );
    expect(marked).toEqual([field]);
  });

  test.each([
    [{ domains: 'not a domain' }, 'Enter domains such as example.com'],
    [{ domains: 'a@corp.example' }, 'Enter domains such as example.com'],
    [{ position: '-1' }, 'Enter a whole number from 0 to 10000'],
    [{ position: '10001' }, 'Enter a whole number from 0 to 10000'],
    [{ session_lifetime: '59' }, 'Enter a whole number of at least 60'],
    [{ session_lifetime: 'long' }, 'Enter a whole number of at least 60'],
  ])('says what is wrong with %j, and changes nothing (federation 4)', async (wrong, words) => {
    const page = await agent.get(edit);
    const answer = await agent.post(edit, { ...typed(page), ...(wrong as Record<string, string>) });
    expect([answer.status, answer.body.includes(words)]).toEqual([400, true]);
    expect((await service.store.connections.find('corporate'))!.version).toBe(Number(typed(page)['version']));
  });

  test('asks for a new sign-in after 15 minutes, and changes nothing before it (federation FR14)', async () => {
    const fields = { ...typed(await agent.get(edit)), enforced: 'true' };
    await setSignInAge(16);
    const answer = await agent.post(edit, fields);
    expect(answer.status).toBe(303);
    expect(answer.location).toContain(`${service.issuer}/authorize?`);
    await setSignInAge(0);
    expect((await service.store.connections.find('corporate'))!.enforced).toBe(false);
  });
});

test('a command sets what the form sets, and takes flags back (federation 4)', async () => {
  const change = (...options: string[]) => runCommand(service, ['connection', 'change', 'corporate', ...options]);
  const options = ['--enforced', '--hidden', '--subdomains', '--position', '3', '--session-lifetime', '600'];
  expect(await change('--domain', 'corp.example', ...options)).toMatchObject({ stderr: '', code: 0 });
  const set = { domains: ['corp.example'], enforced: true, hidden: true, subdomains: true, position: 3 };
  expect(await service.store.connections.find('corporate')).toMatchObject({ ...set, sessionLifetime: 600 });
  expect((await change('--unset', 'enforced', '--unset', 'hidden')).code).toBe(0);
  expect(await service.store.connections.find('corporate')).toMatchObject({ ...set, enforced: false, hidden: false });
  expect((await change('--unset', 'display_name')).code).not.toBe(0);
  await change('--unset', 'subdomains');
});

test('connections are read and changed by administrators only (federation FR18)', async () => {
  const user = await service.createUser();
  const other = new UserAgent(service);
  await other.signIn(user);
  const client = await service.createClient({ scope: 'openid profile' });
  const { access_token } = await obtainTokens(service, client, user, { scope: 'openid profile', prompt: 'consent' });
  const paths = ['connections', 'connections/corporate', 'connections/corporate/edit', `users/${user.sub}/connections`];
  for (const path of paths) {
    const page = await other.get(`/admin/${path}`);
    expect([path, page.status]).toEqual([path, 403]);
    expect(page.body).not.toContain('The corporate');
    expect((await other.post(`/admin/${path}`, { act: 'mark' })).status).toBeGreaterThanOrEqual(403);
  }
  for (const [method, path] of [
    ['GET', 'connections'],
    ['GET', 'connections/corporate'],
    ['PATCH', 'connections/corporate'],
    ['DELETE', 'connections/corporate'],
    ['GET', `users/${user.sub}/connections`],
    ['POST', `users/${user.sub}/break-glass`],
  ] as const) {
    const body = method === 'PATCH' || method === 'POST' ? { enforced: true, marked: true } : undefined;
    for (const token of [undefined, access_token]) {
      const answer = await call(`${service.issuer}/admin/api/${path}`, { method, body, ...(token && { token }) });
      expect([401, 403]).toContain(answer.status);
      expect(JSON.stringify(answer.body)).not.toContain('corporate');
    }
  }
  expect(await service.store.breakGlass.has(user.sub)).toBe(false);
});

describe('the connections of a user', () => {
  async function linked(subject: string, ...connections: string[]) {
    provider.be({ sub: subject, preferred_username: subject });
    const browser = new UserAgent(service);
    await signInBy(browser, connections[0]!);
    const [row] = await service.database.sql<{ sub: string }>('SELECT sub FROM users WHERE username = $1', [subject]);
    const { sub } = row!;
    for (const id of connections.slice(1))
      await service.database.sql(
        `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ($1, $2, $3, $4, 'administrator')`,
        [id, provider.issuer, subject, sub],
      );
    return { sub, browser, path: `/admin/users/${sub}/connections` };
  }
  const act = (page: Page, path: string, fields: Record<string, string>) =>
    agent.post(path, { ...formOf(page, path), ...fields });

  test('are shown, and removed with the sessions that came by them; the page says which is the last way in (federation FR8)', async () => {
    const { sub, browser, path } = await linked('linked-1', 'corporate', 'partners');
    expect((await agent.get(`/admin/users/${sub}`)).body).toContain(`href="${path}"`);
    const both = await agent.get(path);
    expect(both.body).toContain('linked-1');
    expect(both.body).not.toContain('the user’s only way to sign in');
    expect((await act(both, path, { act: 'remove', connection: 'corporate' })).status).toBe(303);
    expect((await browser.get('/account')).status).toBe(303);
    const one = await agent.get(path);
    expect(one.body).toContain('the user’s only way to sign in');
    expect(await last('identity.unlinked')).toMatchObject({
      actor: adminSub,
      detail: { connection: 'corporate', sessions: 1 },
    });
    // an administrator may remove the last one, too, and has read what that means
    expect((await act(one, path, { act: 'remove', connection: 'partners' })).status).toBe(303);
    expect((await agent.get(path)).body).toContain('No other site is connected');
    expect((await act(await agent.get(path), path, { act: 'remove', connection: 'partners' })).status).toBe(404);
  });

  test('show whether the user has emergency access, which an administrator gives after a new sign-in, with an event (federation 4, FR14)', async () => {
    const { sub, path } = await linked('linked-2', 'corporate');
    // the user could not sign in here without one
    const copied = '(SELECT password_hash FROM users WHERE password_hash IS NOT NULL LIMIT 1)';
    await service.database.sql(`UPDATE users SET password_hash = ${copied} WHERE sub = $1`, [sub]);
    const page = await agent.get(path);
    expect(page.body).toContain('No emergency access');
    await setSignInAge(16);
    expect((await act(page, path, { act: 'mark' })).location).toContain(`${service.issuer}/authorize?`);
    expect(await service.store.breakGlass.has(sub)).toBe(false);
    await setSignInAge(0);
    expect((await act(await agent.get(path), path, { act: 'mark' })).status).toBe(303);
    expect((await agent.get(path)).body).toContain('Has emergency access');
    const detail = { members: ['break_glass'], break_glass_before: false, break_glass: true };
    expect(await last('user.changed')).toMatchObject({ actor: adminSub, detail });
    await act(await agent.get(path), path, { act: 'unmark' });
    expect(await service.store.breakGlass.has(sub)).toBe(false);
    expect((await act(await agent.get(path), path, { act: 'other' })).status).toBe(400);
  });

  test('have the same emergency access by route and command (federation 4)', async () => {
    const { sub } = await service.createUser({ username: 'by-command' });
    const token = await adminToken(service);
    const url = `${service.issuer}/admin/api/users/${sub}`;
    expect((await call(`${url}/break-glass`, { token, body: { marked: true } })).status).toBe(204);
    expect((await call(`${url}/connections`, { token })).body).toEqual({ links: [], break_glass: true });
    expect((await call(`${url}/break-glass`, { token, body: { marked: 'yes' } })).status).toBe(400);
    expect(
      (await call(`${service.issuer}/admin/api/users/nobody/break-glass`, { token, body: { marked: true } })).status,
    ).toBe(404);
    expect((await runCommand(service, ['user', 'break-glass', 'by-command', '--off'])).code).toBe(0);
    expect(await service.store.breakGlass.has(sub)).toBe(false);
    expect((await runCommand(service, ['user', 'break-glass', 'by-command', '--perhaps'])).code).not.toBe(0);
    // of no use for a user who has only an account elsewhere
    await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [sub]);
    expect(await runCommand(service, ['user', 'break-glass', 'by-command'])).toMatchObject({
      code: 1,
      stderr: 'This user has no password and no passkey here, so emergency access would be of no use.\n',
    });
    expect((await call(`${url}/break-glass`, { token, body: { marked: true } })).status).toBe(409);
    expect((await call(`${url}/break-glass`, { token, body: { marked: false } })).status).toBe(204);
    expect(await service.store.breakGlass.has(sub)).toBe(false);
  });
});

test('the form of a guarded group names the connections that it admits, and the event has them before and after (federation 3, FR14)', async () => {
  await service.database.sql(`INSERT INTO groups (name) VALUES ('ops'), ('crew')`);
  const path = '/admin/groups/ops/edit';
  expect((await agent.get('/admin/groups/crew/edit')).body).not.toContain('id="guarded_sources"');
  const page = await agent.get(path);
  const send = (sources: string) =>
    agent.post(path, { ...formOf(page, path), name: 'ops', description: '', guarded_sources: sources });
  expect((await send('No Such!')).body).toContain('Enter connection IDs, one per line');
  expect((await send('corporate\r\npartners')).status).toBe(303);
  expect((await service.store.groups.find('ops'))!.guardedSources).toEqual(['corporate', 'partners']);
  expect((await last('group.changed')).detail).toMatchObject({
    guarded_sources_before: [],
    guarded_sources: ['corporate', 'partners'],
  });
  // a form of a group that is not guarded changes none
  const crew = '/admin/groups/crew/edit';
  await agent.post(crew, {
    ...formOf(await agent.get(crew), crew),
    name: 'crew',
    description: 'x',
    guarded_sources: 'corporate',
  });
  expect((await service.store.groups.find('crew'))!.guardedSources).toEqual([]);
});
