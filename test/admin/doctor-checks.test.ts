// Gives the checks of `gatehouse doctor` what they may see, and compares what they say.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { checks } from '../../src/command-line/doctor/checks.ts';
import { clock, database, maxConnections, rights, schema } from '../../src/command-line/doctor/database.ts';
import { headers, issuer, longState, proxy, tls } from '../../src/command-line/doctor/issuer.ts';
import { disk, instances, secretKey } from '../../src/command-line/doctor/machine.ts';
import { mail, sender } from '../../src/command-line/doctor/mail.ts';
import { settings } from '../../src/command-line/doctor/settings.ts';
import { backups, jobs, providers, weakened } from '../../src/command-line/doctor/work.ts';
import { onlyReading } from '../../src/database/only-reading.ts';
import type { Database } from '../../src/database/database.ts';

const now = Date.parse('2026-11-27T12:00:00Z');
const day = 86_400_000;
const at = 'https://id.example.com';
const goodTls = { problem: undefined, protocol: 'TLSv1.3', validTo: new Date(now + 90 * day) };
const answer = {
  status: 200,
  headers: { 'x-gatehouse-state': longState + longState },
  hsts: ['max-age=31536000; includeSubDomains'],
  body: '{"status":"up"}',
  tls: goodTls,
};
const seen = {
  host: 'id.example.com',
  scheme: 'https',
  peer: '10.0.0.1',
  address: '203.0.113.7',
  forwarded: true,
  trusted: true,
  size: 300,
  at: '2026-11-27T12:00:00Z',
  pool: 20,
};
const probe = { issuer: at, answer, seen, sentAt: now, now };
const server = {
  version: '17.2',
  major: 17,
  encoding: 'UTF8',
  hasIcu: true,
  icuChanged: false,
  collationChanged: false,
  role: 'gatehouse',
  schema: 'public',
  superuser: false,
  mayCreate: true,
  closedTables: [],
  connections: 97,
  open: 12,
  size: 15_000_000,
};
const here = { server, kind: 'external', year: 2026 } as const;
const role = { ...server, kind: 'external' } as const;
const alone = { issuer: at, second: undefined };
const first = { host: 'a', port: 3000, version: '1.0.0', settings: { BASE_URL: at } };
const second = { ...first, host: 'b', settings: { BASE_URL: at, START_PAGE: 'on' } };
const keys = { given: ['aa'], stored: ['aa'], encrypting: ['aa'], mode: undefined };
const long = { ...probe, answer: { ...answer } };
const lengths = { short: probe, long, length: longState.length };
const set = (environment: Record<string, string>) => ({
  config: loadConfig(environment),
  overruled: [],
  missingGroups: [],
  writtenNameIds: [],
});
const mailed = { kind: 'smtp', place: 'mail:587', hasCredentials: true, refused: undefined } as const;
const quiet = { outbox: [], imports: [], transactions: [] };

/** A check with what it saw, and the state and words of its only finding. */
const cases: [{ name: string }, () => { state: string; says: string; todo?: string }[], string, RegExp?][] = [
  [settings, () => settings.judge(set({})), 'ok'],
  [settings, () => settings.judge(set({ EMAIL_SIGN_IN: 'on' })), 'warning', /EMAIL_SIGN_IN=on needs mail/],
  [settings, () => settings.judge(set({ SIGN_UP_DOMAINS: 'example.com' })), 'warning', /SIGN_UP is off/],
  [settings, () => settings.judge(set({ CLIENT_ID_METADATA_HOSTS: 'example.com' })), 'warning', /_METADATA is off/],
  [settings, () => settings.judge(set({ SESSION_LIFETIME: '600' })), 'warning', /longer than SESSION_LIFETIME/],
  [settings, () => settings.judge(set({ REFRESH_TOKEN_ABSOLUTE_LIFETIME: '600' })), 'warning', /ABSOLUTE_LIFETIME/],
  [
    settings,
    () => settings.judge(set({ AUDIT_RETENTION: '86400', AUDIT_ADDRESS_RETENTION: '172800' })),
    'warning',
    /longer than AUDIT_RETENTION/,
  ],
  [settings, () => settings.judge(set({ TRUST_PROXY: '0.0.0.0/0' })), 'warning', /trusts every address/],
  [settings, () => settings.judge({ ...set({}), missingGroups: ['crew'] }), 'warning', /names crew/],
  [
    settings,
    () => settings.judge({ ...set({}), writtenNameIds: [{ clientId: 'wiki', name: 'nickname' }] }),
    'warning',
    /NameID of wiki \(nickname\)/,
  ],
  [settings, () => settings.judge({ ...set({}), overruled: ['BASE_URL'] }), 'warning', /another BASE_URL/],
  [instances, () => instances.judge({ ...alone, running: 1, version: '1.0.0', installed: '1.0.0' }), 'ok'],
  [
    instances,
    () => instances.judge({ ...alone, running: 2, places: [first, first], version: '1.0.0', installed: '1.0.0' }),
    'ok',
  ],
  [
    instances,
    () => instances.judge({ ...alone, running: 2, places: [first, second], version: '1.0.0', installed: '1.0.0' }),
    'warning',
    /a:3000, b:3000 differ in START_PAGE/,
  ],
  [
    instances,
    () => instances.judge({ ...alone, running: 0, version: '1.0.0', installed: '1.0.0' }),
    'fault',
    /no instance/,
  ],
  [
    instances,
    () => instances.judge({ ...alone, running: 1, version: '1.0.1', installed: '1.0.0' }),
    'warning',
    /1\.0\.1/,
  ],
  [
    instances,
    () =>
      instances.judge({
        issuer: at,
        second: 'http://localhost:3000',
        running: 2,
        version: '1.0.0',
        installed: '1.0.0',
      }),
    'fault',
    /at https:\/\/id\.example\.com and at http:\/\/localhost:3000/,
  ],
  [issuer, () => issuer.judge(probe), 'ok'],
  [issuer, () => issuer.judge({ ...probe, answer: 'ENOTFOUND' }), 'fault', /ENOTFOUND/],
  [issuer, () => issuer.judge({ ...probe, answer: { ...answer, status: 301 } }), 'fault', /answers 301/],
  [issuer, () => issuer.judge({ ...probe, answer: { ...answer, body: '<html>' } }), 'fault', /not as this service/],
  [issuer, () => issuer.judge({ ...probe, seen: undefined }), 'fault', /has not seen/],
  [proxy, () => proxy.judge(probe), 'ok'],
  [proxy, () => proxy.judge({ ...probe, seen: { ...seen, trusted: false } }), 'fault', /TRUST_PROXY/],
  [proxy, () => proxy.judge({ ...probe, seen: { ...seen, forwarded: false } }), 'warning', /for whom/],
  [proxy, () => proxy.judge({ ...probe, seen: { ...seen, host: 'inner' } }), 'warning', /Host inner/],
  [proxy, () => proxy.judge({ ...probe, seen: { ...seen, scheme: 'http' } }), 'warning', /scheme http/],
  [
    proxy,
    () =>
      proxy.judge({
        ...probe,
        issuer: 'http://localhost:3000',
        seen: { ...seen, host: 'localhost:3000', forwarded: false },
      }),
    'ok',
    /directly/,
  ],
  [tls, () => tls.judge(probe), 'ok'],
  [tls, () => tls.judge({ ...probe, issuer: 'http://localhost:3000' }), 'ok'],
  [tls, () => tls.judge({ ...probe, issuer: 'http://nas:3000' }), 'warning', /not encrypted/],
  [
    tls,
    () => tls.judge({ ...probe, answer: { ...answer, tls: { ...goodTls, problem: 'CERT_HAS_EXPIRED' } } }),
    'fault',
    /CERT_HAS_EXPIRED/,
  ],
  [
    tls,
    () => tls.judge({ ...probe, answer: { ...answer, tls: { ...goodTls, validTo: new Date(now + 5 * day) } } }),
    'warning',
    /ends in 5 days/,
  ],
  [
    tls,
    () => tls.judge({ ...probe, answer: { ...answer, tls: { ...goodTls, protocol: 'TLSv1.1' } } }),
    'warning',
    /TLSv1\.1/,
  ],
  [tls, () => tls.judge({ ...probe, answer: { ...answer, hsts: [] } }), 'warning', /removes/],
  [tls, () => tls.judge({ ...probe, answer: { ...answer, hsts: ['max-age=1', 'max-age=2'] } }), 'warning', /twice/],
  [tls, () => tls.judge({ ...probe, answer: { ...answer, hsts: ['max-age=300'] } }), 'warning', /300 seconds/],
  [headers, () => headers.judge(lengths), 'ok'],
  [headers, () => headers.judge({ ...lengths, long: { ...long, answer: 'ECONNRESET' } }), 'fault', /breaks off/],
  [
    headers,
    () => headers.judge({ ...lengths, long: { ...long, answer: { ...answer, status: 414 } } }),
    'fault',
    /long address \(414\)/,
  ],
  [headers, () => headers.judge({ ...lengths, long: { ...long, seen: undefined } }), 'fault', /not arrive/],
  [
    headers,
    () => headers.judge({ ...lengths, long: { ...long, answer: { ...answer, headers: {} } } }),
    'fault',
    /shortens or removes/,
  ],
  [database, () => database.judge(here), 'ok'],
  [database, () => database.judge({ ...here, server: undefined }), 'fault', /does not answer/],
  [database, () => database.judge({ ...here, server: undefined, code: '28P01' }), 'fault', /refuses the password/],
  [database, () => database.judge({ ...here, server: undefined, code: 'ENOTFOUND' }), 'fault', /has no address/],
  [database, () => database.judge({ ...here, server: undefined, code: '57P03' }), 'fault', /refuses the connection/],
  [database, () => database.judge({ ...here, server: { ...server, major: 14 } }), 'fault', /too old/],
  [database, () => database.judge({ ...here, year: 2031 }), 'warning', /no more fixes/],
  [database, () => database.judge({ ...here, server: { ...server, encoding: 'LATIN1' } }), 'fault', /LATIN1/],
  [database, () => database.judge({ ...here, server: { ...server, hasIcu: false } }), 'fault', /und-x-icu/],
  [database, () => database.judge({ ...here, server: { ...server, icuChanged: true } }), 'warning', /version of ICU/],
  [database, () => database.judge({ ...here, server: { ...server, collationChanged: true } }), 'warning', /collation/],
  [rights, () => rights.judge(role), 'ok'],
  [rights, () => rights.judge({ ...role, closedTables: ['users'] }), 'fault', /users/],
  [rights, () => rights.judge({ ...role, mayCreate: false }), 'fault', /may not create/],
  [rights, () => rights.judge({ ...role, superuser: true }), 'warning', /superuser/],
  [maxConnections, () => maxConnections.judge({ connections: 97, open: 9, instances: 2, pool: 20 }), 'ok'],
  [
    maxConnections,
    () => maxConnections.judge({ connections: 97, open: 9, instances: 5, pool: 20 }),
    'warning',
    /105|5 × 21/,
  ],
  [
    maxConnections,
    () => maxConnections.judge({ connections: 97, open: 95, instances: 1, pool: 20 }),
    'warning',
    /95 of 97/,
  ],
  [schema, () => schema.judge({ pending: [], unknown: [] }), 'ok'],
  [schema, () => schema.judge({ pending: ['0200_next'], unknown: [] }), 'warning', /0200_next/],
  [schema, () => schema.judge({ pending: [], unknown: ['0300_later'] }), 'fault', /0300_later/],
  [clock, () => clock.judge({ here: 40, instance: -100 }), 'ok'],
  [clock, () => clock.judge({ here: 40, instance: -9_000 }), 'warning', /the instance is 9 s behind/],
  [clock, () => clock.judge({ here: 61_000, instance: undefined }), 'fault', /this machine is 61 s ahead/],
  [disk, () => disk.judge({ folder: 'data', free: 5e10, total: 1e11 }), 'ok'],
  [disk, () => disk.judge({ folder: 'data', free: 9e8, total: 1e11 }), 'warning', /858 MiB/],
  [disk, () => disk.judge({ folder: 'data', free: 1e8, total: 1e11 }), 'fault', /95 MiB/],
  [secretKey, () => secretKey.judge(keys), 'ok'],
  [secretKey, () => secretKey.judge({ ...keys, stored: ['bb'] }), 'fault', /lacks the key bb/],
  [secretKey, () => secretKey.judge({ ...keys, encrypting: ['bb'] }), 'warning', /encrypts with the key bb/],
  [secretKey, () => secretKey.judge({ ...keys, mode: 0o100644 }), 'warning', /can read/],
  [secretKey, () => secretKey.judge({ ...keys, given: ['aa', 'bb'] }), 'warning', /needs the key bb/],
  [mail, () => mail.judge(mailed), 'ok'],
  [mail, () => mail.judge({ ...mailed, kind: 'folder' }), 'warning', /SMTP_URL is unset/],
  [
    mail,
    () => mail.judge({ ...mailed, refused: { failure: 'credentials', reason: 'rejected (535)' } }),
    'fault',
    /rejected \(535\)/,
  ],
  [sender, () => sender.judge({ domain: 'example.com', records: ['v=spf1 mx -all'] }), 'ok'],
  [sender, () => sender.judge({ domain: 'example.com', records: [] }), 'warning', /no SPF/],
  [sender, () => sender.judge({ domain: 'example.com', records: ['v=spf1 -all', 'v=spf1 mx'] }), 'warning', /2 SPF/],
  [sender, () => sender.judge({ domain: 'example.com', records: ['v=spf1 +all'] }), 'warning', /every server/],
  [sender, () => sender.judge({ domain: 'example.com', records: 'ENOTFOUND' }), 'warning', /ENOTFOUND/],
  [providers, () => providers.judge([{ id: 'a', kind: 'oidc', problem: undefined }]), 'ok'],
  [providers, () => providers.judge([{ id: 'a', kind: 'ldap', problem: 'no answer' }]), 'fault', /a: no answer/],
  [jobs, () => jobs.judge(quiet), 'ok'],
  [
    jobs,
    () => jobs.judge({ ...quiet, outbox: [{ channel: 'webhook', rows: 2, oldest: new Date(now), failure: null }] }),
    'warning',
    /2 rows of webhook wait/,
  ],
  [
    jobs,
    () => jobs.judge({ ...quiet, imports: [{ connection: 'ad', since: new Date(now) }] }),
    'warning',
    /import of ad has hung/,
  ],
  [
    jobs,
    () => jobs.judge({ ...quiet, transactions: [{ pid: 7, program: 'psql', since: new Date(now) }] }),
    'warning',
    /transaction of psql/,
  ],
  [backups, () => backups.judge({ noted: new Date(now - day), archived: false, now, kind: 'external' }), 'ok'],
  [backups, () => backups.judge({ noted: undefined, archived: true, now, kind: 'external' }), 'ok'],
  [backups, () => backups.judge({ noted: undefined, archived: false, now, kind: 'external' }), 'warning', /no backup/],
  [
    backups,
    () => backups.judge({ noted: new Date(now - 9 * day), archived: false, now, kind: 'external' }),
    'warning',
    /9 days/,
  ],
  [weakened, () => weakened.judge([]), 'ok'],
  [
    weakened,
    () => weakened.judge([{ kind: 'weak_secret', clientId: 'easy', name: 'Easy' }]),
    'warning',
    /weak_secret: easy/,
  ],
  [
    weakened,
    () => weakened.judge([{ kind: 'development', clientId: 'dev', name: 'Dev' }]),
    'warning',
    /development: dev/,
  ],
  [
    weakened,
    () => weakened.judge([{ kind: 'allow_http', issuer: 'http://nas:3000' }]),
    'warning',
    /allow_http: http:\/\/nas/,
  ],
];

test.each(cases.map(([{ name }, judge, state, says], index) => ({ index, name, judge, state, says: says ?? /./ })))(
  'case $index: $name is $state, and says what to do (delivery 1)',
  ({ judge, state, says }) => {
    expect(judge()).toEqual([
      {
        state,
        says: expect.stringMatching(says) as string,
        ...(state !== 'ok' && { todo: expect.stringMatching(/./) as string }),
      },
    ]);
  },
);

test('every check of the list has a case without a finding and one with a finding (delivery 1)', () => {
  for (const { name } of checks)
    for (const well of [true, false])
      expect(
        cases.filter(([one, , state]) => one.name === name && (state === 'ok') === well).length,
        name,
      ).toBeGreaterThan(0);
});

test('what does not apply is not mentioned: a disk of another server, a proxy that was not reached, a domain of a local network (delivery 1)', () => {
  expect(disk.judge(undefined)).toEqual([]);
  expect(proxy.judge({ ...probe, seen: undefined })).toEqual([]);
  expect(sender.judge({ domain: undefined, records: [] })).toEqual([]);
  expect(providers.judge([])).toEqual([]);
});

test('the database of a doctor refuses a statement that writes, also within a transaction, and lets the ids of its requests pass (delivery 1)', async () => {
  const sent: string[] = [];
  const query = async (statement: { name: string }) => {
    sent.push(statement.name);
    return [];
  };
  const database = { query, transaction: (work: (sql: object) => unknown) => work({ query }) } as unknown as Database;
  const guarded = onlyReading(database, 'doctor_probes.');
  const write = { name: 'users.delete', text: 'DELETE FROM users' };
  expect(() => guarded.query(write)).toThrow('users.delete');
  await expect(async () => guarded.transaction((sql) => sql.query(write))).rejects.toThrow('users.delete');
  await guarded.query({ name: 'users.find', text: 'SELECT 1' });
  await guarded.query({ name: 'doctor_probes.open', text: 'INSERT INTO doctor_probes (id_hash) VALUES ($1)' });
  expect(sent).toEqual(['users.find', 'doctor_probes.open']);
});

test('the instructions for a new check name the files that there are (delivery 1)', () => {
  const folder = new URL('../../', import.meta.url);
  const text = readFileSync(new URL('src/command-line/doctor/README.md', folder), 'utf8');
  for (const [, file] of text.matchAll(/`((?:src|test)\/[^`]+)`/g)) readFileSync(new URL(file!, folder));
});

test('the doctor names the form of backup note that fits the database (delivery 1)', () => {
  const todo = (kind: 'embedded' | 'external') =>
    backups.judge({ noted: undefined, archived: false, now, kind })[0]?.todo;
  expect(todo('embedded')).toMatch(/Stop the service.*backup note FOLDER$/);
  expect(todo('external')).toMatch(/backup note DUMP$/);
});
