// Sends very many different values of every name that a request can choose, and shows what the service keeps of them (security R105, A122).
//
//   node bench/cardinality.ts [--each 20000]
//
// Ends by itself. Prints the memory of the service and its rows before, after each kind, and after their expiry.
import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { type Bed, withService } from './bed.ts';
import { hiddenFields, UserAgent } from '../test/helpers/user-agent.ts';
import { command } from './children.ts';

const { values } = parseArgs({ options: { each: { type: 'string', default: '20000' } } });
const each = Number(values.each);
const lanes = 16;
const redirectUri = 'https://rp.example.com/callback';
const deadline = 120; // seconds for the clean-up

process.exitCode = (await withService(
  {
    // so that a header can name a network
    TRUST_PROXY: '127.0.0.0/8,::1',
  },
  main,
))
  ? 0
  : 1;

async function main({ service, settings, connection, stops }: Bed): Promise<boolean> {
  const sql = new pg.Client(connection);
  await sql.connect();
  stops.push(() => sql.end());
  const web = await command(['client', 'create', '--name', 'web', '--redirect-uri', redirectUri], settings);
  const id = web['client_id']!;
  const machine = await command(
    ['client', 'create', '--name', 'bench', '--grant-type', 'client_credentials'],
    settings,
  );
  // its secret becomes a key for assertions
  const admin = await command(
    ['client', 'create', '--name', 'admin', '--grant-type', 'client_credentials', '--scope', 'admin'],
    settings,
  );
  const basic = (name: string, secret: string) => `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
  const token = async (parameters: Record<string, string>, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.base}/token`, {
      method: 'POST',
      body: new URLSearchParams(parameters),
      headers,
    });
    return { status: response.status, body: (await response.json()) as Record<string, string> };
  };
  const credentials = { grant_type: 'client_credentials' };
  const { body } = await token(credentials, { authorization: basic(admin['client_id']!, admin['client_secret']!) });
  const changed = await fetch(`${service.base}/admin/api/clients/${machine['client_id']}`, {
    method: 'PATCH',
    body: JSON.stringify({ token_endpoint_auth_method: 'client_secret_jwt' }),
    headers: { authorization: `Bearer ${body['access_token']}`, 'content-type': 'application/json' },
  });
  const { client_secret: key } = (await changed.json()) as { client_secret: string };

  const authorize = async (more: Record<string, string>) => {
    const parameters = { response_type: 'code', scope: 'openid', client_id: id, redirect_uri: redirectUri, ...more };
    const response = await fetch(`${service.base}/authorize?${new URLSearchParams(parameters)}`, {
      redirect: 'manual',
    });
    await response.arrayBuffer();
    return response.status;
  };
  const network = (index: number) =>
    `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`.replace(/\d+$/, '1');
  const assertion = () => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const name = machine['client_id']!;
    const claims = {
      iss: name,
      sub: name,
      aud: service.base,
      jti: randomUUID(),
      exp: Math.floor(Date.now() / 1000) + 60,
    };
    const content = `${part({ alg: 'HS256' })}.${part(claims)}`;
    return `${content}.${createHmac('sha256', key).update(content).digest('base64url')}`;
  };
  const agent = new UserAgent({ issuer: service.base });
  const form = hiddenFields((await agent.get('/login')).body);

  /** The kinds of values, and how many of each: a password hash takes time, so there are fewer user names. */
  const kinds: [name: string, count: number, send: (index: number) => Promise<number>][] = [
    ['ui_locales', each, (index) => authorize({ ui_locales: `de-${index.toString(36)} x-${index}` })],
    ['scope', each, (index) => authorize({ scope: `openid s${index}` })],
    ['client_id at /authorize', each, (index) => authorize({ client_id: `invented-${index}` })],
    [
      'client_id at /token',
      each,
      async (index) => (await token(credentials, { authorization: basic(`invented-${index}`, 'x') })).status,
    ],
    [
      'X-Forwarded-For',
      each,
      async (index) =>
        (await token(credentials, { authorization: basic(id, 'x'), 'x-forwarded-for': network(index << 8) })).status,
    ],
    [
      'jti',
      each,
      async () =>
        (
          await token({
            ...credentials,
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            client_assertion: assertion(),
          })
        ).status,
    ],
    [
      'username',
      Math.ceil(each / 20),
      async (index) => {
        const fields = { ...form, username: `nobody-${index}`, password: 'x'.repeat(12) };
        return (await agent.post('/login', fields, { 'x-forwarded-for': network(index << 8) })).status;
      },
    ],
  ];

  const show = async (moment: string, statuses = '') => {
    const rows = await counts(sql);
    const text = Object.entries(rows)
      .map(([table, count]) => `${table} ${count}`)
      .join(', ');
    console.log(
      `${moment.padEnd(26)} RSS ${String(memory(service.pid)).padStart(4)} MiB  ${statuses.padEnd(28)} ${text}`,
    );
    return rows;
  };
  await inLanes(200, (index) => authorize({ state: String(index) }));
  await sql.query(`DELETE FROM authorization_requests`);
  const before = await show('before');
  for (const round of ['', ', again']) {
    for (const [name, count, send] of kinds) {
      const offset = round === '' ? 0 : count;
      const statuses = await inLanes(count, (index) => send(index + offset));
      await show(`${count} × ${name}${round}`, JSON.stringify(statuses).replaceAll('"', ''));
    }
  }
  // they expire; the audit trail is kept forever, and the tokens belong to the client itself
  for (const table of ['authorization_requests', 'used_assertions', 'access_tokens'])
    await sql.query(`UPDATE ${table} SET expires_at = now() - interval '1 second'`);
  await sql.query('UPDATE rate_limits SET expire = 0');
  let after = await counts(sql);
  const kept = () =>
    Object.keys(after).filter((table) => table !== 'audit_events' && after[table]! > (before[table] ?? 0));
  for (let waited = 0; waited < deadline && kept().length > 0; waited++) {
    await delay(1000);
    after = await counts(sql);
  }
  await show('after the clean-up');
  const left = kept();
  console.log(
    left.length === 0 ? 'nothing is left of it but the audit trail' : `FAILED: rows are left in ${left.join(', ')}`,
  );
  return left.length === 0;
}

/** How often each status came. */
async function inLanes(count: number, send: (index: number) => Promise<number>): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const status = await send(next++);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return statuses;
}

/** In MiB, of a process on Linux. */
function memory(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}

/** Rows by table, of the tables that have any. */
async function counts(sql: pg.Client): Promise<Record<string, number>> {
  const { rows: tables } = await sql.query<{ name: string }>(
    `SELECT relname AS name FROM pg_stat_user_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  const result: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await sql.query<{ n: number }>(`SELECT count(*)::int AS n FROM "${name}"`);
    if (rows[0]!.n > 0) result[name] = rows[0]!.n;
  }
  return result;
}
