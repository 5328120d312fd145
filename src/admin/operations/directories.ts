// Declares the operations that test connections to directories, and that start and approve their imports.
import { z } from 'zod';
import { checkedSettings, rulesOf } from '../../domain/administration/connections.ts';
import { checkDirectory, checkProblems, type CheckResult, checkSettings } from '../../domain/connections/ldap/check.ts';
import { conflict } from '../../oauth/errors.ts';
import { text } from '../../oauth/text.ts';
import { type Connection, connections } from '../../entities/connections.ts';
import type { DirectoryImport } from '../../repositories/connections/directory-imports.ts';
import type { Store } from '../../repositories/store.ts';
import { findConnection } from './connections.ts';
import { operation } from './operation.ts';
import { facts, harmless } from './text-table.ts';

const path = '/admin/api/connections/:id';
const section = { permission: 'connections', tag: 'connections' } as const;
const byConnection = z.object({ id: text(40) });

/** @throws OAuthError not_found, or conflict for a connection of another kind */
async function findDirectory(store: Pick<Store, 'connections'>, id: string): Promise<Connection> {
  const connection = await findConnection(store, id);
  if (connection.kind !== 'ldap') throw conflict('this connection is not one to a directory');
  return connection;
}

function testView({ problem, users, groups, given }: CheckResult) {
  return {
    works: problem === undefined,
    users,
    ...(groups && { groups }),
    ...(given && { given_groups: given }),
    ...(problem && { problem, description: checkProblems[problem] }),
  };
}

export const testConnection = operation({
  method: 'POST',
  path: `${path}/test`,
  ...section,
  summary:
    'Tests a connection to a directory: whether it answers, accepts the service account, and has users and groups',
  params: byConnection,
  input: () =>
    z.strictObject({
      login: text(320)
        .min(1)
        .optional()
        .describe('The name with which a user signs in: the groups of the user are shown, too.'),
    }),
  answer: 'ConnectionTest',
  handler: async ({ store, directories, secretBox }, { params: { id }, input: { login } }) =>
    checkDirectory(await findDirectory(store, id), { directories, secretBox }, login),
  view: testView,
  command: {
    name: 'connection test',
    code: ({ problem }) => (problem === undefined ? 0 : 2),
    text: ({ problem, groups, given = [] }, { params: { id }, input: { login } }) => {
      if (problem !== undefined) return `The connection ${id} does not work: ${checkProblems[problem]}.`;
      const works = `The connection ${id} works: the directory answers, and has users.`;
      if (login === undefined) return works;
      const said = groups === undefined ? 'the directory does not say' : groups.map(harmless).join(', ') || 'none';
      const here = given.map(harmless).join(', ') || 'none';
      return `${works}\nGroups of ${harmless(login)}: ${said}\nGroups here, by the rules: ${here}`;
    },
  },
});

/** A connection of the console's form: what was typed is used once, and not stored. */
export const testNewDirectory = operation({
  method: 'POST',
  path: '/admin/api/connections/test',
  ...section,
  summary: 'Tests a directory before a connection to it is created: nothing is stored',
  input: () =>
    z.strictObject({
      settings: connections.members.settings.rule.describe('The settings of the connection.'),
      secret: connections.members.secret.rule.describe('The password of the service account.'),
    }),
  answer: 'ConnectionTest',
  async handler({ connectionKinds, directories }, { input: { settings, secret } }) {
    const kind = { kind: 'ldap', preset: undefined } as const;
    const checked = checkedSettings(rulesOf(connectionKinds, kind), settings);
    const read = { settings: checked, claimRules: [], usernameFrom: connections.members.username_from.start };
    return checkSettings(read, secret, directories);
  },
  view: testView,
});

/** @throws OAuthError not_found, conflict */
export async function findImport(
  store: Pick<Store, 'connections' | 'directoryImports'>,
  id: string,
): Promise<{ connection: Connection; last: DirectoryImport | undefined }> {
  const connection = await findDirectory(store, id);
  return { connection, last: await store.directoryImports.find(id) };
}

export const showImport = operation({
  method: 'GET',
  path: `${path}/import`,
  ...section,
  summary: 'Shows the result of the last import of a directory, and whether it waits for an approval',
  params: byConnection,
  answer: 'DirectoryImport',
  handler: ({ store }, { params: { id } }) => findImport(store, id),
  view: importView,
  command: {
    name: 'connection import-status',
    text: (found) =>
      facts(Object.fromEntries(Object.entries(importView(found)).map(([name, value]) => [name, wordsOf(value)]))),
  },
});

export const startImport = operation({
  method: 'POST',
  path: `${path}/import`,
  ...section,
  summary: 'Starts an import of a directory now, on one of the running instances',
  params: byConnection,
  input: () =>
    z.strictObject({
      full: z.boolean().optional().describe('Whether every user is read, and not only those that have changed.'),
    }),
  async handler({ store, administration }, { params: { id }, input: { full = false } }) {
    await administration.requestImport(await findDirectory(store, id), full);
  },
  command: {
    name: 'connection import',
    text: (_done, { params: { id } }) =>
      `An import of ${id} is due now: \`bin/gatehouse connection import-status ${id}\` shows its result.`,
    json: (_done, { params: { id } }) => ({ connection: id }),
  },
});

export const approveImport = operation({
  method: 'POST',
  path: `${path}/import/approve`,
  ...section,
  summary: 'Approves a held import, which may then disable the number of users that it reported, and no more',
  params: byConnection,
  input: () =>
    z.strictObject({
      disabled: z
        .int()
        .min(0)
        .max(1_000_000)
        .optional()
        .describe('The number that you saw: with another one nothing is approved.'),
    }),
  answer: 'ApprovedImport',
  handler: async ({ store, administration }, { params: { id }, input: { disabled }, actor }) =>
    administration.approveImport(actor, await findDirectory(store, id), disabled),
  view: (disabled) => ({ disabled }),
  command: {
    name: 'connection approve-import',
    text: (disabled, { params: { id } }) => `The import of ${id} goes on now. It may disable ${disabled} users.`,
  },
});

function importView({ connection, last }: { connection: Connection; last: DirectoryImport | undefined }) {
  const { settings, status } = connection;
  const { state = 'new', problem, counts = {}, startedAt, finishedAt, fullAt, running = false } = last ?? {};
  return {
    interval: status === 'enabled' && typeof settings['import'] === 'number' ? settings['import'] : null,
    state,
    running,
    counts,
    ...(problem !== undefined && { problem }),
    ...(startedAt && { started_at: startedAt.toISOString() }),
    ...(finishedAt && { finished_at: finishedAt.toISOString() }),
    ...(fullAt && { full_at: fullAt.toISOString() }),
  };
}

const wordsOf = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? Object.entries(value)
        .map(([name, count]) => `${name} ${count}`)
        .join(', ')
    : String(value ?? 'off');

export const directoryOperations = [testNewDirectory, testConnection, showImport, startImport, approveImport];
