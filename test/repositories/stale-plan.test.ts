// Tests that a migration of the next version does not fail the previous one, which still serves with its prepared statements.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

test('a column that is added while prepared statements live fails no request (decisions section 8)', async () => {
  const user = await service.createUser();
  const read = () => service.store.users.find(user.sub);
  const readInTransaction = () => service.store.transaction((store) => store.users.find(user.sub));
  await Promise.all(Array.from({ length: 8 }, read));
  await Promise.all(Array.from({ length: 8 }, readInTransaction));
  await service.database.sql('ALTER TABLE users ADD COLUMN added_later text');
  const found = await Promise.all([
    ...Array.from({ length: 8 }, read),
    ...Array.from({ length: 8 }, readInTransaction),
  ]);
  expect(found.map((row) => row?.sub)).toEqual(Array(16).fill(user.sub));
});
