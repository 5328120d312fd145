// Declares what the console's search page shows.
import type { ConsoleFrame } from './console.ts';

/** A user, a client or a group that the search found. Untrusted text. */
export interface FoundThing {
  name: string;
  /** Further text that identifies it, such as an address. */
  about: string[];
  /** Whether it is disabled. */
  off: boolean;
  uri: string;
}

export interface ConsoleSearchPages {
  'console-search': ConsoleFrame & {
    /** The typed text; empty before the first search. */
    searched: string;
    /** Whether it looks like the reference of a page that refused. */
    isReference: boolean;
    /** The kinds with results, a few results of each. */
    kinds: { kind: 'users' | 'clients' | 'groups'; things: FoundThing[]; more: boolean; listUri: string }[];
  };
}
