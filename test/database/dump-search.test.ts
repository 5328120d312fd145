// The search for secrets, which every test database undergoes before it is dropped, finds planted secrets in each encoding.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSecretBox } from '../../src/crypto/secret-box.ts';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { newOpaqueToken } from '../../src/tokens/opaque-token.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { observe, remember, secretsIn } from '../helpers/dump-search.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

/** Returns what the search finds in a database that holds this value, too. */
async function findingsWith(type: string, value: unknown): Promise<string[]> {
  await database.sql(`CREATE TABLE "Planted" (id int, "a column" ${type})`);
  await database.sql('INSERT INTO "Planted" VALUES (1, $1)', [value]);
  try {
    return await secretsIn({ query: async (text: string) => ({ rows: await database.sql(text) }) } as never);
  } finally {
    await database.sql('DROP TABLE "Planted"');
  }
}

const token = newOpaqueToken('access_token').token;
const secret = randomSecret();
const random = token.slice(-49, -6);
const bytes = (text: string) => Buffer.from(text, 'base64url');

test.each<[string, string, (planted: string) => unknown]>([
  ['as text', 'text', (planted) => planted],
  ['within text', 'text', (planted) => `token=${planted}, and more`],
  ['in jsonb', 'jsonb', (planted) => ({ deep: [{ value: planted }] })],
  ['as bytes', 'bytea', (planted) => Buffer.from(planted)],
  ['within bytes', 'bytea', (planted) => Buffer.from(`\u0001\u0002${planted}\u0003`)],
  ['in hexadecimal', 'text', (planted) => Buffer.from(planted).toString('hex')],
  ['in capital hexadecimal', 'text', (planted) => Buffer.from(planted).toString('hex').toUpperCase()],
  ['in base64', 'text', (planted) => Buffer.from(planted).toString('base64')],
  ['in base64url', 'text', (planted) => Buffer.from(planted).toString('base64url')],
  ['in base64 after other text', 'text', (planted) => Buffer.from(`id:${planted}`).toString('base64')],
  ['in base64 between two characters', 'text', (planted) => Buffer.from(`:${planted}:`).toString('base64')],
  ['in base64 within bytes', 'bytea', (planted) => Buffer.from(Buffer.from(planted).toString('base64'))],
  ['in an array', 'text[]', (planted) => ['x', planted]],
])(
  'the search finds a token and a secret %s, and names their table and column but not their value (security R26)',
  async (_how, type, plant) => {
    remember('access token', token);
    remember('client_secret', secret);
    for (const [kind, planted] of [
      ['access token', token],
      ['client_secret', secret],
    ] as const)
      expect(await findingsWith(type, plant(planted))).toEqual([`public."Planted"."a column": ${kind}`]);
  },
);

test.each<[string, string, unknown]>([
  ['random part', 'text', random],
  ['random bytes', 'bytea', bytes(random)],
  ['random bytes in hexadecimal', 'text', bytes(random).toString('hex')],
  ['random bytes in base64', 'text', bytes(random).toString('base64')],
])('the search finds a token’s %s alone (security R26)', async (_what, type, planted) => {
  remember('access token', token);
  expect(await findingsWith(type, planted)).toEqual([`public."Planted"."a column": access token`]);
});

test('the search takes neither a digest nor an encrypted value for a secret (security R26)', async () => {
  remember('client_secret', secret);
  expect(await findingsWith('bytea', createHash('sha256').update(secret).digest())).toEqual([]);
  expect(
    await findingsWith('bytea', createSecretBox([parseSecretKey(randomSecret())]).seal(secret, 'clients.x')),
  ).toEqual([]);
});

test('the search knows each secret that answers, pages, cookies and commands show (security R26)', async () => {
  const tokens = (['authorization_code', 'session', 'refresh_token', 'initial_access_token'] as const).map(
    (kind) => newOpaqueToken(kind).token,
  );
  const secrets = Array.from({ length: 4 }, randomSecret);
  observe(`https://rp.example.com/callback?code=${tokens[0]}&state=x`);
  observe(`JSESSIONOPENID=${tokens[1]}; Path=/`);
  observe(JSON.stringify({ refresh_token: tokens[2], client_secret: secrets[0], shared_secret: secrets[1] }));
  observe(`${tokens[3]}\n\nSend it as: Authorization: Bearer TOKEN`);
  observe(`GATEHOUSE_BROWSER=${secrets[2]}; Path=/`);
  observe(`<input type="hidden" name="csrf" value="${secrets[3]}">`);
  observe(JSON.stringify({ verification_code: 'ZZZZ-XXXX' }, null, 2));
  for (const planted of [...tokens, ...secrets, 'ZZZZXXXX'])
    expect(await findingsWith('text', planted)).toHaveLength(1);
});
