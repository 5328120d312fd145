// Fills a database for the console's benchmark: the server itself generates the rows, and indexes are built afterwards.
import { execFileSync } from 'node:child_process';
import pg from 'pg';
import { flushing } from './postgres.ts';

/** The number of rows of each kind at scale 1. */
const full = {
  users: 1_000_000,
  groups: 20_000,
  clients: 10_000,
  resources: 1_000,
  sessions: 200_000,
  clientSessions: 400_000,
  grants: 300_000,
  deliveries: 50_000,
  identities: 300_000,
  accounts: 300_000,
  auditEvents: 10_000_000,
};
export type Amounts = typeof full;

export const amountsAt = (scale: number): Amounts =>
  Object.fromEntries(
    Object.entries(full).map(([name, amount]) => [name, Math.max(100, Math.round(amount * scale))]),
  ) as Amounts;

/** The limit of a statement, so that the run ends by itself. */
const longest = '20min';
const lanes = 2;

/** How one table is filled: by these statements at once, after those tables. */
interface Filling {
  table: string;
  after?: string[];
  inserts: string[];
}

/** Users, groups and applications, and their grants, sessions and tokens. */
function things(amounts: Amounts): Filling[] {
  const of = (amount: keyof Amounts) => `generate_series(1, ${amounts[amount]}) AS i`;
  const name = (list: string[]) => `(ARRAY['${list.join("','")}'])`;
  const given = name(['Ada', 'Björn', 'Chidi', 'Dolores', 'Emre', 'Fatima', 'Grete', 'Hassan', 'Ines', 'Jürgen']);
  const family = name(['Abadi', 'Brandt', 'Costa', 'Dvořák', 'Eriksen', 'Fischer', 'Grün', 'Haddad', 'Ivanova']);
  const thing = name(['Harbour', 'Ledger', 'Atlas', 'Beacon', 'Quarry', 'Meadow', 'Lantern']);
  return [
    {
      table: 'users',
      inserts: inParts(amounts.users).map(
        (series) => `INSERT INTO users (sub, username, email, admin, status, groups, claims, created_at)
       SELECT 'u' || i, 'person-' || i, 'person-' || i || '@' || (ARRAY['example.com', 'example.org', 'mail.example.net'])[1 + i % 3],
              false, CASE WHEN i % 50 = 0 THEN 'disabled' ELSE 'enabled' END,
              CASE WHEN i % 3 = 0 THEN ARRAY['staff', 'team-' || i % ${amounts.groups}] ELSE ARRAY['team-' || i % ${amounts.groups}] END,
              jsonb_build_object('name', ${given}[1 + i % 10] || ' ' || ${family}[1 + i / 10 % 9],
                                 'given_name', ${given}[1 + i % 10], 'family_name', ${family}[1 + i / 10 % 9]),
              date_trunc('milliseconds', now() - (${amounts.users} - i) * interval '1000 days' / ${amounts.users})
         FROM ${series}`,
      ),
    },
    {
      // triggers write them otherwise
      table: 'login_keys',
      inserts: [
        ...['username', 'email'].map(
          (column) =>
            `INSERT INTO login_keys (key, sub) SELECT login_key(${column}), sub FROM users WHERE sub ~ '^u[0-9]+$'`,
        ),
        'INSERT INTO login_keys (key, is_client) SELECT login_key(client_id), true FROM clients',
      ],
      after: ['users', 'clients'],
    },
    {
      table: 'groups',
      after: ['users'],
      inserts: [
        `INSERT INTO groups (name, description, members)
       SELECT name, CASE WHEN name = 'staff' THEN 'Everybody who works here' ELSE 'The people of ' || name END, count(*)
         FROM users, unnest(groups) AS name GROUP BY name`,
      ],
    },
    {
      table: 'clients',
      inserts: [
        `INSERT INTO clients (client_id, status, approved_by, metadata, shared_secret_encrypted, self_registered, created_at)
       SELECT 'client-' || i, CASE WHEN i % 20 = 0 OR waits THEN 'disabled' ELSE 'enabled' END,
              CASE WHEN waits THEN NULL WHEN i % 3 = 0 THEN 'automatic' ELSE 'administrator' END,
              jsonb_build_object(
                'client_name', ${thing}[1 + i % 7] || ' ' || (ARRAY['notes', 'books', 'maps', 'mail', 'desk'])[1 + i / 7 % 5] || ' ' || i,
                'redirect_uris', jsonb_build_array('https://app-' || i || '.example.' || (ARRAY['com', 'org', 'net'])[1 + i % 3] || '/callback'),
                'grant_types', '["authorization_code", "refresh_token"]'::jsonb, 'response_types', '["code"]'::jsonb,
                'scope', 'openid profile email', 'token_endpoint_auth_method', 'none', 'application_type', 'web',
                'subject_type', 'public', 'id_token_signed_response_alg', 'RS256'),
              decode(repeat('03', 16), 'hex'), i % 3 = 0 OR waits, date_trunc('milliseconds', now() - (${amounts.clients} - i) * interval '20 days' / ${amounts.clients})
         FROM (SELECT i, i % 25 = 7 AS waits FROM ${of('clients')}) AS numbered`,
      ],
    },
    {
      table: 'resources',
      after: ['clients'],
      inserts: [
        `INSERT INTO resources (id, resource, name, client_id, scopes, created_at)
       SELECT 'resource-' || i, 'https://api-' || i || '.example.com/', ${thing}[1 + i % 7] || ' ' || i, 'client-' || i * 20 + 1,
              jsonb_build_object('read', jsonb_build_object('en', 'Read everything'), 'write', '{}'::jsonb),
              date_trunc('milliseconds', now() - i * interval '1 minute')
         FROM ${of('resources')} WHERE i * 20 < ${amounts.clients} OR i = 1`,
      ],
    },
    {
      table: 'known_redirect_hosts',
      after: ['clients'],
      inserts: [
        `INSERT INTO known_redirect_hosts (host, since)
       SELECT host, min(created_at) FROM clients, unnest(redirect_hosts(metadata)) AS host WHERE status = 'enabled' GROUP BY host`,
      ],
    },
    {
      table: 'sessions',
      inserts: [
        `INSERT INTO sessions (token_hash, sid, sub, amr, idle_expires_at, expires_at, address, user_agent, created_at)
       SELECT sha256(i::text::bytea), 's' || i, 'u' || i, '{pwd}', now() + interval '1 day', now() + interval '1 day',
              '10.0.0.0'::inet + i % 65536, 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
              date_trunc('milliseconds', now() - i * interval '1 day' / ${amounts.sessions})
         FROM ${of('sessions')}`,
      ],
    },
    {
      table: 'client_sessions',
      after: ['sessions'],
      inserts: [
        `INSERT INTO client_sessions (session_id, sid, sub, client_id, client_epoch, scope, offline, auth_time, amr, expires_at, created_at)
       SELECT s.id, s.sid, s.sub, 'client-' || 1 + (s.id * 7 + i) % ${amounts.clients}, 0, 'openid profile', false, now(), '{pwd}', s.expires_at, s.created_at
         FROM sessions s, generate_series(1, ${amounts.clientSessions / amounts.sessions}) AS i`,
      ],
    },
    {
      table: 'session_clients',
      after: ['client_sessions'],
      inserts: [`INSERT INTO session_clients SELECT DISTINCT session_id, client_id FROM client_sessions`],
    },
    {
      table: 'access_tokens',
      after: ['client_sessions'],
      inserts: [
        `INSERT INTO access_tokens (token_hash, client_session_id, issued_at, expires_at)
       SELECT sha256(('a' || id)::bytea), id, now() - random() * interval '1 hour', now() + interval '1 hour' FROM client_sessions`,
      ],
    },
    {
      table: 'refresh_tokens',
      after: ['client_sessions'],
      inserts: [
        `INSERT INTO refresh_tokens (token_hash, client_session_id, generation, issued_at, expires_at)
       SELECT sha256(('r' || id)::bytea), id, 1, now() - random() * interval '1 day', now() + interval '1 day' FROM client_sessions WHERE id % 2 = 0`,
      ],
    },
    {
      table: 'grants',
      inserts: [
        `INSERT INTO grants (sub, client_id, granted)
       SELECT 'u' || 1 + i % ${amounts.users}, 'client-' || 1 + i * 13 % ${amounts.clients}, '{"scope": ["openid", "profile"], "claims": [], "resources": {}}' FROM ${of('grants')} ON CONFLICT DO NOTHING`,
      ],
    },
    {
      table: 'connections',
      inserts: [
        `INSERT INTO connections (id, kind, display_name, status, provisioning, settings)
       VALUES ('company', 'oauth', 'Company', 'enabled', 'on', '{"client_id": "gatehouse", "authorization_endpoint": "https://login.example.com/authorize",
         "token_endpoint": "https://login.example.com/token", "userinfo_endpoint": "https://login.example.com/userinfo", "subject": "id"}')`,
      ],
    },
    {
      table: 'linked_identities',
      after: ['users', 'connections'],
      inserts: [
        `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how, last_used_at)
       SELECT 'company', 'https://login.example.com/authorize', 'subject-' || i, 'u' || i, 'provisioned', now() - i * interval '1 second'
         FROM ${of('identities')} WHERE i <= ${amounts.users}`,
      ],
    },
    {
      table: 'provisioning_targets',
      after: ['clients'],
      inserts: [
        `WITH made AS (INSERT INTO provisioning_targets (id, client, base_url, status)
                         VALUES ('target', 'client-1', 'https://app-1.example.org/scim', 'disabled') RETURNING id)
       INSERT INTO provisioning_runs (target_id, held, review) SELECT id, NULL, NULL FROM made`,
        `INSERT INTO sign_up_links (id, name, uses, expires_at)
       SELECT 'link-' || i, 'Course ' || i, 100, now() + interval '30 days' FROM generate_series(1, 100) AS i`,
        `INSERT INTO webhooks (id, name, url, events, status) SELECT 'hook-' || i, 'Hook ' || i, 'https://hooks.example.com/' || i, '{user.*}', 'disabled' FROM generate_series(1, 20) AS i`,
        `INSERT INTO scim_sources (id, name) SELECT 'source-' || i, 'Source ' || i FROM generate_series(1, 20) AS i`,
      ],
    },
    {
      table: 'provisioned_users',
      after: ['users', 'provisioning_targets'],
      inserts: [
        `INSERT INTO provisioned_users (target_id, sub, external_id, remote_id, state, made, wanted, waiting, answered_at, answer_status, last_act)
       SELECT 'target', 'u' || i, 'u' || i, 'account-' || i, 'active', true, true, i % 1000 = 0, now() - i * interval '1 second', 200, 'created'
         FROM ${of('accounts')} WHERE i <= ${amounts.users}`,
      ],
    },
    {
      table: 'logout_deliveries',
      inserts: [
        `INSERT INTO logout_deliveries (client_id, sub, sid, status, finished_at, expires_at, created_at)
       SELECT 'client-' || 1 + i % ${amounts.clients}, 'u' || i, 's' || i, 'delivered', now(), now() + interval '7 days',
              date_trunc('milliseconds', now() - i * interval '1 second')
         FROM ${of('deliveries')}`,
      ],
    },
  ];
}

/** The trail of sixty days, and the counts that the background job would have made of it. */
function trail(amounts: Amounts): Filling[] {
  return [
    {
      table: 'audit_events',
      inserts: [
        ...inParts(amounts.auditEvents).map(
          (series) => `INSERT INTO audit_events (at, type, outcome, actor, client_id, sub, address)
       SELECT now() - interval '2 minutes' - i * interval '60 days' / ${amounts.auditEvents},
              CASE i % 20 WHEN 0 THEN 'user.sign_in_failed' WHEN 1 THEN 'user.sign_in_failed' WHEN 2 THEN 'consent.allowed'
                          WHEN 3 THEN 'session.ended' WHEN 4 THEN CASE WHEN i % 5000 = 4 THEN 'keys.rotated' ELSE 'client.updated' END
                          ELSE 'user.signed_in' END,
              CASE WHEN i % 20 < 2 THEN 'failure' ELSE 'success' END,
              CASE WHEN i % 20 = 4 THEN 'u1' ELSE 'u' || i % ${amounts.users} END,
              'client-' || 1 + i % ${amounts.clients}, 'u' || i % ${amounts.users}, '10.0.0.0'::inet + (i % 65536)::int
         FROM ${series}`,
        ),
        `INSERT INTO audit_events (at, type, outcome, actor, client_id, sub, address)
       SELECT now() - (${amounts.clients} - i) * interval '20 days' / ${amounts.clients}, 'client.registered', 'success', NULL,
              'client-' || i, NULL, '10.0.0.7'
         FROM generate_series(1, ${amounts.clients}) AS i`,
      ],
    },
    {
      table: 'hourly_counts',
      inserts: [
        `INSERT INTO hourly_counts (hour, kind, count)
       SELECT date_trunc('hour', now(), 'UTC') - i * interval '1 hour', kind, ${Math.ceil(amounts.auditEvents / 1440 / 2)} + i % 24
         FROM generate_series(1, 768) AS i, unnest('{sign_in,sign_in_failed,refusal,grant}'::text[]) AS kind`,
      ],
    },
  ];
}

/** This number of rows, in as many parts as there are connections. */
function inParts(amount: number): string[] {
  const each = Math.ceil(amount / lanes);
  return Array.from(
    { length: lanes },
    (_, part) => `generate_series(${part * each + 1}, ${Math.min(amount, (part + 1) * each)}) AS i`,
  );
}

interface Task {
  name: string;
  sql: string;
  after: string[];
}

/** Insertions, then indexes, then statistics of all tables; drops the indexes that are rebuilt then. */
async function tasksOf(sql: pg.Client, fillings: Filling[]): Promise<Task[]> {
  const tasks: Task[] = [];
  for (const { table, after = [], inserts } of fillings) {
    const { rows: indexes } = await sql.query<{ name: string; definition: string }>(
      `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
        WHERE indrelid = $1::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)`,
      [table],
    );
    for (const { name } of indexes) await sql.query(`DROP INDEX ${name}`);
    const rows = { name: table, after };
    tasks.push(...inserts.map((insert) => ({ ...rows, sql: insert })));
    tasks.push(...indexes.map(({ definition }) => ({ name: `${table} indexes`, after: [table], sql: definition })));
    tasks.push({ name: `${table} statistics`, after: [table, `${table} indexes`], sql: `VACUUM (ANALYZE) ${table}` });
  }
  return tasks;
}

/** Runs all tasks, on each connection one at a time: the first one whose dependencies are done. */
async function workOff(connections: pg.Client[], tasks: Task[]): Promise<void> {
  const open = new Map(tasks.map((task) => [task, 'waits']));
  let wake = Promise.withResolvers<undefined>();
  const isDone = (name: string) => ![...open.keys()].some((task) => task.name === name);
  await Promise.all(
    connections.map(async (sql) => {
      while ([...open.values()].includes('waits')) {
        const task = tasks.find((each) => open.get(each) === 'waits' && each.after.every(isDone));
        if (!task) {
          await wake.promise;
          continue;
        }
        open.set(task, 'runs');
        const begun = performance.now();
        const { rowCount } = await sql.query(task.sql);
        open.delete(task);
        wake.resolve(undefined);
        wake = Promise.withResolvers();
        const seconds = (performance.now() - begun) / 1000;
        if (seconds > 5) console.log(`${task.name}: ${rowCount ?? 1} in ${seconds.toFixed(0)} s`);
      }
    }),
  );
}

/** Fills all tables without flushing: the rows need not survive a loss of power. @param connection of a superuser */
export async function fill(connection: pg.ClientConfig, amounts: Amounts): Promise<void> {
  const connections = await Promise.all(
    Array.from({ length: lanes }, async () => {
      const sql = new pg.Client({ ...connection, application_name: 'bench' });
      await sql.connect();
      await sql.query(`SET statement_timeout = '${longest}'`);
      await sql.query("SET maintenance_work_mem = '1GB'");
      await sql.query('SET synchronous_commit = off');
      // the other connection has the other processor
      await sql.query('SET max_parallel_maintenance_workers = 0');
      // the checks of triggers and foreign keys on each row are not measured
      await sql.query('SET session_replication_role = replica');
      return sql;
    }),
  );
  const [first] = connections as [pg.Client];
  try {
    await first.query("ALTER SYSTEM SET max_wal_size = '16GB'");
    await flushing(first, 'off');
    // the trail is most of it
    await workOff(connections, await tasksOf(first, [...trail(amounts), ...things(amounts)]));
    await flushing(first, 'on');
    await first.query('CHECKPOINT');
    // otherwise the measurement would include what the system still has to write
    execFileSync('sync');
  } finally {
    for (const sql of connections) await sql.end();
  }
}
