// A registration in approval mode returns two codes, waits for an administrator, and completes once when the client polls.
import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteUncompleted } from '../../src/jobs/retention.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, type Answer, approveClient, call, eventually, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const redirect = 'https://rp.example.com/callback';
const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  service.database.sql<Row>(text, values);
const admin = (path: string, method = 'GET', body?: unknown) =>
  call(`${service.issuer}/admin/api${path}`, { method, token, body });

const send = (body: unknown, headers: Record<string, string> = {}, base = service.issuer) =>
  call(`${base}/register`, { method: 'POST', body, headers });
const poll = (code: unknown, base = service.issuer) => send({ registration_code: code }, {}, base);
const cancel = (code: unknown, base = service.issuer) =>
  send({ registration_code: code, cancel_registration: true }, {}, base);

interface Deferred {
  id: string;
  code: string;
  answer: Answer;
}

/** Registers a client whose registration waits for approval. */
async function defer(metadata: Record<string, unknown> = {}, headers: Record<string, string> = {}): Promise<Deferred> {
  const client_name = `Harbour ${randomUUID()}`;
  const body = { redirect_uris: [redirect], client_name, registration_mode: ['approval'], ...metadata };
  const answer = await send(body, headers);
  expect(answer.status).toBe(202);
  const rows = await sql<{ client_id: string }>(`SELECT client_id FROM clients WHERE metadata ->> 'client_name' = $1`, [
    body.client_name,
  ]);
  expect(rows).toHaveLength(1);
  return { id: rows[0]!.client_id, code: answer.body['registration_code'] as string, answer };
}
const approve = ({ id }: Deferred) =>
  sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1 RETURNING status, approved_by, version`, [id]);
const expire = ({ id }: Deferred, age = '1 second') =>
  sql(`UPDATE deferred_registrations SET expires_at = now() - $2::interval WHERE client_id = $1`, [id, age]);
const stored = async ({ id }: Deferred) => (await service.store.clients.find(id))!;

const refusals: Record<string, string> = {
  invalid_registration: 'the registration cannot be completed: its code is unknown or was already used',
  expired_token: 'this registration has expired: register again',
};
function expectRefused(answer: Answer, error: string, error_description = refusals[error]): void {
  expect(answer).toMatchObject({ status: 400, body: { error, error_description } });
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
}

describe('a registration whose client can wait', () => {
  test('is deferred with two codes, a verification URI and times (draft-dellaert-oauth-approval-based-dcr 3.2.2)', async () => {
    const { id, answer } = await defer();
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const verification = answer.body['verification_code'] as string;
    expect(answer.body).toEqual({
      registration_code: expect.stringMatching(/^ghrc_[\w-]{49}$/),
      verification_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${service.issuer}/admin/registration`,
      verification_uri_complete: `${service.issuer}/admin/registration?verification_code=${verification}`,
      expires_in: 1800,
      interval: 5,
    });
    const waiting = (await admin('/clients?waiting=true')).body['clients'] as { client_id: string }[];
    expect(waiting.find((client) => client.client_id === id)).toMatchObject({
      status: 'disabled',
      awaits_collection: true,
    });
    expect(await service.store.clients.countWaiting(1000, 'service')).toBe(waiting.length);
  });

  test('stores and logs neither code (draft-dellaert-oauth-approval-based-dcr 6.4, security R99)', async () => {
    const { id, code, answer } = await defer();
    await approve({ id, code, answer });
    const collected = await poll(code);
    const stored = JSON.stringify([
      await sql('SELECT * FROM deferred_registrations'),
      await sql('SELECT * FROM clients'),
      await sql('SELECT * FROM audit_events'),
      service.logs,
    ]);
    const secrets = [code, answer.body['verification_code'], collected.body['client_secret']] as string[];
    for (const secret of secrets) {
      expect(stored).not.toContain(secret);
      expect(stored).not.toContain(Buffer.from(secret).toString('hex'));
    }
  });

  test('completes at once if no approval is needed: with an initial access token, or with automatic approval (draft-dellaert-oauth-approval-based-dcr 3.2.1)', async () => {
    const { body } = await admin('/registration-tokens', 'POST', {});
    const metadata = { redirect_uris: [redirect], registration_mode: ['approval', 'immediate'] };
    const trusted = await send(metadata, { authorization: `Bearer ${body['initial_access_token'] as string}` });
    expect(trusted).toMatchObject({ status: 201, body: { status: 'enabled' } });
    const open = await startTestService({ environment: { REGISTRATION_APPROVAL: 'automatic' } });
    const answer = await send(metadata, {}, open.issuer).finally(() => open.stop());
    expect(answer).toMatchObject({ status: 201, body: { status: 'enabled' } });
    expect(answer.body).not.toHaveProperty('registration_mode');
  });
});

test.each([[undefined], [[]], [['immediate']], [['Approval', 'later']]])(
  'registration_mode %j does not defer: the answer is a disabled registration (specification 4.5)',
  async (registration_mode) => {
    const answer = await send({ redirect_uris: [redirect], registration_mode });
    expect(answer).toMatchObject({ status: 201, body: { status: 'disabled' } });
    expect(answer.body).toHaveProperty('client_secret');
    expect(answer.body).not.toHaveProperty('registration_code');
  },
);

test.each([['approval'], [{ approval: true }], [[1]], [null], [[['approval']]]])(
  'registration_mode %j is not an array of strings (RFC 7591 3.2.2)',
  async (registration_mode) => {
    expectRefused(
      await send({ redirect_uris: [redirect], registration_mode }),
      'invalid_client_metadata',
      'registration_mode must be an array of strings',
    );
  },
);

const ways: Record<string, (id: string) => Promise<void>> = {
  'the admin route': async (id) => {
    expect(await approveClient(service.issuer, token, id)).toMatchObject({
      status: 200,
      body: { status: 'disabled', approved_by: 'administrator', awaits_collection: true },
    });
  },
  'a change of the status by the admin route': async (id) => {
    const { version } = (await admin(`/clients/${id}`)).body;
    expect((await admin(`/clients/${id}`, 'PATCH', { status: 'enabled', version })).status).toBe(200);
  },
  'plain SQL': async (id) => {
    await sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [id]);
  },
  'the command line': async (id) => {
    expect(await runCommand(service, ['client', 'approve', id])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('enabled when it collects its credentials'),
    });
  },
};
test.each(Object.entries(ways))(
  'after approval by %s, the next poll completes the registration, with credentials that work on every instance (draft-dellaert-oauth-approval-based-dcr 3.3.4)',
  async (_way, approveBy) => {
    const { id, code } = await defer({ grant_types: ['client_credentials'] });
    const pending = await poll(code, service.instances[1]);
    expect(pending).toMatchObject({ status: 202, body: {} });
    expect(pending.headers.get('content-length')).toBe('0');
    expect(pending.headers.get('cache-control')).toBe('no-store');
    await approveBy(id);
    const answer = await poll(code, service.instances[1]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer).toMatchObject({
      status: 201,
      body: {
        client_id: id,
        status: 'enabled',
        client_secret: expect.stringMatching(/^[\w-]{43}$/),
        client_secret_expires_at: 0,
        client_id_issued_at: expect.any(Number),
        shared_secret: expect.stringMatching(/^[\w-]{43}$/),
        registration_access_token: expect.stringMatching(/^ghra_/),
        registration_client_uri: `${service.issuer}/register/${id}`,
        redirect_uris: [redirect],
      },
    });
    const basic = `Basic ${Buffer.from(`${id}:${answer.body['client_secret'] as string}`).toString('base64')}`;
    for (const base of service.instances) {
      const requestToken = () => tokenRequest(base, { basic }, { grant_type: 'client_credentials' });
      await eventually(requestToken, ({ body }) => 'access_token' in body);
    }
    const uri = answer.body['registration_client_uri'] as string;
    const read = await call(uri, { token: answer.body['registration_access_token'] as string });
    expect(read).toMatchObject({ status: 200, body: { status: 'enabled' } });
    expectRefused(await poll(code), 'invalid_registration');
    expectRefused(await cancel(code), 'invalid_registration');
  },
);

test('the command line shows what a registration waits for (decisions section 8)', async () => {
  const deferred = await defer();
  const line = async () =>
    (await runCommand(service, ['client', 'list'])).stdout.split('\n').find((row) => row.startsWith(deferred.id));
  expect(await line()).toMatch(/ disabled +approval /);
  await approve(deferred);
  expect(await line()).toMatch(/ disabled +collection /);
});

test('of fifty simultaneous polls after the approval, exactly one gets the registration (draft-dellaert-oauth-approval-based-dcr 3.3.4)', async () => {
  const deferred = await defer();
  await approve(deferred);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => poll(deferred.code, service.instances[n % 2]!)),
  );
  const created = answers.filter(({ status }) => status === 201);
  expect(created).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 201)) expectRefused(answer, 'invalid_registration');
  const { client_id, client_secret } = created[0]!.body as Record<string, string>;
  const basic = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
  const answer = await tokenRequest(service.issuer, { basic }, { grant_type: 'authorization_code', code: 'x' });
  expect(answer.body['error']).not.toBe('invalid_client');
  const events = await sql(`SELECT actor FROM audit_events WHERE type = 'client.collected' AND client_id = $1`, [
    client_id,
  ]);
  expect(events).toEqual([{ actor: client_id }]);
});

test('a client that polls too early must wait longer each time, and the interval applies on every instance (draft-dellaert-oauth-approval-based-dcr 3.3.3)', async () => {
  const { id, code } = await defer();
  const wait = (seconds: number) =>
    sql(
      `UPDATE deferred_registrations SET next_poll_at = next_poll_at - make_interval(secs => $2) WHERE client_id = $1`,
      [id, seconds],
    );
  expect(await poll(code)).toMatchObject({ status: 202 });
  for (const seconds of [10, 15]) {
    const early = await poll(code, service.instances[1]);
    expect(early).toMatchObject({ status: 429, body: { error: 'slow_down' } });
    expect(early.headers.get('retry-after')).toBe(String(seconds));
    expect(early.headers.get('cache-control')).toBe('no-store');
  }
  await wait(10);
  expect((await poll(code)).headers.get('retry-after')).toBe('20');
  await wait(20);
  expect(await poll(code)).toMatchObject({ status: 202 });
  for (let n = 0; n < 12; n++) await poll(code);
  expect((await poll(code)).headers.get('retry-after')).toBe('60');
  const together = await Promise.all(Array.from({ length: 10 }, () => defer()));
  const answers = await Promise.all(together.flatMap((one) => [poll(one.code), poll(one.code, service.instances[1])]));
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(10);
  // an approved client need not wait
  await approve({ id } as Deferred);
  expect(await poll(code)).toMatchObject({ status: 201 });
});

describe('a refused registration', () => {
  const refuse = (id: string, reason: string, version = 1) =>
    admin(`/clients/${id}/refuse`, 'POST', { version, reason });

  test('is answered with the reason if the protocol allows its characters, on every poll (draft-dellaert-oauth-approval-based-dcr 3.3.5)', async () => {
    const deferred = await defer();
    const { id, code } = deferred;
    expect((await refuse(id, 'Nobody here knows this application.')).status).toBe(200);
    for (const answer of [await poll(code), await poll(code), await cancel(code)])
      expectRefused(answer, 'access_denied', 'Nobody here knows this application.');
    for (const reason of ['Nicht für uns.', 'a "quoted" word', 'a \\ b']) {
      const other = await defer();
      await refuse(other.id, reason);
      expectRefused(await poll(other.code), 'access_denied', 'an administrator did not approve this registration');
    }
    expect(await approveClient(service.issuer, token, id)).toMatchObject({ status: 409 });
    expect(await approve(deferred)).toMatchObject([{ status: 'disabled', approved_by: null }]);
    expectRefused(await poll(code), 'access_denied', 'Nobody here knows this application.');
    expect(await stored(deferred)).toMatchObject({ refusalReason: 'Nobody here knows this application.' });
  });
});

describe('an expired registration', () => {
  test('deletes its client, approved or not, and the registrant gets the reason for an hour (draft-dellaert-oauth-approval-based-dcr 3.3.5)', async () => {
    const [undecided, approved, refused, live] = await Promise.all([defer(), defer(), defer(), defer()]);
    await approve(approved);
    await admin(`/clients/${refused.id}/refuse`, 'POST', { version: 1, reason: 'No.' });
    for (const deferred of [undecided, approved, refused]) {
      await expire(deferred);
      expectRefused(await poll(deferred.code), 'expired_token');
      expectRefused(await cancel(deferred.code), 'expired_token');
    }
    expect(await approveClient(service.issuer, token, undecided.id)).toMatchObject({ status: 409 });
    await deleteUncompleted(service.store, 86_400);
    for (const { id } of [undecided, approved]) expect(await service.store.clients.find(id)).toBeUndefined();
    for (const deferred of [undecided, approved, refused]) expectRefused(await poll(deferred.code), 'expired_token');
    expect(await stored(refused)).toMatchObject({ refusalReason: 'No.' });
    expect(await poll(live.code)).toMatchObject({ status: 202 });
    const events = await sql(`SELECT client_id FROM audit_events WHERE type = 'client.expired' AND actor = 'service'`);
    expect(events.map((event) => event['client_id']).sort()).toEqual([undecided.id, approved.id].sort());

    await sql(
      `UPDATE deferred_registrations SET expires_at = expires_at - interval '61 minutes' WHERE expires_at < now()`,
    );
    for (let kind = 0; kind < service.store.expired.kinds; kind++) await service.store.expired.deleteBatch(kind);
    for (const deferred of [undecided, approved, refused])
      expectRefused(await poll(deferred.code), 'invalid_registration');
  });
});

test.each([
  ['that was never issued', `ghrc_${'A'.repeat(49)}`],
  ['that is malformed', 'x'],
  ['that is empty', ''],
  ['of another kind', `ghra_${'A'.repeat(49)}`],
])('a code %s cannot be completed (draft-dellaert-oauth-approval-based-dcr 3.3.5)', async (_what, code) => {
  expectRefused(await poll(code), 'invalid_registration');
  expectRefused(await cancel(code), 'invalid_registration');
});

test('a request with a registration code registers no client (draft-dellaert-oauth-approval-based-dcr 3.3.1)', async () => {
  const count = async () => (await sql<{ n: number }>('SELECT count(*)::int AS n FROM clients'))[0]!.n;
  const before = await count();
  const metadata = { redirect_uris: [redirect], registration_mode: ['approval'] };
  expectRefused(await send({ ...metadata, registration_code: 'x' }), 'invalid_registration');
  for (const registration_code of [null, 7, ['x'], {}])
    expect(await send({ ...metadata, registration_code })).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
  const { code } = await defer();
  for (const cancel_registration of ['true', 1, null])
    expect(await send({ registration_code: code, cancel_registration })).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
  expect(await send({ registration_code: code, cancel_registration: false })).toMatchObject({ status: 202 });
  expect(await count()).toBe(before + 1);
});

test('a registrant who cancels gets 204 once, and the client is deleted, approved or not (draft-dellaert-oauth-approval-based-dcr 3.4)', async () => {
  const [waiting, approved] = await Promise.all([defer(), defer()]);
  await approve(approved);
  for (const { id, code } of [waiting, approved]) {
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => cancel(code, service.instances[n % 2]!)));
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 204)) expectRefused(answer, 'invalid_registration');
    expectRefused(await poll(code), 'invalid_registration');
    expect(await service.store.clients.find(id)).toBeUndefined();
    const events = await sql(
      `SELECT actor, detail FROM audit_events WHERE type = 'client.deleted' AND client_id = $1`,
      [id],
    );
    expect(events).toEqual([{ actor: id, detail: { cancelled: true } }]);
  }
});

describe('an approved client that has not collected its credentials', () => {
  const none = { token_endpoint_auth_method: 'none', require_pkce: false };

  test('is unknown at every endpoint, even as a public client (decisions section 2)', async () => {
    const deferred = await defer(none);
    expect(await approve(deferred)).toMatchObject([{ status: 'disabled', approved_by: 'administrator' }]);
    const { id: clientId, code } = deferred;
    const authorize = async (base: string) => {
      const agent = new UserAgent({ issuer: base });
      return (await agent.get(authorizationUrl(base, { clientId, redirectUri: redirect }))).location ?? '';
    };
    for (const base of service.instances) {
      const answer = await tokenRequest(base, undefined, {
        grant_type: 'authorization_code',
        client_id: clientId,
        code: 'x',
      });
      expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
      expect(await authorize(base)).toContain('/login?problem=client');
    }
    expect(await poll(code)).toMatchObject({ status: 201 });
    for (const base of service.instances)
      await eventually(
        () => authorize(base),
        (location) => location.includes('/login?transaction='),
      );
  });

  test('cannot authenticate with the key that it registered (decisions section 2, security R113)', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const deferred = await defer({
      redirect_uris: [],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [await exportJWK(publicKey)] },
    });
    const ask = async () =>
      tokenRequest(service.issuer, undefined, {
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await new SignJWT({ jti: randomUUID() })
          .setProtectedHeader({ alg: 'ES256' })
          .setIssuer(deferred.id)
          .setSubject(deferred.id)
          .setAudience(service.issuer)
          .setIssuedAt()
          .setExpirationTime('1m')
          .sign(privateKey),
      });
    await approve(deferred);
    expect(await ask()).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
    expect(await poll(deferred.code)).toMatchObject({ status: 201 });
    expect(await ask()).toMatchObject({ status: 200 });
  });

  test('cannot be enabled by a change through SQL, and disabling it withdraws the approval (decisions section 2)', async () => {
    const deferred = await defer(none);
    await approve(deferred);
    const { version } = await stored(deferred);
    expect(await approve(deferred)).toMatchObject([{ status: 'disabled', version }]);
    for (const takeBack of [
      () => admin(`/clients/${deferred.id}/disable`, 'POST'),
      () => admin(`/clients/${deferred.id}`, 'PATCH', { status: 'disabled' }),
    ]) {
      await takeBack();
      expect(await stored(deferred)).toMatchObject({ approvedBy: undefined, status: 'disabled' });
      await sql('UPDATE deferred_registrations SET next_poll_at = now()');
      expect(await poll(deferred.code)).toMatchObject({ status: 202 });
      await approve(deferred);
    }
    expect(await poll(deferred.code)).toMatchObject({ status: 201 });
    await expect(
      sql(
        `INSERT INTO clients SELECT (jsonb_populate_record(c, '{"client_id": "x", "status": "enabled", "uncollected": true, "registration_access_token_hash": null}')).* FROM clients c WHERE client_id = $1`,
        [deferred.id],
      ),
    ).rejects.toThrow(/clients_uncollected/);
  });
});

describe('the repeat of a lost response', () => {
  const newKey = () => ({ 'idempotency-key': randomUUID() });

  test('to a deferred registration returns new codes for the same client, and no credentials (decisions section 2)', async () => {
    const key = newKey();
    const metadata = { client_name: `Lost ${randomUUID()}` };
    const first = await defer(metadata, key);
    const second = await defer(metadata, key);
    expect(second.id).toBe(first.id);
    expect(second.answer.body['verification_code']).not.toBe(first.answer.body['verification_code']);
    expectRefused(await poll(first.code), 'invalid_registration');
    await approve(second);
    const third = await defer(metadata, key);
    expectRefused(await poll(second.code), 'invalid_registration');
    const collected = await poll(third.code);
    expect(collected).toMatchObject({ status: 201, body: { client_id: first.id } });
    // a client with credentials may act, so that the key registers another client from now on (security R120)
    const body = { redirect_uris: [redirect], client_name: metadata.client_name, registration_mode: ['approval'] };
    const again = await send(body, key);
    expect(again.status).toBe(202);
    const { registration_access_token: token } = collected.body;
    expect(await call(`${service.issuer}/register/${first.id}`, { token: token as string })).toMatchObject({
      status: 200,
    });
  });

  test('is refused once the registration was refused or has expired (draft-dellaert-oauth-approval-based-dcr 6.4)', async () => {
    const [refusedKey, expiredKey] = [newKey(), newKey()];
    const [refusedBody, expiredBody] = [randomUUID(), randomUUID()].map((name) => ({
      redirect_uris: [redirect],
      client_name: name,
      registration_mode: ['approval'],
    }));
    const refused = await defer(refusedBody, refusedKey);
    await admin(`/clients/${refused.id}/refuse`, 'POST', { version: 1, reason: 'No.' });
    expectRefused(await send(refusedBody, refusedKey), 'access_denied', 'No.');
    await expire(await defer(expiredBody, expiredKey));
    expectRefused(await send(expiredBody, expiredKey), 'expired_token');
  });
});

test('the modes are listed in the OAuth server metadata, and not in the OpenID document (draft-dellaert-oauth-approval-based-dcr 5)', async () => {
  const read = async (name: string) => (await call(`${service.issuer}/.well-known/${name}`)).body;
  expect((await read('oauth-authorization-server'))['registration_modes_supported']).toEqual(['immediate', 'approval']);
  expect(await read('openid-configuration')).not.toHaveProperty('registration_modes_supported');
});

test('deferred registrations count against the limit of waiting registrations (decisions section 7)', async () => {
  const full = await startTestService({
    environment: { LIMIT_REGISTRATIONS_WAITING: '1', REGISTRATION_CODE_LIFETIME: '60' },
  });
  const body = { redirect_uris: [redirect], registration_mode: ['approval'] };
  try {
    const first = await send(body, {}, full.issuer);
    expect(first).toMatchObject({ status: 202, body: { expires_in: 60 } });
    expect(await send(body, {}, full.issuer)).toMatchObject({
      status: 503,
      body: { error: 'temporarily_unavailable' },
    });
    expect(await cancel(first.body['registration_code'], full.issuer)).toMatchObject({ status: 204 });
    expect(await send(body, {}, full.issuer)).toMatchObject({ status: 202 });
  } finally {
    await full.stop();
  }
});
