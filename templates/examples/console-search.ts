// Gives example data of the console's search page.
import type { ConsoleSearchPages } from '../../src/pages/views/console-search.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';

const frame = { ...consoleFrame, section: 'search' as const };

export const consoleSearchExamples: Examples<ConsoleSearchPages> = {
  'console-search': [
    { ...frame, searched: '', isReference: false, kinds: [] },
    {
      ...frame,
      searched: 'harbour',
      isReference: false,
      kinds: [
        {
          kind: 'users',
          things: [
            {
              name: 'harbour.master',
              about: ['Maximiliane Freifrau von und zu Hohenlohe-Langenburg', 'maximiliane@harbour.example'],
              off: false,
              uri: '/admin/users/5f2c',
            },
            { name: 'x', about: [], off: true, uri: '/admin/users/x' },
          ],
          more: true,
          listUri: '/admin/users?q=harbour',
        },
        {
          kind: 'clients',
          things: [{ name: 'Harbour', about: ['c-4f81'], off: true, uri: '/admin/clients/c-4f81' }],
          more: true,
          listUri: '/admin/clients?q=harbour',
        },
        {
          kind: 'groups',
          things: [
            { name: 'harbour', about: ['Who keeps the harbour'], off: false, uri: '/admin/groups/harbour' },
            { name: 'harbour-boats', about: [], off: false, uri: '/admin/groups/harbour-boats' },
          ],
          more: true,
          listUri: '/admin/groups?q=harbour',
        },
      ],
    },
  ],
};
