// Tests which entry a typed name finds, and in which groups it is, where a directory does not list memberships in one place.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { changeConnection } from '../helpers/connections.ts';
import { addDirectory, settingsOf, signInWith } from '../helpers/directories.ts';
import {
  base,
  type DirectoryServer,
  groupEntry,
  hasSlapd,
  personEntry,
  startDirectoryServer,
} from '../helpers/directory-server.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { ldapSettings } from '../../src/domain/connections/ldap/settings.ts';

const dnOf = (uid: string) => `uid=${uid},ou=people,${base}`;

describe.runIf(hasSlapd)('a directory', () => {
  let server: DirectoryServer;
  let service: TestService;
  beforeAll(async () => {
    server = await startDirectoryServer();
    server.add(['alice', 'bob'].map((uid) => personEntry(uid)).join(''));
    server.add(personEntry('mallory', { mail: 'alice' }));
    server.add(personEntry('one', { mail: 'shared@example.com' }) + personEntry('two', { mail: 'shared@example.com' }));
    server.add(groupEntry('Staff', [dnOf('alice')]));
    server.add(`dn: ou=other,ou=groups,${base}\nobjectClass: organizationalUnit\nou: other\n\n`);
    server.add(groupEntry('Staff', [dnOf('bob')]).replace('cn=Staff,', 'cn=Staff,ou=other,'));
    server.add(`dn: uid=paul,ou=people,${base}
objectClass: inetOrgPerson
objectClass: posixAccount
uid: paul
cn: paul
sn: paul
uidNumber: 2000
gidNumber: 5000
homeDirectory: /srv/paul
userPassword: password of paul

dn: cn=primary,ou=groups,${base}
objectClass: posixGroup
cn: primary
gidNumber: 5000

dn: cn=listed,ou=groups,${base}
objectClass: posixGroup
cn: listed
gidNumber: 5001
memberUid: paul

dn: cn=unique,ou=groups,${base}
objectClass: groupOfUniqueNames
cn: unique
uniqueMember: ${dnOf('alice')}

`);
    service = await startTestService({
      environment: { ...withoutLimits, CONNECTIONS_ALLOW: server.hosts.join(',') },
    });
    await addDirectory(service, 'ldap', settingsOf(server), { group_rules: [{ all: true, prefix: '' }] });
  });
  afterAll(async () => {
    await service?.stop();
    await server?.stop();
  });
  const set = (more: Record<string, unknown>, columns: Record<string, unknown> = {}) =>
    changeConnection(service, 'ldap', { settings: ldapSettings.parse({ ...settingsOf(server), ...more }), ...columns });
  const groupsOf = async (name: string) => {
    expect((await signInWith(service, name)).page.url).toBe(`${service.issuer}/account`);
    return (await service.store.users.findByUsername(name))!.groups;
  };
  const check = async (...more: string[]) =>
    (
      await runCommand(service, ['connection', 'test', 'ldap', ...more], {
        environment: { CONNECTIONS_ALLOW: server.hosts.join(',') },
      })
    ).stdout;

  test('with memberUid and uniqueMember reads the groups of their class, and the primary group of a POSIX account (reports A6, D)', async () => {
    await set({ member_attribute: 'memberUid' });
    expect(await groupsOf('paul')).toEqual(['listed', 'primary']);
    expect(await check('--login', 'paul')).toContain('Groups of paul: listed, primary');
    await set({ member_attribute: 'uniqueMember' });
    expect(await groupsOf('alice')).toEqual(['unique']);
  });

  test('whose groups do not have the member attribute removes no membership, and its test says so (reports D)', async () => {
    await set({ member_attribute: 'member' });
    expect(await groupsOf('alice')).toEqual(['Staff']);
    await set({ member_attribute: 'uniqueMember', group_filter: '(objectClass=groupOfNames)' });
    expect(await groupsOf('alice')).toEqual(['Staff']);
    expect(await check()).toContain('member_attribute and group_filter do not match');
  });

  test('finds a user by the first login attribute that names one entry, and reports a name of several (security R163)', async () => {
    await set({});
    const { page } = await signInWith(service, 'alice');
    expect(page.url).toBe(`${service.issuer}/account`);
    expect((await signInWith(service, 'alice', 'password of mallory')).page.status).toBe(400);
    for (let n = 0; n < 2; n++)
      expect((await signInWith(service, 'shared@example.com', 'password of one')).page.status).toBe(400);
    expect(
      await service.database.sql(
        `SELECT detail FROM audit_events WHERE type = 'identity.refused' AND actor = 'connection:ldap'`,
      ),
    ).toEqual([{ detail: { connection: 'ldap', reason: 'many' } }]);
  });

  test('gives a group by the name of its entry if a rule names the entry, and otherwise by its own name alone (security R163)', async () => {
    const dn = `CN=Staff, ou=groups,${base}`;
    await set({}, { group_rules: [{ dn, group: 'staff' }] });
    expect(await groupsOf('alice')).toEqual(['staff']);
    expect(await groupsOf('bob')).toEqual([]);
    await set({}, { group_rules: [{ equals: 'Staff', group: 'staff' }] });
    expect(await groupsOf('bob')).toEqual(['staff']);
  });
});
