// Starts instances with CONFIG_FILE: it is applied once, also by two at the same time, planned without a change, and a faulty one stops the start.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { adminToken } from '../helpers/grants.ts';
import { freePort, startServer, stopServers } from '../helpers/server-process.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-config-'));
  service = await startTestService();
});
afterEach(async () => {
  await stopServers();
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const text = `apiVersion: gatehouse/v1
name: start
attributes:
  floor:
    type: number
clients:
  wiki:
    client_name: Wiki
    redirect_uris: [https://wiki.example/callback]
    client_secret: { env: WIKI_SECRET }
`;
const secret = randomBytes(32).toString('hex');
async function start(file: string, settings: Record<string, string> = {}) {
  return startServer({
    DATABASE_URL: service.database.url,
    SECRET_KEY: service.secretKey,
    PORT: String(await freePort()),
    BASE_URL: service.issuer,
    LOG_LEVEL: 'info',
    CONFIG_FILE: file,
    WIKI_SECRET: secret,
    ...settings,
  });
}
function write(content: string): string {
  const file = join(folder, 'gatehouse.yaml');
  writeFileSync(file, content);
  return file;
}
const eventsOf = (type: string) =>
  service.database.sql<{ actor: string }>('SELECT actor FROM audit_events WHERE type = $1', [type]);

test('two instances that start at once apply one CONFIG_FILE once, and later starts change nothing (federation 10)', async () => {
  const file = write(text);
  const servers = await Promise.all([start(file, { CONFIG_APPLY: 'apply' }), start(file, { CONFIG_APPLY: 'apply' })]);
  await Promise.all(servers.map((server) => server.ready()));
  for (const type of ['attribute.created', 'client.created', 'config.applied'])
    expect(await eventsOf(type), type).toEqual([{ actor: 'config:start' }]);
  const third = await start(file, { CONFIG_APPLY: 'apply' });
  await third.ready();
  expect(await eventsOf('config.applied')).toHaveLength(1);
  expect([...servers, third].map(({ stdout, stderr }) => stdout + stderr).join('')).not.toContain(secret);
}, 120_000);

test('without CONFIG_APPLY a start plans: it says what differs, and changes nothing; the metric counts it (federation 10)', async () => {
  const server = await start(write(text));
  await server.ready();
  const token = await adminToken(service);
  const answer = await fetch(`http://localhost:${server.port}/metrics`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(await answer.text()).toMatch(/^gatehouse_config_drift 2$/m);
  expect(server.stderr).toContain('"create attributes.floor","create clients.wiki"');
  expect(await eventsOf('config.applied')).toEqual([]);
}, 120_000);

test.each<[string, string, RegExp, Record<string, string>]>([
  [
    'a fault',
    text.replace('type: number', 'type: text'),
    /CONFIG_FILE is wrong: line 5 of gatehouse\.yaml: attributes\.floor: type/,
    {},
  ],
  [
    'a fault that is only found when it is applied',
    text.replace('openid', 'openid') + '    scope: openid none-such\n',
    /CONFIG_FILE is wrong: line \d+ of gatehouse\.yaml: clients\.wiki: scope/,
    { CONFIG_APPLY: 'apply' },
  ],
  [
    'a secret that only a command shows',
    text.replace('{ env: WIKI_SECRET }', 'generate'),
    /only the command can show a generated secret/,
    { CONFIG_APPLY: 'apply' },
  ],
  [
    'a variable of the service',
    text.replace('WIKI_SECRET', 'SECRET_KEY'),
    /names SECRET_KEY, which is a setting of this service/,
    {},
  ],
])(
  'a CONFIG_FILE with %s stops the start with one sentence, and changes nothing (federation 10; federation F101)',
  async (_, content, sentence, settings) => {
    const server = await start(write(content), settings);
    expect((await server.exited).code).toBe(1);
    const lines = server.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    expect(lines).toEqual([expect.stringMatching(sentence) as string]);
    expect(await service.database.sql('SELECT FROM attributes')).toEqual([]);
  },
  120_000,
);

test('a CONFIG_FILE that does not exist stops the start (federation 10)', async () => {
  const server = await start(join(folder, 'none.yaml'));
  expect((await server.exited).code).toBe(1);
  expect(server.stderr).toMatch(/CONFIG_FILE is wrong: The file .*none\.yaml does not exist\./);
}, 120_000);
