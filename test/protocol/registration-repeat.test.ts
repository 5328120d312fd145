// A repeated registration renews the credentials of a client that proves its identity, and ends the old ones.
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Answer, adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
});
afterAll(() => service?.stop());

type Registered = Record<string, string>;
const metadata = { redirect_uris: ['https://rp.example.com/callback'], client_name: 'Harbour' };
const newKey = () => randomBytes(16).toString('base64url');
const post = (body: unknown, headers: Record<string, string> = {}, base = service.issuer) =>
  call(`${base}/register`, { method: 'POST', body, headers });
const register = async (body: unknown = metadata, headers: Record<string, string> = {}) =>
  (await post(body, headers)).body as Registered;
const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
const bearer = (token: string | undefined) => ({ authorization: `Bearer ${token}` });
const read = (client: Registered) =>
  call(client['registration_client_uri']!, { token: client['registration_access_token']! });
const setStatus = (client: Registered, status: 'enabled' | 'disabled') =>
  service.database.sql('UPDATE clients SET status = $2 WHERE client_id = $1', [client['client_id'], status]);

/** Wrong credentials get 401; correct credentials of a disabled client get 400 unauthorized_client. */
const isSecret = async (client: Registered, secret: string | undefined) => {
  const answer = await tokenRequest(
    service.issuer,
    { basic: basic(client['client_id']!, secret!) },
    { grant_type: 'authorization_code' },
  );
  return answer.body['error'] !== 'invalid_client';
};

const proofs: Record<string, (client: Registered, key: string) => Record<string, string>> = {
  'the registration access token': (client) => bearer(client['registration_access_token']),
  'HTTP Basic with the current secret': (client) => ({
    authorization: basic(client['client_id']!, client['client_secret']!),
  }),
  'the same Idempotency-Key': (_client, key) => ({ 'idempotency-key': key }),
};

describe.each(Object.entries(proofs))('proven by %s', (_name, proof) => {
  test('a repeat keeps the client_id and the status, and renews all credentials; the old ones stop working (decisions section 2)', async () => {
    const key = newKey();
    const first = await register(metadata, { 'idempotency-key': key });
    const answer = await post(metadata, proof(first, key));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const second = answer.body as Registered;
    const { client_secret, shared_secret, registration_access_token, ...unchanged } = first;
    expect(second).toMatchObject(unchanged);
    expect(second['client_secret']).toMatch(/^[\w-]{43}$/);
    expect(second['client_secret']).not.toBe(client_secret);
    expect(second['shared_secret']).not.toBe(shared_secret);
    expect(second['registration_access_token']).not.toBe(registration_access_token);
    expect(await isSecret(first, client_secret)).toBe(false);
    expect(await isSecret(first, second['client_secret'])).toBe(true);
    expect((await read(first)).status).toBe(401);
    expect((await read(second)).status).toBe(200);
    expect((await post(metadata, bearer(registration_access_token))).status).toBe(401);
    expect((await post(metadata, { authorization: basic(first['client_id']!, client_secret!) })).status).toBe(401);
  });
});

test.each(['the registration access token', 'HTTP Basic with the current secret'])(
  'of simultaneous repeats that %s proves, one renews the credentials, and the others are refused (security R44)',
  async (name) => {
    for (let round = 0; round < 5; round++) {
      const first = await register();
      const headers = proofs[name]!(first, '');
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, index) => post(metadata, headers, service.instances[index % 2])),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401, 401, 401]);
      expect((await read(answers.find(({ status }) => status === 200)!.body as Registered)).status).toBe(200);
    }
  },
);

test('a repeat of an enabled client leaves it enabled, and keeps its values where the new ones allow more (decisions section 2)', async () => {
  const first = await register();
  await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [first['client_id']]);
  const wider = { ...metadata, client_name: 'Harbour', redirect_uris: ['https://rp.example.com/other'] };
  const second = await post(wider, bearer(first['registration_access_token']));
  expect(second).toMatchObject({
    status: 200,
    body: {
      status: 'enabled',
      redirect_uris: metadata.redirect_uris,
      pending_changes: { redirect_uris: ['https://rp.example.com/other'] },
    },
  });
});

test('a repeat with another body updates the values that need no approval (decisions section 2)', async () => {
  const first = await register();
  const second = await post({ ...metadata, client_name: 'Harbour II' }, bearer(first['registration_access_token']));
  expect(second).toMatchObject({ status: 200, body: { client_name: 'Harbour II', status: 'disabled' } });
});

test.each(['client_secret_jwt', 'client_secret_basic'])(
  'the secret of a repeat also works for changes that wait for approval: %s and HS256 ID Tokens (decisions section 2)',
  async (method) => {
    const first = await register({ ...metadata, grant_types: ['client_credentials'] });
    await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [first['client_id']]);
    const wider = {
      redirect_uris: ['https://rp.example.com/other'],
      grant_types: ['client_credentials', 'authorization_code'],
      token_endpoint_auth_method: method,
      id_token_signed_response_alg: 'HS256',
    };
    const repeated = await post(wider, bearer(first['registration_access_token']));
    expect(repeated.body).toMatchObject({
      status: 'enabled',
      pending_changes: { id_token_signed_response_alg: 'HS256' },
    });
    expect(await isSecret(first, repeated.body['client_secret'] as string)).toBe(true);
    await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [first['client_id']]);
    const [row] = await service.database.sql<{ sealed: boolean }>(
      'SELECT client_secret_encrypted IS NOT NULL AS sealed FROM clients WHERE client_id = $1',
      [first['client_id']],
    );
    expect(row).toEqual({ sealed: true });
  },
);

describe('invalid proof', () => {
  test.each([
    ['a wrong secret', (client: Registered) => ({ authorization: basic(client['client_id']!, 'guess') })],
    ['an unknown client', (client: Registered) => ({ authorization: basic('nobody', client['client_secret']!) })],
    ['an unknown token', () => bearer(`ghra_${'A'.repeat(49)}`)],
    ['a shared secret', (client: Registered) => bearer(client['shared_secret'])],
    ['a malformed header', (client: Registered) => ({ authorization: `Basic ${client['client_secret']}!` })],
    ['another scheme', (client: Registered) => ({ authorization: `Digest ${client['client_secret']}` })],
  ])('%s is refused with 401 and changes nothing (security R43)', async (_what, headers) => {
    const client = await register();
    expect((await post(metadata, headers(client))).status).toBe(401);
    expect((await read(client)).status).toBe(200);
    expect(await isSecret(client, client['client_secret'])).toBe(true);
  });

  test('a registration access token with the client_id of another client is refused (security A59)', async () => {
    const [one, two] = [await register(), await register()];
    const answer = await post({ ...metadata, client_id: two['client_id'] }, bearer(one['registration_access_token']));
    expect(answer.status).toBe(401);
    for (const client of [one, two]) expect((await read(client)).status).toBe(200);
  });
});

describe('an Idempotency-Key', () => {
  test('with another body is refused without effect (decisions section 2)', async () => {
    const key = newKey();
    const client = await register(metadata, { 'idempotency-key': key });
    expect(await post({ ...metadata, client_name: 'Other' }, { 'idempotency-key': key })).toMatchObject({
      status: 409,
    });
    expect((await read(client)).status).toBe(200);
  });

  test.each([
    'registration-of-harbour-2026',
    'short',
    '0123456789abcdef0123456789abcde',
    '0123456789abcdef'.repeat(4) + '0',
    'harbour-harbour-harbou',
    'abcdefghijk'.repeat(4).slice(0, 43),
    'Harbour Harbour+Quay/1',
    '7d444840-9dc0-11d1-b245-5ffdce74fad2',
    '7d444840-9dc0-4111-7245-5ffdce74fad2',
    '7d4448409dc0-4111-b245-5ffdce74fad2a',
    'x'.repeat(256),
    'ünicode-key-of-some-length',
    '',
  ])('of another form than that of random bits is refused: %s (decisions section 2, security R120)', async (key) => {
    const headers = { 'idempotency-key': Buffer.from(key).toString('latin1') };
    const refused = { status: 400, body: { error: 'invalid_request' } };
    expect(await post(metadata, headers)).toMatchObject(refused);
    // the form is checked even where a token proves the repeat
    const client = await register();
    expect(await post(metadata, { ...headers, ...bearer(client['registration_access_token']) })).toMatchObject(refused);
  });

  test.each([
    ['a UUIDv4', () => randomUUID()],
    ['a UUIDv4 in capitals', () => randomUUID().toUpperCase()],
    ['32 hexadecimal digits', () => randomBytes(16).toString('hex')],
    ['64 hexadecimal digits', () => randomBytes(32).toString('hex').toUpperCase()],
    ['22 characters of base64url', () => randomBytes(16).toString('base64url')],
    ['43 characters of base64url', () => randomBytes(32).toString('base64url')],
  ])('of %s repeats the answer (decisions section 2, security R120)', async (_form, newKey) => {
    const headers = { 'idempotency-key': newKey() };
    const first = await register(metadata, headers);
    expect(await post(metadata, headers)).toMatchObject({ status: 200, body: { client_id: first['client_id'] } });
  });

  test('repeats nothing once the client was enabled, even if disabled again: it registers another client, with any body (security R120)', async () => {
    for (const disabledAgain of [false, true]) {
      const headers = { 'idempotency-key': newKey() };
      const first = await register(metadata, headers);
      await setStatus(first, 'enabled');
      if (disabledAgain) await setStatus(first, 'disabled');
      const body = disabledAgain ? { ...metadata, client_name: 'Quay' } : metadata;
      const second = await post(body, headers);
      expect(second).toMatchObject({ status: 201, body: { status: 'disabled' } });
      expect(second.body['client_id']).not.toBe(first['client_id']);
      expect(await isSecret(first, first['client_secret'])).toBe(true);
      expect((await read(first)).status).toBe(200);
      // for the new client, the key repeats the answer
      const third = await post(body, headers);
      expect(third).toMatchObject({ status: 200, body: { client_id: second.body['client_id'] } });
    }
  });

  test('that arrives during the approval returns no credentials of the approved client (security R120)', async () => {
    const headers = { 'idempotency-key': newKey() };
    const first = await register(metadata, headers);
    const [approved, released] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const approval = service.store.transaction(async ({ clients }) => {
      await clients.approve(first['client_id']!);
      approved.resolve(undefined);
      await released.promise;
    });
    await approved.promise;
    const repeated = post(metadata, headers);
    try {
      // the repeat has read the client as it was before, and waits for its row
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
      await vi.waitUntil(async () => (await service.database.sql(waiting)).length > 0);
    } finally {
      released.resolve(undefined);
      await approval;
    }
    expect(await repeated).toMatchObject({ status: 409, body: { error: 'conflict' } });
    expect(await isSecret(first, first['client_secret'])).toBe(true);
    expect((await read(first)).status).toBe(200);
  });

  test('expires after 24 hours, and then registers another client (decisions section 2)', async () => {
    const key = newKey();
    const first = await register(metadata, { 'idempotency-key': key });
    await service.database.sql(
      `UPDATE registration_keys SET expires_at = expires_at - interval '24 hours 1 second' WHERE client_id = $1`,
      [first['client_id']],
    );
    const second = await post(metadata, { 'idempotency-key': key });
    expect(second.status).toBe(201);
    expect(second.body['client_id']).not.toBe(first['client_id']);
    expect((await read(first)).status).toBe(200);
  });

  test('is stored only as a hash (decisions section 2)', async () => {
    const key = newKey();
    await register(metadata, { 'idempotency-key': key });
    const rows = await service.database.sql<{ dump: string }>('SELECT k::text AS dump FROM registration_keys k');
    expect(JSON.stringify(rows)).not.toContain(key);
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(key).toString('hex'));
  });

  test('repeats no answer to a registration with an initial access token, which is enabled at once (decisions section 2, security R120)', async () => {
    const { body } = await call(`${service.issuer}/admin/api/registration-tokens`, {
      method: 'POST',
      token: await adminToken(service),
    });
    const headers = { ...bearer(body['initial_access_token'] as string), 'idempotency-key': newKey() };
    const first = await post(metadata, headers);
    const second = await post(metadata, headers);
    expect(first).toMatchObject({ status: 201, body: { status: 'enabled' } });
    expect(second).toMatchObject({ status: 201, body: { status: 'enabled' } });
    expect(second.body['client_id']).not.toBe(first.body['client_id']);
    expect((await read(first.body as Registered)).status).toBe(200);
    // a key that was used without the token conflicts with it
    const key = { 'idempotency-key': newKey() };
    expect(await post(metadata, key)).toMatchObject({ status: 201, body: { status: 'disabled' } });
    expect(await post(metadata, { ...headers, ...key })).toMatchObject({ status: 409, body: { error: 'conflict' } });
  });

  /** A busy machine answers 503: the client repeats the request, as its key allows. */
  async function untilServed(send: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const answer = await send();
      if (answer.status !== 503) return answer;
    }
  }

  test('sent ten times at once on two instances registers one client (decisions section 2)', async () => {
    for (let round = 0; round < 5; round++) {
      const key = newKey();
      const answers: Answer[] = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          untilServed(() => post(metadata, { 'idempotency-key': key }, service.instances[index % 2])),
        ),
      );
      const clientIds = new Set(answers.map((answer) => answer.body['client_id']).filter((id) => id !== undefined));
      expect(clientIds.size).toBe(1);
      for (const answer of answers) expect([200, 201, 409]).toContain(answer.status);
      // the credentials that were issued last are valid
      const { body } = await post(metadata, { 'idempotency-key': key });
      expect([...clientIds]).toEqual([body['client_id']]);
      expect((await read(body as Registered)).status).toBe(200);
    }
  });
});
