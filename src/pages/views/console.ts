// Declares what every page of the console shows around its own content.
import type { AccountView } from './parts.ts';

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
/** The search page is no section of the menu. */
export type ConsoleSection = (typeof consoleSections)[number]['name'] | 'search';

/** What every page of the console shows beside its own data. */
export interface ConsoleFrame {
  account: AccountView;
  section: ConsoleSection;
  sections: readonly { name: ConsoleSection; uri: string }[];
  accountUri: string;
  logoutUri: string;
  /** The operation just done: a key of the catalogue under `console.done.`. */
  done?: string;
}
