// Administrators list and withdraw the grants of a user, by admin route and by command line.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, type Answer, call, obtainTokens, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let administrator: string;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
  const [row] = await service.database.sql<{ client_id: string }>(`SELECT max(client_id) AS client_id FROM clients`);
  administrator = row!.client_id;
});
afterAll(() => service?.stop());

const admin = (path: string, method = 'GET', base = service.issuer): Promise<Answer> =>
  call(`${base}/admin/api${path}`, { method, token });

/** Creates a user who granted `count` clients what they requested, with the tokens of each client. */
async function createUserWithGrants(count = 1) {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  const clients = [];
  for (let each = 0; each < count; each++) {
    const client = await service.createClient({ client_name: `Harbour ${each}` });
    const tokens = await obtainTokens(service, client, user, { scope: 'openid email' }, agent);
    clients.push({ client, tokens });
  }
  return { user, agent, clients };
}

const withdrawals = (sub: string) =>
  service.database.sql(
    `SELECT actor, client_id FROM audit_events WHERE type = 'consent.withdrawn' AND sub = $1 ORDER BY id`,
    [sub],
  );

test('the grants of a user are listed completely, newest first, page by page (decisions section 8)', async () => {
  const { user, clients } = await createUserWithGrants(5);
  // rows with equal times must not be lost between two pages
  await service.database.sql(`UPDATE grants SET created_at = date_trunc('second', created_at)`);
  const path = `/users/${user.sub}/grants`;
  const whole = (await admin(path)).body['grants'] as Record<string, string>[];
  expect(new Set(whole.map((grant) => grant['client_id']))).toEqual(
    new Set(clients.map(({ client }) => client.clientId)),
  );
  expect(whole[0]).toEqual({
    client_id: expect.any(String),
    client_name: expect.stringMatching(/^Harbour \d$/),
    scope: expect.stringMatching(/^(openid email|email openid)$/),
    claims: [],
    created_at: expect.stringMatching(/Z$/),
  });
  const found: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = await admin(`${path}?limit=2${cursor === undefined ? '' : `&cursor=${cursor}`}`);
    found.push(...(page.body['grants'] as unknown[]));
    cursor = page.body['next_cursor'] as string | undefined;
  } while (cursor !== undefined);
  expect(found).toEqual(whole);
  const times = whole.map((grant) => grant['created_at']!);
  expect(times).toEqual([...times].sort().reverse());
});

test("withdrawing a grant revokes its tokens at once on every instance, and the client's next request needs consent again (decisions section 3)", async () => {
  const { user, agent, clients } = await createUserWithGrants(2);
  const [first, other] = [clients[0]!, clients[1]!];
  const { clientId } = first.client;
  expect((await admin(`/users/${user.sub}/grants/${clientId}`, 'DELETE')).status).toBe(204);
  const elsewhere = service.instances[1]!;
  expect((await userinfo(elsewhere, first.tokens.access_token)).status).toBe(401);
  expect((await refresh(elsewhere, first.client, first.tokens.refresh_token)).body['error']).toBe('invalid_grant');
  expect((await userinfo(elsewhere, other.tokens.access_token)).status).toBe(200);
  const left = (await admin(`/users/${user.sub}/grants`, 'GET', elsewhere)).body['grants'] as { client_id: string }[];
  expect(left.map((grant) => grant.client_id)).toEqual([other.client.clientId]);
  const page = await agent.authorize(first.client, undefined, { prompt: 'none', scope: 'openid email' });
  expect(page.location).toContain('error=consent_required');
  expect(await withdrawals(user.sub)).toEqual([{ actor: administrator, client_id: clientId }]);
});

test('withdrawing an unknown grant, or one of an unknown user or client, answers 404 and writes no event (decisions section 7)', async () => {
  const { user } = await createUserWithGrants();
  const { clientId } = await service.createClient();
  for (const [path, method] of [
    ['/users/nobody/grants', 'GET'],
    [`/users/${user.sub}/grants/${clientId}`, 'DELETE'],
    [`/users/${user.sub}/grants/nobody`, 'DELETE'],
    [`/users/nobody/grants/${clientId}`, 'DELETE'],
  ] as const)
    expect(await admin(path, method), path).toMatchObject({ status: 404, body: { error: 'not_found' } });
  expect(await withdrawals(user.sub)).toEqual([]);
});

test('the command line lists and withdraws grants (decisions section 3)', async () => {
  const { user, clients } = await createUserWithGrants();
  const { client, tokens } = clients[0]!;
  const run = async (...args: string[]) => (await runCommand(service, ['grant', ...args])).stdout;
  expect(JSON.parse(await run('list', user.username, '--json'))).toEqual(
    (await admin(`/users/${user.sub}/grants`)).body['grants'],
  );
  expect(await run('list', user.username)).toContain(client.clientId);
  expect(await run('withdraw', user.username, client.clientId)).toMatch(/^Revoked the grant/);
  expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
  expect(await withdrawals(user.sub)).toEqual([{ actor: 'command line', client_id: client.clientId }]);
  const again = await runCommand(service, ['grant', 'withdraw', user.username, client.clientId]);
  expect([again.code, again.stderr]).toEqual([1, 'There is no such grant.\n']);
});
