// Polls and decides many times at once, on two instances over one database: only a race shows these faults.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allowPolls, decide, deviceCodes, deviceMetadata, poll } from '../helpers/device.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, DEVICE_GRANT: 'on' } });
  client = await service.createClient(deviceMetadata);
  agent = new UserAgent(service);
  await agent.signIn(await service.createUser());
});
afterAll(() => service?.stop());

const instance = (index: number) => service.instances[index % 2]!;
const rounds = 20;
const count = async (table: string) =>
  Number((await service.database.sql<{ n: string }>(`SELECT count(*) AS n FROM ${table}`))[0]!.n);

test('50 polls at once of an approved request give one set of tokens, in each of 20 rounds (RFC 8628 3.5, protocols P65)', async () => {
  for (let round = 0; round < rounds; round++) {
    const codes = await deviceCodes(service.issuer, client);
    await decide(agent, codes);
    const before = [await count('access_tokens'), await count('refresh_tokens')];
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => poll(instance(index), client, codes)));
    const errors = answers.filter(({ status }) => status !== 200).map(({ status, body }) => [status, body['error']]);
    expect(errors).toEqual(Array(49).fill([400, 'invalid_grant']));
    expect([await count('access_tokens'), await count('refresh_tokens')]).toEqual(before.map((n) => n + 1));
  }
});

test('polls that race with the approval get authorization_pending, slow_down or the tokens, and the tokens once (RFC 8628 3.5, protocols P65)', async () => {
  for (let round = 0; round < rounds; round++) {
    const codes = await deviceCodes(service.issuer, client);
    const page = await agent.get(codes.verification_uri_complete);
    const form = { ...hiddenFields(page.body), decision: 'allow' };
    const [decided, ...answers] = await Promise.all([
      agent.post('/device', form),
      ...Array.from({ length: 10 }, (_, index) => poll(instance(index), client, codes)),
    ]);
    expect(decided.status).toBe(200);
    await allowPolls(service);
    answers.push(await poll(service.issuer, client, codes));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, body } of answers)
      if (status !== 200) expect(body['error']).toBeOneOf(['authorization_pending', 'slow_down', 'invalid_grant']);
  }
});

test('of decisions at once the first counts: its form says so again, and the page says that the others found no request (RFC 8628 3.3, reports A4)', async () => {
  for (let round = 0; round < rounds; round++) {
    const codes = await deviceCodes(service.issuer, client);
    const form = hiddenFields((await agent.get(codes.verification_uri_complete)).body);
    const pages = await Promise.all(
      ['allow', 'deny', 'allow', 'deny'].map((decision) => agent.post('/device', { ...form, decision })),
    );
    const allowed = pages.find(({ status }) => status === 200)!.body.includes('is connected');
    expect(pages.map(({ status }) => status)).toEqual(allowed ? [200, 409, 200, 409] : [409, 200, 409, 200]);
    expect((await poll(service.issuer, client, codes)).status).toBe(allowed ? 200 : 400);
  }
});

test('requests at once leave no client with more than its limit (RFC 8628 5.1)', async () => {
  await service.database.sql('DELETE FROM device_authorizations');
  const open = await service.createClient({ ...deviceMetadata, token_endpoint_auth_method: 'none' });
  const requests = Array.from({ length: 120 }, (_, index) =>
    deviceCodes(instance(index), open).then(
      () => 'stored',
      () => 'full',
    ),
  );
  const outcomes = await Promise.all(requests);
  expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(100);
});
