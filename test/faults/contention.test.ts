// Makes statements lose against others: a trigger of the test lets PostgreSQL fail them as often as the test wants.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, call } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService();
  token = await adminToken(service);
  // a rollback does not take back the value of a sequence, so the sequence counts the attempts
  await service.database.sql(`CREATE SEQUENCE lost_attempts`);
  await service.database.sql(`CREATE TABLE losing (code text, attempts int)`);
  await service.database.sql(`INSERT INTO losing VALUES ('40001', 0)`);
  await service.database.sql(`
    CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE rule losing;
      BEGIN
        SELECT * INTO rule FROM losing;
        IF nextval('lost_attempts') <= rule.attempts THEN RAISE 'lost by force' USING ERRCODE = rule.code; END IF;
        RETURN NEW;
      END $$`);
  await service.database.sql('CREATE TRIGGER lose BEFORE INSERT ON access_tokens FOR EACH ROW EXECUTE FUNCTION lose()');
  await service.database.sql('CREATE TRIGGER lose BEFORE UPDATE ON clients FOR EACH ROW EXECUTE FUNCTION lose()');
});
afterAll(() => service?.stop());

/** Lets the first attempts fail with this SQLSTATE. */
async function loseFirst(attempts: number, code: string): Promise<void> {
  await service.database.sql(`UPDATE losing SET code = $1, attempts = $2`, [code, attempts]);
  await service.database.sql(`ALTER SEQUENCE lost_attempts RESTART`);
}

/** The number of attempts. */
async function attempts(): Promise<number> {
  const [row] = await service.database.sql<{ count: number }>('SELECT last_value::int AS count FROM lost_attempts');
  return row!.count;
}

async function newClient(): Promise<TestClient> {
  await loseFirst(0, '40001');
  return service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
}

test.each(['40001', '40P01'])(
  'a statement that loses by %s three times is retried, and succeeds (security R110, F12)',
  async (code) => {
    const client = await newClient();
    await loseFirst(3, code);
    const answer = await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' });
    expect(answer).toMatchObject({ status: 200, body: { token_type: 'Bearer' } });
    expect(await attempts()).toBe(4);
  },
);

test.each(['40001', '40P01'])(
  'a statement that loses by %s forever is answered with 503 after three retries, never with 500 (security R110, F12)',
  async (code) => {
    const client = await newClient();
    await loseFirst(1000, code);
    const answer = await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' });
    expect(answer).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await attempts()).toBe(4);
  },
);

test('when one of several batched requests loses, the others succeed (security R110, F12)', async () => {
  const client = await newClient();
  const ask = () => tokenRequest(service.issuer, client, { grant_type: 'client_credentials' });
  // so that its connections have prepared the statement, and send it together with others
  await Promise.all(Array.from({ length: 8 }, ask));
  await loseFirst(3, '40001');
  const answers = await Promise.all(Array.from({ length: 64 }, ask));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const tokens = await service.database.sql('SELECT 1 FROM access_tokens WHERE client_id = $1', [client.clientId]);
  expect(tokens).toHaveLength(8 + 64);
});

test('a transaction that loses is rolled back as a whole, and retried as a whole (security R110, F12)', async () => {
  const { clientId } = await newClient();
  const disable = () => call(`${service.issuer}/admin/api/clients/${clientId}/disable`, { token, body: {} });
  const events = async () =>
    (
      await service.database.sql(`SELECT 1 FROM audit_events WHERE client_id = $1 AND type = 'client.disabled'`, [
        clientId,
      ])
    ).length;
  await loseFirst(1000, '40P01');
  expect(await disable()).toMatchObject({ status: 503 });
  expect(await events()).toBe(0);
  await loseFirst(2, '40P01');
  expect(await disable()).toMatchObject({ status: 200, body: { status: 'disabled' } });
  expect(await events()).toBe(1);
});
