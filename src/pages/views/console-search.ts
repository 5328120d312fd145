// The page of what the console's one search field found, and examples.
import { consoleFrame, type ConsoleFrame } from './console.ts';
import type { Examples } from './parts.ts';

/** A user, a client or a group, as it is found. Untrusted text. */
export interface FoundThing {
  name: string;
  /** What else tells it from others, such as an address. */
  about: string[];
  /** It is disabled. */
  off: boolean;
  uri: string;
}

export interface ConsoleSearchPages {
  'console-search': ConsoleFrame & {
    /** What was typed; empty before anything was. */
    searched: string;
    /** Those of which something was found, a few of each. */
    kinds: { kind: 'users' | 'clients' | 'groups'; things: FoundThing[]; more: boolean; listUri: string }[];
  };
}

const frame = { ...consoleFrame, section: 'search' as const };

export const consoleSearchExamples: Examples<ConsoleSearchPages> = {
  'console-search': [
    { ...frame, searched: '', kinds: [] },
    {
      ...frame,
      searched: 'harbour',
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
