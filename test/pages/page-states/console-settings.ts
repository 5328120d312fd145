// Lists states of the console's pages about the appearance and the settings, beside the examples.
import { keyOf } from '../../../src/admin/console/settings/routes.ts';
import { settingGroups } from '../../../src/config/setting-descriptions.ts';
import { mailFailures } from '../../../src/outbound/mail-transport.ts';
import type { AppearanceFault } from '../../../src/pages/views/console-settings.ts';
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const [plain, appearance] = examples['console-appearance'];
const [folder, settings] = examples['console-settings'];
const { form, address, server } = settings.mail;
const uri = '/assets/brand/logo.0123456789abcdef.webp';
const faults: AppearanceFault[] = ['product-name', 'color', 'image-size'];

const port = { name: 'PORT', value: '3000', secret: false, source: 'default', differs: false, meaning: '' } as const;

export const consoleSettingsStates: View[] = [
  { name: 'console-appearance', data: { ...plain, done: 'appearance-saved' } },
  {
    name: 'console-appearance',
    data: { ...appearance, images: plain.images.map((image) => ({ ...image, uri, setting: 'LOGO_FILE' })) },
  },
  { name: 'console-appearance', data: { ...plain, images: plain.images.map((image) => ({ ...image, uri })) } },
  ...faults.map((fault): View => {
    const texts = plain.texts.map((text) => ({ ...text, fault }));
    return { name: 'console-appearance', data: { ...plain, texts } };
  }),
  ...['all', 'address-and-issuer'].map((group): View => ({ name: 'console-settings', data: { ...settings, group } })),
  ...['port', 'nothing-has-these-words'].map((q): View => ({ name: 'console-settings', data: { ...settings, q } })),
  // the words of every setting
  ...settingGroups().map(({ title, settings: ofGroup }): View => {
    const group = { key: keyOf(title), title, settings: ofGroup.map((setting) => ({ ...port, ...setting })) };
    return { name: 'console-settings', data: { ...settings, group: 'all', groups: [group] } };
  }),
  { name: 'console-settings', data: { ...folder, mail: { ...folder.mail, address: 'ada@example.org', sent: true } } },
  {
    name: 'console-settings',
    data: { ...settings, mail: { form, address, server, sent: true } } as typeof settings,
  },
  {
    name: 'console-settings',
    data: { ...settings, mail: { form, address, server, wait: 600 } } as typeof settings,
  },
  ...mailFailures.map((failure): View => {
    return { name: 'console-settings', data: { ...settings, mail: { ...settings.mail, failure } } };
  }),
];
