// Declares what the console's search page shows.
import type { ConsoleFrame } from './console.ts';

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
