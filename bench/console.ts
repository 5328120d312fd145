// Measures the console over a big database: the time of each page and of acts that touch many rows, and the plan of each statement of a page;
// writes docs/console.md.
//
//   node bench/console.ts [--scale 1] [--calls 40] [--out docs/console.md]
//
// Scale 1 is 1,000,000 users, 10,000 clients and 10,000,000 events of the audit trail: about 10 GB of a temporary folder, and some minutes.
// It ends with 1 when a page fails, or when one of its statements reads a big table from end to end. PostgreSQL chooses a plan by the number
// of rows: only a full run is conclusive, since a table of few rows is rightly read whole.
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { formOf } from '../test/helpers/console.ts';
import { type Page, UserAgent } from '../test/helpers/user-agent.ts';
import { type Bed, withService } from './bed.ts';
import { amountsAt, fill } from './console-data.ts';
import { type ActResult, asMarkdown, type MeasuredPage } from './console-report.ts';
import { explainAll, logEnd, plansSince, type Ran } from './plans.ts';

const { values } = parseArgs({
  options: {
    scale: { type: 'string', default: '1' },
    calls: { type: 'string', default: '40' },
    out: { type: 'string', default: join(import.meta.dirname, '../docs/console.md') },
  },
});
const scale = Number(values.scale);
const calls = Number(values.calls);
/** A page must not read a table with this number of rows from end to end. */
const big = 10_000;
/**
 * The number of calls of each page for its plans: statements that run less often belong to the background job. After five, PostgreSQL may
 * choose a general plan.
 */
const explainedCalls = 8;

/** The name of each page, and its address. */
const pages: [string, string][] = [
  ['Overview', '/admin'],
  ['Overview, a month', '/admin?period=month'],
  ['Search of everything', '/admin/search?q=h'],
  ['Search of everything, by two words', '/admin/search?q=harbour+notes'],
  ['Clients', '/admin/clients'],
  ['Clients, oldest first', '/admin/clients?order=oldest'],
  ['Clients, search by a word', '/admin/clients?q=harbour'],
  ['Clients, search by a host', '/admin/clients?q=app-77.example.org'],
  ['Clients, enabled and registered', '/admin/clients?status=enabled&registered=true'],
  ['Pending approval', '/admin/clients/waiting'],
  ['One client', '/admin/clients/client-77'],
  ['A client pending approval', '/admin/clients/client-82'],
  ['Editing a client', '/admin/clients/client-77/edit'],
  ['Kinds of clients', '/admin/clients/new'],
  ['Creating a client', '/admin/clients/new/web'],
  ['Renewing secrets', '/admin/clients/client-77/secrets'],
  ['Disabling a client', '/admin/clients/client-77/disable'],
  ['APIs', '/admin/resources'],
  ['One API', '/admin/resources/resource-1'],
  ['Editing an API', '/admin/resources/resource-1/edit'],
  ['Users', '/admin/users'],
  ['Users, by name', '/admin/users?order=name'],
  ['Users, search by a rare word', '/admin/users?q=person-77'],
  ['Users, search by a common word', '/admin/users?q=fatima'],
  ['Users, search by two words', '/admin/users?q=bj%C3%B6rn+eriksen&order=name'],
  ['Users, search without a match', '/admin/users?q=nobody-is-called-so'],
  ['Users of a group', '/admin/users?group=team-7'],
  ['Users, disabled', '/admin/users?status=disabled'],
  ['One user', '/admin/users/u77'],
  ['Groups', '/admin/groups'],
  ['Groups, search', '/admin/groups?q=team-77'],
  ['Groups, search by a common word', '/admin/groups?q=people'],
  ['A small group', '/admin/groups/team-7'],
  ['A big group', '/admin/groups/staff'],
  ['A big group, search', '/admin/groups/staff?q=person-77'],
  ['Sessions', '/admin/sessions'],
  ['Sessions of a user', '/admin/sessions?user=person-7'],
  ['Sessions at an address', '/admin/sessions?address=10.0.0.7'],
  ['Connections', '/admin/connections'],
  ['One connection', '/admin/connections/company'],
  ['Deleting a connection', '/admin/connections/company/delete'],
  ['Provisioning', '/admin/provisioning-targets'],
  ['A provisioning target', '/admin/provisioning-targets/target'],
  ['SCIM sources', '/admin/scim-sources'],
  ['Sign-up links', '/admin/sign-up-links'],
  ['Webhooks', '/admin/webhooks'],
  ['Attributes', '/admin/attributes'],
  ['Try a sign-in', '/admin/try-it'],
  ['Keys', '/admin/keys'],
  ['Audit trail', '/admin/audit'],
  ['Audit, by actor', '/admin/audit?actor=person-7'],
  ['Audit, by an actor of very many', '/admin/audit?actor=person-1'],
  ['Audit, by user', '/admin/audit?user=person-7'],
  ['Audit, by client', '/admin/audit?client=client-7'],
  ['Audit, by address', '/admin/audit?address=10.0.0.7'],
  ['Audit, by event', '/admin/audit?type=keys.rotated'],
  ['Audit, failures', '/admin/audit?outcome=failure'],
  ['Audit, by time', `/admin/audit?since=${ago(20)}&until=${ago(19)}`],
  ['Audit, by user and outcome', '/admin/audit?user=person-7&outcome=failure'],
  ['Audit, by client and a rare event', '/admin/audit?client=client-7&type=code.replayed'],
  ['Audit, by address and event', '/admin/audit?address=10.0.0.7&type=user.signed_in'],
  ['Audit, tokens issued', '/admin/audit?type=token.issued'],
  ['One event', '/admin/audit/5'],
  ['Appearance', '/admin/appearance'],
  ['Settings', '/admin/settings'],
  ['Audit export, a day', `POST /admin/audit?client=client-7&since=${ago(20)}&until=${ago(19)}`],
];

/** Acts that touch many rows, in this order: the address of each form, and what is typed in it. */
const acts: [string, string, Record<string, string>][] = [
  ['Deleting a connection', '/admin/connections/company/delete', { typed: 'company' }],
  ['Deleting a provisioning target', '/admin/provisioning-targets/target/delete', { typed: 'client-1' }],
  ['Deleting a small group', '/admin/groups/team-7/delete', { typed: 'team-7' }],
  ['Deleting a client', '/admin/clients/client-77/delete', { typed: 'client-77' }],
];

process.exitCode = (await withService({ LIMIT_SIGN_IN_PER_NETWORK: '0' }, main)) ? 0 : 1;

async function main({ service, settings, superuser, log, stops }: Bed): Promise<boolean> {
  const begun = performance.now();
  const amounts = amountsAt(scale);
  await fill(superuser, amounts);
  const filled = (performance.now() - begun) / 1000;
  console.log(`filled in ${filled.toFixed(0)} s`);
  const sql = new pg.Client(superuser);
  sql.on('error', () => undefined);
  await sql.connect();
  stops.push(() => sql.end());

  const agent = new UserAgent({ issuer: service.base });
  const admin = { username: 'admin', password: settings['ADMIN_PASSWORD']! };
  const home = await agent.signIn(admin, await agent.follow(await agent.get('/admin')));
  if (home.status !== 200) throw new Error(`the console answers ${home.status}`);

  const measured: MeasuredPage[] = [];
  for (const [name, address] of pages) {
    const times: number[] = [];
    let [bytes, status] = [0, 0];
    const ask = await prepared(agent, address);
    for (let call = -2; call < calls; call++) {
      const start = performance.now();
      const answer = await ask();
      // the first calls fill caches
      if (call >= 0) times.push(performance.now() - start);
      bytes = Buffer.byteLength(answer.body);
      status = answer.status;
      // a slow answer needs only a few calls
      if (times.length >= 5 && times.reduce((sum, time) => sum + time, 0) > 20_000) break;
    }
    measured.push({ name, address, status, bytes, times, ran: [] });
  }

  // separate from the times, since watching each step of a plan takes time itself
  await explainAll(sql, superuser.database);
  for (let attempt = 0; attempt < 50 && (await agent.get('/admin/keys')).status !== 200; attempt++)
    await new Promise((resolve) => setTimeout(resolve, 100));
  for (const page of measured) {
    const ask = await prepared(agent, page.address);
    const offset = logEnd(log);
    for (let call = 0; call < explainedCalls; call++) await ask();
    page.ran = ofEachCall(plansSince(log, offset));
  }
  const { rows } = await sql.query<{ name: string; rows: number }>(
    `SELECT relname AS name, reltuples::float8 AS rows FROM pg_class WHERE relkind = 'r' AND reltuples >= $1 ORDER BY reltuples DESC`,
    [big],
  );
  const acted: ActResult[] = [];
  for (const [name, address, typed] of acts) {
    const fields = formOf(await agent.get(address), address);
    const start = performance.now();
    const { status } = await agent.post(address, { ...fields, ...typed });
    acted.push({ name, address, status, time: performance.now() - start });
  }
  const { rows: version } = await sql.query<{ server_version: string }>('SHOW server_version');
  const facts = {
    scale,
    amounts,
    calls,
    filled,
    big,
    bigTables: rows,
    acts: acted,
    postgres: version[0]!.server_version,
    cpus: cpus().length,
  };
  const { text, failures } = asMarkdown(measured, facts);
  writeFileSync(values.out, text);
  console.log(text.split('\n## ')[1]);
  for (const failure of failures) console.error(`FAILED: ${failure}`);
  return failures.length === 0;
}

/** Requests a page; with POST sends the export form of the page with this filter. */
async function prepared(agent: UserAgent, address: string): Promise<() => Promise<Page>> {
  if (!address.startsWith('POST ')) return () => agent.get(address);
  const action = '/admin/audit/export';
  const form = formOf(await agent.get(address.slice('POST '.length)), action);
  return () => agent.post(action, { ...form, format: 'csv' });
}

/** The statements of each of the calls, each plan once, and the longest time of each. */
function ofEachCall(all: readonly Ran[]): Ran[] {
  const byName = Map.groupBy(all, ({ name }) => name);
  const found: Ran[] = [];
  for (const runs of byName.values()) {
    if (runs.length < explainedCalls) continue;
    for (const same of Map.groupBy(runs, ({ scans }) => scans.join()).values())
      found.push(same.reduce((most, one) => (one.duration > most.duration ? one : most)));
  }
  return found;
}

function ago(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 16);
}
