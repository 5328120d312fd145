// Plants an entity: its declaration becomes a repository, routes, an entry of the OpenAPI document, commands, pages of the console, and events; and each rule for declarations finds a planted fault.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { entityPlugins } from '../../src/admin/admin.ts';
import { entityPages } from '../../src/admin/console/entity-pages.ts';
import { answers } from '../../src/admin/operations/answers.ts';
import { configSchema } from '../../src/admin/operations/config/schema.ts';
import { entityOperations } from '../../src/admin/operations/entities.ts';
import { operations } from '../../src/admin/operations/index.ts';
import type { Operation } from '../../src/admin/operations/operation.ts';
import { type EntityRules, entityAdministration } from '../../src/domain/administration/entities.ts';
import { openEncryption } from '../../src/domain/keys/encryption-at-rest.ts';
import { clientSettings } from '../../src/entities/client-settings.ts';
import { answerOf, columnsOf, type Entity, entity, type Input, member, membersOf } from '../../src/entities/entity.ts';
import type { RuleList } from '../../src/entities/field.ts';
import { fromFile, toFile } from '../../src/entities/file.ts';
import { formOf as formOfMembers } from '../../src/entities/form.ts';
import { displayText } from '../../src/oauth/display-text.ts';
import { invalidRequest } from '../../src/oauth/errors.ts';
import { refusal } from '../../src/oauth/refusals.ts';
import { entityTable } from '../../src/repositories/entities.ts';
import { reference } from '../../scripts/reference.ts';
import { runCommand } from '../helpers/command-line.ts';
import { addRule, formOf, openConsole } from '../helpers/console.ts';
import { declaredEntities } from '../helpers/entities.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { Page, UserAgent } from '../helpers/user-agent.ts';

const signal = z.strictObject({ shows: z.string().min(1).max(9), at: z.string().max(5) });
/** A list of rules, which the pages show and ask for by its declaration alone. */
const signals: RuleList = {
  ordered: true,
  kinds: ['storm', 'fog'].map((at) => ({
    name: at,
    fields: [{ name: 'shows', kind: 'text', required: true, rule: signal.shape.shows }],
    is: (one: { at: string }) => one.at === at,
    make: (values) => ({ ...values, at }),
    says: ({ shows }: { shows: string }) => ({ key: at, values: { shows } }),
  })),
};
const beacons = entity({
  table: 'beacons',
  one: 'beacon',
  permission: 'resources',
  section: 'resources',
  called: 'name',
  find: 'id::text = $1 OR name = $1',
  versioned: true,
  members: {
    name: member('What people call it.', displayText, { required: true, fixed: true, form: 'text', list: true }),
    color: member('Its color.', z.enum(['red', 'green']), { start: 'red', form: 'radio', list: 'tag' }),
    range: member('How far it is seen, in miles.', z.int().min(1).max(40), { form: 'number', group: 'more' }),
    keeper: member('The client that keeps it.', z.string(), { refers: 'clients', form: 'text', group: 'more' }),
    issuer: member('Whose statements it believes.', z.string(), { trust: true, form: 'address', group: 'more' }),
    flash: member('Whether it flashes, which a red one must not.', z.boolean(), {
      start: false,
      form: 'check',
      when: (values: Input) => values['color'] === 'green',
    }),
    unlock_key: member('What switches it on.', z.string().min(4), { secret: true, form: 'secret' }),
    signals: member('What it shows when.', z.array(signal).max(3), { start: [], json: true, form: signals }),
  },
});
/** Names a beacon, which is then not removed. */
const ships = entity({
  table: 'ships',
  one: 'ship',
  permission: 'resources',
  section: 'resources',
  called: 'name',
  find: 'id::text = $1',
  members: {
    name: member('What people call it.', displayText, { required: true, form: 'text', list: true }),
    beacon: member('The beacon that it steers by.', z.string(), { refers: 'beacons', form: 'text' }),
    lights: member('The beacons that it sees.', z.array(z.string()), { start: [], refers: 'beacons', form: 'lines' }),
  },
});
const table = entityTable(beacons);
const fleet = entityTable(ships);
const rules: EntityRules<typeof beacons> = {
  repository: (repositories) => repositories.entity(table),
  taken: refusal('group.exists', 'name'),
  facts: ({ name }) => ({ detail: { beacon: name } }),
};
const acts = entityOperations(beacons, {
  says: {
    list: 'Lists beacons',
    create: 'Creates a beacon',
    show: 'Shows a beacon',
    change: 'Changes a beacon',
    delete: 'Deletes a beacon',
  },
  named: 'The id, or the name.',
  answers: { one: 'Beacon' as 'Group', page: 'BeaconPage' as 'GroupPage' },
  columns: { NAME: ({ name }) => name, COLOR: ({ color }) => color },
  done: {
    create: ({ name }) => `Created ${name}.`,
    change: ({ name }) => `Changed ${name}.`,
    delete: ({ name }) => `Deleted ${name}.`,
  },
  answer: ({ range }) => ({ far: range !== undefined && range > 10 }),
  before(_context, { name }) {
    if (name === 'Sun') throw invalidRequest(refusal('invalid', 'name'));
  },
  repository: ({ store }) => store.entity(table),
  administration: ({ store, secretBox }) => entityAdministration(store, beacons, rules, secretBox),
});
const shipActs = entityOperations(ships, {
  says: {
    list: 'Lists ships',
    create: 'Creates a ship',
    show: 'Shows a ship',
    change: 'Changes it',
    delete: 'Deletes it',
  },
  named: 'The id.',
  answers: { one: 'Ship' as 'Group', page: 'ShipPage' as 'GroupPage' },
  columns: { NAME: ({ name }) => name },
  done: { create: ({ name }) => name, change: ({ name }) => name, delete: ({ name }) => name },
  repository: ({ store }) => store.entity(fleet),
  administration: ({ store }) =>
    entityAdministration(store, ships, {
      repository: (repositories) => repositories.entity(fleet),
      taken: refusal('group.exists', 'name'),
      facts: ({ name }) => ({ detail: { ship: name } }),
    }),
});
const planted = [...acts.all, ...shipActs.all] as unknown as Operation[];
const words = {
  'console.ships.title': 'Ships',
  'console.ships.new': 'Create ship',
  'console.ship.name': 'Name of the ship',
  'console.ship.beacon': 'Beacon',
  'console.ship.lights': 'Lights',
  'console.beacons.title': 'Beacons',
  'console.beacons.new': 'Create beacon',
  'console.beacons.empty': 'No beacons yet.',
  'console.beacons.empty.hint': 'Ships see beacons.',
  'console.beacons.delete': 'Delete beacon',
  'console.beacons.delete.lead': 'Ships no longer see it.',
  'console.beacon.name': 'Name of the beacon',
  'console.beacon.color': 'Color',
  'console.beacon.color.choice.red': 'Red light',
  'console.beacon.color.choice.green': 'Green light',
  'console.beacon.range': 'Range',
  'console.beacon.range.refused': 'Enter 1 to 40 miles',
  'console.beacon.keeper': 'Keeper',
  'console.beacon.flash': 'Flashes',
  'console.beacon.issuer': 'Issuer',
  'console.beacon.unlock_key': 'Unlock key',
  'console.beacon.signals': 'Signals',
  'console.beacon.signals.hint': 'What it shows.',
  'console.beacon.signals.kind': 'When?',
  'console.beacon.signals.kind.storm': 'In a storm',
  'console.beacon.signals.kind.fog': 'In fog',
  'console.beacon.signals.says.storm': 'in a storm: {shows}',
  'console.beacon.signals.says.fog': 'in fog: {shows}',
  'console.beacon.signals.shows': 'Shows',
  'console.done.beacon-made': 'Beacon created.',
  'console.done.beacon-changed': 'Beacon saved.',
  'console.done.beacon-deleted': 'Beacon deleted.',
};

let service: TestService;
let token: string;
let agent: UserAgent;
beforeAll(async () => {
  operations.push(...planted);
  Object.assign(answers, {
    Beacon: answerOf(beacons),
    BeaconPage: z.object({ beacons: z.array(answerOf(beacons)) }),
    Ship: answerOf(ships),
    ShipPage: z.object({ ships: z.array(answerOf(ships)) }),
  });
  entityPlugins.push(entityPages(beacons, acts), entityPages(ships, shipActs));
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-planted-'));
  mkdirSync(join(folder, 'messages'));
  writeFileSync(join(folder, 'messages', 'en.beacons.json'), JSON.stringify(words));
  service = await startTestService({ environment: { ...withoutLimits, TEMPLATES_DIR: folder } });
  await service.database.sql(`CREATE TABLE beacons (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text NOT NULL UNIQUE, color text NOT NULL, range integer,
    keeper text, issuer text, flash boolean NOT NULL, unlock_key_encrypted bytea, unlock_key_since timestamptz, signals jsonb NOT NULL, version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()))`);
  await service.database.sql(`CREATE TABLE ships (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text NOT NULL, beacon text, lights text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()))`);
  token = await adminToken(service);
  const admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
});
afterAll(async () => {
  // other test files share the lists
  operations.splice(operations.indexOf(planted[0]!), planted.length);
  entityPlugins.splice(-2);
  await service?.stop();
});

const api = (method: string, path: string, body?: object) =>
  call(`${service.issuer}/admin/api/beacons${path}`, { token, method, ...(body && { body }) });

test('a planted entity is made, listed, shown, changed and deleted by the API, each with its event (architecture, entities)', async () => {
  const made = await api('POST', '', { name: 'Pharos', issuer: 'https://old.example' });
  expect(made).toMatchObject({
    status: 201,
    body: { name: 'Pharos', color: 'red', version: 1, unlock_key: { set: false } },
  });
  expect(await api('POST', '', { name: 'Pharos' })).toMatchObject({ status: 409 });
  expect(await api('POST', '', { name: 'x', keeper: 'none' })).toMatchObject({ status: 400 });
  expect(await api('POST', '', { name: 'x', color: 'blue' })).toMatchObject({ status: 400 });
  expect(await api('POST', '', { name: 'Sun' })).toMatchObject({ status: 400 });
  expect(await api('POST', '', { name: 'Far', range: 11 })).toMatchObject({ status: 201, body: { far: true } });
  expect(await api('DELETE', '/Far')).toMatchObject({ status: 204 });
  const { id } = made.body as { id: string };
  const change = { version: 1, color: 'green', issuer: 'https://new.example' };
  expect(await api('PATCH', `/${id}`, change)).toMatchObject({ status: 200, body: { color: 'green', version: 2 } });
  // another administrator looked at the version before
  expect(await api('PATCH', '/Pharos', change)).toMatchObject({ status: 409 });
  expect(await api('GET', '/Pharos')).toMatchObject({ status: 200, body: { id, issuer: 'https://new.example' } });
  expect((await api('GET', '')).body).toMatchObject({ beacons: [{ id }] });
  expect(await api('DELETE', '/Pharos')).toMatchObject({ status: 204 });
  expect(await api('GET', '/Pharos')).toMatchObject({ status: 404 });
  const events = await service.database.sql<{ type: string; detail: object }>(
    `SELECT type, detail FROM audit_events WHERE type LIKE 'beacon.%' AND detail ->> 'beacon' = 'Pharos' ORDER BY id`,
  );
  expect(events).toEqual([
    { type: 'beacon.created', detail: { beacon: 'Pharos' } },
    {
      type: 'beacon.changed',
      detail: {
        beacon: 'Pharos',
        members: ['color', 'issuer'],
        issuer_before: 'https://old.example',
        issuer_after: 'https://new.example',
      },
    },
    { type: 'beacon.deleted', detail: { beacon: 'Pharos' } },
  ]);
});

test('a secret of an entity is sealed for its row, and neither an answer nor an event has it (security R29)', async () => {
  const made = await api('POST', '', { name: 'Sealed', unlock_key: 'open sesame' });
  expect(made.body).toMatchObject({ unlock_key: { set: true, since: expect.any(String) as string } });
  const [row] = await service.database.sql<{ id: string; unlock_key_encrypted: Buffer }>(
    `SELECT id, unlock_key_encrypted FROM beacons WHERE name = 'Sealed'`,
  );
  expect(row!.unlock_key_encrypted.includes('sesame')).toBe(false);
  const { secretBox } = await openEncryption(service.store, [service.secretKey]);
  const opened = (id: string) =>
    secretBox.open(row!.unlock_key_encrypted, `beacons.unlock_key_encrypted.${id}`).toString();
  expect(opened(row!.id)).toBe('open sesame');
  expect(() => opened('another row')).toThrow();
  const changed = await api('PATCH', '/Sealed', { unlock_key: 'open barley' });
  const texts = JSON.stringify([
    made.body,
    changed.body,
    (await api('GET', '')).body,
    await service.database.sql('SELECT detail FROM audit_events'),
  ]);
  expect(texts).not.toMatch(/sesame|barley/);
  expect((await api('PATCH', '/Sealed', { unlock_key: null })).body).toMatchObject({ unlock_key: { set: false } });
});

test('the OpenAPI document and the command line have the planted entity (architecture, entities)', async () => {
  const { body } = await call(`${service.issuer}/admin/api/openapi.json`, { token });
  expect(Object.keys(body['paths'] as object)).toEqual(
    expect.arrayContaining(['/admin/api/beacons', '/admin/api/beacons/{beacon}']),
  );
  const run = (...args: string[]) => runCommand(service, ['beacon', ...args]);
  expect(await run('create', 'Skerry', '--color', 'green')).toEqual({
    code: 0,
    stdout: 'Created Skerry.\n',
    stderr: '',
  });
  const typed = await run('create', 'Typed', '--unlock-key', 'open sesame');
  expect(typed).toMatchObject({ code: 1, stdout: '' });
  const { stdout } = await run('list');
  expect([stdout.includes('Skerry'), stdout.includes('Typed')]).toEqual([true, false]);
  expect(await run('change', 'Skerry', '--range', '12')).toMatchObject({ code: 0, stdout: 'Changed Skerry.\n' });
  expect(await run('delete', 'Skerry')).toMatchObject({ code: 0, stdout: 'Deleted Skerry.\n' });
});

test('the console lists, creates, changes and deletes the planted entity, and marks each member that is refused (architecture, entities; pages, forms)', async () => {
  const send = async (path: string, typed: Record<string, string>) => {
    const page = await agent.get(path);
    return agent.follow(await agent.post(path, { ...formOf(page, path), ...typed }));
  };
  const wrong = await send('/admin/beacons/new', { name: 'Lantern', range: '41' });
  expect(wrong.status).toBe(400);
  expect(wrong.body).toMatch(/<p class="fault" id="range-fault">Enter 1 to 40 miles<\/p>/);
  const twice = await send('/admin/beacons/new', { name: ' ', range: '41' });
  expect(twice.body.match(/<p class="fault" id="[\w-]+-fault">/g)).toEqual([
    '<p class="fault" id="name-fault">',
    '<p class="fault" id="range-fault">',
  ]);
  const top = /id="problem"[^]*?<\/ul>/.exec(twice.body)![0];
  expect(top.match(/<a href="#[^<]+/g)).toEqual([
    expect.stringContaining('#name">Name of the beacon: '),
    '<a href="#range">Range: Enter 1 to 40 miles',
  ]);
  expect(wrong.body).not.toContain('id="problem"');
  // a group with a fault is not folded
  expect(twice.body).toContain('<details open>');
  const made = await send('/admin/beacons/new', { name: 'Lantern', range: '40', unlock_key: 'open sesame' });
  expect(made.body).toContain('Beacon created.');
  expect(made.body).not.toContain('sesame');
  const path = /href="(\/admin\/beacons\/[\w-]{36})"/.exec(made.body)![1]!;
  const old = await agent.get(path);
  expect(old.body).toContain('Name of the beacon: <strong><bdi>Lantern');
  expect(old.body).not.toContain('sesame');
  expect((await send(path, { color: 'green', range: '' })).body).toContain('Beacon saved.');
  const [row] = await service.database.sql('SELECT color, range, unlock_key_since FROM beacons WHERE name = $1', [
    'Lantern',
  ]);
  // a field that other values demand
  expect([old.body.includes('name="flash"'), (await agent.get(path)).body.includes('name="flash"')]).toEqual([
    false,
    true,
  ]);
  // an empty field removes the range, and keeps the secret
  expect(row).toMatchObject({ color: 'green', range: null, unlock_key_since: expect.any(Date) as Date });
  expect((await agent.get('/admin/beacons')).body).toContain('Green light');
  // another administrator looked at the version before
  const late = await agent.post(path, { ...formOf(old, path), color: 'red' });
  expect(late.status).toBe(400);
  expect(late.body).toContain('id="problem"');
  expect((await send(`${path}/delete`, { typed: 'Lamp' })).status).toBe(400);
  expect((await send(`${path}/delete`, { typed: 'Lantern' })).body).toContain('Beacon deleted.');
});

test('the entry of a configuration file has the members that differ from their defaults, and names the variables of secrets; it is read back as it was (architecture, entities; security R29)', async () => {
  const stored = () => service.store.entity(table).find('Longstone');
  const written = { name: 'Longstone', color: 'green', range: 18, flash: false };
  await api('POST', '', { ...written, unlock_key: 'open sesame' });
  const entry = toFile(beacons, (await stored())!);
  expect(entry).toEqual({
    name: 'Longstone',
    color: 'green',
    range: 18,
    unlock_key: { env: 'BEACON_LONGSTONE_UNLOCK_KEY' },
  });
  const { input, secrets } = fromFile(beacons, entry);
  expect(secrets).toEqual({ unlock_key: { env: 'BEACON_LONGSTONE_UNLOCK_KEY' } });
  expect(input).toEqual({ ...written, keeper: null, issuer: null, signals: [] });
  await api('DELETE', '/Longstone');
  expect(await api('POST', '', { ...input, unlock_key: 'open barley' })).toMatchObject({ status: 201 });
  expect(toFile(beacons, (await stored())!)).toEqual(entry);
});

test('configuration files have the planted entity: in export, plan, apply, schema and reference (federation 10; architecture, entities)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-files-'));
  const file = join(folder, 'beacons.yaml');
  const write = (text: string) => writeFileSync(file, `apiVersion: gatehouse/v1\nname: lights\n${text}`);
  const run = (...args: string[]) =>
    runCommand(service, ['config', ...args], { environment: { FIRST: 'open sesame', NEXT: 'open barley' } });
  const named = `beacons:\n  Pladda:\n    color: green\n    range: 20\n    unlock_key: {env: FIRST}\n`;
  write(named);
  const plan = await run('plan', file);
  expect(plan).toMatchObject({ code: 2, stderr: '' });
  expect(plan.stdout).toContain('+ create beacon Pladda\n    color: green\n');
  expect(await run('apply', file)).toMatchObject({ code: 0, stderr: '' });
  expect(await run('plan', file)).toMatchObject({ code: 0, stdout: 'Nothing to do.\n' });
  const { stdout } = await run('export');
  expect(stdout).toContain(
    '  Pladda:\n    color: green\n    range: 20\n    unlock_key:\n      env: BEACON_PLADDA_UNLOCK_KEY\n',
  );
  write(named.replace('range: 20', 'keeper: none').replace('FIRST', 'NEXT'));
  const changed = await run('plan', file);
  expect(changed.stdout).toContain('    keeper: (none) → none\n    unlock_key: (set) → (changes)\n');
  // what it names must exist
  expect((await run('apply', file)).stderr).toMatch(/Line 6 of beacons\.yaml: beacons\.Pladda: keeper is unknown/);
  write(named.replace('    range: 20\n', '').replace('FIRST', 'NEXT'));
  expect(await run('apply', file)).toMatchObject({ code: 0, stderr: '' });
  expect((await api('GET', '/Pladda')).body).toMatchObject({ color: 'green', version: 2 });
  write('beacons:\n');
  expect((await run('apply', file, '--prune')).stdout).toContain('- delete beacon Pladda\n');
  expect((await api('GET', '/Pladda')).status).toBe(404);
  const { properties } = configSchema() as {
    properties: Record<string, { additionalProperties: { properties: object } }>;
  };
  expect(properties['beacons']!.additionalProperties.properties).toMatchObject({
    color: { enum: ['red', 'green'], default: 'red', description: 'Its color.' },
    unlock_key: { oneOf: expect.any(Array) as unknown[] },
  });
  expect(await reference()).toContain('### beacons, by name\n');
});

test.each<[string, object, string]>([
  ['an unknown member', { colour: 'red' }, 'colour is unknown'],
  ['a plain secret', { unlock_key: 'open sesame' }, 'unlock_key'],
  ['a secret by another name than that of a variable', { unlock_key: { env: 'a=b' } }, 'unlock_key.env'],
  ['a secret with more than its variable', { unlock_key: { env: 'KEY', set: true } }, 'set is unknown'],
  ['a member that is wrong', { range: 41 }, 'range'],
  ['what only the service sets', { id: 'x' }, 'id is unknown'],
])(
  'an entry of a configuration file with %s is refused by the name of the member (architecture, entities)',
  (_, more, message) => {
    expect(() => fromFile(beacons, { name: 'Smeaton', ...more })).toThrow(message);
    expect(() => fromFile(beacons, {})).toThrow('name');
  },
);

test('the console shows a planted list of rules as lines, and adds, changes, moves and removes one by the fields of its kind (architecture, entities; pages, forms)', async () => {
  const { id } = (await api('POST', '', { name: 'Ruled' })).body as { id: string };
  const path = `/admin/beacons/${id}`;
  const stored = async () => (await api('GET', '/Ruled')).body['signals'];
  const lines = ({ body }: Page) =>
    [...body.matchAll(/<p class="rule"[^>]*>(.*?)<\/p>/gs)].map(([, line]) => line!.replace(/<[^>]*>/g, ''));
  const add = (kind: string, shows: string) => addRule(agent, { path, member: 'signals', kind }, { shows });
  await add('storm', 'red');
  const page = await add('fog', 'a bell');
  expect(lines(page)).toEqual(['in a storm: red', 'in fog: a bell']);
  const refused = await add('fog', 'a very long horn');
  expect(refused.body).toMatch(/<p class="fault" id="shows-fault">/);
  const [, up = ''] = /name="up" value="([^"]*)"/.exec(page.body) ?? [];
  const moved = await agent.follow(
    await agent.post(`${path}/rules/signals`, { ...formOf(page, `${path}/rules/signals`), up }),
  );
  expect(lines(moved)).toEqual(['in fog: a bell', 'in a storm: red']);
  const [, edit = ''] = /href="([^"]*\/rules\/signals\/[\w-]{22})"/.exec(moved.body) ?? [];
  const kind = `${edit}?kind=storm`;
  const changed = await agent.follow(
    await agent.post(kind, { ...formOf(await agent.get(kind), kind), shows: 'a horn' }),
  );
  expect(lines(changed)).toEqual(['in a storm: a horn', 'in a storm: red']);
  const [, remove = ''] = /name="remove" value="([^"]*)"/.exec(changed.body) ?? [];
  await agent.post(`${path}/rules/signals`, { ...formOf(changed, `${path}/rules/signals`), remove });
  expect(await stored()).toEqual([{ shows: 'red', at: 'storm' }]);
  await api('DELETE', '/Ruled');
});

test('a member that names another noun offers what exists, takes nothing else, and keeps what it names from removal (architecture, entities)', async () => {
  const inFleet = (method: string, path: string, body?: object) =>
    call(`${service.issuer}/admin/api/ships${path}`, { token, method, ...(body && { body }) });
  const client = await service.createClient({ client_name: 'Harbour office' });
  const { id } = (await api('POST', '', { name: 'Alexandria' })).body as { id: string };
  const form = (await agent.get('/admin/ships/new')).body;
  expect(form).toMatch(/<input id="beacon"[^>]* data-pick="\/admin\/pick\/beacons"/);
  const picked = async (noun: string, q: string) => JSON.parse((await agent.get(`/admin/pick/${noun}?q=${q}`)).body);
  expect(await picked('beacons', 'alex')).toEqual({ found: [{ value: id, name: 'Alexandria' }] });
  expect(await picked('clients', 'harbour')).toEqual({ found: [{ value: client.clientId, name: 'Harbour office' }] });
  expect((await agent.get('/admin/beacons/new')).body).toContain('data-pick="/admin/pick/clients"');
  // a name is no key: it could be that of another one tomorrow
  for (const beacon of ['Alexandria', 'none', ''])
    expect(await inFleet('POST', '', { name: 'Argo', beacon })).toMatchObject({ status: 400 });
  const steering = (await inFleet('POST', '', { name: 'Argo', beacon: id })).body as { id: string };
  const seeing = (await inFleet('POST', '', { name: 'Beagle', lights: [id] })).body as { id: string };
  const refused = await api('DELETE', '/Alexandria');
  expect(refused).toMatchObject({ status: 409 });
  expect(refused.body['error_description']).toMatch(/^the ship Argo refers to it/);
  const path = `/admin/beacons/${id}/delete`;
  const page = await agent.post(path, { ...formOf(await agent.get(path), path), typed: 'Alexandria' });
  expect(page.status).toBe(400);
  expect(page.body).toContain('ship Argo');
  await inFleet('DELETE', `/${steering.id}`);
  expect((await api('DELETE', '/Alexandria')).body['error_description']).toMatch(/^the ship Beagle refers to it/);
  await inFleet('PATCH', `/${seeing.id}`, { lights: [] });
  expect(await api('DELETE', '/Alexandria')).toMatchObject({ status: 204 });
});

test('what is named stays until the transaction ends that names it (architecture, entities)', async () => {
  const { id } = (await api('POST', '', { name: 'Eddystone' })).body as { id: string };
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  const removal = await service.store.transaction(async (repositories) => {
    expect(await repositories.references.keep('beacons', id)).toBe(true);
    const sent = api('DELETE', `/${id}`);
    await expect.poll(() => service.database.sql(waiting), { timeout: 10_000 }).toHaveLength(1);
    await repositories.entity(fleet).insert({ name: 'Pinta', beacon: id, lights: [] });
    return { sent };
  });
  expect(await removal.sent).toMatchObject({ status: 409 });
});

/** Words of a member's name that demand an answer: is it a secret, and does it move what the service trusts? */
const secretWords = /secret|password|token|key/;
const trustWords = /trust|authoritative|issuer|jwks/;
const faultsOf = (of: Entity): string[] =>
  membersOf(of).flatMap(([name, { secret, noSecret, trust, form }]) => [
    ...(secretWords.test(name) && !secret && !noSecret ? [`${of.table}.${name} is no secret`] : []),
    ...(trustWords.test(name) && !trust ? [`${of.table}.${name} moves no trust`] : []),
    ...(form && of.order && !of.order.includes(name)
      ? [`${of.table}.${name} has a field, and no place in its form`]
      : []),
  ]);

/** The sealed columns that the command `secret-key reencrypt` would leave as they are. */
const forgotten = (all: readonly Entity[], known: readonly string[]): string[] =>
  all
    .flatMap((of) => columnsOf(of).map(({ column }) => `${of.table}.${column}`))
    .filter((name) => name.endsWith('_encrypted') && !known.includes(name));

test('the secrets of each entity are encrypted anew with the others (security R29)', async () => {
  const { names } = service.store.sealedValues;
  expect(forgotten(await declaredEntities(), names)).toEqual([]);
  expect(forgotten([beacons], names)).toEqual(['beacons.unlock_key_encrypted']);
});

test('a member whose name is that of a secret, or of what is trusted, says so (architecture, entities)', async () => {
  const all = await declaredEntities();
  expect(all.length).toBeGreaterThan(2);
  const ofClients = { ...beacons, table: 'clients', members: clientSettings };
  expect([...all, beacons, ofClients].flatMap(faultsOf)).toEqual([]);
  const careless = {
    ...beacons,
    members: { api_key: member('A key.', z.string()), trust_email: member('Whether.', z.boolean()) },
  };
  expect(faultsOf(careless)).toEqual(['beacons.api_key is no secret', 'beacons.trust_email moves no trust']);
});

test('a member with a field is in the order of its form (architecture, entities)', async () => {
  const all = await declaredEntities();
  expect(all.filter(({ order }) => order).length).toBeGreaterThan(1);
  expect([...all, { ...beacons, order: Object.keys(beacons.members) }].flatMap(faultsOf)).toEqual([]);
  expect(
    faultsOf({ ...beacons, order: ['name', 'color', 'range', 'keeper', 'issuer', 'unlock_key', 'signals'] }),
  ).toEqual(['beacons.flash has a field, and no place in its form']);
});

test('a text field takes as many characters as the rule of its member, in the direction of its text (architecture, entities)', () => {
  const fields = {
    called: member('A text that users read.', displayText, { form: 'text' }),
    code: member('A name for machines.', z.string().max(12), { form: 'text' }),
    remark: member('A remark.', z.string().trim().max(1000).optional(), { form: { kind: 'text', writing: 'auto' } }),
    number: member('A text that commands read as a number.', z.preprocess(String, z.string().max(30)), {
      form: 'text',
    }),
    short: member('A field that says it.', z.string().max(90), { form: { kind: 'text', most: 9 } }),
    open: member('A rule without a length.', z.string(), { form: 'text' }),
    several: member('A rule for entries, of which a text has several.', z.array(z.string()).max(3), { form: 'text' }),
  };
  const form = formOfMembers({ members: fields }).map(({ name, most, writing }) => [name, most, writing]);
  expect(form).toEqual([
    ['called', 100, 'auto'],
    ['code', 12, undefined],
    ['remark', 1000, 'auto'],
    ['number', 30, undefined],
    ['short', 9, undefined],
    ['open', undefined, undefined],
    ['several', undefined, undefined],
  ]);
});

test('the type of a declaration demands the permission (architecture, entities)', () => {
  const { permission, ...rest } = beacons;
  // @ts-expect-error an entity without a permission is none
  expect(entity(rest)).not.toHaveProperty('permission', permission);
});

const root = join(import.meta.dirname, '../../src');
const kernel = [
  'entities/entity.ts',
  'repositories/entities.ts',
  'domain/administration/entities.ts',
  'admin/operations/entities.ts',
];
const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const hooks = ['check', 'before', 'stored', 'removing', 'facts', 'answer'];
/** The files that use more hooks than an entity may, or that make statements within a function. */
const misuses = (files: readonly { file: string; text: string }[]): string[] =>
  files.flatMap(({ file, text }) => [
    ...(/entityAdministration\(|entityOperations\(/.test(text) &&
    hooks.filter((hook) => new RegExp(`^ +(async )?${hook}[(:]`, 'm').test(text)).length > 5
      ? [`${file} has too many hooks`]
      : []),
    ...(/^(?!const \w+ = |export const \w+ = )[^/*\n]*\bentityTable\((?!\))/m.test(text) && !kernel.includes(file)
      ? [`${file} makes statements more than once`]
      : []),
  ]);

test('the kernel of entities is small, an entity has at most five hooks, and its statements are made once (architecture, entities)', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file, text: textOf(file) }));
  const lines = kernel.map((file) => textOf(file).trimEnd().split('\n').length);
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(700);
  expect(misuses(files)).toEqual([]);
  const greedy = `entityAdministration(store, x, {\n${hooks.map((hook) => `  ${hook}() {},\n`).join('')}})`;
  const wasteful = 'export function repository(sql) {\n  const table = entityTable(x);\n}';
  expect(
    misuses([
      { file: 'a.ts', text: greedy },
      { file: 'b.ts', text: wasteful },
    ]),
  ).toEqual(['a.ts has too many hooks', 'b.ts makes statements more than once']);
});
