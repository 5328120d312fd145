// Gives example data of the pages for devices.
import type { DevicePages } from '../../src/pages/views/device.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { account, bareClient, client, form, languages } from './parts.ts';

const address = '/device?user_code=WDJB-MJHT';

export const deviceExamples: Examples<DevicePages> = {
  'device-code': [
    { account: { username: '' }, action: '/device' },
    { account, action: '/device', typed: 'WDJB-MJHT', problem: 'unknown', languages: languages('/device') },
  ],
  'device-review': [
    {
      client: bareClient,
      account: { username: '' },
      userCode: 'WDJB-MJHT',
      scopes: [],
      apis: [],
      requestedAt: new Date('2026-03-14T09:26:53Z'),
      isSameNetwork: true,
      form: form('/device'),
      switchAccountUri: '/login/accounts?destination=device.WDJB-MJHT',
    },
    {
      client,
      account,
      userCode: 'WDJB-MJHT',
      scopes: [
        { scope: 'openid', claims: [] },
        {
          scope: 'profile',
          claims: [
            { claim: 'name', value: 'Ada Lovelace' },
            { claim: 'preferred_username', value: 'ada' },
          ],
        },
        { scope: 'email', claims: [{ claim: 'email', value: 'ada@example.org' }] },
        { scope: 'offline_access', claims: [] },
      ],
      apis: [
        {
          name: 'Logbook',
          host: 'api.harbour.example',
          scopes: [
            { scope: 'log.read', description: { en: 'Read your logbook', de: 'Ihr Logbuch lesen', ar: 'قراءة سجلّك' } },
            { scope: 'log.write', description: {} },
          ],
        },
      ],
      requestedAt: new Date('2026-03-14T09:26:53Z'),
      network: '203.0.113.0/24',
      isSameNetwork: false,
      form: form('/device'),
      switchAccountUri: '/login/accounts?destination=device.WDJB-MJHT',
      languages: languages(address),
    },
  ],
  'device-decided': [
    { client: bareClient, approved: false, accountUri: '/account' },
    { client, approved: true, accountUri: '/account' },
  ],
};
