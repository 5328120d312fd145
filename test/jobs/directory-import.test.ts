// Tests the import of a directory: whom it makes, changes, disables and enables, and what it never does without an administrator.
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type CuttingProxy, startCuttingProxy } from '../helpers/cutting-proxy.ts';
import { addDirectory, changeSettings, settingsOf, signInWith } from '../helpers/directories.ts';
import {
  base,
  type DirectoryServer,
  groupEntry,
  hasSlapd,
  personEntry,
  startDirectoryServer,
} from '../helpers/directory-server.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, obtainTokens, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const withServer = describe.runIf(hasSlapd);
const dnOf = (uid: string) => `uid=${uid},ou=people,${base}`;
const crew = Array.from({ length: 30 }, (_, index) => `crew${index}`);
let server: DirectoryServer;
let service: TestService;
let token: string;
let proxy: CuttingProxy;

beforeAll(async () => {
  if (!hasSlapd) return;
  server = await startDirectoryServer();
  proxy = await startCuttingProxy(Number(new URL(server.url).port));
  server.add([...crew, 'anna', 'ben', 'root', 'taken'].map((uid) => personEntry(uid)).join(''));
  server.add(groupEntry('Staff', [dnOf('anna'), dnOf('ben')]));
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, CONNECTIONS_ALLOW: [...server.hosts, `localhost:${proxy.port}`].join(',') },
  });
  token = await adminToken(service);
  await service.createUser({ username: 'taken' });
  await addDirectory(
    service,
    'ldap',
    { ...settingsOf(server), import: 60, page_size: 10 },
    { authoritative_domains: ['example.com'], group_rules: [{ all: true, prefix: '' }] },
  );
});
afterAll(async () => {
  await service?.stop();
  await proxy?.stop();
  await server?.stop();
});

/** Sets the settings of the connection back. */
const usual = () => ({ ...settingsOf(server), user_filter: '(objectClass=inetOrgPerson)' });

interface Import {
  state: string;
  running: boolean;
  counts: Record<string, number>;
  problem?: string;
  finished_at?: string;
}
const api = (path = '') => `${service.issuer}/admin/api/connections/ldap/import${path}`;
const status = async () => (await call(api(), { token })).body as unknown as Import;
/** Starts an import and waits for its end. */
async function runImport(full = false): Promise<Import> {
  const before = (await status()).finished_at;
  expect((await call(api(), { token, body: { full } })).status).toBe(204);
  return ended(before);
}
const ended = (before: string | undefined) =>
  vi.waitFor(
    async () => {
      const now = await status();
      expect(now.running || now.finished_at === before).toBe(false);
      return now;
    },
    { timeout: 30_000, interval: 50 },
  );
const userOf = (username: string) => service.store.users.findByUsername(username);
const statusOf = async (username: string) => (await userOf(username))?.status;
const disabled = async () =>
  (await service.database.sql<{ n: number }>(`SELECT count(*)::int AS n FROM users WHERE status = 'disabled'`))[0]!.n;
const events = async (type: string) => (await eventsOf(service, { type })).map(({ detail }) => detail);

withServer('an import', () => {
  beforeEach(async () => {
    await changeSettings(service, 'ldap', usual());
  });

  test('makes the users with their groups, leaves out taken names, and signs them in as the same users (federation 6)', async () => {
    const done = await runImport();
    expect(done).toMatchObject({ state: 'done', counts: { found: 34, created: 33, skipped: 1, disabled: 0 } });
    const anna = (await userOf('anna'))!;
    expect(anna).toMatchObject({
      groups: ['Staff'],
      email: 'anna@example.com',
      emailVerified: true,
      claims: { name: 'anna' },
    });
    expect((await service.store.linkedIdentities.ofUser(anna.sub))[0]).toMatchObject({
      how: 'imported',
      lastUsedAt: undefined,
    });
    await signInWith(service, 'anna');
    expect((await service.database.sql('SELECT sub FROM sessions')).length).toBeGreaterThan(0);
    expect((await service.store.linkedIdentities.ofUser(anna.sub)).length).toBe(1);
    expect((await userOf('taken'))!.passwordHash).toBeDefined();
  });

  test('reads changes: of an entry, and of a group (federation 6)', async () => {
    server.modify(`dn: ${dnOf('ben')}\nchangetype: modify\nreplace: mail\nmail: benedict@example.com\n\n`);
    expect(await runImport()).toMatchObject({ state: 'done', counts: { created: 0, changed: 1, disabled: 0 } });
    expect(await userOf('ben')).toMatchObject({ email: 'benedict@example.com' });
    server.modify(`dn: cn=Staff,ou=groups,${base}\nchangetype: modify\ndelete: member\nmember: ${dnOf('ben')}\n\n`);
    expect(await runImport()).toMatchObject({ state: 'done', counts: { changed: 1 } });
    expect(await userOf('ben')).toMatchObject({ groups: [] });
    // nothing has changed
    expect(await runImport()).toMatchObject({ state: 'done', counts: { created: 0, changed: 0, disabled: 0 } });
  });

  test('ends the access of users who are deleted, moved away or outside the filter, and gives it back to those who return (federation F58, FR37)', async () => {
    server.add(['gone', 'moved', 'outside'].map((uid) => personEntry(uid)).join(''));
    server.add(`dn: ou=former,${base}\nobjectClass: organizationalUnit\nou: former\n\n`);
    await runImport();
    const client = await service.createClient({ scope: 'openid offline_access' }, { firstParty: true });
    const held = new Map<string, { agent: UserAgent; refreshToken: string; accessToken: string }>();
    for (const uid of ['gone', 'moved', 'outside']) {
      const agent = new UserAgent(service);
      const tokens = await obtainTokens(
        service,
        client,
        { username: uid, password: `password of ${uid}` },
        { scope: 'openid offline_access', prompt: 'consent' },
        agent,
      );
      expect((await agent.get('/account')).status).toBe(200);
      held.set(uid, { agent, refreshToken: tokens.refresh_token, accessToken: tokens.access_token });
    }
    server.modify(`dn: ${dnOf('gone')}\nchangetype: delete\n\n`);
    server.modify(
      `dn: ${dnOf('moved')}\nchangetype: modrdn\nnewrdn: uid=moved\ndeleteoldrdn: 0\nnewsuperior: ou=former,${base}\n\n`,
    );
    await changeSettings(service, 'ldap', { user_filter: '(&(objectClass=inetOrgPerson)(!(uid=outside)))' });
    expect(await runImport()).toMatchObject({ state: 'done', counts: { disabled: 3 } });
    for (const [uid, { agent, refreshToken, accessToken }] of held) {
      expect(await statusOf(uid)).toBe('disabled');
      for (const instance of service.instances) {
        expect((await agent.fetch(`${instance}/account`)).status, uid).toBe(303);
        expect((await userinfo(instance, accessToken)).status, uid).toBe(401);
        expect((await refresh(instance, client, refreshToken)).body, uid).toMatchObject({ error: 'invalid_grant' });
      }
    }
    // an administrator's decision about a user who is gone stays, also at the next import
    await service.store.users.update((await userOf('gone'))!.sub, { status: 'enabled' });
    server.modify(
      `dn: uid=moved,ou=former,${base}\nchangetype: modrdn\nnewrdn: uid=moved\ndeleteoldrdn: 0\nnewsuperior: ou=people,${base}\n\n`,
    );
    await changeSettings(service, 'ldap', { user_filter: '(objectClass=inetOrgPerson)' });
    expect(await runImport(true)).toMatchObject({ state: 'done', counts: { enabled: 2, disabled: 0 } });
    expect([await statusOf('gone'), await statusOf('moved'), await statusOf('outside')]).toEqual([
      'enabled',
      'enabled',
      'enabled',
    ]);
    // a user whom an administrator disabled stays so
    await service.store.users.update((await userOf('moved'))!.sub, { status: 'disabled' });
    await runImport(true);
    expect(await statusOf('moved')).toBe('disabled');
    await service.store.users.update((await userOf('moved'))!.sub, { status: 'enabled' });
  });

  test('does not enable a returning user whom an administrator has disabled since, whatever the administrator did before (federation F58, FR37)', async () => {
    const uids = ['left', 'locked', 'returned'];
    server.add(uids.map((uid) => personEntry(uid)).join(''));
    await runImport();
    /** Moves the entry of a user away, or back. */
    const move = (uid: string, [from, to]: readonly [string, string]) =>
      server.modify(
        `dn: uid=${uid},ou=${from},${base}\nchangetype: modrdn\nnewrdn: uid=${uid}\ndeleteoldrdn: 0\nnewsuperior: ou=${to},${base}\n\n`,
      );
    for (const uid of uids) move(uid, ['people', 'former']);
    expect(await runImport()).toMatchObject({ counts: { disabled: 3 } });
    const set = async (uid: string, status: string) => {
      const address = `${service.issuer}/admin/api/users/${(await userOf(uid))!.sub}`;
      expect((await call(address, { token, method: 'PATCH', body: { status } })).status).toBe(200);
    };
    // with an import between the two decisions, and without
    await set('left', 'enabled');
    await runImport();
    for (const status of ['disabled', 'enabled', 'disabled']) await set('left', status);
    // the import has disabled this one already
    await set('locked', 'disabled');
    const { sub } = (await userOf('locked'))!;
    expect((await eventsOf(service, { type: 'user.disabled', sub })).map(({ actor }) => actor)).toEqual(
      expect.arrayContaining(['connection:ldap', expect.not.stringMatching('connection:ldap')]),
    );
    for (const uid of uids) move(uid, ['former', 'people']);
    expect(await runImport(true)).toMatchObject({ counts: { enabled: 1 } });
    expect(await Promise.all(uids.map(statusOf))).toEqual(['disabled', 'disabled', 'enabled']);
  });

  test('makes no users of aliases and referrals (federation F52, FR1)', async () => {
    server.add(`dn: uid=shadow,ou=people,${base}
objectClass: alias
objectClass: extensibleObject
uid: shadow
aliasedObjectName: ${dnOf('anna')}

dn: uid=remote,ou=people,${base}
objectClass: referral
objectClass: extensibleObject
uid: remote
ref: ldap://localhost:1/uid=remote

`);
    await changeSettings(service, 'ldap', {
      user_filter: '(|(objectClass=inetOrgPerson)(objectClass=alias)(objectClass=referral))',
    });
    expect(await runImport(true)).toMatchObject({ state: 'done', counts: { created: 0, disabled: 0 } });
    expect([await userOf('shadow'), await userOf('remote')]).toEqual([undefined, undefined]);
  });

  test('does not disable an administrator, who only loses the sessions that came by the directory (federation FR40)', async () => {
    const root = (await userOf('root'))!;
    const { agent } = await signInWith(service, 'root');
    await service.store.users.update(root.sub, { admin: true });
    const { agent: again } = await signInWith(service, 'root');
    expect((await again.get('/account')).status).toBe(200);
    server.modify(`dn: ${dnOf('root')}\nchangetype: delete\n\n`);
    expect(await runImport()).toMatchObject({ counts: { disabled: 0, kept: 1 } });
    expect(await statusOf('root')).toBe('enabled');
    expect((await again.get('/account')).status).toBe(303);
    expect((await agent.get('/account')).status).toBe(303);
  });
});

withServer('an import gone wrong', () => {
  beforeEach(async () => {
    await changeSettings(service, 'ldap', usual());
    await runImport(true);
  });

  test('changes nothing where the service account sees nothing or is refused, the base is renamed, or a size limit cuts the answer (federation F55, FR15, FR16)', async () => {
    const before = await disabled();
    const wrong = async (settings: Record<string, unknown>, problem: string) => {
      await changeSettings(service, 'ldap', settings);
      expect(await runImport(true)).toMatchObject({ state: 'failed', problem });
      expect(await disabled()).toBe(before);
      await changeSettings(service, 'ldap', usual());
    };
    await wrong({ base: `ou=groups,${base}` }, 'nothing');
    await wrong({ base: `ou=renamed,${base}` }, 'search');
    await wrong({ bind_dn: `cn=nobody,${base}` }, 'credentials');
    await wrong({ url: 'ldaps://localhost:1' }, 'address');
    const small = await startDirectoryServer({ database: 'limits * size=20' });
    small.add(crew.map((uid) => personEntry(uid)).join(''));
    const limited = await startTestService({
      environment: { ...withoutLimits, CONNECTIONS_ALLOW: small.hosts.join(',') },
    });
    try {
      await addDirectory(limited, 'ldap', { ...settingsOf(small), import: 60, page_size: 10 });
      const other = await adminToken(limited);
      const address = `${limited.issuer}/admin/api/connections/ldap/import`;
      await call(address, { token: other, body: {} });
      const failed = await vi.waitFor(
        async () => {
          const { body } = await call(address, { token: other });
          expect(body['finished_at']).toBeDefined();
          return body;
        },
        { timeout: 20_000, interval: 50 },
      );
      expect(failed).toMatchObject({ state: 'failed', problem: 'limit' });
      expect(await limited.store.users.findByUsername('crew0')).toBeUndefined();
    } finally {
      await limited.stop();
      await small.stop();
    }
    // the event is one of the change, not of each run
    expect((await events('import.failed')).map(({ reason }) => reason)).toEqual([
      'nothing',
      'search',
      'credentials',
      'address',
    ]);
  });

  test('is held where it would disable more than a tenth and more than five users, until an administrator approves just that number (federation F55, FR16)', async () => {
    const before = await disabled();
    await changeSettings(service, 'ldap', {
      user_filter: '(|(uid=anna)(uid=ben)(uid=crew1*)(uid=gone)(uid=moved)(uid=outside))',
    });
    const held = await runImport(true);
    const count = held.counts['disabled']!;
    expect(held.state).toBe('held');
    expect(count).toBeGreaterThan(5);
    expect(await disabled()).toBe(before);
    expect(await events('import.held')).toEqual([expect.objectContaining({ connection: 'ldap', disabled: count })]);
    // the next run is held again, without a second event, and nothing is made meanwhile
    server.add(personEntry('waits'));
    expect((await runImport()).state).toBe('held');
    expect(await events('import.held')).toHaveLength(1);
    // the approval is for what the administrator saw: with one more it is held again
    server.modify(`dn: ${dnOf('crew10')}\nchangetype: delete\n\n`);
    const last = (await status()).finished_at;
    expect(await call(api('/approve'), { token, method: 'POST' })).toMatchObject({
      status: 200,
      body: { disabled: count },
    });
    expect(await ended(last)).toMatchObject({ state: 'held', counts: { disabled: count + 1 } });
    expect(await disabled()).toBe(before);
    const now = (await status()).finished_at;
    // an administrator who saw another number approves nothing
    expect(await call(api('/approve'), { token, body: { disabled: count } })).toMatchObject({
      status: 409,
      body: { error_description: expect.stringContaining('another number of users') },
    });
    expect((await call(api('/approve'), { token, body: { disabled: count + 1 } })).body).toEqual({
      disabled: count + 1,
    });
    expect(await ended(now)).toMatchObject({ state: 'done', counts: { disabled: count + 1 } });
    expect(await disabled()).toBe(before + count + 1);
    expect(await events('import.approved')).toHaveLength(2);
    // nothing waits any more
    expect((await call(api('/approve'), { token, method: 'POST' })).status).toBe(409);
    await changeSettings(service, 'ldap', usual());
    const back = await runImport(true);
    expect([back.state, back.counts['enabled']]).toEqual(['done', count]);
  });

  test('whose connection ends in the middle changes nothing, and the next one imports the users (federation F55, FR15)', async () => {
    const before = await disabled();
    await changeSettings(service, 'ldap', { url: `ldap://localhost:${proxy.port}` });
    // whole, it works: so the cut is what fails
    expect(await runImport(true)).toMatchObject({ state: 'done' });
    proxy.limit = 4_000;
    expect(await runImport(true)).toMatchObject({ state: 'failed', problem: 'connection' });
    expect(proxy.cuts).toBeGreaterThan(0);
    expect(await disabled()).toBe(before);
    await changeSettings(service, 'ldap', usual());
    expect(await runImport(true)).toMatchObject({ state: 'done' });
  });
});

withServer('the lease of an import', () => {
  test('is held while the groups of each user are read (federation 6)', async () => {
    await changeSettings(service, 'ldap', { ...usual(), member_attribute: 'memberOf', page_size: 500 });
    const before = service.statements.length;
    expect(await runImport(true)).toMatchObject({ state: 'done' });
    const held = service.statements.slice(before).filter((name) => name === 'directory_imports.extend').length;
    // once for the one page of users, once before they are stored, and in between
    expect(held).toBeGreaterThan(2);
    await changeSettings(service, 'ldap', { ...usual(), member_attribute: 'member', page_size: 10 });
  });
});

withServer('a large group', () => {
  test('of 5,000 members is complete (federation F57)', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => `uid=m${index},ou=people,${base}`);
    await server.addMany(groupEntry('Everybody', [...many, dnOf('anna')]));
    expect(await runImport()).toMatchObject({ state: 'done' });
    expect((await userOf('anna'))!.groups.sort()).toEqual(['Everybody', 'Staff']);
  });
});
