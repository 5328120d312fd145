// Gives example data of the console's pages about the appearance and the settings.
import type { ConsoleSettingsPages } from '../../src/pages/views/console-settings.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const appearance = { ...consoleFrame, section: 'appearance', form: form('/admin/appearance') } as const;
const settings = { ...consoleFrame, section: 'settings' } as const;

export const consoleSettingsExamples: Examples<ConsoleSettingsPages> = {
  'console-appearance': [
    {
      ...appearance,
      texts: [
        { name: 'product_name', value: '' },
        { name: 'accent_color', value: '' },
        { name: 'support_url', value: '' },
      ],
      images: [
        { name: 'logo', chosen: '', removed: false },
        { name: 'logo_dark', chosen: '', removed: false },
        { name: 'favicon', chosen: '', removed: false },
      ],
      preview: { stylesheet: '/assets/brand/preview.css' },
      unsaved: false,
    },
    {
      ...appearance,
      texts: [
        { name: 'product_name', value: 'Harbour ID', setting: 'PRODUCT_NAME' },
        { name: 'accent_color', value: '#ffcc00', fault: 'contrast' },
        { name: 'support_url', value: 'ftp://help.example', fault: 'support-url' },
      ],
      images: [
        { name: 'logo', chosen: png, removed: false, uri: `data:image/png;base64,${png}` },
        { name: 'logo_dark', chosen: '', removed: true },
        {
          name: 'favicon',
          chosen: '',
          removed: false,
          uri: '/assets/brand/favicon.0123456789abcdef.png',
          fault: 'image',
        },
      ],
      contrast: '1.3',
      preview: { stylesheet: '/assets/brand/preview.ffcc00.css', name: 'Harbour ID' },
      unsaved: true,
    },
  ],
  'console-settings': [
    {
      ...settings,
      q: '',
      instances: [{ startedAt: new Date('2026-11-01T12:00:00Z'), answers: false }],
      groups: [],
      mail: { form: form('/admin/settings/test-mail'), folder: '/data/mail' },
    },
    {
      ...settings,
      q: '',
      instances: [
        { address: 'a.example:3000', version: '0.1.0', startedAt: new Date('2026-11-01T12:00:00Z'), answers: true },
        { address: 'b.example:3000', version: '0.1.0', startedAt: new Date('2026-11-01T12:00:00Z'), answers: false },
      ],
      groups: [
        {
          key: 'address-and-issuer',
          title: 'Address and issuer',
          settings: [
            {
              name: 'PORT',
              value: '8443',
              secret: false,
              source: 'environment',
              differs: true,
              fallback: '3000',
              meaning: 'The TCP port to listen on.',
            },
            {
              name: 'HOST',
              value: 'localhost',
              secret: false,
              source: 'default',
              differs: false,
              meaning: 'The address to listen on.',
            },
            {
              name: 'SECRET_KEY',
              value: '',
              secret: true,
              source: 'environment',
              differs: true,
              meaning: 'Encrypts keys and secrets at rest.',
            },
            {
              name: 'ACCENT_COLOR',
              value: '#0c4a43',
              secret: false,
              source: 'console',
              differs: true,
              meaning: 'The color of links and buttons.',
            },
            {
              name: 'SUPPORT_URL',
              value: '',
              secret: false,
              source: 'default',
              differs: false,
              meaning: 'Where users get help.',
            },
          ],
        },
      ],
      mail: {
        form: form('/admin/settings/test-mail'),
        address: 'ada@example.org',
        server: 'mail.example.org:587',
        failure: 'credentials',
        reason: 'the mail server did not take the credentials (535)',
      },
    },
  ],
};
