// Measures the cost of a refused client assertion: processor time of the service for keys of any size, beside that of an introspection with a wrong secret (security R113, R114).
// node bench/refused-assertions.ts [--rounds 5] [--each 100] [--postgres FOLDER]; ends by itself, with 1 when an assertion for a client that was never enabled, or for keys that are too large, costs more than twice as much. Linux only.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { type Bed, withService } from './bed.ts';
import { command } from './children.ts';
import { at, postTo } from './everyday.ts';
import { between, processorTimes } from './meter.ts';

const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    each: { type: 'string', default: '100' },
  },
});
const rounds = Number(values.rounds);
const each = Number(values.each);
const maxTimes = 2;
const form = { 'content-type': 'application/x-www-form-urlencoded' };

interface Key {
  kty: 'RSA';
  n: string;
  e: string;
}
interface Kind {
  name: string;
  /** Sends one request, and gives its status. */
  send: () => Promise<number>;
  /** Whether the cost of the ordinary refusal is its limit. */
  bounded: boolean;
}

/** A key built from numbers: the benchmark never signs with it. */
function rsa(bits: number, exponent: Buffer): Key {
  const number = randomBytes(bits / 8);
  number[0]! |= 0x80;
  number[number.length - 1]! |= 1;
  return { kty: 'RSA', n: number.toString('base64url'), e: exponent.toString('base64url') };
}

const keys = (count: number, bits: number, exponent: () => Buffer) =>
  Array.from({ length: count }, () => rsa(bits, exponent()));
const usual = () => Buffer.from([1, 0, 1]);

/** An assertion of a client, without kid, and with a wrong signature of the length that its keys have. */
function assertion(base: string, clientId: string, bits: number): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: clientId, sub: clientId, aud: base, jti: 'x', exp: Math.floor(Date.now() / 1000) + 3000 };
  const signature = randomBytes(bits / 8);
  signature[0]! &= 0x7f;
  return `${part({ alg: 'RS256' })}.${part(claims)}.${signature.toString('base64url')}`;
}

async function kindsOf({ service: { base }, settings }: Bed, sql: pg.Client): Promise<Kind[]> {
  const post = postTo(base, 4);
  const introspect = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const body = new URLSearchParams({ token: 'x', ...fields }).toString();
    return (await post('/introspect', { ...form, ...headers }, body)).status;
  };
  const machine = await command(['client', 'create', '--name', 'm', '--grant-type', 'client_credentials'], settings);
  const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  const register = async (): Promise<string> => {
    const metadata = {
      redirect_uris: ['https://rp.example.com/callback'],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [jwk] },
    };
    const answer = await post('/register', { 'content-type': 'application/json' }, JSON.stringify(metadata));
    return (JSON.parse(answer.body) as { client_id: string }).client_id;
  };
  const asserting = async (
    name: string,
    stored: Key[],
    bits: number,
    options: { enabled: boolean; bounded: boolean },
  ) => {
    const id = await register();
    // written into the row, since registration refuses such keys
    await sql.query(
      `UPDATE clients SET metadata = jsonb_set(metadata, '{jwks,keys}', $2), status = $3 WHERE client_id = $1`,
      [id, JSON.stringify(stored), options.enabled ? 'enabled' : 'disabled'],
    );
    const fields = {
      client_assertion: assertion(base, id, bits),
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    };
    return { name, send: () => introspect(fields), bounded: options.bounded };
  };
  const wrong = `Basic ${Buffer.from(`${machine['client_id']}:wrong`).toString('base64')}`;
  const long = () => randomBytes(384);
  const never = { enabled: false, bounded: true };
  const stored = { enabled: true, bounded: true };
  return [
    { name: 'a wrong secret', send: () => introspect({}, { authorization: wrong }), bounded: true },
    await asserting('never enabled, 20 keys of 16,384 bits', keys(20, 16_384, usual), 16_384, never),
    await asserting('never enabled, 20 exponents of 3,072 bits', keys(20, 3072, long), 3072, never),
    await asserting('enabled, 20 keys of 16,384 bits', keys(20, 16_384, usual), 16_384, stored),
    await asserting('enabled, 20 exponents of 3,072 bits', keys(20, 3072, long), 3072, stored),
    // the most that a client may register
    await asserting(
      'enabled, 4 keys of 4,096 bits, exponents of 32',
      keys(4, 4096, () => Buffer.alloc(4, 0xff)),
      4096,
      {
        enabled: true,
        bounded: false,
      },
    ),
  ];
}

async function measure(bed: Bed): Promise<void> {
  const sql = new pg.Client(bed.connection);
  await sql.connect();
  bed.stops.push(() => sql.end());
  const kinds = await kindsOf(bed, sql);
  const costs = kinds.map((): number[] => []);
  const statuses = kinds.map(() => new Set<number>());
  // the first round warms up
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { send }] of kinds.entries()) {
      const before = processorTimes(bed.service.pid);
      for (let count = 0; count < each; count++) statuses[index]!.add(await send());
      if (round > 0) costs[index]!.push((between(before, processorTimes(bed.service.pid)) / each) * 1000);
    }
  }
  const medians = costs.map((all) => at(all, 0.5));
  process.stdout.write(
    `processor time of the service for a refused introspection, one after another; the median of ${rounds} rounds of ${each}, in turn\n\n`,
  );
  const row = (cells: string[]) =>
    process.stdout.write(`${cells.map((cell, at) => (at === 0 ? cell.padEnd(50) : cell.padStart(12))).join('')}\n`);
  row(['', 'status', 'ms', 'ratio']);
  for (const [index, { name, bounded }] of kinds.entries()) {
    const ratio = medians[index]! / medians[0]!;
    row([name, [...statuses[index]!].join(' '), medians[index]!.toFixed(2), ratio.toFixed(2)]);
    if ((bounded && ratio > maxTimes) || [...statuses[index]!].some((status) => status !== 401)) process.exitCode = 1;
  }
}

// all calls come from one network here; this measures the work, not the limits before it
await withService({ LIMIT_CLIENT_AUTH_FAILURES: '0' }, measure, { postgres: values.postgres });
