// Gives example data of the console's pages that create a client.
import type { SamlValues } from '../../src/pages/views/console-clients.ts';
import type { ConsoleClientCreatePages } from '../../src/pages/views/console-client-create.ts';
import type { SnippetValues } from '../../src/pages/views/snippet.ts';
import type { ConsoleFrame } from '../../src/pages/views/console.ts';
import type { Examples, FieldView } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const frame: ConsoleFrame = { ...consoleFrame, section: 'clients' };
const kinds = ['web', 'spa', 'native', 'device', 'machine', 'api', 'proxy', 'saml'].map((name) => ({
  name,
  uri: `/admin/clients/new/${name}`,
}));
const created = { ...frame, name: 'Harbour', clientId: 'harbour', clientUri: '/admin/clients/harbour' };
const field = (name: string, kind: FieldView['kind'], value: string, rest: Partial<FieldView> = {}): FieldView => ({
  name,
  kind,
  value,
  ...rest,
});
export const samlValues: SamlValues = {
  metadataUri: 'https://id.example/saml/metadata',
  entityId: 'https://id.example/saml/metadata',
  ssoUri: 'https://id.example/saml/sso',
  sloUri: 'https://id.example/saml/logout',
  startUri: 'https://id.example/saml/start/harbour',
  certificates: [`-----BEGIN CERTIFICATE-----\n${'MIID'.repeat(16)}\n-----END CERTIFICATE-----\n`],
};

export const snippetValues: SnippetValues = {
  issuer: 'https://id.example',
  clientId: 'harbour',
  redirectUri: 'https://harbour.example/callback',
  postLogoutRedirectUri: 'https://harbour.example/signed-out',
  scope: 'openid profile email',
  resource: 'https://api.harbour.example/logbook',
  introspects: false,
  hosts: ['harbour.example', 'www.harbour.example'],
};

export const consoleClientCreateExamples: Examples<ConsoleClientCreatePages> = {
  'console-client-kinds': [
    { ...frame, kinds: kinds.slice(0, 1) },
    { ...frame, kinds },
  ],
  'console-client-create': [
    { ...frame, kind: 'web', form: form('/admin/clients/new/web'), asked: [], advanced: [] },
    {
      ...frame,
      kind: 'web',
      form: form('/admin/clients/new/web'),
      asked: [
        field('client_name', 'text', '', { fault: { code: 'missing' } }),
        field('redirect_uris', 'lines', 'https://harbour.example/callback'),
        field('post_logout_redirect_uris', 'lines', 'http://harbour.example/', { fault: { code: 'address.relative' } }),
      ],
      advanced: [
        {
          name: 'rights',
          fields: [
            field('grant_types', 'boxes', 'authorization_code\nrefresh_token', {
              choices: ['authorization_code', 'refresh_token', 'implicit'],
            }),
            field('require_pkce', 'check', 'true'),
            field('resource_uris', 'lines', 'https://api.example'),
          ],
        },
        { name: 'tokens', fields: [field('access_token_lifetime', 'number', '600')] },
      ],
    },
  ],
  'console-client-created': [
    {
      ...created,
      name: '',
      kind: 'spa',
      credentials: [{ name: 'client_id', value: 'harbour' }],
      snippets: [],
    },
    {
      ...created,
      kind: 'web',
      credentials: [
        { name: 'client_id', value: 'harbour' },
        { name: 'issuer', value: 'https://id.example' },
        { name: 'client_secret', value: 'nX2vQm8sW4tZ1yLp7kRj0aBc5dEf9gHi3uJoMqTsVxY' },
        { name: 'registration_access_token', value: 'gh_r_8sW4tZ1yLp7kRj0aBc5dEf9gHi3uJoMqTsVxYnX2vQm' },
      ],
      saml: samlValues,
      snippets: [
        { name: 'api-jose', title: 'jose (Node.js)', values: snippetValues },
        { name: 'openid-client', title: 'openid-client (Node.js)', values: snippetValues },
        { name: 'spring', title: 'Spring Security', values: snippetValues },
        { name: 'apache', title: 'Apache (mod_auth_openidc)', values: snippetValues },
        { name: 'oauth2-proxy', title: 'oauth2-proxy', values: snippetValues },
      ],
      resources: [{ resource: 'https://api.harbour.example/logbook', uri: '/admin/resources/5f2c' }],
    },
  ],
};
