// Asks, decides, polls and changes what a backchannel request depends on at once, on two instances over one database: only a race shows these faults.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allowPolls, answer, askUser, cibaMetadata, grantSomething, poll, shownRequests } from '../helpers/ciba.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, CIBA: 'on', LIMIT_CIBA_REQUESTS: '0' },
  });
  client = await service.createClient(cibaMetadata);
});
afterAll(() => service?.stop());

const instance = (index: number) => service.instances[index % 2]!;
const rounds = 10;
const count = async (table: string) =>
  Number((await service.database.sql<{ n: string }>(`SELECT count(*) AS n FROM ${table}`))[0]!.n);
const sql = (text: string, values: unknown[]) => service.database.sql(text, values);

/** A user who has granted a client something, with a request that waits. */
async function waiting(of = client): Promise<{ user: TestUser; id: string }> {
  const user = await service.createUser();
  await grantSomething(service, of, user.sub);
  return { user, id: await ask(user, of) };
}
async function ask(user: TestUser, of = client): Promise<string> {
  const { body } = await askUser(service.issuer, of, { login_hint: user.username, scope: 'openid offline_access' });
  return String(body['auth_req_id']);
}
async function signedIn(as: TestUser): Promise<UserAgent> {
  const browser = new UserAgent(service);
  await browser.signIn(as);
  return browser;
}

test('50 polls at once of an approved request give one set of tokens, in each of 10 rounds (OpenID Connect CIBA 11, security R133)', async () => {
  for (let round = 0; round < rounds; round++) {
    const { user, id } = await waiting();
    await answer(await signedIn(user));
    const before = [await count('access_tokens'), await count('refresh_tokens')];
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => poll(instance(index), client, id)));
    const errors = answers.filter(({ status }) => status !== 200).map(({ status, body }) => [status, body['error']]);
    expect(errors).toEqual(Array(49).fill([400, 'invalid_grant']));
    expect([await count('access_tokens'), await count('refresh_tokens')]).toEqual(before.map((n) => n + 1));
  }
});

test('polls that race with the approval get authorization_pending, slow_down or the tokens, and the tokens once (OpenID Connect CIBA 11)', async () => {
  for (let round = 0; round < rounds; round++) {
    const { user, id } = await waiting();
    const agent = await signedIn(user);
    const page = await agent.get('/account/requests');
    const form = { csrf: hiddenFields(page.body)['csrf']!, request: shownRequests(page)[0]!, decision: 'allow' };
    const [decided, ...answers] = await Promise.all([
      agent.post('/account/requests', form),
      ...Array.from({ length: 10 }, (_, index) => poll(instance(index), client, id)),
    ]);
    expect(decided.location).toContain('done=request-allowed');
    await allowPolls(service);
    answers.push(await poll(service.issuer, client, id));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, body } of answers)
      if (status !== 200) expect(body['error']).toBeOneOf(['authorization_pending', 'slow_down', 'invalid_grant']);
  }
});

test('of two approvals at once by one sign-in only one counts (security R143)', async () => {
  for (let round = 0; round < rounds; round++) {
    const { user, id } = await waiting();
    const ids = [id, await ask(user)];
    const agent = await signedIn(user);
    const page = await agent.get('/account/requests');
    const csrf = hiddenFields(page.body)['csrf']!;
    const pages = await Promise.all(
      shownRequests(page).map((request) => agent.post('/account/requests', { csrf, request, decision: 'allow' })),
    );
    expect(pages.filter(({ location }) => location?.includes('done=request-allowed'))).toHaveLength(1);
    const answers = await Promise.all(ids.map((one, index) => poll(instance(index), client, one)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400]);
  }
});

test('40 requests at once for one user leave three (security R144)', async () => {
  const user = await service.createUser();
  await grantSomething(service, client, user.sub);
  const asked = Array.from({ length: 40 }, (_, index) =>
    askUser(instance(index), client, { login_hint: user.username }),
  );
  const answers = await Promise.all(asked);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
});

/** Each with what a poll gets if it comes before the user answers: the approval gives a withdrawn consent again. */
const changes: [string, (sub: string, clientId: string) => Promise<unknown>, number][] = [
  ['the user is disabled', (sub) => sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [sub]), 400],
  ['the client is disabled', (_, id) => sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [id]), 400],
  ['the consent is withdrawn', (sub) => sql('DELETE FROM grants WHERE sub = $1', [sub]), 200],
];

test.each(changes)(
  'once %s after the request or after the approval, nothing is issued by it, though user and client come back (security R133)',
  async (_, change, beforeAnswer) => {
    for (const step of ['asked', 'approved'] as const) {
      const of = await service.createClient(cibaMetadata);
      const { user, id } = await waiting(of);
      const agent = await signedIn(user);
      if (step === 'approved') await answer(agent);
      await change(user.sub, of.clientId);
      if (step === 'asked') await answer(agent);
      const before = await count('access_tokens');
      await sql(`UPDATE users SET status = 'enabled' WHERE sub = $1`, [user.sub]);
      await sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [of.clientId]);
      await allowPolls(service);
      const status = step === 'asked' ? beforeAnswer : 400;
      expect([step, (await poll(service.issuer, of, id)).status]).toEqual([step, status]);
      expect(await count('access_tokens')).toBe(before + (status === 200 ? 1 : 0));
    }
  },
);

test('disabling that races with the polls ends every token that was issued before it (security R133)', async () => {
  for (let round = 0; round < rounds; round++) {
    const { user, id } = await waiting();
    await answer(await signedIn(user));
    await Promise.all([
      sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [user.sub]),
      ...Array.from({ length: 10 }, (_, index) => poll(instance(index), client, id)),
    ]);
    const left = await sql(
      `SELECT 1 FROM access_tokens a JOIN client_sessions c ON c.id = a.client_session_id WHERE c.sub = $1`,
      [user.sub],
    );
    expect(left).toEqual([]);
  }
});
