// A CSV export holds no cell that a spreadsheet runs as a formula, and an import restores the original values.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
let folder: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-csv-'));
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const signs = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
const hostile = [
  ...signs.flatMap((sign) => [
    `${sign}1`,
    ` ${sign}2`,
    `\t${sign}3`,
    `\u00a0\u3000${sign}4`,
    `'${sign}5`,
    `\u200b${sign}6`,
  ]),
  '\ttab',
  '\rreturn',
  "'as it is",
  'a=b',
];

async function rowsOf(path: string): Promise<Record<string, string>[]> {
  const answer = await fetch(`${service.issuer}/admin/api${path}`, { headers: { authorization: `Bearer ${token}` } });
  expect(answer.status).toBe(200);
  return parse(await answer.text(), { columns: true });
}
const formulas = (rows: Record<string, string>[]) =>
  rows.flatMap((row) => Object.values(row).filter((cell) => /^[\s\u200b]*[=+\-@＝＋－＠]|^[\t\r]/.test(cell)));

test('no cell of an exported audit trail is a formula, by admin route and by command line (security R126)', async () => {
  for (const actor of hostile)
    await service.store.auditEvents.insert({ type: 'token.revoked', outcome: 'success', actor });
  const rows = await rowsOf('/audit/export?format=csv&type=token.revoked');
  expect(rows).toHaveLength(hostile.length);
  expect(formulas(rows)).toEqual([]);
  const shown = await runCommand(service, ['audit', 'export', '--format', 'csv', '--type', 'token.revoked']);
  expect(formulas(parse(shown.stdout, { columns: true }))).toEqual([]);
});

test('no cell of exported users is a formula, and an import restores the same users (security R126)', async () => {
  for (const [index, value] of hostile.entries())
    await service.createUser({
      username: `${/^\s/.test(value) || /\p{Cc}/u.test(value) ? 'x' : ''}${value.replace(/\p{C}/gu, '')} ${index}`,
      groups: [value.replace(/\p{Cc}/gu, '').trim()],
      claims: { name: value, address: { locality: value } },
    });
  const rows = await rowsOf('/users/export?format=csv');
  expect(formulas(rows)).toEqual([]);
  const users = () =>
    service.database.sql<{ claims: { name?: string } }>(
      `SELECT sub, username, groups, claims FROM users WHERE claims ? 'name' ORDER BY sub`,
    );
  const before = await users();
  expect(before).toHaveLength(hostile.length);
  const file = join(folder, 'users.csv');
  const exported = await runCommand(service, ['user', 'export', '--format', 'csv', '--with-password-hashes']);
  expect(formulas(parse(exported.stdout, { columns: true }))).toEqual([]);
  await writeFile(file, exported.stdout);
  await service.database.sql(`DELETE FROM users WHERE claims ? 'name'`);
  const read = await runCommand(service, ['user', 'import', file, '--with-admins']);
  expect(read.stderr).toBe('');
  // an import ignores white space around a cell
  const trimmed = before.map(({ claims, ...user }) => ({
    ...user,
    claims: JSON.parse(JSON.stringify(claims), (_, value: unknown) =>
      typeof value === 'string' ? value.trim() : value,
    ) as object,
  }));
  expect(await users()).toEqual(trimmed);
});
