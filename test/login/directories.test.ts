// Tests the sign-in of users of a directory: whom it finds, what it refuses, and what a directory in trouble does.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { changeConnection } from '../helpers/connections.ts';
import { addDirectory, changeSettings, settingsOf, signInWith } from '../helpers/directories.ts';
import {
  base,
  type DirectoryServer,
  groupEntry,
  hasSlapd,
  personEntry,
  serviceDn,
  startDirectoryServer,
} from '../helpers/directory-server.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, responseParameters, UserAgent, withoutReference } from '../helpers/user-agent.ts';

const withServer = describe.runIf(hasSlapd);
const dnOf = (uid: string) => `uid=${uid},ou=people,${base}`;
let server: DirectoryServer;
let path: Awaited<ReturnType<typeof startPath>>;
let service: TestService;
let local: TestUser;

beforeAll(async () => {
  if (!hasSlapd) return;
  server = await startDirectoryServer();
  path = await startPath(Number(new URL(server.url).port));
  server.add(
    ['alice', 'bob', 'carol', 'dora', 'erin', 'fred', 'gina', 'hugo', 'local'].map((uid) => personEntry(uid)).join(''),
  );
  server.add(groupEntry('Staff', [dnOf('alice'), dnOf('bob')]));
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      CONNECTIONS_ALLOW: [...server.hosts, `localhost:${path.port}`].join(','),
      LIMIT_SIGN_IN_PER_ACCOUNT: '10',
      REQUIRE_SECOND_FACTOR_GROUPS: 'ops',
    },
  });
  await addDirectory(service, 'ldap', settingsOf(server));
  local = await service.createUser({ username: 'local', password: 'a password of this service' });
});
afterAll(async () => {
  await service?.stop();
  path?.close();
  await server?.stop();
});
beforeEach(async () => {
  if (hasSlapd)
    await changeConnection(service, 'ldap', {
      status: 'enabled',
      linking: 'ask',
      provisioning: 'on',
      authoritative_domains: [],
      group_rules: [],
      claim_rules: [],
    });
  server?.log();
});

/** A server to which nothing may connect. */
async function listen() {
  let count = 0;
  const listener = createServer((socket) => {
    count++;
    socket.destroy();
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as { port: number };
  return { port, connections: () => count, close: () => void listener.close() };
}

/** Forwards connections to a directory; `accepted` runs before the service gets the answer to a bind as the named entry. */
async function startPath(target: number) {
  const forwarder = createServer((inbound) => {
    const outbound = connect(target, '127.0.0.1');
    let bind = false;
    for (const socket of [inbound, outbound])
      socket.on('error', () => undefined).on('close', () => (inbound.destroy(), outbound.destroy()));
    inbound.on('data', (data) => {
      bind = path.of !== '' && data.includes(path.of) && data[5] === 0x60;
      outbound.write(data);
    });
    outbound.on('data', (data) => {
      if (bind) path.accepted();
      bind = false;
      inbound.write(data);
    });
  });
  forwarder.listen(0, '127.0.0.1');
  await once(forwarder, 'listening');
  const { port } = forwarder.address() as { port: number };
  return { port, of: '', accepted: (): void => undefined, close: () => void forwarder.close() };
}

const userOf = async (username: string) => service.store.users.findByUsername(username);
const linkOf = async (sub: string) => (await service.store.linkedIdentities.ofUser(sub))[0];
const isSignedIn = async (agent: UserAgent) => (await agent.get('/account')).status === 200;
const bindsOf = (log: string, uid: string) =>
  log.split('\n').filter((line) => line.includes(`BIND dn="${dnOf(uid)}" method=`)).length;
const failuresOf = async (username: string) =>
  (
    await service.database.sql<{ failures: number }>(
      'SELECT f.failures FROM sign_in_failures f JOIN users u ON u.sub = f.sub WHERE u.username = $1',
      [username],
    )
  )[0]?.failures ?? 0;

withServer('a user of a directory', () => {
  test('has a password that goes to the directory as typed (reports A8)', async () => {
    const password = 'Gru\u0308\u00dfe vom Hafen';
    server.add(personEntry('greta', { password }));
    expect((await signInWith(service, 'greta', password.normalize('NFC'))).page.status).toBe(400);
    expect((await signInWith(service, 'greta', password)).page.url).toBe(`${service.issuer}/account`);
  });

  test('signs in by the ordinary form, gets an account, and the same one at the next sign-in (federation 6)', async () => {
    const { page, agent } = await signInWith(service, 'alice');
    expect(page.url).toBe(`${service.issuer}/account`);
    const alice = (await userOf('alice'))!;
    expect(alice).toMatchObject({ email: undefined, passwordHash: undefined, claims: { name: 'alice' } });
    expect(await linkOf(alice.sub)).toMatchObject({ connectionId: 'ldap', issuer: 'ldap', how: 'provisioned' });
    expect(await service.database.sql('SELECT amr, connection_id FROM sessions WHERE sub = $1', [alice.sub])).toEqual([
      { amr: ['fed'], connection_id: 'ldap' },
    ]);
    expect(await isSignedIn(agent)).toBe(true);
    // the password was typed just now: the sign-in is as fresh as one by a password here
    expect((await agent.get('/account/email')).status).toBe(200);
    // by another attribute, on the other instance
    const other = new UserAgent({ issuer: service.issuer });
    expect((await signInWith(service, 'ALICE@example.com', 'password of alice', other)).page.url).toBe(
      `${service.issuer}/account`,
    );
    expect((await service.store.linkedIdentities.ofUser(alice.sub)).length).toBe(1);
  });

  test('who types a wrong password gets the page of every user, and administrators see which directory refused it (security R60)', async () => {
    const token = await adminToken(service);
    const pages: string[] = [];
    const reasonOf = async (name: string) => {
      const { page } = await signInWith(service, name, 'a wrong password');
      expect(page.status).toBe(400);
      pages.push(withoutReference(page).replaceAll(/<[^>]*>/g, ''));
      return (await call(`${service.issuer}/admin/api/refusals/${page.reference}`, { token })).body;
    };
    server.add(personEntry('iris'));
    // before the first sign-in there is no account here, and afterwards one without a password
    expect(await reasonOf('iris')).toMatchObject({ reason: 'wrong_directory_password', connection: 'ldap' });
    await signInWith(service, 'iris');
    const { sub } = (await userOf('iris'))!;
    expect(await reasonOf('iris')).toMatchObject({ reason: 'wrong_directory_password', connection: 'ldap', sub });
    expect(await reasonOf('nobody-there')).toMatchObject({ reason: 'unknown_user' });
    // an account with a password here, whose name the directory has, too
    expect(await reasonOf('local')).toMatchObject({ reason: 'wrong_password' });
    expect(new Set(pages).size).toBe(1);
  });

  test('continues the request of the application (federation 6)', async () => {
    const client = await service.createClient({}, { firstParty: true });
    const request = new URLSearchParams({
      response_type: 'code',
      scope: 'openid',
      client_id: client.clientId,
      redirect_uri: client.redirectUri,
    });
    const { page } = await signInWith(service, 'bob', undefined, undefined, `/authorize?${request}`);
    expect(responseParameters(page)).toHaveProperty('code');
  });

  test('gets the groups and claims that the rules name, and loses those that the directory removes (federation 6, FR15)', async () => {
    await changeConnection(service, 'ldap', {
      group_rules: [{ equals: 'Staff', group: 'staff' }],
      claim_rules: [{ to: 'nickname', from: 'uid' }],
    });
    await signInWith(service, 'bob');
    expect(await userOf('bob')).toMatchObject({ groups: ['staff'], claims: { nickname: 'bob' } });
    // the search fails: nothing is taken away
    await changeSettings(service, 'ldap', { group_base: `ou=elsewhere,${base}` });
    await signInWith(service, 'bob');
    expect(await userOf('bob')).toMatchObject({ groups: ['staff'] });
    expect(
      await service.database.sql(`SELECT count(*)::int AS n FROM audit_events WHERE type = 'groups.unknown'`),
    ).toEqual([{ n: 1 }]);
    await changeSettings(service, 'ldap', { group_base: `ou=groups,${base}` });
    server.modify(`dn: cn=Staff,ou=groups,${base}\nchangetype: modify\ndelete: member\nmember: ${dnOf('bob')}\n\n`);
    await signInWith(service, 'bob');
    expect(await userOf('bob')).toMatchObject({ groups: [] });
  });

  test('with the name of an account here is another user, and is asked for another name (federation 4, FR1)', async () => {
    const { page, agent } = await signInWith(service, 'local', 'password of local');
    expect(page.url).toBe(`${service.issuer}/login/name`);
    expect(await service.store.linkedIdentities.ofUser(local.sub)).toEqual([]);
    const named = await agent.submit(page, { username: 'local of the directory' });
    expect(named.url).toBe(`${service.issuer}/account`);
    // the account here keeps its password and its form
    const { page: own } = await signInWith(service, 'local', local.password);
    expect(own.url).toBe(`${service.issuer}/account`);
    expect(await service.store.linkedIdentities.ofUser(local.sub)).toEqual([]);
  });

  test('with the confirmed address of an account is linked by authority alone, after its proof or without a question (federation 4, FR2)', async () => {
    const carol = await service.createUser({ username: 'c', email: 'carol@example.com', emailVerified: true });
    // a directory vouches for nothing by its word
    const { page: unvouched } = await signInWith(service, 'carol');
    expect(unvouched.url).toBe(`${service.issuer}/account`);
    expect(await userOf('carol')).toMatchObject({ email: undefined });
    await service.database.sql(`DELETE FROM users WHERE username = 'carol'`);
    await changeConnection(service, 'ldap', { authoritative_domains: ['example.com'] });
    const { page, agent } = await signInWith(service, 'carol');
    expect(page.url).toBe(`${service.issuer}/login/connect`);
    expect(await service.store.linkedIdentities.ofUser(carol.sub)).toEqual([]);
    expect(await isSignedIn(agent)).toBe(false);
    await changeConnection(service, 'ldap', { linking: 'domain' });
    await signInWith(service, 'carol');
    expect(await linkOf(carol.sub)).toMatchObject({ how: 'domain' });
  });

  test('is refused if the connection makes no accounts, or if the connection or the account is disabled (federation 4, FR5)', async () => {
    await changeConnection(service, 'ldap', { provisioning: 'off' });
    const { page, agent } = await signInWith(service, 'dora');
    expect(page.body).toContain('You don’t have an account here yet');
    expect(await isSignedIn(agent)).toBe(false);
    await changeConnection(service, 'ldap', { provisioning: 'on', status: 'disabled' });
    server.log();
    const { page: closed } = await signInWith(service, 'dora');
    expect(closed.body).toContain('Incorrect user name or password');
    expect(server.log()).not.toContain('ACCEPT');
    await changeConnection(service, 'ldap', { status: 'enabled' });
    await signInWith(service, 'dora');
    await service.store.users.update((await userOf('dora'))!.sub, { status: 'disabled' });
    const { page: disabled, agent: other } = await signInWith(service, 'dora');
    expect(disabled.body).toContain('is disabled');
    expect(await isSignedIn(other)).toBe(false);
  });

  test('whose sign-in was verified before the connection was disabled gets no session (federation FR5)', async () => {
    const agent = new UserAgent(service);
    const form = await agent.get('/login');
    const left = await agent.post('/login', {
      ...hiddenFields(form.body),
      username: 'erin',
      password: 'password of erin',
    });
    expect(left.location).toBe(`${service.issuer}/login/directory`);
    await changeConnection(service, 'ldap', { status: 'disabled' });
    expect((await agent.get('/login/directory')).status).toBe(400);
    expect(await isSignedIn(agent)).toBe(false);
    await changeConnection(service, 'ldap', { status: 'enabled' });
    // it was used up
    expect((await agent.get('/login/directory')).status).toBe(400);
    expect(await userOf('erin')).toBeUndefined();
  });

  test('with a name in a domain that another connection enforces is led to that connection, and no password reaches the directory (federation 4, FR12)', async () => {
    await service.database.sql(
      `INSERT INTO connections (id, kind, display_name, status, domains, enforced) VALUES ('corp', 'oidc', 'Corp', 'enabled', '{example.com}', true)`,
    );
    // the sign-in page asks for the name first as soon as an instance knows it
    const waitFor = (asksForName: boolean) =>
      vi.waitFor(async () => {
        const { body } = await new UserAgent(service).get('/login');
        expect(body.includes('id="password"')).toBe(!asksForName);
      });
    await waitFor(true);
    server.log();
    const { page, agent } = await signInWith(
      service,
      'erin@example.com',
      'password of erin',
      undefined,
      '/login?local=1',
    );
    expect(await isSignedIn(agent)).toBe(false);
    expect(page.body).toContain('Corp');
    expect(server.log()).not.toContain('ACCEPT');
    await service.database.sql(`DELETE FROM connections WHERE id = 'corp'`);
    await waitFor(false);
  });

  test('is not signed in by a step of another browser (federation FR4)', async () => {
    const agent = new UserAgent(service);
    const form = await agent.get('/login');
    await agent.post('/login', { ...hiddenFields(form.body), username: 'erin', password: 'password of erin' });
    const thief = new UserAgent(service);
    await thief.get('/login');
    thief.cookies.set('GATEHOUSE_CONNECTION', agent.cookies.get('GATEHOUSE_CONNECTION')!);
    expect((await thief.get('/login/directory')).status).toBe(400);
    expect(await isSignedIn(thief)).toBe(false);
  });
});

withServer('a password', () => {
  test('that is empty, missing, has a zero byte, is very long or repeated reaches no directory (federation F50, FR30)', async () => {
    const agent = new UserAgent(service);
    const form = await agent.get('/login');
    const hidden = new URLSearchParams(hiddenFields(form.body)).toString();
    server.log();
    for (const body of [
      'username=alice&password=',
      'username=alice',
      'username=alice&password=%00',
      'username=alice&password=password+of+alice%00',
      `username=alice&password=${'x'.repeat(200_000)}`,
      `username=alice&password=${'x'.repeat(5_000)}`,
      'username=alice&password=password+of+alice&password=',
    ]) {
      const answer = await agent.fetch('/login', {
        method: 'POST',
        body: `${hidden}&${body}`,
        headers: { origin: service.issuer, 'content-type': 'application/x-www-form-urlencoded' },
      });
      expect([400, 413], body.slice(0, 80)).toContain(answer.status);
    }
    expect(server.log()).not.toContain('ACCEPT');
    expect(await isSignedIn(agent)).toBe(false);
  });

  test('that is wrong gets the same answer as an unknown name, and as a user of this service (security R60, federation 6)', async () => {
    const answers = [];
    for (const name of ['alice', 'nobody', 'local', '*', 'alice)(uid=*', 'a*']) {
      const { page, agent } = await signInWith(service, name, 'wrong');
      expect(await isSignedIn(agent)).toBe(false);
      answers.push({
        status: page.status,
        url: page.url,
        body: page.body
          .replaceAll(/(value|data-options)="[^"]*"/g, '')
          .replaceAll(/\b[0-9a-f]{8}\b/g, '')
          .replace(/<title>.*<\/title>/, ''),
      });
    }
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    // an unknown name is tried, too, so that it takes as long
    server.log();
    await signInWith(service, 'nobody', 'wrong');
    expect(server.log().match(/BIND dn="cn=[0-9a-f]{24},/g)).toHaveLength(1);
  });

  test('reaches the directory at most four times in fifteen minutes from all networks together; a known browser is not locked out (federation F54, FR33)', async () => {
    const { agent } = await signInWith(service, 'fred');
    expect(await isSignedIn(agent)).toBe(true);
    agent.cookies.delete('JSESSIONOPENID');
    expect(await isSignedIn(agent)).toBe(false);
    server.log();
    const pages = await Promise.all(
      Array.from({ length: 50 }, () => signInWith(service, 'fred', 'wrong').then(({ page }) => page)),
    );
    for (const page of pages) expect([400, 503]).toContain(page.status);
    expect(bindsOf(server.log(), 'fred')).toBe(4);
    // a stranger with the right password has to wait
    const { agent: stranger } = await signInWith(service, 'fred');
    expect(await isSignedIn(stranger)).toBe(false);
    const known = await agent.get('/login?account=other');
    await agent.signIn({ username: 'fred', password: 'password of fred' }, known);
    expect(await isSignedIn(agent)).toBe(true);
  });

  test('that is right is accepted in each of many concurrent sign-ins (federation 6)', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => signInWith(service, 'gina')));
    for (const { page } of all) expect(page.url).toBe(`${service.issuer}/account`);
    expect(await failuresOf('gina')).toBe(0);
  });
});

withServer('the count of wrong passwords', () => {
  test('of an account does not end because a user of the directory with the same name signs in (security R62, federation FR33)', async () => {
    server.add(personEntry('namesake'));
    await service.createUser({ username: 'namesake', password: 'a password of this service' });
    for (const guess of ['one', 'two', 'three']) await signInWith(service, 'namesake', guess);
    expect(await failuresOf('namesake')).toBe(3);
    // the directory's user of this name is another one
    const { page } = await signInWith(service, 'namesake');
    expect(page.url).toBe(`${service.issuer}/login/name`);
    expect(await failuresOf('namesake')).toBe(3);
  });

  test('ends for the account of the user who signs in by the directory (security R61)', async () => {
    await signInWith(service, 'hugo');
    await signInWith(service, 'hugo', 'wrong');
    expect(await failuresOf('hugo')).toBe(1);
    await signInWith(service, 'hugo');
    expect(await failuresOf('hugo')).toBe(0);
  });
});

withServer('an entry', () => {
  test('that is one of two, has no id attribute, is an alias or a referral signs no user in (federation F52, FR1)', async () => {
    server.add(
      `${personEntry('twin1', { mail: 'twin@example.com', password: 'one' })}${personEntry('twin2', { mail: 'twin@example.com', password: 'one' })}`,
    );
    const before = await service.database.sql('SELECT count(*)::int AS n FROM linked_identities');
    const refused = async (name: string, password: string) => {
      const { page, agent } = await signInWith(service, name, password);
      expect(page.body).toContain('Incorrect user name or password');
      expect(await isSignedIn(agent)).toBe(false);
    };
    server.log();
    await refused('twin@example.com', 'one');
    expect(server.log()).not.toMatch(/BIND dn="uid=twin/);
    // without the attribute
    await changeSettings(service, 'ldap', { id_attribute: 'ipaUniqueID' });
    await refused('alice', 'password of alice');
    await changeSettings(service, 'ldap', { id_attribute: 'entryUUID', user_filter: '(objectClass=*)' });
    const elsewhere = await listen();
    server.add(`dn: uid=shadow,ou=people,${base}
objectClass: alias
objectClass: extensibleObject
uid: shadow
aliasedObjectName: ${dnOf('alice')}

dn: uid=remote,ou=people,${base}
objectClass: referral
objectClass: extensibleObject
uid: remote
ref: ldap://localhost:${elsewhere.port}/uid=remote

`);
    server.log();
    await refused('shadow', 'password of alice');
    await refused('remote', 'password of alice');
    expect(bindsOf(server.log(), 'alice')).toBe(0);
    // the referral leads nowhere
    expect(elsewhere.connections()).toBe(0);
    elsewhere.close();
    await changeSettings(service, 'ldap', { user_filter: '(objectClass=inetOrgPerson)' });
    expect(await service.database.sql('SELECT count(*)::int AS n FROM linked_identities')).toEqual(before);
  });

  test('is identified by its id attribute, not by its name: moved, swapped, and created again (federation F56, FR1)', async () => {
    server.add(['mara', 'nils', 'olaf'].map((uid) => personEntry(uid)).join(''));
    for (const uid of ['mara', 'nils', 'olaf']) await signInWith(service, uid);
    const [mara, nils, olaf] = [(await userOf('mara'))!, (await userOf('nils'))!, (await userOf('olaf'))!];
    const whoIs = async (agent: UserAgent) => {
      const sessions = await service.database.sql<{ sub: string }>('SELECT sub FROM sessions ORDER BY id DESC LIMIT 1');
      return (await isSignedIn(agent)) ? sessions[0]!.sub : undefined;
    };
    // mara and nils swap their uid
    const rename = (from: string, to: string) =>
      server.modify(`dn: ${dnOf(from)}\nchangetype: modrdn\nnewrdn: uid=${to}\ndeleteoldrdn: 1\n\n`);
    rename('mara', 'swap');
    rename('nils', 'mara');
    rename('swap', 'nils');
    expect(await whoIs((await signInWith(service, 'nils', 'password of mara')).agent)).toBe(mara.sub);
    expect(await whoIs((await signInWith(service, 'mara', 'password of nils')).agent)).toBe(nils.sub);
    // olaf goes, and another olaf comes
    server.modify(`dn: ${dnOf('olaf')}\nchangetype: delete\n\n`);
    server.add(personEntry('olaf'));
    const { page } = await signInWith(service, 'olaf');
    expect(page.url).toBe(`${service.issuer}/login/name`);
    expect(await service.store.linkedIdentities.ofUser(olaf.sub)).toHaveLength(1);
  });

  test('that another entry replaces while the service tries the password signs no user in (federation F56, FR1)', async () => {
    server.add(personEntry('ruth'));
    await changeSettings(service, 'ldap', { url: `ldap://localhost:${path.port}` });
    let replaced = 0;
    path.of = dnOf('ruth');
    path.accepted = () => {
      replaced++;
      server.modify(`dn: ${dnOf('ruth')}\nchangetype: delete\n\n`);
      server.add(personEntry('ruth', { name: 'another ruth' }));
    };
    const { page, agent } = await signInWith(service, 'ruth');
    path.of = '';
    await changeSettings(service, 'ldap', { url: server.secureUrl });
    expect(replaced).toBe(1);
    expect(page.body).toContain('Incorrect user name or password');
    expect(await isSignedIn(agent)).toBe(false);
    expect(await userOf('ruth')).toBeUndefined();
  });
});

withServer('the groups of an entry', () => {
  test('come from within the base alone, end where groups contain each other, and skip guarded ones (federation F57, FR40)', async () => {
    server.add(`dn: ou=other,${base}
objectClass: organizationalUnit
ou: other

dn: cn=Outside,ou=other,${base}
objectClass: groupOfNames
cn: Outside
member: ${dnOf('gina')}

`);
    const [a, b] = [`cn=A,ou=groups,${base}`, `cn=B,ou=groups,${base}`];
    server.add(groupEntry('A', [dnOf('gina'), b]) + groupEntry('B', [a]) + groupEntry('ops', [dnOf('gina')]));
    await changeConnection(service, 'ldap', { group_rules: [{ all: true, prefix: '' }] });
    const groupsNow = async () => {
      await signInWith(service, 'gina');
      return [...(await userOf('gina'))!.groups].sort();
    };
    expect(await groupsNow()).toEqual(['A']);
    expect(
      await service.database.sql(
        `SELECT detail -> 'groups' AS groups FROM audit_events WHERE type = 'group.guarded' ORDER BY id DESC LIMIT 1`,
      ),
    ).toEqual([{ groups: ['ops'] }]);
    await changeSettings(service, 'ldap', { nested: true });
    expect(await groupsNow()).toEqual(['A', 'B']);
    // the same by memberOf, which has no nested groups here
    await changeSettings(service, 'ldap', { nested: false, member_attribute: 'memberOf' });
    expect(await groupsNow()).toEqual(['A']);
    await changeSettings(service, 'ldap', { member_attribute: 'member', group_base: `ou=groups,${base}` });
  });
});

withServer('a directory in trouble', () => {
  const at = (other: Record<string, unknown>) => changeSettings(service, 'ldap', other);

  test('that is stopped, frozen, has another certificate or refuses StartTLS is said with the other ways in; no failure counts, and nothing is sent in plain text (federation F53, FR32, FR33)', async () => {
    await signInWith(service, 'gina');
    const faulty = await startDirectoryServer();
    faulty.add(personEntry('gina'));
    const wrongName = await startDirectoryServer({ certificateName: 'other.example' });
    const expired = await startDirectoryServer({ certificateDays: -1 });
    // CONNECTIONS_ALLOW names each of them
    const troubled = await startTestService({
      environment: {
        ...withoutLimits,
        LIMIT_SIGN_IN_PER_ACCOUNT: '10',
        CONNECTIONS_ALLOW: [faulty, wrongName, expired].flatMap(({ hosts }) => hosts).join(','),
      },
    });
    try {
      await addDirectory(troubled, 'ldap', settingsOf(faulty));
      const agent = (await signInWith(troubled, 'gina')).agent;
      expect(await isSignedIn(agent)).toBe(true);
      const gina = (await troubled.store.users.findByUsername('gina'))!;
      const failures = async () =>
        troubled.database.sql('SELECT failures FROM sign_in_failures WHERE sub = $1 AND failures > 0', [gina.sub]);
      const unanswered = async () => {
        const { page } = await signInWith(troubled, 'gina');
        expect(page).toMatchObject({ status: 503, reference: expect.stringMatching(/^[0-9a-f]{8}$/) as string });
        expect(page.body).toContain('The directory with your account isn’t responding');
        expect(page.body).toContain('id="password"');
        expect(await failures()).toEqual([]);
      };
      faulty.freeze();
      await unanswered();
      faulty.resume();
      await changeSettings(troubled, 'ldap', { url: wrongName.secureUrl, ca: wrongName.ca });
      await unanswered();
      await changeSettings(troubled, 'ldap', { url: expired.secureUrl, ca: expired.ca });
      await unanswered();
      // StartTLS fails: the certificate is of an unknown authority
      faulty.log();
      await changeSettings(troubled, 'ldap', { url: faulty.url, starttls: true, ca: expired.ca });
      await unanswered();
      expect(faulty.log()).not.toMatch(/BIND dn="[^"]+"/);
      await faulty.stop();
      await changeSettings(troubled, 'ldap', { url: faulty.secureUrl, starttls: false, ca: faulty.ca });
      await unanswered();
      // no user is signed out or disabled
      expect(await isSignedIn(agent)).toBe(true);
      expect((await troubled.store.users.find(gina.sub))!.status).toBe('enabled');
    } finally {
      await troubled.stop();
      for (const one of [faulty, wrongName, expired]) await one.stop();
    }
  });

  test('does not allow more attempts at the password of an account here (security R62, federation FR33)', async () => {
    await at({ url: 'ldaps://localhost:1' });
    const victim = await service.createUser({ username: 'victim', password: 'a password of this service' });
    for (let tries = 0; tries < 3; tries++)
      expect((await signInWith(service, 'victim', 'wrong')).page.status).toBe(503);
    expect(await failuresOf('victim')).toBe(3);
    expect((await signInWith(service, 'victim', victim.password)).page.url).toBe(`${service.issuer}/account`);
    await at({ url: server.secureUrl });
  });

  test('keeps its reason for the log, which has no password (security R99, federation FR17)', async () => {
    await at({ bind_dn: `${serviceDn},dc=wrong` });
    service.logs.length = 0;
    expect((await signInWith(service, 'alice', 'the typed password')).page.status).toBe(503);
    const log = JSON.stringify(service.logs);
    expect(log).toContain('a directory could not verify a password');
    expect(log).not.toContain('the typed password');
    await at({ bind_dn: serviceDn });
  });
});
