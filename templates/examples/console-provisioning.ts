// Gives example data of the console's page about a provisioning target.
import type { ConsoleProvisioningPages } from '../../src/pages/views/console-provisioning.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';

const frame = { ...consoleFrame, section: 'provisioning_targets' as const };
const uri = '/admin/provisioning-targets/8c1e';
const uris = { editUri: `${uri}/edit`, deleteUri: `${uri}/delete` };
const since = new Date('2026-03-14T09:26:53Z');
const form = (action: string, more = {}) => ({ action, hidden: { csrf: 'c', ...more } });
const none = { active: 0, creating: 0, leaving: 0, waiting: 0, failing: 0 };
export const consoleProvisioningExamples: Examples<ConsoleProvisioningPages> = {
  'console-provisioning-target': [
    {
      ...frame,
      ...uris,
      target: {
        client: 'x',
        clientUri: '/admin/clients/x',
        baseUrl: 'https://x.example',
        state: 'disabled',
        leave: 'nothing',
        groups: [],
        counts: none,
        createdAt: since,
      },
      users: [],
    },
    {
      ...frame,
      ...uris,
      target: {
        client: 'hafenverwaltungsbenachrichtigung',
        clientUri: '/admin/clients/hafenverwaltungsbenachrichtigung',
        baseUrl: 'https://harbour.example/scim/v2/of/the/whole/service',
        state: 'held',
        leave: 'disable',
        groups: [
          { name: 'Hafenmeisterei' },
          {
            name: 'Lotsen',
            failure: 'the application does not show who is in the group: it was not written, so that no member is lost',
          },
        ],
        counts: { active: 1200, creating: 12, leaving: 340, waiting: 352, failing: 2 },
        createdAt: since,
        reviewedAt: since,
        failingSince: since,
        retryAt: since,
        failure: 'cannot be reached (ECONNREFUSED)',
      },
      hold: 'mass',
      approveForm: form(`${uri}/approve`, { leaving: '340' }),
      reconcileForm: form(`${uri}/reconcile`),
      users: [
        {
          sub: '11111111',
          name: 'walter.von.der.vogelweide',
          uri: '/admin/users/11111111',
          remoteId: '6b1d8f0e-4a5c-4f0e-9a53-7e7f4a9f2c11',
          state: 'active',
          isWaiting: true,
          act: 'created',
          status: 503,
          answeredAt: since,
          failure: 'answered 503',
          nextAt: since,
        },
        { sub: '22222222', state: 'left', isWaiting: false, act: 'disabled', status: 200, answeredAt: since },
        {
          sub: '33333333',
          name: 'root',
          uri: '/admin/users/33333333',
          state: 'none',
          isWaiting: false,
          act: 'unchanged',
          failure: 'an account with this userName has another externalId',
        },
      ],
      first: uri,
      next: `${uri}?cursor=x`,
    },
  ],
};
