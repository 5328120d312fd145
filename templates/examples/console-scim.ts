// Gives example data of the console's pages about a SCIM source.
import type { ConsoleScimPages } from '../../src/pages/views/console-scim.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';

const frame = { ...consoleFrame, section: 'scim_sources' as const };
const uri = '/admin/scim-sources/entra';
const uris = { editUri: `${uri}/edit`, deleteUri: `${uri}/delete` };
const createdAt = new Date('2026-03-14T09:26:53Z');
const address = 'https://id.example/scim/v2/entra';
const form = (action: string) => ({ action, hidden: { csrf: 'c' } });
const removeForm = form(`${uri}/tokens/remove`);

export const consoleScimExamples: Examples<ConsoleScimPages> = {
  'console-scim-source': [
    {
      ...frame,
      ...uris,
      source: {
        id: 'entra',
        name: 'x',
        isEnabled: false,
        address,
        adopts: false,
        deletes: false,
        groupPrefix: '',
        createdAt,
      },
      tokens: [],
      tokenForm: form(`${uri}/tokens`),
      removeForm,
    },
    {
      ...frame,
      ...uris,
      source: {
        id: 'entra',
        name: 'Hafenverwaltungsbenutzerverzeichnis',
        isEnabled: true,
        address,
        connection: 'entra-harbour-authority',
        adopts: true,
        deletes: true,
        groupPrefix: 'Hafenverwaltung / ',
        createdAt,
      },
      tokens: [
        { id: '4b0c', createdAt, lastUsedAt: createdAt },
        { id: '9d2e', createdAt },
      ],
      removeForm,
    },
  ],
  'console-scim-token': [
    { ...frame, name: 'x', uri, address, token: 'ghsc_x' },
    { ...frame, name: 'Hafenverwaltungsbenutzerverzeichnis', uri, address, token: `ghsc_${'x'.repeat(49)}` },
  ],
};
