// Opaque tokens are stored in order of time and found only by the whole token, including tokens without a time.
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { digest, randomSecret } from '../../src/crypto/secrets.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService();
  client = await service.createClient({ grant_types: ['client_credentials'] });
});
afterAll(() => service?.stop());

async function newToken(): Promise<string> {
  const { body } = await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' });
  return (body as { access_token: string }).access_token;
}

async function isActive(token: string): Promise<boolean> {
  const response = await fetch(`${service.issuer}/introspect`, {
    method: 'POST',
    body: new URLSearchParams({ token }),
    headers: { authorization: client.basic },
  });
  return ((await response.json()) as { active: boolean }).active;
}

/** Appends the checksum of the token. */
function withChecksum(body: string): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return body + sum.toString('base64url');
}

test('the index contains the tokens in the order of their creation, to the millisecond (decisions section 3)', async () => {
  const hashes: Buffer[] = [];
  let last = 0;
  for (let index = 0; index < 20; index++) {
    // tokens of the same millisecond have no order
    while (Date.now() === last) await new Promise(setImmediate);
    await newToken();
    last = Date.now();
    const rows = await service.database.sql<{ token_hash: Buffer }>(
      'SELECT token_hash FROM access_tokens WHERE NOT token_hash = ANY ($1)',
      [hashes],
    );
    expect(rows).toHaveLength(1);
    hashes.push(rows[0]!.token_hash);
  }
  expect(hashes.toSorted(Buffer.compare)).toEqual(hashes);
  expect(hashes.every(({ length }) => length === 32)).toBe(true);
  const times = hashes.map((hash) => hash.readUIntBE(0, 6));
  expect(times[0]).toBeGreaterThan(last - 60_000);
  expect(times.at(-1)).toBeLessThanOrEqual(last);
});

test('a token with another time or another random part is unknown (security R27)', async () => {
  const token = await newToken();
  expect(await isActive(token)).toBe(true);
  const [prefix, time, random] = [token.slice(0, 5), token.slice(5, 13), token.slice(13, 56)];
  expect(withChecksum(prefix + time + random)).toBe(token);
  const others = [
    ...Array.from(time, (_, at) => time.slice(0, at) + (time[at] === 'A' ? 'B' : 'A') + time.slice(at + 1) + random),
    ...[0, 21, 42].map((at) => time + random.slice(0, at) + (random[at] === 'A' ? 'Q' : 'A') + random.slice(at + 1)),
    random,
    time + randomSecret(),
  ];
  for (const other of others) expect(await isActive(withChecksum(prefix + other)), other).toBe(false);
  expect(await isActive(token)).toBe(true);
});

test('a token from before tokens contained a time stays valid until it expires (security R30)', async () => {
  const token = withChecksum(`ghat_${randomSecret()}`);
  await newToken();
  const changed = await service.database.sql(
    `UPDATE access_tokens SET token_hash = $1
      WHERE token_hash = (SELECT token_hash FROM access_tokens ORDER BY token_hash DESC LIMIT 1) RETURNING 1`,
    [digest('access_token', token)],
  );
  expect(changed).toHaveLength(1);
  expect(await isActive(token)).toBe(true);
});
