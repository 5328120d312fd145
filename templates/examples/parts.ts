// Gives example data that several pages share.
import type { AccountView, ClientView, FormView, LanguageLink } from '../../src/pages/views/parts.ts';

export const client: ClientView = {
  clientId: 'harbour',
  name: 'Harbour',
  logoUri: 'https://harbour.example/logo.png',
  policyUri: 'https://harbour.example/privacy',
  tosUri: 'https://harbour.example/terms',
  homeUri: 'https://harbour.example/',
  host: 'harbour.example',
  selfRegistered: true,
};
export const bareClient: ClientView = { clientId: 'c-1', name: '', host: '', selfRegistered: false };
/** The path of an uploaded image. */
export const image = '/assets/images/AbCdEfGhIjKlMnOpQrStUv.png';
export const account: AccountView = { sub: '5f2c', username: 'ada', name: 'Ada Lovelace' };
export const form = (action: string): FormView => ({ action, hidden: { csrf: 'token', transaction: 'request' } });
export const languages = (here: string): LanguageLink[] =>
  [
    { tag: 'en', name: 'English' },
    { tag: 'ar', name: 'العربية' },
    { tag: 'de', name: 'Deutsch' },
  ].map((language) => ({ ...language, uri: `${here}${here.includes('?') ? '&' : '?'}locale=${language.tag}` }));
