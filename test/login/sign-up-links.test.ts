// Administrators make sign-up links, by which users create their own accounts where sign-up is off.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newOpaqueToken } from '../../src/tokens/opaque-token.ts';
import { recoveryCodesOf } from '../helpers/authenticator.ts';
import { call } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { Authenticator, passkeyForm } from '../helpers/passkey.ts';
import type { TestService } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

const password = 'three umbrellas under a lighthouse';
const subject = /Finish creating your account/;
const guarded = 'treasurers';
const bed = createMailBed();
const { server, order, linkTo, follow, takes } = bed;
let service: TestService;
let token: string;
beforeAll(async () => {
  ({ service, admin: token } = await bed.start({
    SIGN_UP: 'off',
    SIGN_UP_DOMAINS: 'example.com',
    REQUIRE_SECOND_FACTOR_GROUPS: guarded,
  }));
  for (const name of ['crew', 'captains', guarded]) await api('POST', 'groups', { name });
});
afterAll(() => bed.stop());

const api = (method: string, path: string, body?: object) =>
  call(`${service.issuer}/admin/api/${path}`, { token, method, ...(body && { body }) });
const later = (days = 7) => new Date(Date.now() + days * 86_400_000).toISOString();
let made = 0;
const inputOf = (more: object = {}) => ({ name: `Link ${++made}`, uses: 1, expires_at: later(), ...more });
/** Makes a link, and returns its path for users. */
async function makeLink(more: object = {}): Promise<{ id: string; name: string; path: string }> {
  const { status, body } = await api('POST', 'sign-up-links', inputOf(more));
  expect(status, JSON.stringify(body)).toBe(201);
  const [id, name, uri] = [body['id'], body['name'], body['uri']] as [string, string, string];
  expect(uri).toMatch(new RegExp(`^${service.issuer}/sign-up/link\\?token=ghsl_`));
  return { id, name, path: uri.slice(service.issuer.length) };
}
/** Sends an address to the page of a link, and returns the path in the mail. */
async function mailed(path: string, email: string): Promise<string> {
  const page = await order(path, { email });
  expect(page.status, page.body).toBe(200);
  return linkTo(email, subject);
}
const person = () => `user-${++made}`;
const userOf = (email: string) => service.store.users.findByEmail(email);
const open = async (path: string) => (await new UserAgent(service).get(path)).status;
const events = async (type: string, id: string) =>
  service.database.sql<{ detail: Record<string, unknown>; sub: string | null }>(
    `SELECT detail, sub FROM audit_events WHERE type = $1 AND detail->>'sign_up_link' = $2 ORDER BY id`,
    [type, id],
  );

test('a link makes accounts in its groups where sign-up is off, and the mail proves the address (pages, sign-up links)', async () => {
  expect([await open('/sign-up'), await open('/sign-up/complete')]).toEqual([404, 404]);
  const { id, path } = await makeLink({ groups: ['crew', 'captains'], uses: 2 });
  const name = person();
  const email = `${name}@example.com`;
  const agent = new UserAgent(service);
  const link = await mailed(path, email);
  expect(link).toMatch(/^\/sign-up\/link\/complete\?token=ghml_/);
  // neither the page nor the mail makes the account
  expect(await userOf(email)).toBeUndefined();
  expect((await api('GET', `sign-up-links/${id}`)).body).toMatchObject({ used: 0, state: 'open' });
  const done = await follow(link, { username: name, name: 'Ada', new_password: password }, agent);
  expect([done.status, done.location]).toEqual([303, `${service.issuer}/account?done=welcome`]);
  expect((await agent.get('/account')).body).toContain(name);
  const user = (await userOf(email))!;
  expect({ ...user, groups: [...user.groups].sort() }).toMatchObject({
    emailVerified: true,
    confirmedBy: 'mail',
    admin: false,
    groups: ['captains', 'crew'],
    claims: { name: 'Ada' },
  });
  expect(await takes({ username: name }, password)).toBe(true);
  expect((await api('GET', `sign-up-links/${id}`)).body).toMatchObject({ used: 1, state: 'open' });
  expect(await events('sign_up_link.used', id)).toEqual([
    { sub: user.sub, detail: expect.objectContaining({ groups: ['crew', 'captains'] }) as object },
  ]);
  // the mail of a sign-up link is no link of the public sign-up, and works once
  expect(await open(link.replace('/link/', '/'))).toBe(404);
  expect(await open(link)).toBe(410);
});

test('a user of a link can create a passkey instead, and sees the recovery codes (pages, sign-up links)', async () => {
  const { id, path } = await makeLink();
  const name = person();
  const link = await mailed(path, `${name}@example.com`);
  const agent = new UserAgent(service);
  const page = await agent.get(link);
  const offer = await agent.post(link.split('?')[0]!, {
    ...hiddenFields(page.body),
    username: name,
    act: 'passkey',
  });
  const { fields, options } = passkeyForm(offer);
  const credential = new Authenticator(service.issuer).create(options);
  const codes = await agent.post(link.split('?')[0]!, { ...fields, credential });
  expect(recoveryCodesOf(codes).length).toBeGreaterThan(0);
  expect((await api('GET', `sign-up-links/${id}`)).body).toMatchObject({ used: 1, state: 'used_up' });
});

test('20 users at once on a link of 5 uses make 5 accounts, in each of several rounds (pages, sign-up links)', async () => {
  for (const groups of [[], ['crew']]) {
    const { id, path } = await makeLink({ uses: 5, groups });
    const names = Array.from({ length: 20 }, person);
    const links = await Promise.all(names.map((name) => mailed(path, `${name}@example.com`)));
    const forms = await Promise.all(
      links.map(async (link) => {
        const agent = new UserAgent({ issuer: service.issuer });
        return { agent, link, fields: hiddenFields((await agent.get(link)).body) };
      }),
    );
    const pages = await Promise.all(
      forms.map(({ agent, link, fields }, index) =>
        agent.post(link.split('?')[0]!, { ...fields, username: names[index]!, new_password: password }),
      ),
    );
    expect(pages.map(({ status }) => status).sort()).toEqual([
      ...Array.from({ length: 5 }, () => 303),
      ...Array.from({ length: 15 }, () => 410),
    ]);
    const users = await Promise.all(names.map((name) => userOf(`${name}@example.com`)));
    expect(users.filter(Boolean)).toHaveLength(5);
    expect((await api('GET', `sign-up-links/${id}`)).body).toMatchObject({ used: 5, state: 'used_up' });
    expect(await events('sign_up_link.used', id)).toHaveLength(5);
  }
});

test('the domain of a link goes before SIGN_UP_DOMAINS, which decides for a link without one (pages, sign-up links)', async () => {
  const foreign = await makeLink({ domain: 'Bücher.example' });
  expect((await api('GET', `sign-up-links/${foreign.id}`)).body['domain']).toBe('xn--bcher-kva.example');
  expect((await new UserAgent(service).get(foreign.path)).body).toContain('xn--bcher-kva.example');
  const other = await makeLink({ domain: 'firm.example' });
  const any = await makeLink();
  for (const [path, email, status] of [
    [foreign.path, 'a@bücher.example', 200],
    [foreign.path, 'a@evil.bücher.example', 400],
    [other.path, 'a@example.com', 400],
    [other.path, 'a@FIRM.example', 200],
    [any.path, 'b@example.com', 200],
    [any.path, 'b@firm.example', 400],
  ] as const)
    expect((await order(path, { email })).status, `${path} ${email}`).toBe(status);
  // the domain that the link has now decides, whatever it was when the mail was sent
  const link = await linkTo('a@firm.example', subject);
  expect(await open(link)).toBe(200);
  await api('PATCH', `sign-up-links/${other.id}`, { domain: 'example.org' });
  expect(await open(link)).toBe(410);
  await api('PATCH', `sign-up-links/${other.id}`, { domain: null });
  expect(await open(link)).toBe(410);
});

test('a link that is used up, over, disabled, deleted, stopped by a group or unknown is one page (pages, sign-up links)', async () => {
  const unknown = `/sign-up/link?token=${newOpaqueToken('sign_up_link').token}`;
  // the menu of languages repeats the address
  const main = (body: string) => /<main.*<\/main>/s.exec(body)![0];
  const page = main((await new UserAgent(service).get(unknown)).body);
  expect(page).toContain('ask your administrator for a new link');
  const ends: Record<string, (id: string) => Promise<unknown>> = {
    used_up: (id) => service.database.sql('UPDATE sign_up_links SET used = uses WHERE id = $1', [id]),
    expired: (id) => service.database.sql(`UPDATE sign_up_links SET expires_at = now() WHERE id = $1`, [id]),
    disabled: (id) => api('PATCH', `sign-up-links/${id}`, { status: 'disabled' }),
    deleted: (id) => api('DELETE', `sign-up-links/${id}`),
    power: (id) => service.database.sql('UPDATE sign_up_links SET groups = $2 WHERE id = $1', [id, [guarded]]),
  };
  for (const [state, end] of Object.entries(ends)) {
    const { id, path } = await makeLink({ name: `Secret plan ${state}` });
    const email = `${person()}@example.com`;
    const agent = new UserAgent(service);
    const fields = hiddenFields((await agent.get(path)).body);
    const link = await mailed(path, email);
    const waiting = new UserAgent(service);
    const form = hiddenFields((await waiting.get(link)).body);
    await end(id);
    for (const answer of [
      await new UserAgent(service).get(path),
      await agent.post('/sign-up/link', { ...fields, email: 'next@example.com' }),
      await new UserAgent(service).get(link),
      await waiting.post('/sign-up/link/complete', { ...form, username: person(), new_password: password }),
    ]) {
      expect(answer.status, state).toBe(410);
      expect(main(answer.body), state).toBe(page);
    }
    expect(await userOf(email), state).toBeUndefined();
    if (state !== 'deleted') expect((await api('GET', `sign-up-links/${id}`)).body, state).toMatchObject({ state });
  }
  expect(server.mails.filter(({ to }) => to.includes('next@example.com'))).toEqual([]);
});

test('a guarded group and a group with a role are refused when the link is made, and stop it if they get power later (pages, sign-up links)', async () => {
  const client = await service.createClient();
  const role = `clients/${client.clientId}/roles`;
  await api('POST', role, { name: 'skipper' });
  await api('POST', 'groups', { name: 'skippers' });
  const { id, path } = await makeLink({ groups: ['skippers', 'crew'] });
  await api('POST', `${role}/skipper/give`, { groups: ['captains'] });
  for (const [groups, named] of [
    [[guarded], guarded],
    [['crew', 'captains'], 'captains'],
  ] as const) {
    const refused = await api('POST', 'sign-up-links', inputOf({ groups }));
    expect([refused.status, refused.body['error_description']]).toEqual([409, expect.stringContaining(named)]);
    expect((await api('PATCH', `sign-up-links/${id}`, { groups })).status).toBe(409);
  }
  expect((await api('POST', 'sign-up-links', inputOf({ groups: ['nowhere'] }))).status).toBe(400);
  // the group gets power while a user has the mail: no account is made, rather than one on other terms than the administrator wrote
  const email = `${person()}@example.com`;
  const link = await mailed(path, email);
  const agent = new UserAgent(service);
  const form = hiddenFields((await agent.get(link)).body);
  await api('POST', `${role}/skipper/give`, { groups: ['skippers'] });
  expect(
    (await agent.post('/sign-up/link/complete', { ...form, username: person(), new_password: password })).status,
  ).toBe(410);
  expect(await userOf(email)).toBeUndefined();
  expect((await api('GET', `sign-up-links/${id}`)).body).toMatchObject({ used: 0, state: 'power' });
  // it can still be changed, and works again without the group
  expect((await api('PATCH', `sign-up-links/${id}`, { groups: ['crew'] })).body).toMatchObject({ state: 'open' });
  expect((await follow(link, { username: person(), new_password: password })).status).toBe(303);
  expect((await userOf(email))!.groups).toEqual(['crew']);
  await api('POST', `${role}/skipper/take`, { groups: ['captains', 'skippers'] });
});

test('a link follows a renamed, a merged and a deleted group (pages, sign-up links)', async () => {
  for (const name of ['old', 'both', 'gone']) await api('POST', 'groups', { name });
  const { id, path } = await makeLink({ groups: ['old', 'both', 'gone'], uses: 9 });
  const groups = async () => (await api('GET', `sign-up-links/${id}`)).body['groups'];
  await api('PATCH', 'groups/old', { name: 'new' });
  expect(await groups()).toEqual(['new', 'both', 'gone']);
  await api('DELETE', 'groups/gone');
  expect(await groups()).toEqual(['new', 'both']);
  // a later group of this name is another one
  await api('POST', 'groups', { name: 'gone' });
  const email = `${person()}@example.com`;
  const link = await mailed(path, email);
  // renames and sign-ups at the same time: each account is in the group by the name that it has then
  const [done] = await Promise.all([
    follow(link, { username: person(), new_password: password }),
    api('PATCH', 'groups/new', { name: 'newer' }),
  ]);
  expect(done.status).toBe(303);
  expect([...(await userOf(email))!.groups].sort()).toEqual(['both', 'newer']);
  expect(await groups()).toEqual(['newer', 'both']);
  expect((await service.store.groups.find('new'))?.name).toBeUndefined();
});

test('only the creation shows the link, and the database has its digest alone (security R26)', async () => {
  const { id, name, path } = await makeLink({ name: 'Shown once' });
  const secret = new URL(service.issuer + path).searchParams.get('token')!;
  const one = await api('GET', `sign-up-links/${id}`);
  const list = await api('GET', 'sign-up-links');
  const changed = await api('PATCH', `sign-up-links/${id}`, { uses: 3 });
  for (const { body } of [one, list, changed]) expect(JSON.stringify(body)).not.toMatch(/ghsl_|"uri"/);
  expect((await api('GET', `sign-up-links/${encodeURIComponent(name)}`)).body['id']).toBe(id);
  expect(
    await service.database.sql('SELECT octet_length(token_hash) AS bytes FROM sign_up_link_tokens WHERE link_id = $1', [
      id,
    ]),
  ).toEqual([{ bytes: 32 }]);
  expect(service.logs.some((line) => JSON.stringify(line).includes(secret))).toBe(false);
  await api('DELETE', `sign-up-links/${id}`);
  const types = ['created', 'changed', 'deleted'].map((act) => `sign_up_link.${act}`);
  const seen = await Promise.all(types.map((type) => events(type, id)));
  expect(seen.map((all) => all.length)).toEqual([1, 1, 1]);
  expect(JSON.stringify(seen)).not.toContain('ghsl_');
});

test('what a link can have is checked: its name, its uses, its end and its domain (pages, sign-up links)', async () => {
  const { name, id } = await makeLink();
  for (const [input, member] of [
    [{ name }, 'a sign-up link of this name'],
    [{ uses: 0 }, 'uses'],
    [{ uses: 10_001 }, 'uses'],
    [{ expires_at: later(-1) }, 'expires_at'],
    [{ expires_at: later(367) }, 'expires_at'],
    [{ expires_at: 'tomorrow' }, 'expires_at'],
    [{ domain: 'a@example.com' }, 'domain'],
  ] as const) {
    const { status, body } = await api('POST', 'sign-up-links', inputOf(input));
    expect([status, body['error_description']], JSON.stringify(input)).toEqual([
      'name' in input ? 409 : 400,
      expect.stringContaining(member),
    ]);
  }
  // another member of a link that is over can be changed
  await service.database.sql(`UPDATE sign_up_links SET expires_at = now() - interval '1 day' WHERE id = $1`, [id]);
  expect((await api('PATCH', `sign-up-links/${id}`, { status: 'disabled' })).status).toBe(200);
  expect((await api('PATCH', `sign-up-links/${id}`, { uses: 2, expires_at: later(-0.5) })).status).toBe(400);
});
