// Floods the store of used DPoP proofs, and prints the memory of the service and the sizes of the tables over time (security R151).
// node bench/dpop-proofs.ts [--rate 500] [--minutes 3] [--every 15] [--postgres FOLDER]; ends by itself. Linux only.
// One client presents a bound token with a new proof in each request, at most `rate` times a second, while another client asks for tokens ten times
// a second.
import { hash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import pg from 'pg';
import { type Bed, withService } from './bed.ts';
import { command } from './children.ts';
import { at, postTo } from './everyday.ts';
import { residentMemory } from './meter.ts';

const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    rate: { type: 'string', default: '500' },
    minutes: { type: 'string', default: '3' },
    every: { type: 'string', default: '15' },
  },
});
const rate = Number(values.rate);
const milliseconds = Number(values.minutes) * 60_000;
const every = Number(values.every) * 1000;
/** Milliseconds between two groups of requests. */
const beat = 100;

async function flood({ service: { base, pid }, settings, connection, stops }: Bed): Promise<void> {
  const sql = new pg.Client(connection);
  await sql.connect();
  stops.push(() => sql.end());
  const create = () =>
    command(['client', 'create', '--name', 'm', '--grant-type', 'client_credentials', '--scope', 'admin'], settings);
  const [flooding, other] = [await create(), await create()];
  const basic = (client: Record<string, string>) =>
    `Basic ${Buffer.from(`${client['client_id']}:${client['client_secret']}`).toString('base64')}`;
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = await exportJWK(publicKey);
  const proof = (method: string, path: string, token?: string) =>
    new SignJWT({
      jti: randomUUID(),
      htm: method,
      htu: base + path,
      ...(token !== undefined && { ath: hash('sha256', token, 'base64url') }),
    })
      .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
      .setIssuedAt()
      .sign(privateKey);
  const post = postTo(base, 64);
  const form = 'application/x-www-form-urlencoded';
  const ask = (client: Record<string, string>, dpop?: string) =>
    post(
      '/token',
      { 'content-type': form, authorization: basic(client), ...(dpop !== undefined && { dpop }) },
      'grant_type=client_credentials',
    );
  const { body } = await ask(flooding, await proof('POST', '/token'));
  const token = (JSON.parse(body) as { access_token: string }).access_token;
  const address = '/user/me/info';
  let sent = 0;
  const statuses = new Map<number, number>();
  const counted = ({ status }: { status: number }) => statuses.set(status, (statuses.get(status) ?? 0) + 1);
  let times: number[] = [];
  const open = new Set<Promise<unknown>>();
  const follow = (work: Promise<unknown>) => {
    open.add(work);
    void work.finally(() => open.delete(work));
  };
  const start = performance.now();
  // after the first answers
  let next = every;
  const row = (cells: (string | number)[]) =>
    process.stdout.write(`${cells.map((cell) => String(cell).padStart(12)).join('')}\n`);
  row(['seconds', 'proofs sent', 'rows', 'tables MiB', 'service MB', 'p50 ms', 'p95 ms']);
  for (let round = 0; performance.now() - start < milliseconds; round++) {
    // no more than the service can answer: the rest of the rate is left out
    for (let count = 0; count < (rate * beat) / 1000 && open.size < 256; count++) {
      sent++;
      follow(
        proof('POST', address, token)
          .then((dpop) => post(address, { 'content-type': form, authorization: `DPoP ${token}`, dpop }, ''))
          .then(counted),
      );
    }
    const begun = performance.now();
    follow(ask(other).then(() => times.push(performance.now() - begun)));
    if (performance.now() - start >= next) {
      next += every;
      const { rows } = await sql.query<{ n: number; bytes: string }>(
        `SELECT (SELECT count(*)::int FROM dpop_proofs) AS n,
                (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname ~ '^dpop_proofs_[0-9]+$')::text AS bytes`,
      );
      const mebibytes = (bytes: number) => (bytes / 1_048_576).toFixed(1);
      row([
        Math.round((performance.now() - start) / 1000),
        sent,
        rows[0]!.n,
        mebibytes(Number(rows[0]!.bytes)),
        residentMemory(pid).toFixed(0),
        at(times, 0.5).toFixed(1),
        at(times, 0.95).toFixed(1),
      ]);
      times = [];
    }
    await delay(Math.max(0, (round + 1) * beat - (performance.now() - start)));
  }
  await Promise.all(open);
  process.stdout.write(`\nanswers by status: ${JSON.stringify(Object.fromEntries(statuses))}\n`);
  // the token has no user: 403 comes after the proof was used
  if ([...statuses.keys()].some((status) => status !== 403)) process.exitCode = 1;
}

await withService({}, flood, { postgres: values.postgres });
