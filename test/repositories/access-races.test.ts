// Tests the very moment at which a user loses a client: a response that began before it, and is stored after it, ends as well.
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { adminToken, call, eventually, redeem, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

let client: TestClient;
let user: TestUser;
/** Is signed in, and has used no client. */
let agent: UserAgent;
/** A transaction that others wait for. */
let holder: pg.Client;
beforeEach(async () => {
  client = await service.createClient({}, { firstParty: true });
  expect((await admits(client, 'staff')).status).toBe(200);
  user = await service.createUser({ groups: ['staff'] });
  agent = new UserAgent(service);
  await agent.signIn(user);
  holder = new pg.Client(service.database.connection);
  await holder.connect();
  await holder.query('BEGIN');
});
afterEach(() => holder.end());

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  service.database.sql<Row>(text, values);
const admits = ({ clientId }: TestClient, group: string) =>
  call(`${service.issuer}/admin/api/clients/${clientId}`, {
    token,
    method: 'PATCH',
    body: { access: 'groups', access_groups: [group] },
  });
const belongsTo = (...groups: string[]) => sql('UPDATE users SET groups = $2 WHERE sub = $1', [user.sub, groups]);
const orders = () => sql<{ attempts: number }>(`SELECT attempts FROM outbox WHERE channel = 'access'`);
const waits = async (name: string) => {
  const found = await sql(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`,
    [`%${name}%`],
  );
  return found.length > 0;
};

/** Nothing is left, also for a user who has access again. */
async function expectEnd(page: Page): Promise<void> {
  await eventually(orders, (rows) => rows.length === 0);
  const left = await sql(
    `SELECT 'client session' AS kind FROM client_sessions WHERE client_id = $1
     UNION ALL SELECT 'part in a session' FROM session_clients WHERE client_id = $1`,
    [client.clientId],
  );
  expect(left).toEqual([]);
  await belongsTo('staff');
  await admits(client, 'staff');
  const { code } = page.location === undefined ? {} : responseParameters(page);
  if (code !== undefined)
    expect(await redeem(service.issuer, client, code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
}

test.each<[string, () => Promise<unknown>]>([
  ['the user leaves the group', () => belongsTo()],
  ['the client admits another group', () => admits(client, 'ops')],
])('a first response that is stored after %s ends, too (security R133, federation FR42)', async (_what, lose) => {
  // the response has seen the old groups when it comes to this row
  await holder.query(`INSERT INTO session_clients (session_id, client_id) SELECT id, $1 FROM sessions WHERE sub = $2`, [
    client.clientId,
    user.sub,
  ]);
  const answer = agent.get(authorizationUrl(service.issuer, client));
  await eventually(
    () => waits('issue_code'),
    (waiting) => waiting,
  );
  await lose();
  // the statement waits for two seconds and a half at most
  await eventually(orders, (rows) => rows.every(({ attempts }) => attempts > 0)).catch(() => undefined);
  await holder.query('ROLLBACK');
  const page = await answer;
  // a busy machine may have begun it again, when it sees the change and refuses
  if (page.location === undefined) expect([409, 503]).toContain(page.status);
  else expect(responseParameters(page)).toHaveProperty('code');
  await expectEnd(page);
});

test('a first grant that is given while the user leaves the group is found by the end of the access (security R133, federation FR42)', async () => {
  await holder.query(`UPDATE users SET groups = '{}' WHERE sub = $1`, [user.sub]);
  let page: Page | undefined;
  const answer = agent.get(authorizationUrl(service.issuer, client)).then((got) => (page = got));
  await eventually(
    async () => page !== undefined || (await waits('add_to_grant')),
    (goesOn) => goesOn,
  );
  await holder.query('COMMIT');
  await answer;
  expect(page!.status).toBeLessThan(500);
  await expectEnd(page!);
});
