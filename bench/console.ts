// The console over a big database: the time of each page, and the sequential scans of big tables that it took (there should be none).
//
//   node bench/console.ts [--scale 1] [--calls 9]
//
// At a small scale PostgreSQL scans small tables rightly, and the background job's own scans are counted, too: only a full run says something.
// Scale 1 is 1,000,000 users, 10,000 clients, 200,000 sessions and 10,000,000 events, which take minutes and about 5 GB of a temporary folder.
import { parseArgs } from 'node:util';
import pg from 'pg';
import { UserAgent } from '../test/helpers/user-agent.ts';
import { type Bed, withService } from './bed.ts';

const { values } = parseArgs({
  options: { scale: { type: 'string', default: '1' }, calls: { type: 'string', default: '9' } },
});
const scale = Number(values.scale);
const calls = Number(values.calls);
const count = (full: number) => Math.max(1, Math.round(full * scale));
const big = ['users', 'clients', 'sessions', 'client_sessions', 'access_tokens', 'refresh_tokens', 'audit_events'];
const pages = [
  '/admin',
  '/admin/sessions',
  '/admin/sessions?user=person-7',
  '/admin/sessions?address=10.0.0.7',
  '/admin/keys',
  '/admin/audit',
  '/admin/audit?outcome=failure',
  '/admin/audit?type=keys.rotated',
  '/admin/audit?user=person-7',
  '/admin/audit?user=person-7&outcome=failure',
  '/admin/audit?client=client-7&type=code.replayed',
  '/admin/audit?actor=person-7',
  '/admin/audit?address=10.0.0.7&type=user.signed_in',
  '/admin/audit?type=token.issued',
  '/admin/audit/5',
];

process.exitCode = (await withService({ LIMIT_SIGN_IN_PER_NETWORK: '0' }, main)) ? 0 : 1;

async function fill(sql: pg.Client): Promise<void> {
  // what triggers record of each row is not what is measured
  for (const table of ['users', 'clients', 'sessions']) await sql.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
  await sql.query(
    `INSERT INTO users (sub, username) SELECT 'u' || i, 'person-' || i FROM generate_series(1, ${count(1e6)}) i`,
  );
  await sql.query(
    `INSERT INTO clients (client_id, status, approved_by, metadata, shared_secret_encrypted)
     SELECT 'client-' || i, 'enabled', 'administrator', '{"redirect_uris": [], "grant_types": [], "response_types": [], "scope": "", "token_endpoint_auth_method": "none"}', 'x'
       FROM generate_series(1, ${count(1e4)}) i`,
  );
  await sql.query(
    `INSERT INTO sessions (token_hash, sid, sub, amr, idle_expires_at, expires_at, address)
     SELECT sha256(i::text::bytea), 's' || i, 'u' || i, '{pwd}', now() + interval '1 day', now() + interval '1 day', '10.0.0.0'::inet + i % 65536
       FROM generate_series(1, ${count(2e5)}) i`,
  );
  await sql.query(
    `INSERT INTO audit_events (at, type, outcome, actor, client_id, sub, address)
     SELECT now() - i * interval '30 days' / ${count(1e7)},
            CASE WHEN i % 9 = 0 THEN 'user.sign_in_failed' ELSE 'user.signed_in' END, CASE WHEN i % 9 = 0 THEN 'failure' ELSE 'success' END,
            'u' || i % ${count(1e6)}, 'client-' || i % ${count(1e4)}, 'u' || i % ${count(1e6)}, '10.0.0.0'::inet + (i % 65536)::int
       FROM generate_series(1, ${count(1e7)}) i`,
  );
  for (const table of ['users', 'clients', 'sessions']) await sql.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
  await sql.query('VACUUM ANALYZE');
}

async function main({ service, settings, connection, stops }: Bed): Promise<boolean> {
  const sql = new pg.Client(connection);
  await sql.connect();
  stops.push(() => sql.end());
  const begun = performance.now();
  await fill(sql);
  console.log(`filled in ${((performance.now() - begun) / 1000).toFixed(0)} s`);
  const agent = new UserAgent({ issuer: service.base });
  const admin = { username: 'admin', password: settings['ADMIN_PASSWORD']! };
  const home = await agent.signIn(admin, await agent.follow(await agent.get('/admin')));
  if (home.status !== 200) throw new Error(`the console answers ${home.status}`);
  const scans = async () => {
    // statistics of other connections arrive within a second of their idleness
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const { rows } = await sql.query<{ relname: string; seq_scan: string }>(
      'SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname = ANY ($1)',
      [big],
    );
    return new Map(rows.map(({ relname, seq_scan: scanned }) => [relname, Number(scanned)]));
  };
  let good = true;
  console.log('| Page | median ms | most ms | KB | sequential scans |\n| --- | --- | --- | --- | --- |');
  for (const page of pages) {
    const before = await scans();
    const times: number[] = [];
    let bytes = 0;
    for (let call = 0; call < calls; call++) {
      const start = performance.now();
      const answer = await agent.get(page);
      times.push(performance.now() - start);
      bytes = answer.body.length;
      if (answer.status !== 200) good = false;
    }
    const after = await scans();
    const scanned = big.filter((table) => (after.get(table) ?? 0) > (before.get(table) ?? 0));
    if (scanned.length > 0) good = false;
    times.sort((a, b) => a - b);
    const [median, most] = [times[times.length >> 1]!, times.at(-1)!].map((time) => time.toFixed(1));
    console.log(`| ${page} | ${median} | ${most} | ${(bytes / 1000).toFixed(0)} | ${scanned.join(', ') || 'none'} |`);
  }
  return good;
}
