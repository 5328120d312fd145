// Gives example data of the account pages.
import type { AccountPages } from '../../src/pages/views/account.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { account, bareClient, client, form, image, languages } from './parts.ts';

const noUser = { account: { username: '' }, accountUri: '/account' };
const ada = { account, accountUri: '/account' };
const uris = {
  profileUri: '/account/profile',
  securityUri: '/account/security',
  sessionsUri: '/account/sessions',
  applicationsUri: '/account/applications',
  dataUri: '/account/data',
  switchAccountUri: '/login/accounts',
  logoutUri: '/logout',
};
const choices = [
  { value: 'de', label: 'Deutsch' },
  { value: 'en-GB', label: 'British English' },
  { value: 'ar', label: 'العربية' },
];

const asked = {
  requestedAt: new Date('2026-03-14T09:26:53Z'),
  expiresAt: new Date('2026-03-14T09:28:53Z'),
};

export const accountExamples: Examples<AccountPages> = {
  'account-requests': [
    { ...noUser, requests: [], form: form('/account/requests') },
    {
      ...ada,
      requests: [
        {
          ...asked,
          id: '6b3c7b8e-30cc-4e76-8a5b-6a1f7a3f1f11',
          client,
          message: 'Pay 12.50 EUR',
          scopes: [
            { scope: 'openid', claims: [] },
            { scope: 'email', claims: [{ claim: 'email', value: 'ada@example.org' }] },
          ],
          apis: [
            {
              name: 'Logbook',
              host: 'api.harbour.example',
              scopes: [
                {
                  scope: 'log.read',
                  description: { en: 'Read your logbook', de: 'Ihr Logbuch lesen', ar: 'قراءة سجلّك' },
                },
              ],
            },
          ],
        },
        {
          ...asked,
          id: '0b1d2f27-4f63-4b0e-9d0c-0c52f1c5a9b2',
          client: { ...bareClient, name: 'Lighthouse', host: 'lighthouse.example' },
          scopes: [],
          apis: [],
        },
      ],
      form: form('/account/requests'),
      denyForm: form('/account/requests/deny'),
      problem: 'gone',
      languages: languages('/account/requests'),
    },
  ],
  'account-start': [
    { ...noUser, q: '', tiles: [], any: false, lacking: [] },
    {
      ...ada,
      q: 'har',
      any: true,
      lacking: [{ id: 'pier', name: 'Pier', editUri: '/admin/clients/pier/edit' }],
      tiles: [
        { id: 'harbour', name: 'Harbour', image, startUri: 'https://harbour.example/', host: 'harbour.example' },
        {
          id: 'ship',
          name: 'Donaudampfschifffahrtsgesellschaft',
          startUri: 'https://ship.example/start',
          host: 'ship.example',
        },
      ],
    },
  ],
  account: [
    {
      ...noUser,
      ...uris,
      email: undefined,
      attention: [],
      methods: [],
      devices: [],
      moreDevices: 0,
      applications: [],
      moreApplications: 0,
    },
    {
      ...ada,
      ...uris,
      languages: languages('/account'),
      email: 'ada@example.org',
      verificationForm: form('/account/email/verification'),
      attention: [
        { kind: 'requests', uri: '/account/requests', count: 2 },
        { kind: 'unprotected', uri: '/account/security', count: 0 },
        { kind: 'recovery-codes', uri: '/account/second-factors', count: 2 },
      ],
      startUri: '/account/start',
      consoleUri: '/admin',
      methods: ['password', 'second-factors'],
      devices: [{ browser: 'Firefox', system: 'Linux' }, { system: 'iPhone' }, {}],
      moreDevices: 2,
      applications: ['Harbour', 'Lighthouse', 'Pier'],
      moreApplications: 4,
    },
  ],
  'account-picture': [
    { ...noUser, form: form('/account/profile/picture'), profileUri: '/account/profile', present: false },
    {
      ...ada,
      account: { ...account, picture: image },
      form: form('/account/profile/picture'),
      profileUri: '/account/profile',
      present: true,
      fault: 'picture-size',
    },
  ],
  'account-profile': [
    { ...noUser, profile: [] },
    {
      ...ada,
      profile: [
        { claim: 'name', value: 'Ada Lovelace', seenBy: ['Harbour', 'Lighthouse'] },
        { claim: 'email', value: 'ada@example.org', seenBy: ['Harbour'], by: 'Corporate' },
        { claim: 'email_verified', value: 'true', flag: true, seenBy: ['Harbour'] },
        { claim: 'address', value: '12 St James’s Square\nLondon SW1Y 4JH', seenBy: [] },
        { claim: 'phone_number', value: '+44 20 7946 0958', seenBy: ['Harbour'] },
        { claim: 'phone_number_verified', value: 'false', flag: false, seenBy: [] },
        { claim: 'updated_at', value: '2026-03-14', day: new Date('2026-03-14T09:26:53Z'), seenBy: ['Harbour'] },
      ],
      editUri: '/account/profile/edit',
      pictureUri: '/account/profile/picture',
      done: 'profile-saved',
    },
  ],
  'account-profile-edit': [
    {
      ...noUser,
      fields: [],
      kept: [],
      maxLength: 255,
      form: form('/account/profile/edit'),
      profileUri: '/account/profile',
    },
    {
      ...ada,
      kept: [{ claim: 'nickname', value: 'Ada', by: 'Corporate' }],
      fields: [
        { field: 'name', value: 'Ada Lovelace', seenBy: ['Harbour', 'Lighthouse'] },
        { field: 'given_name', value: 'Ada', seenBy: [] },
        { field: 'family_name', value: 'Lovelace', seenBy: [] },
        { field: 'middle_name', value: '', seenBy: [] },
        { field: 'nickname', value: '', seenBy: [] },
        { field: 'gender', value: '', seenBy: [] },
        { field: 'birthdate', value: '10 December', seenBy: [], fault: 'date' },
        { field: 'phone_number', value: '+44 20 7946 0958', seenBy: ['Harbour'] },
        { field: 'website', value: 'https://ada.example/', seenBy: [] },
        { field: 'profile', value: '', seenBy: [] },
        { field: 'picture', value: 'ada.png', seenBy: [], fault: 'url' },
        { field: 'street_address', value: '12 St James’s Square', seenBy: ['Harbour'] },
        { field: 'postal_code', value: 'SW1Y 4JH', seenBy: ['Harbour'] },
        { field: 'locality', value: 'London', seenBy: ['Harbour'] },
        { field: 'region', value: '', seenBy: ['Harbour'] },
        { field: 'country', value: 'United Kingdom', seenBy: ['Harbour'] },
        { field: 'locale', value: 'en-GB', seenBy: [], choices },
        { field: 'zoneinfo', value: 'Europe/London', seenBy: [] },
      ],
      maxLength: 255,
      form: form('/account/profile/edit'),
      profileUri: '/account/profile',
      problem: 'changed',
    },
  ],
  'account-security': [
    {
      ...noUser,
      methods: [
        { method: 'passkeys', uri: '/account/passkeys', set: false },
        { method: 'second-factors', uri: '/account/second-factors', set: false },
        { method: 'recovery-codes', uri: '/account/second-factors', set: false },
      ],
      unprotected: true,
    },
    {
      ...ada,
      methods: [
        { method: 'password', uri: '/account/password', set: true },
        { method: 'passkeys', uri: '/account/passkeys', set: true },
        { method: 'second-factors', uri: '/account/second-factors', set: true },
        { method: 'recovery-codes', uri: '/account/second-factors', set: true, left: 9 },
      ],
      unprotected: false,
      done: 'password-changed',
    },
  ],
  'account-sessions': [
    { ...noUser, sessions: [], devices: [], form: form('/account/sessions'), allForm: form('/account/all-sessions') },
    {
      ...ada,
      sessions: [
        {
          sid: 'session-1',
          name: 'Work laptop',
          browser: 'Firefox',
          system: 'Linux',
          ordinal: 2,
          address: '203.0.113.7',
          since: new Date('2026-03-13T18:00:00Z'),
          signedInAt: new Date('2026-03-14T09:26:53Z'),
          usedAt: new Date('2026-03-14T10:01:00Z'),
          until: new Date('2026-04-13T09:26:53Z'),
          applications: ['Harbour', 'Lighthouse'],
          current: true,
        },
        {
          sid: 'session-2',
          system: 'iPhone',
          since: new Date('2026-03-02T07:30:00Z'),
          signedInAt: new Date('2026-03-02T07:30:00Z'),
          usedAt: new Date('2026-03-13T21:45:00Z'),
          applications: [],
          current: false,
        },
        {
          sid: 'session-3',
          since: new Date('2026-02-27T12:00:00Z'),
          signedInAt: new Date('2026-02-27T12:00:00Z'),
          usedAt: new Date('2026-03-01T08:15:00Z'),
          applications: ['Harbour'],
          current: false,
        },
      ],
      devices: [{ id: '7', clientName: 'Living Room TV', signedInAt: new Date('2026-03-10T19:12:00Z') }],
      form: form('/account/sessions'),
      othersForm: form('/account/other-sessions'),
      allForm: form('/account/all-sessions'),
      done: 'session-ended',
    },
  ],
  'account-applications': [
    { ...noUser, grants: [], form: form('/account') },
    {
      ...ada,
      grants: [
        {
          clientId: 'harbour',
          name: 'Harbour',
          scopes: ['openid', 'profile', 'email'],
          apis: [
            {
              name: 'Logbook',
              host: 'api.harbour.example',
              scopes: [
                {
                  scope: 'log.read',
                  description: { en: 'Read your logbook', de: 'Ihr Logbuch lesen', ar: 'قراءة سجلّك' },
                },
                { scope: 'log.write', description: {} },
              ],
            },
          ],
          claims: ['phone_number'],
          details: [
            {
              type: 'mooring',
              text: {
                en: 'Moor at {berth} until {until}',
                de: 'An {berth} bis {until} anlegen',
                ar: 'الرسو في {berth} حتى {until}',
              },
              values: { berth: 'Pier 4', until: '2026-10-31' },
              members: [
                { path: 'type', value: 'mooring' },
                { path: 'berth', value: 'Pier 4' },
                { path: 'until', value: '2026-10-31' },
              ],
            },
            {
              type: 'https://harbour.example/details/lamp',
              text: {},
              values: {},
              members: [
                { path: 'type', value: 'https://harbour.example/details/lamp' },
                { path: 'lamp.color', value: 'green' },
              ],
            },
          ],
          since: new Date('2026-03-14T09:26:53Z'),
          settings: [
            { key: 'theme', value: '"dark"', size: 6 },
            { key: 'layout', size: 20_480 },
          ],
        },
        {
          clientId: 'lighthouse',
          name: 'Lighthouse',
          scopes: ['openid', 'offline_access'],
          apis: [],
          since: new Date('2026-02-01T18:00:00Z'),
          settings: [],
        },
      ],
      form: form('/account'),
      done: 'withdrawn',
    },
  ],
  'account-data': [
    { ...noUser, form: form('/account/data') },
    { ...ada, form: form('/account/data'), deleteUri: '/account/delete' },
  ],
  'account-delete': [
    { ...noUser, username: '', applications: [], form: form('/account/delete'), dataUri: '/account/data' },
    {
      ...ada,
      username: 'ada',
      applications: ['Harbour', 'Lighthouse'],
      form: form('/account/delete'),
      dataUri: '/account/data',
      fault: 'name',
    },
  ],
  'account-deleted': [{}, { frames: ['https://lighthouse.example/logout?sid=1'] }],
  'account-password': [
    {
      account: { username: '' },
      username: '',
      form: form('/account/password'),
      least: 12,
      most: 128,
      securityUri: '/account/security',
    },
    {
      account,
      username: 'ada',
      form: form('/account/password'),
      least: 12,
      most: 128,
      securityUri: '/account/security',
      faults: { current: 'wrong', password: 'common' },
      reference: '5d1c2f0a',
    },
  ],
};
