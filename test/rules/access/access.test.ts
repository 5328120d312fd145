// Whether a user may use a client, and whether an address is in a network, case by case.
import { describe, expect, test } from 'vitest';
import { type AccessClient, type AccessSituation, type AccessUser, mayUse } from '../../../src/rules/access/access.ts';
import { isNetwork, isWithin, plainAddress } from '../../../src/rules/access/networks.ts';

const open: AccessClient = { status: 'enabled', access: 'everyone', accessGroups: [], networks: [], connections: [] };
const ofStaff: AccessClient = { ...open, access: 'groups', accessGroups: ['staff', 'ops'] };
const ofOffice: AccessClient = { ...open, networks: ['192.0.2.0/24', '2001:db8::/32'] };
const member: AccessUser = { groups: ['crew', 'staff'] };
const stranger: AccessUser = { groups: ['crew'] };
const at = (address: string | undefined): AccessSituation => ({ from: { address } });

test.each<[string, AccessUser, AccessClient, AccessSituation, string]>([
  ['everyone', stranger, open, {}, 'yes'],
  ['everyone, with groups that wait to be used', stranger, { ...open, accessGroups: ['staff'] }, {}, 'yes'],
  ['a member of one of the groups', member, ofStaff, {}, 'yes'],
  ['a member of none', stranger, ofStaff, {}, 'not_in_group'],
  ['a user without groups', { groups: [] }, ofStaff, {}, 'not_in_group'],
  ['a group whose name differs in case', { groups: ['Staff'] }, ofStaff, {}, 'not_in_group'],
  ['no group admits nobody', member, { ...ofStaff, accessGroups: [] }, {}, 'not_in_group'],
  ['a disabled client, before all else', stranger, { ...ofStaff, status: 'disabled' }, {}, 'client_disabled'],
  ['a disabled user', { ...member, status: 'disabled' }, ofStaff, {}, 'user_disabled'],
  ['an enabled user', { ...member, status: 'enabled' }, ofStaff, {}, 'yes'],
  ['an address in a network', member, ofOffice, at('192.0.2.77'), 'yes'],
  ['an IPv6 address in a network', member, ofOffice, at('2001:db8:1::1'), 'yes'],
  ['an address in no network', member, ofOffice, at('198.51.100.1'), 'network'],
  ['an unknown address', member, ofOffice, at(undefined), 'network'],
  ['an unknown address, where no network is named', member, open, at(undefined), 'yes'],
  ['networks, where neither browser nor client acts', member, ofOffice, {}, 'yes'],
  ['a connection that is allowed', member, { ...open, connections: ['corp'] }, { by: { connection: 'corp' } }, 'yes'],
  [
    'a sign-in by the service itself, where connections are named',
    member,
    { ...open, connections: ['corp'] },
    { by: { connection: undefined } },
    'connection_not_allowed',
  ],
  ['connections, where the sign-in is not known', member, { ...open, connections: ['corp'] }, {}, 'yes'],
  ['any connection, where none is named', member, open, { by: { connection: 'corp' } }, 'yes'],
])('%s (federation 3)', (_title, user, client, situation, answer) => {
  expect(mayUse(user, client, situation)).toBe(answer);
});

describe('networks (security R65, federation F68)', () => {
  test.each(['192.0.2.0/24', '0.0.0.0/0', '192.0.2.1', '192.0.2.1/32', '2001:db8::/32', '::/0', '::1', '2001:DB8::1'])(
    '%s is a network',
    (text) => {
      expect(isNetwork(text)).toBe(true);
    },
  );

  test.each([
    '',
    'office',
    '192.0.2.0/33',
    '192.0.2.0/-1',
    '192.0.2.0/024',
    '192.0.2.0/24/8',
    '192.0.2.1/24',
    '192.0.2',
    '256.0.0.1',

    '2001:db8::1/32',
    '2001:db8::/129',
    '::ffff:192.0.2.0/120',
    'fe80::1%eth0',
    '192.0.2.0 /24',
    '[::1]',
    '1:2:3:4:5:6:7:8:9',
    '::1]/x[::',
  ])('%j is no network', (text) => {
    expect(isNetwork(text)).toBe(false);
  });

  test.each<[string | undefined, boolean]>([
    ['10.1.2.3', true],
    ['10.255.255.255', true],
    ['11.0.0.0', false],
    // an IPv4 address is the same however it is written
    ['::ffff:10.1.2.3', true],
    ['::ffff:a01:203', true],
    ['0:0:0:0:0:ffff:0a01:0203', true],
    ['::ffff:11.0.0.0', false],
    // these only look like it
    ['::10.1.2.3', false],
    ['64:ff9b::10.1.2.3', false],
    ['10.1.2.3.4', false],
    ['010.1.2.3', false],
    ['10.1.2.3, 10.1.2.4', false],
    ['10.1.2.3:80', false],
    ['junk', false],
    ['', false],
    [undefined, false],
  ])('%j in 10.0.0.0/8: %j', (address, expected) => {
    expect(isWithin(['10.0.0.0/8', '2001:db8::/32'], address)).toBe(expected);
  });

  test('the whole of IPv6 does not hold an IPv4 address, and the other way round', () => {
    expect(isWithin(['::/0'], '::ffff:10.1.2.3')).toBe(false);
    expect(isWithin(['0.0.0.0/0'], '2001:db8::1')).toBe(false);
  });

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['junk', undefined],
    [undefined, undefined],
  ])('PostgreSQL gets %j as %j', (address, expected) => {
    expect(plainAddress(address)).toBe(expected);
  });
});
