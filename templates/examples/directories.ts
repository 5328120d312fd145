// Gives example data of the console's pages about connections to directories.
import type { DirectoryPages } from '../../src/pages/views/directories.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { rulesOfConnection } from './console-rules.ts';
import { form } from './parts.ts';

const frame = { ...consoleFrame, section: 'connections' as const };
const since = new Date('2026-03-14T09:26:53Z');
const uri = '/admin/connections/company/directory';
const longName = 'Donaudampfschifffahrtsgesellschaft, Verzeichnis der Abteilung Elektrizität';
const directory = {
  id: 'company',
  name: 'Company',
  status: 'disabled' as const,
  url: 'ldaps://ldap.example.com',
  startTls: false,
  bindDn: 'cn=gatehouse,dc=example,dc=com',
  base: 'ou=people,dc=example,dc=com',
  userFilter: '(objectClass=inetOrgPerson)',
  logins: ['uid', 'mail'],
  linking: 'ask' as const,
  provisioning: 'on' as const,
  authoritativeDomains: [],
  createdAt: since,
};
const uris = { editUri: `${uri}/edit`, deleteUri: '/admin/connections/company/delete', testForm: form(`${uri}/test`) };

export const directoryExamples: Examples<DirectoryPages> = {
  'console-directory': [
    { ...frame, directory, rules: rulesOfConnection('console.directory', false), ...uris },
    {
      ...frame,
      directory: {
        ...directory,
        name: longName,
        status: 'enabled',
        url: 'ldap://dc1.corp.example.com:389',
        startTls: true,

        groupBase: 'OU=Groups,DC=corp,DC=example,DC=com',
        logins: ['sAMAccountName', 'userPrincipalName', 'mail'],
        userFilter: '(&(objectCategory=person)(objectClass=user))',
        secretSince: since,
        authoritativeDomains: ['example.com', 'example.org'],
      },
      rules: rulesOfConnection('console.directory', true),
      ...uris,
      check: { login: 'ada', groups: ['Staff', longName], given: ['staff', longName] },
      imports: {
        interval: 60,
        state: 'held',
        running: false,
        counts: { found: 120, disabled: 48 },
        finishedAt: since,
        form: form(`${uri}/import`),
      },
    },
  ],
};
