// Gives example data of the console's pages about the access of a user to a client.
import type { AccessCheckView, ConsoleAccessPages } from '../../src/pages/views/console-access.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const sub = '5f2c6f7e-90f4-4a7e-9a5d-3c8d2b1e7f60';
const userUri = `/admin/users/${sub}`;
const frame = { ...consoleFrame, section: 'users' as const, username: 'ada', userUri, uri: `${userUri}/access` };
const of = {
  user: { name: 'ada', uri: userUri },
  client: { name: 'Harbour', uri: '/admin/clients/harbour' },
  form: form(userUri),
};
const editUri = '/admin/clients/harbour/edit';
const refused: AccessCheckView = {
  ...of,
  client: { name: 'Hafen- und Leuchtturmverwaltungsprogramm', uri: '/admin/clients/harbour' },
  reasons: [
    { code: 'client_disabled', names: [], acts: [{ act: 'enable-client', uri: '/admin/clients/harbour' }] },
    { code: 'user_disabled', names: [], acts: [{ act: 'enable-user' }] },
    {
      code: 'not_in_group',
      names: ['harbour-masters', 'pilots', '<b>crew</b>'],
      acts: [
        { act: 'join', group: 'harbour-masters' },
        { act: 'join', group: '<b>crew</b>' },
        { act: 'edit-access', uri: `${editUri}#access` },
      ],
    },
    { code: 'connection_not_allowed', names: ['Corporate directory'], acts: [{ act: 'edit-access', uri: editUri }] },
    { code: 'network', names: ['192.0.2.0/24', '2001:db8::/32'], acts: [{ act: 'edit-access', uri: editUri }] },
    { code: 'no_way_to_sign_in', names: [], acts: [{ act: 'invite', uri: userUri }] },
    {
      code: 'sign_in_paused',
      names: [],
      until: new Date('2026-03-14T09:26:53Z'),
      acts: [{ act: 'user', uri: userUri }],
    },
  ],
  ways: [{ accepted: false }, { name: 'Google', accepted: false }],
  networks: ['192.0.2.0/24'],
  secondFactor: { by: 'client', setUp: false, uri: `${editUri}#required_acr` },
  consent: 'given',
  granted: ['openid', 'profile'],
};

export const consoleAccessExamples: Examples<ConsoleAccessPages> = {
  'console-user-access': [
    { ...frame, typed: { client: '', address: '' } },
    { ...frame, typed: { client: 'harbour', address: 'here' }, problem: 'address', check: refused },
  ],
  'console-why': [
    { ...consoleFrame, section: 'search', reference: '3f9c01ab' },
    {
      ...consoleFrame,
      section: 'search',
      reference: '3f9c01ab',
      found: {
        at: new Date('2026-03-14T09:26:53Z'),
        path: '/access-denied',
        code: 'not_in_group',
        description: 'the user may not use this client',
        reason: 'not_in_group',
        user: { id: sub, name: 'ada', uri: userUri },
        client: { id: 'harbour', name: 'Harbour', uri: '/admin/clients/harbour' },
        connection: { id: 'corp', name: 'Corporate directory', uri: '/admin/connections/corp' },
        address: '203.0.113.7',
        sent: 'https://harbour.example/callbak',
        registered: ['https://harbour.example/callback'],
        hint: 'application_type native would allow another port',
        act: { act: 'edit-redirects', uri: `${editUri}#redirect_uris` },
        eventUri: '/admin/audit/42',
        check: refused,
      },
    },
  ],
};
