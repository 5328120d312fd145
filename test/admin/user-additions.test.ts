// An import adds authenticator apps, links to identities and roles to new users, and to no user who exists.
import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { addConnection } from '../helpers/connections.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;
let app: { clientId: string };
beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: provider.host } });
  await addConnection(service, provider, 'work');
  app = await service.createClient();
  await runCommand(service, ['role', 'create', app.clientId, 'editor']);
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const imported = (rows: object[], ...options: string[]) =>
  runCommand(service, ['user', 'import', '-', '--format', 'jsonl', ...options], {
    stdin: rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  });
const links = (sub: string) => service.store.linkedIdentities.ofUser(sub);

test('a new user gets the authenticator, the link and the roles of the row, in events and without a mail (pages, imports)', async () => {
  const password = 'from the other provider';
  const stored = (await service.createUser({ username: 'pattern', password })).passwordHash;
  const row = {
    username: 'mover',
    sub: 'kept-id',
    email: 'mover@example.com',
    email_verified: true,
    password_hash: stored,
    totp: [{ secret, algorithm: 'SHA1', digits: 6, period: 30, name: 'Phone' }],
    links: [{ connection: 'work', subject: 'subject there' }],
    roles: { [app.clientId]: ['editor'] },
  };
  expect((await imported([row], '--dry-run')).stdout).toContain('1 created');
  expect(await service.store.users.find('kept-id')).toBeUndefined();
  expect(await imported([row])).toMatchObject({ code: 0 });
  expect(await service.store.users.find('kept-id')).toMatchObject({ confirmedBy: 'word' });
  expect(await links('kept-id')).toMatchObject([
    { connectionId: 'work', issuer: provider.issuer, subject: 'subject there', how: 'imported' },
  ]);
  expect(await service.store.clientRoles.ofUser({ sub: 'kept-id', groups: [] }, app.clientId)).toEqual(['editor']);
  const events = await eventsOf(service, { sub: 'kept-id' });
  expect(events.map(({ type }) => type)).toEqual(['user.created', 'identity.linked']);
  expect(events[0]).toMatchObject({ detail: { imported: true, second_factors: 1 } });
  expect(await eventsOf(service, { type: 'role.given', clientId: app.clientId })).toMatchObject([
    { detail: { role: 'editor', subs: ['kept-id'] } },
  ]);
  expect(JSON.stringify([events, service.logs])).not.toContain(secret);
  // the secret is sealed for its row, and the password alone signs nobody in
  const agent = new UserAgent(service);
  const page = await agent.signIn({ username: 'mover', password });
  expect(agent.cookies.has('JSESSIONOPENID')).toBe(false);
  expect(page.body).toContain('id="code"');
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  expect((await agent.submit(page, { code })).body).toContain('mover');
  // a second time, and as an update, the same row changes nothing
  expect((await imported([row])).stdout).toContain('1 unchanged');
  expect((await imported([row], '--update')).stdout).toContain('1 unchanged');
  expect(await links('kept-id')).toHaveLength(1);
});

test('a user who exists gets no authenticator, link or role of a row, also by an update (security R155)', async () => {
  const { sub } = await service.createUser({ username: 'resident' });
  const added = {
    totp: [{ secret }],
    links: [{ connection: 'work', subject: 'of another' }],
    roles: { [app.clientId]: ['editor'] },
  };
  const row = { username: 'resident', sub, name: 'Resident', ...added };
  expect((await imported([row])).stdout).toContain('1 unchanged');
  expect((await imported([row], '--update')).stdout).toContain('1 updated');
  expect(await links(sub)).toEqual([]);
  expect(await service.store.secondFactors.list(sub)).toEqual([]);
  expect(await service.store.clientRoles.ofUser({ sub, groups: [] }, app.clientId)).toEqual([]);
});

test.each<[string, object, string]>([
  ['eight digits', { totp: [{ secret, digits: 8 }] }, 'totp.0 must be of codes with six digits'],
  ['SHA-256', { totp: [{ secret, algorithm: 'SHA256' }] }, 'totp.0 must be of codes'],
  ['a minute', { totp: [{ secret, period: 60 }] }, 'totp.0 must be of codes'],
  ['a short secret', { totp: [{ secret: 'JBSWY3DP' }] }, 'totp.0.secret must be a secret in base32'],
  ['another alphabet', { totp: [{ secret: '0189'.repeat(8) }] }, 'totp.0.secret must be a secret'],
  ['an unknown member', { totp: [{ secret, counter: 1 }] }, 'totp.0 is not valid'],
  [
    'an unknown connection',
    { links: [{ connection: 'other', subject: 'x' }] },
    'links.0.connection names a connection',
  ],
  [
    'another issuer',
    { links: [{ connection: 'work', subject: 'x', issuer: 'https://x.example' }] },
    'links.0.issuer must be',
  ],
  ['an unknown client', { roles: { nobody: ['editor'] } }, 'roles names a role'],
  [
    'the name of a property of every object',
    { roles: { __proto__: null, constructor: ['name'] } },
    'roles names a role',
  ],
])('a row with %s is refused, and its user is not created (pages, imports)', async (title, members, said) => {
  const username = `refused ${title}`;
  const { code, stderr } = await imported([{ username, ...members }]);
  expect([code, stderr]).toEqual([1, expect.stringContaining(`line 1: ${said}`)]);
  expect(stderr).not.toContain(secret);
  expect(await service.store.users.findByUsername(username)).toBeUndefined();
});

test('of two rows with one identity the second is refused, and the other rows are stored (federation FR1)', async () => {
  const link = [{ connection: 'work', subject: 'of one user' }];
  const rows = [
    { username: 'first-of-two', links: link },
    { username: 'second-of-two', links: link },
    { username: 'third' },
  ];
  const { code, stderr, stdout } = await imported(rows);
  expect([code, stderr]).toEqual([1, 'line 2: links belongs to another user\n']);
  expect(stdout).toContain('2 created, 0 updated, 0 unchanged, 1 rejected');
  expect(await service.store.users.findByUsername('second-of-two')).toBeUndefined();
  expect(await service.store.users.findByUsername('third')).toBeDefined();
});

test('the route of the import takes the same members (pages, imports)', async () => {
  const answer = await fetch(`${service.issuer}/admin/api/users/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await adminToken(service)}`, 'content-type': 'application/jsonl' },
    body: JSON.stringify({ username: 'by-route', links: [{ connection: 'work', subject: 'by route' }] }),
  });
  expect(await answer.text()).toContain('"created":1');
  const { sub } = (await service.store.users.findByUsername('by-route'))!;
  expect(await links(sub)).toHaveLength(1);
});
