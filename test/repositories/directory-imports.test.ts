// Tests the lease of an import: one run at a time, which another instance takes over when it does not go on.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  // without CONNECTIONS_ALLOW the service itself runs no imports
  service = await startTestService();
  await service.database.sql(
    `INSERT INTO connections (id, kind, display_name, status, settings) VALUES
       ('due', 'ldap', 'Due', 'enabled', '{"import": 60}'),
       ('off', 'ldap', 'Off', 'enabled', '{"import": "off"}'),
       ('closed', 'ldap', 'Closed', 'disabled', '{"import": 60}'),
       ('other', 'oidc', 'Other', 'enabled', '{"import": 60}')`,
  );
});
afterAll(() => service?.stop());

const imports = () => service.store.directoryImports;
const claims = (count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => imports().claim(`run ${index}`)));
const result = { state: 'done' as const, counts: { found: 1 }, full: true };

test('one of many instances gets an import that is due, and no instance gets one that is off or whose connection is disabled (federation 6)', async () => {
  const got = (await claims(20)).flatMap((one) => one ?? []);
  expect(got.map(({ connectionId }) => connectionId)).toEqual(['due']);
  expect(got[0]).toMatchObject({ running: true, state: 'new', mark: undefined });
  const [{ holder }] = (await service.database.sql<{ holder: string }>('SELECT holder FROM directory_imports')) as [
    { holder: string },
  ];
  expect(await imports().extend('due', holder)).toBe(true);
  expect(await imports().extend('due', 'another run')).toBe(false);
  expect(await imports().finish('due', 'another run', result)).toBe(false);
  expect(await imports().finish('due', holder, { ...result, mark: ' 1' })).toBe(true);
  // it is due again when its minutes are over, or an administrator asks
  expect((await claims(2)).every((one) => one === undefined)).toBe(true);
  await imports().request('due', false);
  expect((await claims(5)).filter((one) => one !== undefined)).toHaveLength(1);
});

test('a run ends when an administrator disables the connection or turns its import off, and starts again afterwards (federation FR5, FR16)', async () => {
  await service.database.sql(`UPDATE directory_imports SET holder = NULL, held_until = '-infinity'`);
  for (const [off, on] of [
    [`status = 'disabled'`, `status = 'enabled'`],
    [`settings = '{"import": "off"}'`, `settings = '{"import": 60}'`],
  ]) {
    await imports().request('due', false);
    const run = (await imports().claim('stopped'))!;
    expect(run.connectionId).toBe('due');
    expect(await imports().extend('due', 'stopped')).toBe(true);
    await service.database.sql(`UPDATE connections SET ${off} WHERE id = 'due'`);
    expect(await imports().extend('due', 'stopped')).toBe(false);
    await imports().release('due', 'stopped');
    expect(await imports().claim('another')).toBeUndefined();
    await service.database.sql(`UPDATE connections SET ${on} WHERE id = 'due'`);
    expect((await imports().claim('another'))?.connectionId).toBe('due');
    expect(await imports().finish('due', 'another', result)).toBe(true);
  }
});

test('another instance takes over a run that has stopped, which can then no longer store its result (federation 6)', async () => {
  await service.database.sql(
    `UPDATE directory_imports SET holder = 'lost', held_until = now() - interval '1 second', requested_at = now()`,
  );
  expect((await claims(5)).filter((one) => one !== undefined)).toHaveLength(1);
  expect(await imports().extend('due', 'lost')).toBe(false);
  expect(await imports().finish('due', 'lost', result)).toBe(false);
});
