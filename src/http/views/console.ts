// The frame of the console's pages, and the console's first page: what each shows, and examples.
import { account, type AccountView, type Examples } from './parts.ts';

/** The sections of the console, in the order of its menu; each is a key of the catalogue under `console.section.`. */
export const consoleSections = [
  { name: 'overview', uri: '/admin' },
  { name: 'clients', uri: '/admin/clients' },
  { name: 'users', uri: '/admin/users' },
  { name: 'groups', uri: '/admin/groups' },
  { name: 'sessions', uri: '/admin/sessions' },
  { name: 'keys', uri: '/admin/keys' },
  { name: 'audit', uri: '/admin/audit' },
  { name: 'try-it', uri: '/admin/try-it' },
] as const;
export type ConsoleSection = (typeof consoleSections)[number]['name'];

/** What every page of the console shows around its own. */
export interface ConsoleFrame {
  account: AccountView;
  section: ConsoleSection;
  sections: readonly { name: ConsoleSection; uri: string }[];
  accountUri: string;
  logoutUri: string;
  /** What was just done: a key of the catalogue under `console.done.`. */
  done?: string;
}

export interface ConsolePages {
  'console-overview': ConsoleFrame & {
    /** Registrations and changes that wait for a decision, counted up to the number that `more` speaks of. */
    waiting: number;
    /** There are more of them than were counted. */
    more?: boolean;
    waitingUri: string;
  };
}

export const consoleFrame: ConsoleFrame = {
  account,
  section: 'overview',
  sections: consoleSections,
  accountUri: '/account',
  logoutUri: '/logout',
};

export const consoleExamples: Examples<ConsolePages> = {
  'console-overview': [
    { ...consoleFrame, account: { username: '' }, waiting: 0, waitingUri: '/admin/clients?waiting=true' },
    { ...consoleFrame, waiting: 1000, more: true, waitingUri: '/admin/clients?waiting=true' },
  ],
};
