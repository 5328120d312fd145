// Takes a client from very many signed-in users at once, and measures until when they are refused at introspection and refresh, and until when their rows
// are gone and the messages of their logout stored (federation FR42).
//
//   node bench/access-loss.ts [--users 20000] [--by client|group]
//
// By `client` the client admits another group, by `group` all users leave the group. Ends by itself. Prints a line for each step, and the time of introspections of another client meanwhile.
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { newOpaqueToken } from '../src/tokens/opaque-token.ts';
import { type Bed, withService } from './bed.ts';
import { command } from './children.ts';

const { values } = parseArgs({
  options: { users: { type: 'string', default: '20000' }, by: { type: 'string', default: 'client' } },
});
const users = Number(values.users);
const redirectUri = 'https://rp.example.com/callback';

await withService({}, main);

async function main({ service, settings, connection, stops }: Bed): Promise<void> {
  const sql = new pg.Client(connection);
  await sql.connect();
  stops.push(() => sql.end());
  const clientNamed = async (name: string) => {
    const made = await command(['client', 'create', '--name', name, '--redirect-uri', redirectUri], settings);
    const [id, secret] = [made['client_id']!, made['client_secret']!];
    return { id, basic: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
  };
  const [lost, kept] = [await clientNamed('lost'), await clientNamed('kept')];
  await command(['client', 'access', lost.id, '--access', 'groups', '--group', 'hands'], settings);
  await sql.query(
    `INSERT INTO users (username, groups) SELECT 'hand ' || n, '{hands}' FROM generate_series(1, $1::int) AS n`,
    [users],
  );
  for (const { id } of [lost, kept]) {
    await sql.query(
      `INSERT INTO grants (sub, client_id, granted) SELECT sub, $1, '{"scope": ["openid"], "claims": [], "resources": {}}' FROM users WHERE groups = '{hands}'`,
      [id],
    );
    await sql.query(
      `WITH begun AS (
         INSERT INTO sessions (token_hash, sid, sub, amr, idle_expires_at, expires_at)
         SELECT sha256((sub || $1)::bytea), sub || $1, sub, '{pwd}', now() + interval '1 hour', now() + interval '1 hour'
           FROM users WHERE groups = '{hands}' RETURNING id, sid, sub),
       parts AS (INSERT INTO session_clients (session_id, client_id) SELECT id, $1 FROM begun),
       families AS (
         INSERT INTO client_sessions (session_id, sid, sub, client_id, client_epoch, scope, offline, auth_time, amr, expires_at)
         SELECT b.id, sid, sub, $1, c.epoch, 'openid', false, now(), '{pwd}', now() + interval '1 hour'
           FROM begun b, clients c WHERE c.client_id = $1 RETURNING id, sub),
       refreshing AS (
         INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at)
         SELECT sha256((sub || $1)::bytea), id, 1, now() + interval '1 hour' FROM families)
       INSERT INTO access_tokens (token_hash, client_session_id, expires_at)
       SELECT sha256((sub || $1)::bytea), id, now() + interval '1 hour' FROM families`,
      [id],
    );
  }
  // no message is delivered: nothing listens there
  await sql.query(
    `UPDATE clients SET metadata = metadata || '{"backchannel_logout_uri": "https://rp.example.com/out"}' WHERE client_id = $1`,
    [lost.id],
  );
  await sql.query('ANALYZE');
  const tokenOf = async ({ id }: { id: string }): Promise<string> => {
    const { token, hash } = newOpaqueToken('access_token');
    await sql.query(
      `INSERT INTO access_tokens (token_hash, client_session_id, expires_at)
       SELECT $2, max(id), now() + interval '1 hour' FROM client_sessions WHERE client_id = $1`,
      [id, hash],
    );
    return token;
  };
  const isActive = async ({ basic }: { basic: string }, token: string): Promise<boolean> => {
    const response = await fetch(`${service.base}/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token }),
      headers: { authorization: basic },
    });
    return ((await response.json()) as { active: boolean }).active;
  };
  const refreshTokenOf = async ({ id }: { id: string }): Promise<string> => {
    const { token, hash } = newOpaqueToken('refresh_token');
    await sql.query(
      `INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at)
       SELECT $2, max(id), 1, now() + interval '1 hour' FROM client_sessions WHERE client_id = $1`,
      [id, hash],
    );
    return token;
  };
  const refreshed = async ({ basic }: { basic: string }, token: string): Promise<number> => {
    const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token });
    return (await fetch(`${service.base}/token`, { method: 'POST', body, headers: { authorization: basic } })).status;
  };
  const [refreshToken, usableToken] = [await refreshTokenOf(lost), await refreshTokenOf(lost)];
  if ((await refreshed(lost, usableToken)) !== 200) throw new Error('a refresh token is not usable');
  const [lostToken, keptToken] = [await tokenOf(lost), await tokenOf(kept)];
  if (!(await isActive(lost, lostToken)) || !(await isActive(kept, keptToken)))
    throw new Error('a token is not active');

  const began = performance.now();
  const since = () => `${Math.round(performance.now() - began)} ms`;
  if (values.by === 'group') await sql.query(`UPDATE users SET groups = '{}' WHERE groups = '{hands}'`);
  else await sql.query(`UPDATE clients SET access_groups = '{nobody}' WHERE client_id = $1`, [lost.id]);
  console.log(`the change of the ${values.by === 'group' ? 'group' : 'client'} is committed after ${since()}`);
  const committed = performance.now();
  if (await isActive(lost, lostToken)) throw new Error('the token is still active');
  if ((await refreshed(lost, refreshToken)) !== 400) throw new Error('the refresh token is still good');
  console.log(`introspection and refresh refuse the tokens ${Math.round(performance.now() - committed)} ms after that`);
  const times: number[] = [];
  for (;;) {
    const asked = performance.now();
    if (!(await isActive(kept, keptToken))) throw new Error('another client lost its token');
    times.push(performance.now() - asked);
    const left = await sql.query('SELECT FROM client_sessions WHERE client_id = $1 LIMIT 1', [lost.id]);
    if (left.rows.length === 0) break;
    await delay(20);
  }
  console.log(`the rows of ${users} users are gone after ${since()}`);
  times.sort((one, other) => one - other);
  const at = (part: number) => times[Math.floor((times.length - 1) * part)]!.toFixed(1);
  console.log(
    `introspection for another client meanwhile: median ${at(0.5)} ms, 95 % below ${at(0.95)} ms (${times.length} calls)`,
  );
  const { rows } = await sql.query<{ count: string }>(
    `SELECT count(*) FROM audit_events WHERE type = 'access.lost' AND client_id = $1`,
    [lost.id],
  );
  const { rows: messages } = await sql.query<{ count: string }>(
    `SELECT count(*) FROM logout_deliveries WHERE client_id = $1`,
    [lost.id],
  );
  console.log(`${rows[0]!.count} events, ${messages[0]!.count} messages of a logout`);
}
