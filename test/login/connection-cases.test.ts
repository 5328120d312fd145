// Attacks and odd behaviour of connections that no other file has whole: races, weight, planted answers, groups that are not said, and canaries.
import type { ServerResponse } from 'node:http';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { addConnection, answerOf, changeConnection, leave, signInBy, signInPage } from '../helpers/connections.ts';
import { openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { type Provider, providerClient, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      REQUIRE_SECOND_FACTOR_GROUPS: 'ops',
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  await addConnection(service, provider, 'honest', { provisioning: 'on' });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});
beforeEach(() => provider.lie({}));

let number = 0;
const begun = async (agent = new UserAgent(service)) =>
  answerOf(await leave(agent, await signInPage(agent, 'honest'), 'honest'));
const own = '/account/connections';

describe('of many concurrent requests', () => {
  test('by twenty users to link one identity, one succeeds, and the page tells the other users why (federation FR1, F9)', async () => {
    const subject = `shared-${++number}`;
    provider.be({ sub: subject });
    const people = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const user = await service.createUser();
        const agent = new UserAgent(service);
        await agent.signIn(user, await agent.get('/login'));
        const form = hiddenFields((await agent.get(own)).body);
        const page = await agent.follow(
          await agent.get(await answerOf(await agent.post(own, { ...form, act: 'begin', connection: 'honest' }))),
        );
        return { agent, fields: { ...hiddenFields(page.body), act: 'confirm' } };
      }),
    );
    const answers = await Promise.all(
      people.map(({ agent, fields }, index) =>
        agent.post(`${service.instances[index % 2]!}${own}`, fields, { origin: service.issuer }),
      ),
    );
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    for (const { status, body } of answers.filter((one) => one.status !== 303)) {
      expect(status).toBe(409);
      expect(body).toContain('is already connected to another account');
    }
    const links = await service.database.sql('SELECT FROM linked_identities WHERE subject = $1', [subject]);
    expect(links).toHaveLength(1);
  });

  test('by one user to link two identities, one succeeds (federation FR1, F9)', async () => {
    for (let round = 0; round < 5; round++) {
      const user = await service.createUser();
      const ready = [];
      for (const side of ['a', 'b']) {
        const agent = new UserAgent(service);
        await agent.signIn(user);
        provider.be({ sub: `two-${round}-${side}-${number}` });
        const form = hiddenFields((await agent.get(own)).body);
        const begin = await agent.post(own, { ...form, act: 'begin', connection: 'honest' });
        const page = await agent.follow(await agent.get(await answerOf(begin)));
        ready.push({ agent, fields: { ...hiddenFields(page.body), act: 'confirm' } });
      }
      const answers = await Promise.all(ready.map(({ agent, fields }) => agent.post(own, fields)));
      expect(answers.map(({ status }) => status).sort()).toEqual([303, 409]);
      expect(await service.store.linkedIdentities.ofUser(user.sub)).toHaveLength(1);
    }
  });
});

describe('an answer', () => {
  test('of an attacker in the browser of another user signs no user in, and can still be used in its own browser (federation FR4, F18)', async () => {
    provider.be({ sub: `attacker-${++number}`, preferred_username: `attacker ${number}` });
    const attacker = new UserAgent(service);
    const answer = await begun(attacker);
    const victim = new UserAgent(service);
    await victim.get('/login');
    // by a link, by a form of another site, and with a sign-in of the victim under way
    expect((await victim.get(answer, { 'sec-fetch-site': 'cross-site' })).status).toBe(400);
    const url = new URL(answer);
    const posted = await victim.post(url.pathname, Object.fromEntries(url.searchParams), {
      origin: 'https://evil.example',
      'sec-fetch-site': 'cross-site',
    });
    // whatever the post leads to, this browser has no such sign-in
    expect((await victim.follow(posted)).status).toBeGreaterThanOrEqual(400);
    await begun(victim);
    expect((await victim.get(answer)).status).toBe(400);
    for (const path of ['/account', '/account/profile']) expect((await victim.get(path)).status).toBe(303);
    expect((await attacker.follow(await attacker.get(answer))).url).toBe(`${service.issuer}/account`);
    expect((await attacker.get(answer)).status).toBe(400);
  });
});

test('a sign-in with keys of 10 MiB or 100,000 groups ends, and other sign-ins work meanwhile (federation FR13, F14)', async () => {
  const [keys, groups] = [await startProvider(), await startProvider()];
  const other = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: [keys, groups, provider].map(({ host }) => host).join(','),
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  try {
    for (const [id, at] of [
      ['keys', keys],
      ['groups', groups],
      ['honest', provider],
    ] as const)
      await addConnection(other, at, id, { provisioning: 'on' });
    const heavy = `{"keys":[],"more":"${'x'.repeat(10 * 1024 * 1024)}"}`;
    keys.lie({
      write: { jwks: (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(heavy) },
    });
    const many = { preferred_username: 'in.many', groups: Array.from({ length: 100_000 }, (_, index) => `g${index}`) };
    groups.lie({ userInfo: many });
    provider.be({ sub: `beside-${++number}`, preferred_username: `beside ${number}` });
    const [ofKeys, ofGroups, beside] = await Promise.all(
      ['keys', 'groups', 'honest'].map((id) => signInBy(new UserAgent(other), id)),
    );
    for (const page of [ofKeys, ofGroups]) {
      expect(page!.status).toBe(503);
      expect(page!.body).toContain('isn’t responding');
    }
    expect(beside!.url).toBe(`${other.issuer}/account`);
    expect(await other.database.sql(`SELECT FROM linked_identities WHERE connection_id <> 'honest'`)).toEqual([]);
  } finally {
    await other.stop();
    await keys.stop();
    await groups.stop();
  }
});

test('a slow discovery document is read once, however many sign-ins wait for it (federation F14)', async () => {
  const slow = await startProvider();
  const other = await startTestService({
    environment: { ...withoutLimits, OUTBOUND_ALLOW: slow.host, LIMIT_PENDING_SIGN_INS: '0' },
  });
  await addConnection(other, slow, 'slow');
  const document = JSON.stringify(await (await fetch(`${slow.issuer}/.well-known/openid-configuration`)).json());
  const agents = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const agent = new UserAgent(other);
      return { agent, page: await signInPage(agent, 'slow') };
    }),
  );
  await changeConnection(other, 'slow', { discovered_at: new Date(Date.now() - 2 * 3_600_000) });
  const held: ServerResponse[] = [];
  slow.lie({ write: { discovery: (response) => void held.push(response) } });
  const before = slow.count('discovery');
  const leaving = agents.map(({ agent, page }) => leave(agent, page, 'slow'));
  await vi.waitUntil(async () => (await other.database.sql('SELECT FROM connection_steps')).length === 10);
  // each has stored its step before it reads
  await fetch(`${other.issuer}/login`);
  for (const response of held) response.writeHead(200, { 'content-type': 'application/json' }).end(document);
  for (const left of await Promise.all(leaving)) expect(left.location).toContain(`${slow.issuer}/authorize`);
  expect(slow.count('discovery') - before).toBe(1);
  await other.stop();
  await slow.stop();
});

describe('groups', () => {
  const groupsOf = async (sub: string) => (await service.store.users.find(sub))!.groups;
  const unknown = async (sub: string) =>
    (await service.database.sql(`SELECT FROM audit_events WHERE type = 'groups.unknown' AND sub = $1`, [sub])).length;

  test.each<[string, Record<string, unknown>, boolean]>([
    ['are absent', {}, false],
    ['are an empty text', { groups: '' }, false],
    ['are an object', { groups: { staff: true } }, false],
    [
      'are named elsewhere, as Entra does',
      { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph.example/me' } } },
      false,
    ],
    ['are more than a user can have', { groups: Array.from({ length: 10_000 }, () => 'staff') }, false],
    ['hold what is no text', { groups: ['staff', 7] }, false],
    ['are null', { groups: null }, false],
    ['are none', { groups: [] }, true],
  ])(
    'that %s: only an empty list removes, and only what the connection gave (federation FR15, F22)',
    async (_title, claims, removes) => {
      await changeConnection(service, 'honest', {
        group_rules: [{ equals: 'staff', group: 'staff' }],
        default_groups: [],
      });
      const subject = `groups-${++number}`;
      const base = { sub: subject, preferred_username: subject };
      provider.be({ ...base, groups: ['staff', 'nothing of ours'] });
      await signInBy(new UserAgent(service), 'honest');
      const [link] = await service.database.sql<{ sub: string }>(
        'SELECT sub FROM linked_identities WHERE subject = $1',
        [subject],
      );
      const { sub } = link!;
      await service.database.sql(`UPDATE users SET groups = groups || ARRAY['by-hand'] WHERE sub = $1`, [sub]);
      expect(await groupsOf(sub)).toEqual(expect.arrayContaining(['staff', 'by-hand']));
      // an answer of 10,000 entries is within what one may weigh
      provider.be({ ...base, ...claims });
      const asked = provider.seen.length;
      await signInBy(new UserAgent(service), 'honest');
      expect((await groupsOf(sub)).sort()).toEqual(removes ? ['by-hand'] : ['by-hand', 'staff']);
      expect(provider.seen.slice(asked).every(({ path }) => path !== 'end_session')).toBe(true);
      const isRefused = JSON.stringify(claims).length > 64 * 1024;
      expect(await unknown(sub)).toBe(removes || isRefused ? 0 : 1);
      await changeConnection(service, 'honest', { group_rules: [], default_groups: [] });
    },
  );
});

describe('a connection that is deleted', () => {
  const deleteBy = async (id: string) =>
    (
      await call(`${service.issuer}/admin/api/connections/${id}`, {
        token: await adminToken(service),
        method: 'DELETE',
      })
    ).status;

  test('leaves no membership, even of a sign-in that has begun (federation FR1, F27)', async () => {
    await addConnection(service, provider, 'leaving', { provisioning: 'on' });
    const subject = `leaving-${++number}`;
    provider.be({ sub: subject, preferred_username: subject, groups: ['of the leaving'] });
    await signInBy(new UserAgent(service), 'leaving');
    const [link] = await service.database.sql<{ sub: string }>('SELECT sub FROM linked_identities WHERE subject = $1', [
      subject,
    ]);
    await changeConnection(service, 'leaving', { group_rules: [{ all: true, prefix: '' }] });
    const agent = new UserAgent(service);
    const answer = await answerOf(await leave(agent, await signInPage(agent, 'leaving'), 'leaving'));
    const holder = new pg.Client(service.database.connection);
    await holder.connect();
    const waiting = async () =>
      (
        await service.database.sql(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
      ).length;
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM users WHERE sub = $1 FOR UPDATE', [link!.sub]);
      const signingIn = agent.get(answer);
      await vi.waitUntil(async () => (await waiting()) === 1);
      let isDeleted = false;
      const deleting = deleteBy('leaving').finally(() => (isDeleted = true));
      await vi.waitUntil(async () => isDeleted || (await waiting()) === 2);
      await holder.query('COMMIT');
      expect((await signingIn).status).toBeLessThan(500);
      expect(await deleting).toBe(200);
    } finally {
      await holder.end();
    }
    expect((await service.store.users.find(link!.sub))!.groups).toEqual([]);
    expect((await agent.get('/account')).status).toBe(303);
  });

  test('does not pass its access to guarded groups and its clients for tokens on to a new connection of the same id (federation FR14, F27)', async () => {
    await addConnection(service, provider, 'trusted', { provisioning: 'on' });
    const client = await service.createClient();
    const { sql } = service.database;
    await sql(`INSERT INTO groups (name, guarded_sources) VALUES ('ops', '{honest,trusted}')`);
    await sql(`UPDATE clients SET upstream_tokens = '{trusted,honest}' WHERE client_id = $1`, [client.clientId]);
    expect(await deleteBy('trusted')).toBe(200);
    expect(await sql(`SELECT guarded_sources FROM groups WHERE name = 'ops'`)).toEqual([
      { guarded_sources: ['honest'] },
    ]);
    expect(await sql('SELECT upstream_tokens FROM clients WHERE client_id = $1', [client.clientId])).toEqual([
      { upstream_tokens: ['honest'] },
    ]);
    await sql(`DELETE FROM groups WHERE name = 'ops'`);
  });
});

test('the secret of a connection is in no answer, page, export, event or log, failures included (federation FR17, F31)', async () => {
  const token = await adminToken(service);
  const canary = 'canary-of-a-new-secret-0d5f';
  const api = `${service.issuer}/admin/api/connections`;
  const texts: string[] = [];
  const read = async (url: string, options: Parameters<typeof call>[1] = {}) => {
    const answer = await call(url, { token, ...options });
    texts.push(JSON.stringify(answer.body));
    return answer.status;
  };
  const settings = { ...provider.settings };
  const made = { id: 'canary', kind: 'oidc', display_name: 'Canary', status: 'enabled', secret: canary, settings };
  expect(await read(api, { body: made })).toBe(201);
  // refused, with the secret in the request
  expect(await read(api, { body: made })).toBe(409);
  expect(
    await read(api, { body: { ...made, id: 'canary-2', settings: { ...settings, issuer: `${settings.issuer}/` } } }),
  ).toBe(400);
  expect(await read(`${api}/canary`, { method: 'PATCH', body: { secret: canary, version: 99 } })).toBe(409);
  expect(
    await read(`${api}/canary`, { method: 'PATCH', body: { secret: canary, settings: { nonsense: canary } } }),
  ).toBe(400);
  // the provider refuses the secret: the failure is logged
  await signInBy(new UserAgent(service), 'canary').catch(() => undefined);
  for (const path of ['connections', 'connections/canary', 'audit?limit=200', 'users', 'users/export', 'clients'])
    await read(`${service.issuer}/admin/api/${path}`);
  const { agent } = await openConsole(service, await service.createUser({ username: 'canary-root', admin: true }));
  const pages = [
    'connections',
    'connections/canary',
    'connections/canary/edit',
    'connections/canary/delete',
    'audit',
    'settings',
  ];
  for (const path of pages) texts.push((await agent.get(`/admin/${path}`)).body);
  const edit = await agent.get('/admin/connections/canary/edit');
  const typed = { ...hiddenFields(edit.body), display_name: '', secret: canary };
  texts.push((await agent.post('/admin/connections/canary/edit', typed)).body);
  texts.push(JSON.stringify(service.logs));
  texts.push(JSON.stringify(await service.database.sql('SELECT detail FROM audit_events')));
  const metrics = await fetch(`${service.issuer}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  texts.push(await metrics.text());
  expect(texts.join('').length).toBeGreaterThan(10_000);
  for (const text of texts)
    for (const secret of [canary, providerClient.secret, 'canary-of-the-access-token'])
      expect(text).not.toContain(secret);
  const stored = await service.database.sql<{ dump: string }>('SELECT connections::text AS dump FROM connections');
  for (const { dump } of stored) expect(dump).not.toContain(Buffer.from(canary).toString('hex'));
});
