// The ring of used DPoP proofs: each proof counts once, requests without a live token or grant write nothing, and only old tables are emptied.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { createStore } from '../../src/repositories/store.ts';
import { newProofKey, postWithProof, present, type ProofKey } from '../helpers/dpop.ts';
import { obtainCode, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';

let service: TestService;
let machine: TestClient;
let key: ProofKey;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, DEVICE_GRANT: 'on' } });
  machine = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'], scope: '' });
  key = await newProofKey();
});
afterAll(() => service?.stop());

const rows = async () =>
  (await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM dpop_proofs'))[0]!.n;
const own = { grant_type: 'client_credentials' };
const empty = () => service.store.transaction(({ dpopProofs }) => dpopProofs.empty());

test('of fifty uses of one proof at once, on two instances, one succeeds: 20 rounds (RFC 9449 11.1, security R135)', async () => {
  const opened = openDatabase({ connection: service.database.connection, poolSize: 10, onError: () => undefined });
  const stores = [service.store, createStore(opened)];
  for (let round = 0; round < 20; round++) {
    const proof = { hash: randomBytes(32), iat: Math.floor(Date.now() / 1000) };
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        stores[index % 2]!.accessTokens.insertForClient({
          tokenHash: randomBytes(32),
          clientId: machine.clientId,
          scope: '',
          lifetime: 60,
          audience: undefined,
          binding: { jkt: key.jkt },
          proof,
        }),
      ),
    );
    expect(results.filter((result) => result === 'stored')).toHaveLength(1);
    expect(results.filter((result) => result === 'replayed')).toHaveLength(49);
  }
  await opened.close();
});

test.each([-600, -330, 330, 600])(
  'a proof of %s seconds beside the time of the database is refused, whatever an instance takes for the time (RFC 9449 11.1, security P10, R135)',
  async (seconds) => {
    const insert = (iat: number) =>
      service.store.accessTokens.insertForClient({
        tokenHash: randomBytes(32),
        clientId: machine.clientId,
        scope: '',
        lifetime: 60,
        audience: undefined,
        binding: { jkt: key.jkt },
        proof: { hash: randomBytes(32), iat },
      });
    const [clock] = await service.database.sql<{ now: number }>(
      'SELECT extract(epoch FROM clock_timestamp())::int AS now',
    );
    expect(await insert(clock!.now + seconds)).toBe('replayed');
    expect(await insert(clock!.now + Math.sign(seconds) * 290)).toBe('stored');
  },
);

test.each([-2, -1, 1, 2])(
  'a proof that was signed again with a time of %s minutes beside the first counts no second time (RFC 9449 11.1, security P4, R135)',
  async (minutes) => {
    const hash = randomBytes(32);
    const insert = (iat: number) =>
      service.store.accessTokens.insertForClient({
        tokenHash: randomBytes(32),
        clientId: machine.clientId,
        scope: '',
        lifetime: 60,
        audience: undefined,
        binding: { jkt: key.jkt },
        proof: { hash, iat },
      });
    const [clock] = await service.database.sql<{ now: number }>(
      'SELECT extract(epoch FROM clock_timestamp())::int AS now',
    );
    expect(await insert(clock!.now)).toBe('stored');
    expect(await insert(clock!.now + minutes * 60)).toBe('replayed');
  },
);

test('a batch that finds many tokens uses the proof of each once (RFC 9449 11.1, security R135)', async () => {
  const { body } = await postWithProof(service, '/token', machine, own, key);
  const token = body['access_token'] as string;
  const jtis = Array.from({ length: 10 }, () => randomBytes(8).toString('hex'));
  const answers = await Promise.all(
    [...jtis, ...jtis, ...jtis].map((jti) => present(service, '/user/info', token, key, { claims: { jti } })),
  );
  // each token is known: it lacks the scope, which is checked after the proof
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 403)).toHaveLength(10);
  expect(statuses.filter((status) => status === 401)).toHaveLength(20);
});

test('a request that a stranger can make stores no proof: unknown tokens, codes and refresh tokens, and tokens of another key (security R151)', async () => {
  const open = await service.createClient({ token_endpoint_auth_method: 'none', scope: 'openid' });
  const { body } = await postWithProof(service, '/token', machine, own, key);
  const before = await rows();
  const stranger = await newProofKey();
  const unknown = (body['access_token'] as string).replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
  for (const token of [unknown, 'x', body['access_token'] as string])
    for (const path of ['/user/info', '/user/me/info', '/admin/api/clients'])
      expect((await present(service, path, token, stranger)).status).toBe(401);
  const code = await obtainCode(service, open, await service.createUser(), {
    code_challenge: 'a'.repeat(43),
    code_challenge_method: 'S256',
  });
  const grants: Record<string, string>[] = [
    { grant_type: 'authorization_code', code: 'x', redirect_uri: open.redirectUri },
    { grant_type: 'authorization_code', code, redirect_uri: open.redirectUri, code_verifier: 'b'.repeat(43) },
    { grant_type: 'refresh_token', refresh_token: 'x' },
    { grant_type: 'unknown' },
  ];
  for (const grant of grants) expect((await postWithProof(service, '/token', open, grant, stranger)).status).toBe(400);
  expect((await postWithProof(service, '/par', open, { response_type: 'code' }, stranger)).status).toBe(400);
  expect(await rows()).toBe(before);
});

test('only the tables of minutes whose proofs are too old are emptied, each as a whole (RFC 9449 11.1, security R151)', async () => {
  await service.database.sql('TRUNCATE dpop_proofs');
  await service.database.sql(
    `INSERT INTO dpop_proofs SELECT slot, sha256(convert_to(slot || ' ' || n, 'UTF8')) FROM generate_series(0, 15) slot, generate_series(1, 100) n`,
  );
  const [clock] = await service.database.sql<{ minute: number }>(
    'SELECT floor(extract(epoch FROM clock_timestamp()) / 60)::int AS minute',
  );
  expect(await empty()).toBe(3);
  const left = await service.database.sql<{ slot: number }>('SELECT DISTINCT slot FROM dpop_proofs ORDER BY slot');
  const live = Array.from({ length: 11 }, (_, index) => (clock!.minute - 5 + index) % 16);
  for (const slot of live) expect(left.map((row) => row.slot)).toContain(slot);
  expect(left).toHaveLength(13);
  expect(await empty()).toBe(0);
  // the next minutes free the others one by one
  const [unlogged] = await service.database.sql<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_class WHERE relname ~ '^dpop_proofs_[0-9]+$' AND relpersistence = 'u'`,
  );
  expect(unlogged!.n).toBe(16);
});

test('an unbound token costs one statement, and a bound one no more (protocols R135)', async () => {
  const client = await service.createClient({ scope: 'openid' });
  const user = await service.createUser();
  const code = async () => ({
    grant_type: 'authorization_code',
    redirect_uri: client.redirectUri,
    code: await obtainCode(service, client, user, { scope: 'openid' }),
  });
  const bound = await postWithProof(service, '/token', client, await code(), key);
  const response = await fetch(`${service.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams(await code()),
    headers: { authorization: client.basic },
  });
  const unbound = (await response.json()) as Record<string, string>;
  const isOfRequest = (name: string) => /^(access_tokens|client_sessions|dpop)/.test(name);
  const sentFor = async (ask: () => Promise<{ status: number }>) => {
    const before = service.statements.length;
    expect((await ask()).status).toBe(200);
    return service.statements.slice(before).filter(isOfRequest);
  };
  const token = bound.body['access_token'] as string;
  expect(await sentFor(() => present(service, '/user/info', token, key))).toEqual(['access_tokens.find_with_proof']);
  const headers = { authorization: `Bearer ${unbound['access_token']}` };
  expect(await sentFor(() => fetch(`${service.issuer}/user/info`, { headers }))).toEqual(['access_tokens.find']);
});
