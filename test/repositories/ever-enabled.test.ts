// Tests that clients.ever_enabled is right for every writer of the row: a route, plain SQL, or an instance of the previous version.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, approveClient, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
});
afterAll(() => service?.stop());

const sql = (text: string, ...values: unknown[]) => service.database.sql(text, values);
const setStatus = (clientId: string, status: string) =>
  sql('UPDATE clients SET status = $2 WHERE client_id = $1', clientId, status);
const register = async (metadata: Record<string, unknown> = {}) => {
  const body = { redirect_uris: ['https://rp.example.com/callback'], ...metadata };
  return ((await call(`${service.issuer}/register`, { method: 'POST', body })).body as { client_id: string }).client_id;
};
const everEnabled = async (clientId: string): Promise<unknown> => {
  const [row] = await sql('SELECT ever_enabled FROM clients WHERE client_id = $1', clientId);
  return row!['ever_enabled'];
};
/** A row as an instance of the previous version inserts it: without the column. */
const insert = async (clientId: string, status: string, approvedBy: string | null, uncollected = false) => {
  const columns = 'metadata, client_secret_hash, shared_secret_encrypted';
  await sql(
    `INSERT INTO clients (client_id, status, approved_by, uncollected, ${columns})
     SELECT $1, $2, $3, $4, ${columns} FROM clients LIMIT 1`,
    clientId,
    status,
    approvedBy,
    uncollected,
  );
};

test('a registration counts as ever enabled from its first approval, and stays so when it is disabled (decisions section 2)', async () => {
  const bySql = await register();
  expect(await everEnabled(bySql)).toBe(false);
  await sql(`UPDATE clients SET metadata = metadata || '{"client_name": "x"}' WHERE client_id = $1`, bySql);
  await setStatus(bySql, 'disabled');
  expect(await everEnabled(bySql)).toBe(false);
  await setStatus(bySql, 'enabled');
  expect(await everEnabled(bySql)).toBe(true);
  await setStatus(bySql, 'disabled');
  await sql('UPDATE clients SET ever_enabled = false WHERE client_id = $1', bySql);
  expect(await everEnabled(bySql)).toBe(true);

  const byRoute = await register();
  await approveClient(service.issuer, await adminToken(service), byRoute);
  expect(await everEnabled(byRoute)).toBe(true);
});

test('a row that is inserted as enabled was ever enabled; one that is approved but disabled, or not collected, was not (decisions section 2)', async () => {
  await register();
  await insert('enabled', 'enabled', null);
  await insert('created-disabled', 'disabled', 'administrator');
  await insert('waits-for-collection', 'disabled', null, true);
  await setStatus('waits-for-collection', 'enabled');
  expect(await everEnabled('enabled')).toBe(true);
  expect(await everEnabled('created-disabled')).toBe(false);
  expect(await everEnabled('waits-for-collection')).toBe(false);
});
