// Reads Samba as a domain controller of Active Directory.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDirectory, type Directory, type DirectoryAddress } from '../../src/outbound/directory.ts';
import { type ActiveDirectory, hasSamba, startActiveDirectory, startLimit } from '../helpers/active-directory.ts';

describe.runIf(hasSamba)('Active Directory', () => {
  let server: ActiveDirectory;
  let directory: Directory;
  let address: DirectoryAddress;
  beforeAll(async () => {
    server = await startActiveDirectory();
    directory = createDirectory([server.host]);
    const { dn, password } = server.administrator;
    address = { url: server.url, startTls: false, ca: server.ca, bindDn: dn, bindPassword: password };
    for (const name of ['anna', 'ben', 'carl']) server.tool('user', 'create', name, `Passw0rd-of-${name}`);
    server.tool('group', 'add', 'Builders');
    server.tool('group', 'add', 'Everybody');
    server.tool('group', 'addmembers', 'Builders', 'anna');
    server.tool('group', 'addmembers', 'Everybody', 'Builders');
    server.tool('user', 'disable', 'ben');
    server.tool('user', 'setpassword', 'carl', '--newpassword=Passw0rd-of-carl', '--must-change-at-next-login');
  }, startLimit);
  afterAll(() => server?.stop());
  const entryOf = (name: string) =>
    directory.use(address, async (connection) => {
      const attributes = ['objectGUID', 'userAccountControl', 'sAMAccountName'];
      const filter = { attribute: 'sAMAccountName', value: name };
      const found = await connection.search({ base: server.base, filter, attributes, binary: ['objectGUID'] });
      return found[0]!;
    });

  it('names a user by the 16 bytes of objectGUID', async () => {
    const anna = await entryOf('anna');
    expect(anna.binary.get('objectguid')).toHaveLength(16);
    expect(anna.attributes.get('samaccountname')).toEqual(['anna']);
  });

  it('follows groups in groups by the rule 1.2.840.113556.1.4.1941', async () => {
    const { dn } = await entryOf('anna');
    const groups = await directory.use(address, (connection) =>
      connection.search({
        base: server.base,
        filter: {
          all: [{ text: '(objectClass=group)' }, { attribute: 'member', rule: '1.2.840.113556.1.4.1941', value: dn }],
        },
        attributes: ['cn'],
      }),
    );
    expect(groups.map(({ attributes }) => attributes.get('cn')?.[0]).sort()).toEqual(['Builders', 'Everybody']);
  });

  it('says why it refuses the right password of a user, and nothing for a wrong one (federation 6)', async () => {
    const verify = async (name: string, password = `Passw0rd-of-${name}`) =>
      directory.verify(address, (await entryOf(name)).dn, password);
    expect(await verify('anna')).toEqual({ accepted: true });
    expect(await verify('anna', 'wrong')).toEqual({ accepted: false, code: '52e' });
    expect(await verify('ben')).toEqual({ accepted: false, code: '533' });
    expect(await verify('carl')).toEqual({ accepted: false, code: '773' });
  });
});
