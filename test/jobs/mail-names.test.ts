// Names that registrants and users chose, as they stand in mails: short, without addresses, and called unverified.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import type { ReceivedMail } from '../helpers/mail-server.ts';
import { type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const bed = createMailBed();
const { server, newUser, order, forgotten } = bed;
let service: TestService;
let admin: string;
beforeAll(async () => {
  ({ service, admin } = await bed.start());
});
afterAll(() => bed.stop());

const addresses = [
  'https://evil.example/login',
  'http:\\\\evil.example',
  'HTTPS://EVIL.EXAMPLE',
  'www.evil.example',
  'evil.example',
  'evil.example:8443/x?y#z',
  'evil\u3002example',
  'evil\uFF0Eexample',
  'xn--evl-9ka.xn--p1ai',
  'пример.рф',
  '203.0.113.7/login',
  'mailto:eve@evil.example',
  'eve@evil.example',
  'eve\uFF20evil.example',
  'evil\u2024example',
  'evil\uFE52example',
  '\\\\evil\\share',
  'tel:+4912345',
];
const long = `Harbour ${'very '.repeat(17)}long`;

/** What of the issuer's own addresses stands in each mail. */
const strange = (mail: ReceivedMail, recipient: string) =>
  [mail.parsed.subject!, mail.text, mail.html.replace(/<style>[^]*<\/style>/, '')].map((part) =>
    part.replaceAll(service.issuer, '').replaceAll(recipient, '').toLowerCase(),
  );

async function registers(client_name: string, contact: string): Promise<string> {
  const { body } = await call(`${service.issuer}/register`, {
    body: { redirect_uris: ['https://rp.example.com/callback'], client_name, contacts: [contact] },
  });
  return body['client_id'] as string;
}

test('administrators are told of registrations by short names without addresses, which are called unverified (security R124)', async () => {
  const boss = await newUser({ admin: true });
  const german = await newUser({ admin: true, claims: { locale: 'de' } });
  const clients = await Promise.all(
    [...addresses.slice(0, 8).map((address) => `Sign in at ${address} now`), long].map((name) =>
      registers(name, 'desk'),
    ),
  );
  expect(new Set(clients).size).toBe(clients.length);
  const mail = await server.find(boss.email, /wait for your decision/);
  expect(mail.text).toContain('Sign in at … now');
  for (const part of [mail.text, mail.html]) expect(part).toContain('the names are unverified');
  for (const part of strange(mail, boss.email)) {
    expect(part).not.toMatch(/evil|example/);
    expect(part).not.toContain(long.toLowerCase());
  }
  expect((await server.find(german.email, /warten auf Ihre Entscheidung/)).text).toContain('niemand hat sie geprüft');
});

test.each(addresses)(
  'a contact is told what was decided without the address in the name: %s (security R124)',
  async (address) => {
    const contact = `contact-${addresses.indexOf(address)}@rp.test`;
    const name = `Your account is locked, go to ${address} at once`;
    const clientId = await registers(name, contact);
    await service.store.clients.refuse(clientId, 'No.');
    const mail = await server.find(contact, /not approved/);
    expect(mail.parsed.subject).toContain('Your account is locked, go to … at once');
    expect(mail.text).toContain('this name is unverified');
    for (const part of strange(mail, contact)) expect(part).not.toMatch(/evil|evl|пример|\b203\.0|12345/);
  },
);

test('a name that is nothing but an address gives way to the identifier of its client (security R124)', async () => {
  const clientId = await registers('https://evil.example', 'alone@rp.test');
  const api = `${service.issuer}/admin/api/clients/${clientId}`;
  const { body } = await call(api, { token: admin });
  await call(`${api}/approve`, { token: admin, body: { version: body['version'] } });
  const mail = await server.find('alone@rp.test', /approved/);
  expect(mail.parsed.subject).toContain(clientId);
  expect(mail.text).not.toContain('evil');
});

test.each([
  ['see https://evil.example now', 'see … now', 'see … now'],
  ['eve@evil.example', '…', '…'],
  ['evil.example', 'evil.example', 'evil example'],
  ['john.smith', 'john.smith', 'john smith'],
  ['x'.repeat(200), `${'x'.repeat(59)}…`, `${'x'.repeat(59)}…`],
])(
  'a user name holds no address in a mail that its user can have sent to others: %s (security R124)',
  async (username, toOneself, toOthers) => {
    const user = await newUser();
    await service.database.sql('UPDATE users SET username = $2 WHERE sub = $1', [user.sub, username]);
    await forgotten(user.email);
    expect((await server.find(user.email, /new password/)).text).toContain(`account ${toOneself}.`);
    const agent = new UserAgent(service);
    await agent.signIn({ ...user, username });
    await order('/account/email', { email: `to-${user.email}` }, agent);
    const mail = await server.find(`to-${user.email}`, /Confirm/);
    expect(mail.text).toContain(`account ${toOthers}.`);
  },
);

test('a user name that is the confirmed address of its user stays as it is (security R124)', async () => {
  const user = await newUser();
  await service.database.sql('UPDATE users SET username = $2 WHERE sub = $1', [user.sub, user.email]);
  await forgotten(user.email);
  expect((await server.find(user.email, /new password/)).text).toContain(`account ${user.email}.`);
});

test('a notice of a sign-in does not repeat an address that a program gave as its name (security R124)', async () => {
  const user = await newUser();
  const agent = new UserAgent(service, { 'user-agent': 'www.evil.example' });
  await agent.signIn(user);
  const mail = await server.find(user.email, /sign-in/);
  for (const part of strange(mail, user.email)) expect(part).not.toContain('evil');
});
