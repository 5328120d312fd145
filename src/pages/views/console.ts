// Declares what every page of the console shows around its own content.
import type { AccountView, LanguageLink } from './parts.ts';

/**
 * The sections of the console, in the order of its navigation, in which a new one takes its place. The name is a key of the catalogue under
 * `console.section.`, and the group one under `console.sections.`; the icon is the path of a line drawing, 20 by 20.
 */
export const consoleSections = [
  { name: 'overview', uri: '/admin', icon: 'M3 3h6v8H3zM11 3h6v4h-6zM11 9h6v8h-6zM3 13h6v4H3z' },
  {
    name: 'clients',
    uri: '/admin/clients',
    group: 'applications',
    icon: 'M2.5 4h15v12h-15zM2.5 7.5h15M5 5.8h.1M7.5 5.8h.1',
  },
  {
    name: 'resources',
    uri: '/admin/resources',
    group: 'applications',
    icon: 'M7 6l-4 4 4 4M13 6l4 4-4 4M11.5 4l-3 12',
  },
  {
    name: 'connections',
    uri: '/admin/connections',
    group: 'applications',
    icon: 'M8 12l4-4M9 6l1.5-1.5a3.5 3.5 0 0 1 5 5L14 11M11 14l-1.5 1.5a3.5 3.5 0 0 1-5-5L6 9',
  },
  {
    name: 'scim_sources',
    uri: '/admin/scim-sources',
    group: 'applications',
    icon: 'M10 3v9M6.5 8.5L10 12l3.5-3.5M3 13v4h14v-4',
  },
  {
    name: 'provisioning_targets',
    uri: '/admin/provisioning-targets',
    group: 'applications',
    icon: 'M10 12V3M6.5 6.5L10 3l3.5 3.5M3 13v4h14v-4',
  },
  {
    name: 'users',
    uri: '/admin/users',
    group: 'people',
    icon: 'M10 10a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3.5 17c.6-3.2 3.2-4.7 6.5-4.7s5.9 1.5 6.5 4.7',
  },
  {
    name: 'groups',
    uri: '/admin/groups',
    group: 'people',
    icon: 'M7.5 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 16c.5-2.8 2.6-4 5.5-4s5 1.2 5.5 4M13 3.8a3 3 0 0 1 0 5.4M15 12.3c1.7.5 2.7 1.7 3 3.7',
  },
  { name: 'attributes', uri: '/admin/attributes', group: 'people', icon: 'M3 4h14v12H3zM6 8h3M6 12h3M12 8h2M12 12h2' },
  { name: 'sessions', uri: '/admin/sessions', group: 'people', icon: 'M2.5 3.5h15v10h-15zM7 17h6M10 13.5V17' },
  { name: 'audit', uri: '/admin/audit', group: 'security', icon: 'M2.5 10h3l2.5-6 4 12 2.5-6h3' },
  {
    name: 'keys',
    uri: '/admin/keys',
    group: 'security',
    icon: 'M6.5 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM10 10h7.5v3M14 10v2.5',
  },
  {
    name: 'webhooks',
    uri: '/admin/webhooks',
    group: 'system',
    icon: 'M10 6a3 3 0 1 0-3 3l-3 6M10 6l3.5 6M16 15a3 3 0 1 0-4-3M4 15h9',
  },
  {
    name: 'appearance',
    uri: '/admin/appearance',
    group: 'system',
    icon: 'M10 3a7 7 0 1 0 0 14c1.5 0 1.8-1 1.3-2-.6-1.2.1-2.3 1.5-2.3H15a2 2 0 0 0 2-2C17 6 13.9 3 10 3zM6.3 10h.1M8 6.5h.1M12 6.5h.1',
  },
  {
    name: 'settings',
    uri: '/admin/settings',
    group: 'system',
    icon: 'M3 6h7M14 6h3M3 14h3M10 14h7M12 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 16a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  },
  { name: 'try-it', uri: '/admin/try-it', group: 'system', icon: 'M6 3.5v13l10.5-6.5z' },
] as const;
/** The search page is no section of the navigation. */
export type ConsoleSection = (typeof consoleSections)[number]['name'] | 'search';

/** What the page is about is kept by configuration files. */
export interface KeptView {
  /** The name of the set of files. */
  files: string;
  /** The page that takes it over. */
  uri: string;
}

/** What every page of the console shows beside its own data. */
export interface ConsoleFrame {
  account: AccountView;
  section: ConsoleSection;
  sections: readonly { name: ConsoleSection; group?: string; uri: string; icon: string }[];
  /** Pending registrations and changes, counted up to a maximum; `more` says whether there are more. */
  pending: { count: number; more: boolean };
  accountUri: string;
  logoutUri: string;
  /** The page in each language; absent on an answer to a form, which no link can show again. */
  languages?: LanguageLink[];
  /** The operation just done: a key of the catalogue under `console.done.`. */
  done?: string;
  kept?: KeptView;
}

/** A column by which a list can be sorted. */
export interface SortView {
  /** The present order, if the list is sorted by this column. */
  now?: 'ascending' | 'descending';
  /** Sorts the list by this column, or reverses the order. */
  uri: string;
}
