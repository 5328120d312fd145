// Gives example data of the console's pages about resources.
import { resourceMetadata } from '../../src/oauth/resource-metadata.ts';
import type { ConsoleResourcesPages } from '../../src/pages/views/console-resources.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const frame = { ...consoleFrame, section: 'resources' as const };
const uri = '/admin/resources/5f2c';
const uris = { editUri: `${uri}/edit`, deleteUri: `${uri}/delete` };
const resource = 'https://api.harbour.example/logbook';
const since = new Date('2026-03-14T09:26:53Z');
const empty = {
  resource: '',
  name: '',
  client_id: '',
  scopes: '',
  clients: 'listed',
  access_token_format: 'opaque',
  binding: 'none',
  access_token_lifetime: '',
  token_claims: '',
  public: '',
};

export const consoleResourcesExamples: Examples<ConsoleResourcesPages> = {
  'console-resources': [
    { ...frame, resources: [], newUri: '/admin/resources/new' },
    {
      ...frame,
      resources: [
        { name: 'Logbook', resource, scopes: ['log.read', 'log.write'], uri },
        { name: 'Tides', resource: 'urn:example:tides', scopes: [], uri: '/admin/resources/6a1d' },
      ],
      newUri: '/admin/resources/new',
      first: '/admin/resources',
      next: '/admin/resources?cursor=x',
    },
  ],
  'console-resource': [
    {
      ...frame,
      ...uris,
      resource: {
        name: 'x',
        resource: 'urn:x',
        scopes: [],
        open: false,
        binding: 'none',
        registered: false,
        createdAt: since,
        tokenClaims: [],
        public: false,
      },
    },
    {
      ...frame,
      ...uris,
      resource: {
        ...{
          name: 'Donaudampfschifffahrtslogbuch',
          resource,
          open: true,
          binding: 'dpop',
          registered: true,
          createdAt: since,
        },
        scopes: [
          { value: 'log.read', description: { en: 'Read your logbook', de: 'Ihr Logbuch lesen', ar: 'قراءة سجلّك' } },
          { value: 'log.write', description: {} },
        ],
        jwtAlg: 'ES256',
        accessTokenLifetime: 300,
        requiredAcr: 'urn:gatehouse:acr:mfa',
        tokenClaims: ['groups', 'email'],
        public: true,
      },
      metadata: {
        uri: 'https://api.harbour.example/.well-known/oauth-protected-resource/logbook',
        document: JSON.stringify(
          resourceMetadata('https://id.harbour.example', {
            resource,
            name: 'Donaudampfschifffahrtslogbuch',
            scopes: ['log.read', 'log.write'],
          }),
          null,
          2,
        ),
      },
      server: { name: 'Harbour', uri: '/admin/clients/harbour' },
    },
  ],
  'console-resource-form': [
    { ...frame, typed: empty, form: form('/admin') },
    {
      ...frame,
      of: { name: 'Logbook', resource, uri },
      typed: {
        ...{
          resource,
          name: 'Logbook',
          client_id: 'harbour',
          clients: 'approved',
          access_token_format: 'jwt',
          binding: 'dpop',
          access_token_lifetime: '300',
          token_claims: 'groups',
          public: 'true',
        },
        scopes: 'log.read Read your logbook\nlog.read [de] Ihr Logbuch lesen\nopenid',
      },
      form: form('/admin'),
      problem: 'scopes',
    },
  ],
  'console-resource-delete': [
    { ...frame, name: 'x', resource: 'urn:x', resourceUri: '/admin/resources/x', form: form('/admin') },
    {
      ...frame,
      ...{ name: 'Logbook', resource, resourceUri: uri },
      form: form('/admin'),
      typed: 'Logbok',
      problem: 'typed',
    },
  ],
};
