// Gives example data of the page for new applications.
import type { ApplicationPages } from '../../src/pages/views/applications.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { account } from './parts.ts';

const againUri = '/authorize?client_id=https%3A%2F%2Feditor.example%2Fclient.json';

export const applicationExamples: Examples<ApplicationPages> = {
  'new-application': [
    {
      application: { name: '' },
      account: { username: '' },
      state: 'reading',
      againUri: '/authorize',
      accountUri: '/account',
    },
    {
      application: { name: 'editor.example', claimedName: 'Harbour Editor' },
      account,
      state: 'waiting',
      againUri,
      accountUri: '/account',
    },
  ],
};
