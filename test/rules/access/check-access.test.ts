// What would happen if a user signed in to a client now: every reason, case by case.
import { expect, test } from 'vitest';
import { type AccessCheck, type AccessFacts, checkAccess } from '../../../src/rules/access/check-access.ts';

const connection = (id: string, change: Partial<AccessFacts['connections'][number]> = {}) => ({
  id,
  status: 'enabled',
  domains: [],
  subdomains: false,
  enforced: false,
  ...change,
});
const user: AccessFacts['user'] = {
  username: 'ada',
  email: 'ada@harbour.example',
  status: 'enabled',
  admin: false,
  groups: ['crew'],
  signsInHere: true,
  enrolled: false,
  links: ['corp'],
  excepted: false,
  paused: false,
};
const facts: AccessFacts = {
  user,
  client: {
    status: 'enabled',
    access: 'everyone',
    accessGroups: [],
    networks: [],
    connections: [],
    firstParty: false,
    selfRegistered: false,
    requiredAcr: undefined,
  },
  connections: [connection('corp'), connection('google')],
  policy: { of: 'off', groups: [] },
  grant: undefined,
  asked: { scope: ['openid'], claims: [], resources: {}, redirectUri: 'https://harbour.example/cb' },
  address: undefined,
};
const ofUser = (change: Partial<AccessFacts['user']>): AccessFacts => ({ ...facts, user: { ...user, ...change } });
const ofClient = (change: Partial<AccessFacts['client']>): AccessFacts => ({
  ...facts,
  client: { ...facts.client, ...change },
});
const both = [
  { connection: undefined, accepted: true },
  { connection: 'corp', accepted: true },
];
const enforced = [connection('corp', { domains: ['harbour.example'], enforced: true }), connection('google')];

test.each<[string, AccessFacts, Partial<AccessCheck>]>([
  ['nothing refuses', facts, { reasons: [], ways: both, secondFactor: undefined, consent: 'asked' }],
  [
    'every reason is told, and not the first alone',
    {
      ...ofClient({ status: 'disabled', access: 'groups', accessGroups: ['ops'], networks: ['192.0.2.0/24'] }),
      user: { ...user, status: 'disabled', paused: true },
      address: '198.51.100.1',
    },
    { reasons: ['client_disabled', 'user_disabled', 'not_in_group', 'network', 'sign_in_paused'] },
  ],
  [
    'an address in the networks',
    { ...ofClient({ networks: ['192.0.2.0/24'] }), address: '192.0.2.7' },
    { reasons: [] },
  ],
  ['networks, for an unknown address', ofClient({ networks: ['192.0.2.0/24'] }), { reasons: [] }],
  [
    'one accepted way is enough',
    ofClient({ connections: ['corp'] }),
    {
      reasons: [],
      ways: [
        { connection: undefined, accepted: false },
        { connection: 'corp', accepted: true },
      ],
    },
  ],
  ['no accepted way', ofClient({ connections: ['google'] }), { reasons: ['connection_not_allowed'] }],
  ['no way at all', ofUser({ signsInHere: false, links: [] }), { reasons: ['no_way_to_sign_in'], ways: [] }],
  [
    'a disabled connection is no way',
    { ...ofUser({ signsInHere: false }), connections: [connection('corp', { status: 'disabled' })] },
    { reasons: ['no_way_to_sign_in'] },
  ],
  [
    'a user of an enforced domain has one way',
    { ...facts, connections: enforced },
    { ways: [{ connection: 'corp', accepted: true }] },
  ],
  ['an exception from an enforced domain', { ...ofUser({ excepted: true }), connections: enforced }, { ways: both }],
  [
    'a second factor that the client demands',
    ofClient({ requiredAcr: 'urn:gatehouse:acr:mfa' }),
    { secondFactor: 'client' },
  ],
  [
    'one that the service demands of a group',
    { ...facts, policy: { of: 'off', groups: ['crew'] } },
    { secondFactor: 'service' },
  ],
  ['one that the user has', ofUser({ enrolled: true }), { secondFactor: 'account' }],
  ['a client that asks for no consent', ofClient({ firstParty: true }), { consent: 'not_asked' }],
  [
    'a consent that was given',
    { ...facts, grant: { scope: ['openid'], claims: [], resources: {}, redirectUris: [] } },
    { consent: 'given' },
  ],
  [
    'a consent that was given for another address of a client that no administrator has reviewed',
    {
      ...ofClient({ selfRegistered: true }),
      grant: { scope: ['openid'], claims: [], resources: {}, redirectUris: ['https://harbour.example/other'] },
    },
    { consent: 'asked' },
  ],
])('%s (pages, why)', (_title, given, check) => {
  expect(checkAccess(given)).toMatchObject(check);
});
