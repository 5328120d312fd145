// An import that updates changes only users whom its rows name beyond doubt.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { addConnection } from '../helpers/connections.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';

let service: TestService;
let provider: Provider;
beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: provider.host } });
  await addConnection(service, provider, 'work');
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

async function update(...rows: object[]) {
  const stdin = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  return runCommand(service, ['user', 'import', '-', '--format', 'jsonl', '--update', '--with-admins'], { stdin });
}
const emailOf = async ({ sub }: { sub: string }) => (await service.store.users.find(sub))!.email;
const link = (user: TestUser, how = 'person') =>
  service.database.sql(
    `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ('work', 'x', $1, $2, $3)`,
    [`subject of ${user.username}`, user.sub, how],
  );

test('a user with a linked identity is changed only by a row with the sub, or with connection and subject (security R155)', async () => {
  const user = await service.createUser({ username: 'linked' });
  await link(user);
  const row = { username: 'linked', email: 'one@else.example' };
  const { stderr, stdout } = await update(row);
  expect(stderr).toContain('line 1: username belongs to a user with a linked identity');
  expect(stdout).toContain('1 rejected');
  expect(await emailOf(user)).toBeUndefined();
  expect((await update({ ...row, connection: 'work', subject: 'subject of another' })).stderr).toContain(
    'line 1: subject is not an identity of the user with this name',
  );
  expect((await update({ username: 'nobody', connection: 'work', subject: 'x' })).stderr).toContain('subject is no');
  expect(await emailOf(user)).toBeUndefined();
  await update({ ...row, connection: 'work', subject: 'subject of linked' });
  expect(await emailOf(user)).toBe('one@else.example');
  await update({ ...row, sub: user.sub, email: 'two@else.example' });
  expect(await emailOf(user)).toBe('two@else.example');
  // a row that changes nothing is no error
  expect((await update({ username: 'linked', email: 'two@else.example' })).stdout).toContain('1 unchanged');
});

test.each([
  ['file', '\ufb01le'],
  ['caf\u00e9', 'cafe\u0301'],
  ['ada', '\uff41da'],
])('the user %j is not changed by a row that names %j, except with the sub (security R155)', async (stored, named) => {
  const user = await service.createUser({ username: stored });
  const row = { username: named, email: `${encodeURI(named).replaceAll('%', '')}@else.example` };
  expect((await update(row)).stderr).toContain(
    'line 1: username differs from the stored name in more than upper and lower case',
  );
  expect(await emailOf(user)).toBeUndefined();
  await update({ ...row, sub: user.sub });
  expect(await emailOf(user)).toBe(row.email);
});

test('a user is changed by a row whose name differs by case only (security R155)', async () => {
  const user = await service.createUser({ username: 'ΟΔΥΣΣΕΥΣ' });
  await update({ username: 'οδυσσευς', email: 'o@else.example' });
  expect(await emailOf(user)).toBe('o@else.example');
});

test('no row makes an administrator of a user with a link that was made without a person (security R165)', async () => {
  const user = await service.createUser({ username: 'provisioned' });
  await link(user, 'provisioned');
  const { stderr } = await update({ username: 'provisioned', sub: user.sub, admin: true });
  expect(stderr).toContain('line 1: admin has sites that were connected automatically');
  expect(await service.store.users.find(user.sub)).toMatchObject({ admin: false });
});
