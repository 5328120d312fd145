// Waiting authorization requests are limited in size and per network, so that requests without a cookie cannot fill the database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { payment, paymentDeclaration, paymentType } from '../helpers/authorization-details.ts';
import { made } from '../helpers/exchange.ts';
import { adminToken, eventually, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, pkce, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const stored = (service: TestService) =>
  service.database.sql<{ parameters: Record<string, string>; network: string; bytes: number }>(
    'SELECT parameters, network, length(parameters::text) AS bytes FROM authorization_requests ORDER BY created_at DESC',
  );
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('the size of a request', () => {
  let service: TestService;
  let client: TestClient;
  let user: TestUser;
  beforeAll(async () => {
    service = await startTestService({
      instances: 2,
      environment: { ...withoutLimits, REQUEST_OBJECT_UNSIGNED: 'true' },
    });
    client = await service.createClient({ request_object_signing_alg: 'none' }, { firstParty: true });
    user = await service.createUser();
  });
  afterAll(() => service?.stop());

  const form = (more: Record<string, string>) => ({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    scope: 'openid',
    state: 's',
    ...more,
  });
  const post = (more: Record<string, string>, agent = new UserAgent(service)) => agent.post('/authorize', form(more));
  const object = (more: Record<string, unknown>) => ({
    request: `${encoded({ alg: 'none' })}.${encoded({ ...form({}), iss: client.clientId, aud: service.issuer, ...more })}.`,
  });
  const par = async (more: Record<string, string>) => {
    const answer = await fetch(`${service.instances[1]}/par`, {
      method: 'POST',
      headers: { authorization: client.basic },
      body: new URLSearchParams(form(more)),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  };

  test('does not count unknown parameters, which are not stored (security R119)', async () => {
    const page = await post({ unknown: 'x'.repeat(60_000), utm_source: 'y' });
    expect(page.location).toContain('/login?');
    const [row] = await stored(service);
    expect(Object.keys(row!.parameters).sort()).toEqual(Object.keys(form({})).sort());
    expect((await par({ unknown: 'x'.repeat(60_000) })).status).toBe(201);
    expect(JSON.stringify(await stored(service))).not.toContain('xxx');
  });

  const sized: [string, () => Record<string, string>, boolean][] = [
    ['7 KiB of a hint', () => ({ login_hint: 'h'.repeat(7_000) }), true],
    ['9 KiB of a hint', () => ({ login_hint: 'h'.repeat(9_000) }), false],
    ['9 KiB of letters of two bytes', () => ({ login_hint: 'é'.repeat(4_500) }), false],
    ['9 KiB in two members', () => ({ login_hint: 'h'.repeat(4_500), ui_locales: 'd'.repeat(4_500) }), false],
    ['12 KiB with claims', () => ({ claims: '{}', login_hint: 'h'.repeat(12_000) }), true],
    ['17 KiB with claims', () => ({ claims: '{}', login_hint: 'h'.repeat(17_000) }), false],
    ['a request object with 9 KiB', () => object({ login_hint: 'h'.repeat(9_000) }), true],
    ['a request object with 17 KiB', () => object({ login_hint: 'h'.repeat(17_000) }), false],
  ];
  test.each(sized)('%s: stored or refused with invalid_request (security R119)', async (_what, more, good) => {
    const sent = more();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const answer = responseParameters(await post(sent, agent));
    expect(answer).toMatchObject(good ? { code: expect.any(String) } : { error: 'invalid_request', state: 's' });
    const pushed = await par(sent);
    if (good) expect(pushed.status).toBe(201);
    else expect(pushed).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    // a signed-out user gets the error after sign-in, and little is stored until then
    const newBrowser = new UserAgent(service);
    const login = await newBrowser.follow(await post(sent, newBrowser));
    expect(login.body).toContain('id="password"');
    if (!good) expect((await stored(service))[0]!.bytes).toBeLessThan(1000);
    const end = responseParameters(await newBrowser.signIn(user, login));
    expect(end).toMatchObject(good ? { code: expect.any(String) } : { error: 'invalid_request', state: 's' });
  });

  test('12 KiB with authorization_details: stored, and shown at consent (security R119, RFC 9396 2)', async () => {
    const token = await adminToken(service);
    await made(service, token, 'authorization-details-types', paymentDeclaration);
    const payer = await service.createClient({ authorization_details_types: [paymentType] });
    const sent = {
      ...form({ authorization_details: JSON.stringify([payment]), login_hint: 'h'.repeat(12_000) }),
      client_id: payer.clientId,
      redirect_uri: payer.redirectUri,
    };
    const agent = new UserAgent(service);
    await agent.signIn(user);
    expect((await agent.follow(await agent.post('/authorize', sent))).body).toContain(payment.payee.iban);
    const pushed = await fetch(`${service.instances[1]}/par`, {
      method: 'POST',
      headers: { authorization: payer.basic },
      body: new URLSearchParams(sent),
    });
    expect(pushed.status).toBe(201);
  });
});

describe('the waiting requests of a network', () => {
  const limit = 20;
  let service: TestService;
  let client: TestClient;
  let application: TestClient;
  beforeAll(async () => {
    service = await startTestService({
      instances: 2,
      environment: {
        ...withoutLimits,
        TRUST_PROXY: '127.0.0.1,::1',
        LIMIT_PENDING_SIGN_INS: '3',
        LIMIT_PENDING_SIGN_INS_PER_NETWORK: String(limit),
      },
    });
    client = await service.createClient({}, { firstParty: true });
    application = await service.createClient({ token_endpoint_auth_method: 'none' });
  });
  afterAll(() => service?.stop());

  const of = async (network: string) => (await stored(service)).filter((row) => row.network === network).length;
  const begin = async (address: string, instance = 0, agent = new UserAgent(service)) => {
    const url = authorizationUrl(service.instances[instance]!, client);
    return agent.get(url, { 'x-forwarded-for': address });
  };
  const push = async (address: string, instance = 0, rp = application, more: Record<string, string> = {}) => {
    const { code_challenge, code_challenge_method } = pkce();
    const request = { response_type: 'code', redirect_uri: rp.redirectUri, scope: 'openid', ...more };
    const isPublic = rp === application;
    const answer = await fetch(`${service.instances[instance]!}/par`, {
      method: 'POST',
      headers: { 'x-forwarded-for': address, ...(!isPublic && { authorization: rp.basic }) },
      body: new URLSearchParams({
        ...request,
        ...(isPublic && { client_id: rp.clientId, code_challenge, code_challenge_method }),
      }),
    });
    const retry = answer.headers.get('retry-after');
    return { status: answer.status, retry, body: (await answer.json()) as Record<string, string> };
  };
  const count = (statuses: number[]) => {
    const counts: Record<number, number> = {};
    for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };

  test.each([
    ['203.0.113.0/24', (n: number) => `203.0.113.${n + 1}`, '203.0.114.1'],
    ['2001:db8:1:2::/64', (n: number) => `2001:db8:1:2::${(n + 1).toString(16)}`, '2001:db8:1:3::1'],
  ])(
    'are limited, even for simultaneous requests at two instances, and other networks are not affected: %s (security R119)',
    async (network, address, otherAddress) => {
      const answers = await Promise.all(
        Array.from({ length: 3 * limit }, (_, n) => begin(address(n), n % 2)).concat(begin(otherAddress)),
      );
      const other = answers.pop()!;
      expect(other.location).toContain('/login?');
      expect(count(answers.map(({ status }) => status))).toEqual({ 303: limit, 429: 2 * limit });
      expect(await of(network)).toBe(limit);
      const refused = answers.find(({ status }) => status === 429)!;
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await push(address(0))).status).toBe(429);
    },
  );

  test('that were answered or have expired no longer count (security R119)', async () => {
    const user = await service.createUser();
    const [first, ...others] = await Promise.all(
      Array.from({ length: limit }, async (_, n) => {
        const agent = new UserAgent(service, { 'x-forwarded-for': `198.51.100.${n + 1}` });
        return { agent, page: await agent.get(authorizationUrl(service.issuer, client)) };
      }),
    );
    expect(others.every(({ page }) => page.status === 303)).toBe(true);
    expect((await begin('198.51.100.200')).status).toBe(429);
    const back = await first!.agent.signIn(user, await first!.agent.follow(first!.page));
    expect(responseParameters(back)['code']).toBeDefined();
    await eventually(
      () => begin('198.51.100.201'),
      ({ status }) => status === 303,
    );
    await eventually(
      () => begin('198.51.100.202'),
      ({ status }) => status === 429,
    );
    await service.database.sql(
      `UPDATE authorization_requests SET expires_at = now() - interval '1 second' WHERE network = '198.51.100.0/24'`,
    );
    await eventually(
      () => begin('198.51.100.203'),
      ({ status }) => status === 303,
    );
  });

  test('include pushed requests, which then count for the network of the browser that sends the request_uri (RFC 9126 4, security R119)', async () => {
    const pushes = await Promise.all(Array.from({ length: 2 * limit }, (_, n) => push('192.0.2.7', n % 2)));
    expect(count(pushes.map(({ status }) => status))).toEqual({ 201: limit, 429: limit });
    expect(pushes.find(({ status }) => status === 429)).toMatchObject({
      retry: '60',
      body: { error: 'temporarily_unavailable' },
    });
    expect(await of('192.0.2.0/24')).toBe(limit);
    const [waiting] = pushes.filter(({ status }) => status === 201);
    const url = `${service.issuer}/authorize?${new URLSearchParams({
      client_id: application.clientId,
      request_uri: waiting!.body['request_uri']!,
    }).toString()}`;
    const agent = new UserAgent(service);
    // if the limit of the browser's network is reached, the pushed request stays unchanged
    await service.database.sql(
      `INSERT INTO authorization_requests (id_hash, client_id, endpoint, parameters, expires_at, network)
       SELECT sha256(n::text::bytea), $1, 'authorization', '{}', now() + interval '1 minute', '192.0.3.0/24' FROM generate_series(1, $2) n`,
      [application.clientId, limit],
    );
    expect((await agent.get(url, { 'x-forwarded-for': '192.0.3.1' })).status).toBe(429);
    const elsewhere = { 'x-forwarded-for': '192.0.4.1' };
    expect((await agent.get(url, elsewhere)).location).toContain('/login?');
    expect([await of('192.0.2.0/24'), await of('192.0.4.0/24')]).toEqual([limit - 1, 1]);
    // a reload uses the same stored request
    expect((await agent.get(url, elsewhere)).location).toContain('/login?');
    expect(await of('192.0.4.0/24')).toBe(1);
  });

  test('include decided requests until their answer is fetched (security R119)', async () => {
    const user = await service.createUser();
    const third = await service.createClient();
    const address = { 'x-forwarded-for': '192.0.6.1' };
    const agent = new UserAgent(service, address);
    await agent.signIn(user);
    const decided = async () => {
      agent.cookies.delete('GATEHOUSE_BROWSER');
      const page = await agent.get(authorizationUrl(service.issuer, third));
      if (page.status !== 303) return page.status;
      const consent = await agent.follow(page);
      // the redirect to the answer is not followed
      return (await agent.post('/consent', { ...hiddenFields(consent.body), decision: 'deny' })).status;
    };
    const statuses = [];
    for (let index = 0; index < limit + 2; index++) statuses.push(await decided());
    expect(count(statuses)).toEqual({ 303: limit, 429: 2 });
  });

  test('do not block a pushed request with prompt=none, and do not include those of confidential clients (RFC 9126, security R8, R119)', async () => {
    const network = '192.0.7.1';
    await Promise.all(Array.from({ length: limit }, () => begin(network)));
    expect((await begin(network)).status).toBe(429);
    const pushed = await push(network, 0, client, { prompt: 'none' });
    expect(pushed.status).toBe(201);
    const query = new URLSearchParams({ client_id: client.clientId, request_uri: pushed.body['request_uri']! });
    const silent = await new UserAgent(service).get(`/authorize?${query.toString()}`, {
      'x-forwarded-for': network,
      'sec-fetch-dest': 'iframe',
    });
    expect(responseParameters(silent)).toMatchObject({ error: 'login_required' });
  });

  test('do not include requests that need no page (security R119)', async () => {
    const silent = await Promise.all(
      Array.from({ length: 2 * limit }, () =>
        new UserAgent(service).get(authorizationUrl(service.issuer, client, { prompt: 'none' }), {
          'x-forwarded-for': '192.0.5.1',
        }),
      ),
    );
    expect(count(silent.map(({ status }) => status))).toEqual({ 302: 2 * limit });
  });
});

test('LIMIT_PENDING_SIGN_INS_PER_NETWORK=0 allows any number of waiting requests (security R119)', async () => {
  const service = await startTestService({
    environment: { ...withoutLimits, LIMIT_PENDING_SIGN_INS_PER_NETWORK: '0' },
  });
  try {
    const client = await service.createClient();
    const many = 1_100;
    for (let done = 0; done < many; done += 100)
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          const page = await new UserAgent(service).get(authorizationUrl(service.issuer, client));
          expect(page.status).toBe(303);
        }),
      );
    expect((await stored(service)).length).toBe(many);
  } finally {
    await service.stop();
  }
});
