// A session from before the user set up a second factor has fewer rights.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

test('a new password does not renew a session that lacks the second factor which the user has now (security R52, R91)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.signIn(user);
  await service.database.sql(
    `INSERT INTO authenticators (id, sub, name, secret_encrypted, last_step) VALUES ('a', $1, 'Telephone', decode(repeat('03', 16), 'hex'), 1)`,
    [user.sub],
  );

  const before = await service.database.sql('SELECT auth_time, amr FROM sessions WHERE sub = $1', [user.sub]);
  const form = hiddenFields((await agent.get('/account/password')).body);
  await agent.post('/account/password', {
    ...form,
    current_password: user.password,
    new_password: 'x9 y8 z7 w6 v5 u4',
  });
  expect((await agent.get('/account')).status).toBe(200);
  expect(await service.database.sql('SELECT auth_time, amr FROM sessions WHERE sub = $1', [user.sub])).toEqual(before);
});
