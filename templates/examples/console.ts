// Gives example data of what surrounds each page of the console.
import { type ConsoleFrame, consoleSections } from '../../src/pages/views/console.ts';
import { account } from './parts.ts';

export const consoleFrame: ConsoleFrame = {
  account,
  section: 'overview',
  sections: consoleSections,
  pending: { count: 0, more: false },
  accountUri: '/account',
  logoutUri: '/logout',
};
