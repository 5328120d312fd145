// Restores a database from a backup: tokens spent and revoked since then are live again until the operator ends them.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { obtainTokens, refresh, userinfo } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const issued = ['sessions', 'client_sessions', 'session_clients', 'access_tokens', 'refresh_tokens'];
/** The commands of the operator's guide. */
const documented = /psql "[^"]+" -c "(TRUNCATE [^"]+)"/.exec(
  readFileSync(new URL('../../docs/operator.md', import.meta.url), 'utf8'),
)!;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

async function backUp(): Promise<void> {
  await service.database.sql('CREATE SCHEMA backup');
  for (const table of issued) await service.database.sql(`CREATE TABLE backup.${table} AS TABLE ${table}`);
}

async function restore(): Promise<void> {
  for (const table of issued.toReversed()) await service.database.sql(`DELETE FROM ${table}`);
  for (const table of issued)
    await service.database.sql(`INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM backup.${table}`);
}

test('after a restored backup and the commands of the guide, spent tokens are dead and users sign in again (security F16)', async () => {
  const client = await service.createClient();
  const user = await service.createUser();
  const agent = new UserAgent(service);
  const first = await obtainTokens(service, client, user, {}, agent);
  await backUp();
  const second = (await refresh(service.issuer, client, first.refresh_token)).body;
  await restore();
  // a token issued after the backup is unknown now: never silently live
  expect(await refresh(service.issuer, client, second['refresh_token'] as string)).toMatchObject({
    status: 400,
    body: { error: 'invalid_grant' },
  });
  // a token spent after the backup would be live again
  expect(await userinfo(service.issuer, first.access_token)).toMatchObject({ status: 200 });
  await service.database.sql(documented[1]!);

  expect(await refresh(service.issuer, client, first.refresh_token)).toMatchObject({
    status: 400,
    body: { error: 'invalid_grant' },
  });
  expect(await userinfo(service.issuer, first.access_token)).toMatchObject({ status: 401 });
  expect((await agent.get('/account')).status).toBe(303);
  // the documented remedy: one sign-in, and no consent, since the grant was restored too
  const third = await obtainTokens(service, client, user, {}, agent);
  expect(await userinfo(service.issuer, third.access_token)).toMatchObject({ status: 200 });
});
