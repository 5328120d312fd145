// Tests that the last enabled administrator stays when administrators demote each other at the same moment: only a race shows it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const administrators = async () =>
  (await service.database.sql<{ sub: string }>(`SELECT sub FROM users WHERE admin AND status = 'enabled'`)).length;
const send = (n: number, sub: string, body?: Record<string, unknown>) =>
  call(`${service.instances[n % 2]}/admin/api/users/${sub}`, { method: body ? 'PATCH' : 'DELETE', token, body });
const demotions = [{ admin: false }, { status: 'disabled' }, undefined];
/** Two administrators and no other; without a password, since neither signs in. */
async function two(): Promise<{ sub: string; username: string }[]> {
  await service.database.sql('DELETE FROM users');
  return service.database.sql<{ sub: string; username: string }>(
    `INSERT INTO users (username, admin) VALUES ('ada', true), ('bob', true) RETURNING sub, username`,
  );
}

test('in 20 rounds in which two administrators are demoted, disabled or deleted at once, on two instances, one stays (security R91)', async () => {
  for (let round = 0; round < 20; round++) {
    const [ada, bob] = await two();
    const answers = await Promise.all([
      send(0, ada!.sub, demotions[round % 3]),
      send(1, bob!.sub, demotions[Math.floor(round / 3) % 3]),
    ]);
    const statuses = answers.map(({ status }) => status).sort();
    expect([statuses[0]! < 300, statuses[1]], `round ${round}`).toEqual([true, 409]);
    expect(await administrators(), `round ${round}`).toBe(1);
  }
});

test('a demotion waits for a concurrent demotion that is not committed yet (security R91)', async () => {
  const [ada, bob] = await two();
  let demotion: ReturnType<typeof send> | undefined;
  await service.store.transaction(async ({ users }) => {
    await users.update(ada!.sub, { admin: false });
    demotion = send(1, bob!.sub, { admin: false });
    const waiting = `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM users%'`;
    await expect.poll(async () => (await service.database.sql<{ count: number }>(waiting))[0]!.count).toBe(1);
  });
  expect(await demotion).toMatchObject({ status: 409, body: { error: 'conflict' } });
  expect(await administrators()).toBe(1);
});

test('two commands at once leave one administrator, and the other command says why (security R91)', async () => {
  const users = await two();
  const finished = await Promise.all(users.map(({ username }) => runCommand(service, ['user', 'disable', username])));
  expect(finished.map(({ code }) => code).sort()).toEqual([0, 1]);
  expect(finished.find(({ code }) => code === 1)!.stderr).toContain('last enabled administrator');
  expect(await administrators()).toBe(1);
});

test('two administrators who sign in only with passkeys do not both lose them, at once or in turn (security R91)', async () => {
  const users = await two();
  await service.database.sql(
    `INSERT INTO passkey_users SELECT sub, sha256(convert_to(sub, 'UTF8')) || sha256('') FROM users;
     INSERT INTO passkeys (id, credential_id, sub, public_key, sign_count, transports, aaguid, backup_eligible, backed_up, name)
       SELECT 'of-' || username, sha256(convert_to(username, 'UTF8')), sub, '', 0, '{}', '00000000-0000-0000-0000-000000000000', false, false, '' FROM users`,
  );
  const remove = (n: number) =>
    call(`${service.instances[n]}/admin/api/users/${users[n]!.sub}/second-factors`, { method: 'DELETE', token });
  const answers = await Promise.all([remove(0), remove(1)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 409]);
  const last = answers.findIndex(({ status }) => status === 409);
  const again = await runCommand(service, ['user', 'remove-second-factor', users[last]!.username]);
  expect([again.code, again.stderr]).toEqual([
    1,
    expect.stringContaining('the only way for the last administrator to sign in'),
  ]);
  await service.database.sql(`UPDATE users SET password_hash = 'x' WHERE sub = $1`, [users[1 - last]!.sub]);
  expect((await remove(last)).status).toBe(204);
});
