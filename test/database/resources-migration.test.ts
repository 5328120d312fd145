// The former migration of resources turned the resource_uris of clients into rows, as an approval does from then on.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formerMigration } from '../helpers/former-database.ts';
import { call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, REGISTRATION_APPROVAL: 'automatic' } });
});
afterAll(() => service?.stop());

/** The last INSERT of the migration, which runs once where clients exist already. */
const conversion = /^INSERT INTO resources \(.*?;$/gms.exec(formerMigration('0132_resources'))![0];
const rows = () =>
  service.database.sql('SELECT resource, name, client_id, registered, clients FROM resources ORDER BY resource');

test('an upgrade gives each resource to the enabled client that held it: the earlier one of two (RFC 8707 2, decisions section 2)', async () => {
  const holder = await service.createClient({
    client_name: 'Boats',
    resource_uris: ['https://boats.example', 'https://piers.example/'],
  });
  // registered without an approval, so that it is not refused
  const later = await call(`${service.issuer}/register`, {
    body: { redirect_uris: ['https://rp.example/cb'], resource_uris: ['HTTPS://boats.example:443/'] },
  });
  expect(later).toMatchObject({ status: 201, body: { status: 'enabled' } });
  await service.createClient({ resource_uris: ['https://waits.example'] }, { status: 'disabled' });
  const before = await rows();
  await service.database.sql('DELETE FROM resources');
  await service.database.sql(conversion);
  const row = { name: 'Boats', client_id: holder.clientId, registered: true, clients: 'approved' };
  expect(before).toEqual([
    { resource: 'https://boats.example', ...row },
    { resource: 'https://piers.example/', ...row },
  ]);
  expect(await rows()).toEqual(before);
});
