// Gives example data of the console's page about a resource.
import { resourceMetadata } from '../../src/oauth/resource-metadata.ts';
import type { ConsoleResourcesPages } from '../../src/pages/views/console-resources.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';

const frame = { ...consoleFrame, section: 'resources' as const };
const uri = '/admin/resources/5f2c';
const uris = { editUri: `${uri}/edit`, deleteUri: `${uri}/delete` };
const resource = 'https://api.harbour.example/logbook';
const since = new Date('2026-03-14T09:26:53Z');
export const consoleResourcesExamples: Examples<ConsoleResourcesPages> = {
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
        name: 'Donaudampfschifffahrtslogbuch',
        resource,
        open: true,
        binding: 'dpop',
        registered: true,
        createdAt: since,
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
};
