// Attacks the device authorization grant: phishing by links, pages that skip themselves, floods of polls, and secrets in logs.
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  allowPolls,
  askForCodes,
  decide,
  deviceCodes,
  type DeviceCodes,
  deviceMetadata,
  poll,
} from '../helpers/device.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
let user: TestUser;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, DEVICE_GRANT: 'on', LIMIT_USER_CODES: '0' },
  });
  client = await service.createClient(deviceMetadata);
  user = await service.createUser();
  agent = new UserAgent(service);
  await agent.signIn(user);
});
afterAll(() => service?.stop());

const codes = (of = client) => deviceCodes(service.issuer, of);
const errorOf = async (given: DeviceCodes, of = client) => {
  await allowPolls(service);
  return (await poll(service.issuer, of, given)).body['error'];
};

test('One-click phishing: a signed-in user who opens the link sees the whole page, and nothing is decided by it, by a foreign site, in a frame or by a prefetch (RFC 8628 5.4, 3.3.1, Storm-2372, protocols P62)', async () => {
  const given = await codes();
  const page = await agent.get(given.verification_uri_complete);
  expect(page.status).toBe(200);
  for (const text of [given.user_code, 'Living Room TV', 'Only continue if you started this yourself', 'id="allow"'])
    expect(page.body).toContain(text);
  // the one script of the page sends a form once: it presses no button
  expect(page.body.match(/<script[^>]*>[^<]*/g)).toEqual([
    expect.stringMatching(/^<script src="\/assets\/once\.[0-9a-f]+\.js" defer>$/),
  ]);
  expect(page.headers.get('content-security-policy')).toContain(`frame-ancestors 'none'`);
  expect(page.headers.get('content-security-policy')).toContain(`form-action 'self';`);
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  expect(await errorOf(given)).toBe('authorization_pending');
  const form: Record<string, string> = { ...hiddenFields(page.body), decision: 'allow' };
  for (const [name, value] of [
    ['sec-fetch-site', 'cross-site'],
    ['origin', 'https://evil.example'],
  ] as const)
    expect((await agent.post('/device', form, { [name]: value })).status).toBe(403);
  expect((await agent.get(given.verification_uri_complete, { 'sec-fetch-dest': 'iframe' })).status).toBe(403);
  expect((await agent.get(given.verification_uri_complete, { 'sec-purpose': 'prefetch' })).status).toBe(403);
  expect((await agent.get(`/device?user_code=${given.user_code}&decision=allow&csrf=${form['csrf']}`)).status).toBe(
    200,
  );
  expect(await errorOf(given)).toBe('authorization_pending');
});

test('Skipped page: it is shown to a first-party client, after remembered consent and with a sign-in of seconds ago (draft-ietf-oauth-cross-device-security, security R143, protocols P63)', async () => {
  const own = await service.createClient(
    {
      ...deviceMetadata,
      redirect_uris: ['https://tv.example.com/'],
      grant_types: ['authorization_code', ...deviceMetadata.grant_types],
      response_types: ['code'],
    },
    { firstParty: true },
  );
  await agent.authorize(own, user, { scope: deviceMetadata.scope });
  await decide(agent, await codes(own));
  const again = await codes(own);
  const page = await agent.get(again.verification_uri_complete);
  expect(page.status).toBe(200);
  expect(page.body).toContain('id="allow"');
  expect(await errorOf(again, own)).toBe('authorization_pending');
});

test('Poll storm: early polls, polls of another client, and polls after the tokens and after the end get their errors (RFC 8628 3.5, security R143, protocols P65)', async () => {
  const given = await codes();
  const other = await service.createClient(deviceMetadata);
  const errors = [];
  for (let times = 0; times < 5; times++)
    errors.push((await poll(service.instances[times % 2]!, client, given)).body['error']);
  expect(errors).toEqual(['authorization_pending', ...Array(4).fill('slow_down')]);
  expect(await errorOf(given, other)).toBe('invalid_grant');
  await decide(agent, given);
  // another client learns nothing, and uses nothing up
  expect(await errorOf(given, other)).toBe('invalid_grant');
  expect((await poll(service.issuer, client, given)).status).toBe(200);
  expect(await errorOf(given)).toBe('invalid_grant');
  await service.database.sql('UPDATE device_authorizations SET expires_at = now()');
  expect(await errorOf(given)).toBe('expired_token');
});

test('Replayed device code: used again later, it ends everything that it issued, as an authorization code does (RFC 9700 4.14.2)', async () => {
  const given = await codes();
  await decide(agent, given);
  const { body } = await poll(service.issuer, client, given);
  await service.database.sql(
    `UPDATE authorization_codes SET redeemed_at = redeemed_at - interval '1 minute' WHERE redeemed_at IS NOT NULL`,
  );
  expect(await errorOf(given)).toBe('invalid_grant');
  const answer = await fetch(`${service.issuer}/user/info`, {
    headers: { authorization: `Bearer ${String(body['access_token'])}` },
  });
  expect(answer.status).toBe(401);
});

test('Device code elsewhere: it is no authorization code, no handle and no token, and its authorization code cannot be redeemed as one (RFC 8628 5.2)', async () => {
  const mixed = await service.createClient({
    ...deviceMetadata,
    redirect_uris: ['https://tv.example.com/'],
    grant_types: ['authorization_code', ...deviceMetadata.grant_types],
    response_types: ['code'],
  });
  const given = await codes(mixed);
  await decide(agent, given);
  const send = (parameters: Record<string, string>) =>
    fetch(`${service.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams(parameters),
      headers: { authorization: mixed.basic },
    });
  for (const redirect_uri of ['https://tv.example.com/', 'urn:ietf:params:oauth:grant-type:device_code'])
    for (const code of [given.device_code, given.device_code.replace('ghdc_', 'ghac_')])
      expect((await send({ grant_type: 'authorization_code', code, redirect_uri })).status).toBe(400);
  for (const path of ['/user/info', '/user/me/info'])
    expect(
      (await fetch(service.issuer + path, { headers: { authorization: `Bearer ${given.device_code}` } })).status,
    ).not.toBe(200);
  expect((await poll(service.issuer, mixed, given)).status).toBe(200);
});

test('Canary values: no log line, metric or event has a device code or a user code (security R99, protocols P95)', async () => {
  const given = await codes();
  await poll(service.issuer, client, given);
  await poll(service.issuer, client, { device_code: `${given.device_code}x` });
  await new UserAgent(service).get(given.verification_uri_complete);
  await agent.get(`/device?user_code=${given.user_code.toLowerCase()}`);
  await agent.post('/device', { user_code: given.user_code, decision: 'allow', csrf: 'x' });
  await decide(agent, given);
  await poll(service.issuer, client, given);
  const events = await service.database.sql('SELECT * FROM audit_events');
  const written = JSON.stringify([service.logs, events]);
  for (const secret of [
    given.device_code,
    given.user_code,
    given.user_code.toLowerCase(),
    given.user_code.replace('-', ''),
  ])
    expect(written).not.toContain(secret);
});

test('Database away: the endpoint, the page and the polls answer 503 with Retry-After, and with no verdict (security R152, protocols P94)', async () => {
  const other = await startTestService({ environment: { ...withoutLimits, DEVICE_GRANT: 'on' } });
  const { database } = other.database.connection;
  try {
    const of = await other.createClient(deviceMetadata);
    const given = await deviceCodes(other.issuer, of);
    const browser = new UserAgent(other);
    await browser.signIn(await other.createUser());
    const form = hiddenFields((await browser.get(given.verification_uri_complete)).body);
    await service.database.sql(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS false`);
    await service.database.sql('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [database]);
    const answers = await Promise.all([
      askForCodes(other.issuer, of),
      poll(other.issuer, of, given),
      browser.get(given.verification_uri_complete),
      browser.post('/device', { ...form, decision: 'allow' }),
    ]);
    expect(answers.map(({ status, headers }) => [status, headers.has('retry-after')])).toEqual(
      Array(4).fill([503, true]),
    );
    await service.database.sql(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS true`);
    await expect.poll(async () => (await poll(other.issuer, of, given)).body['error']).toBe('authorization_pending');
  } finally {
    await service.database.sql(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS true`);
    await other.stop();
  }
});
