// Gives example data of the console's pages that every entity has: those of resources.
import type { ConsoleEntitiesPages } from '../../src/pages/views/console-entities.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const listUri = '/admin/resources';
const of = { ...consoleFrame, section: 'resources' as const, nouns: 'resources', noun: 'resource', listUri };
const uri = `${listUri}/5f2c`;
const resource = 'https://api.harbour.example/logbook';
const cellsOf = (name: string, address: string, scopes: string) => [
  { member: 'name', text: name },
  { member: 'resource', text: address, ltr: true },
  { member: 'scopes', text: scopes, ltr: true },
];

export const consoleEntitiesExamples: Examples<ConsoleEntitiesPages> = {
  'console-entities': [
    { ...of, rows: [], newUri: `${listUri}/new`, byKey: false, related: [] },
    {
      ...of,
      showsUse: true,
      rows: [
        { uri, usedAt: new Date('2026-03-14T09:26:53Z'), cells: cellsOf('Logbook', resource, 'log.read log.write') },
        { uri: `${listUri}/6a1d`, cells: cellsOf('Tides', 'urn:example:tides', '') },
      ],
      newUri: `${listUri}/new`,
      byKey: false,
      related: [],
      first: listUri,
      next: `${listUri}?cursor=x`,
    },
  ],
  'console-entity-form': [
    { ...of, fields: [{ name: 'name', kind: 'text', value: '', required: true }], form: form('/admin') },
    {
      ...of,
      of: { name: 'Logbook', uri },
      fields: [
        { name: 'name', kind: 'text', value: 'Logbook', required: true, most: 100, writing: 'auto' },
        { name: 'resource', kind: 'address', value: resource, fixed: true },
        { name: 'scopes', kind: 'lines', value: 'log.read Read your logbook\nlog.read [de] Ihr Logbuch lesen\nopenid' },
        { name: 'client_id', kind: 'text', value: '', picks: 'clients' },
        { name: 'clients', kind: 'radio', value: 'approved', choices: ['listed', 'approved'] },
        { name: 'access_token_lifetime', kind: 'number', value: '300' },
        { name: 'public', kind: 'check', value: 'true' },
      ],
      form: form('/admin'),
      deleteUri: `${uri}/delete`,
      refused: { field: 'scopes', member: 'scopes.2.value', code: 'service-scope', whole: false },
    },
  ],
  'console-entity-delete': [
    { ...of, name: 'x', uri, form: form('/admin') },
    { ...of, name: 'Logbook', known: resource, uri, form: form('/admin'), typed: 'Logbok', problem: 'typed' },
  ],
  'console-take-over': [
    { ...consoleFrame, section: 'resources', name: 'x', files: 'x', uri, form: form('/admin') },
    {
      ...consoleFrame,
      section: 'resources',
      name: 'logbook',
      files: 'company',
      uri,
      form: form('/admin'),
      typed: 'logbok',
      problem: 'typed',
    },
  ],
};
