// A mail shows the names that registrants and users chose shortened, without addresses, and as unverified.
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

/** The subject and the bodies of a mail, without the addresses of the issuer and the recipient. */
const foreignParts = (mail: ReceivedMail, recipient: string) =>
  [mail.parsed.subject!, mail.text, mail.html.replace(/<style>[^]*<\/style>/, '')].map((part) =>
    part.replaceAll(service.issuer, '').replaceAll(recipient, '').toLowerCase(),
  );

async function register(client_name: string, contact: string): Promise<string> {
  const { body } = await call(`${service.issuer}/register`, {
    body: { redirect_uris: ['https://rp.example.com/callback'], client_name, contacts: [contact] },
  });
  return body['client_id'] as string;
}

test('the mail to administrators shortens the names of registrations, removes addresses from them, and calls them unverified (security R124)', async () => {
  const administrator = await newUser({ admin: true });
  const german = await newUser({ admin: true, claims: { locale: 'de' } });
  const clients = await Promise.all(
    [...addresses.slice(0, 8).map((address) => `Sign in at ${address} now`), long].map((name) =>
      register(name, 'desk'),
    ),
  );
  expect(new Set(clients).size).toBe(clients.length);
  const mail = await server.find(administrator.email, /pending approval/);
  expect(mail.text).toContain('Sign in at … now');
  for (const part of [mail.text, mail.html]) expect(part).toContain('The names are not verified');
  for (const part of foreignParts(mail, administrator.email)) {
    expect(part).not.toMatch(/evil|example/);
    expect(part).not.toContain(long.toLowerCase());
  }
  expect((await server.find(german.email, /warten auf Genehmigung/)).text).toContain('Die Namen sind nicht überprüft');
});

test.each(addresses)(
  "the mail about a decision shows the client's name without the address in it: %s (security R124)",
  async (address) => {
    const contact = `contact-${addresses.indexOf(address)}@rp.test`;
    const name = `Your account is locked, go to ${address} at once`;
    const clientId = await register(name, contact);
    await service.store.clients.refuse(clientId, 'No.');
    const mail = await server.find(contact, /not approved/);
    expect(mail.parsed.subject).toContain('Your account is locked, go to … at once');
    expect(mail.text).toContain('The name is not verified');
    for (const part of foreignParts(mail, contact)) expect(part).not.toMatch(/evil|evl|пример|\b203\.0|12345/);
  },
);

test('a client whose name is only an address is shown by its client_id (security R124)', async () => {
  const clientId = await register('https://evil.example', 'alone@rp.test');
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
  'a mail that a user can have sent to another person shows the user name without addresses: %s (security R124)',
  async (username, toOneself, toOthers) => {
    const user = await newUser();
    await service.database.sql('UPDATE users SET username = $2 WHERE sub = $1', [user.sub, username]);
    await forgotten(user.email);
    expect((await server.find(user.email, /Reset your password/)).text).toContain(`account ${toOneself}.`);
    const agent = new UserAgent(service);
    await agent.signIn({ ...user, username });
    await order('/account/email', { email: `to-${user.email}` }, agent);
    const mail = await server.find(`to-${user.email}`, /Verify your email address/);
    expect(mail.text).toContain(`account ${toOthers}.`);
  },
);

test("a user name that is the user's confirmed address is shown unchanged (security R124)", async () => {
  const user = await newUser();
  await service.database.sql('UPDATE users SET username = $2 WHERE sub = $1', [user.sub, user.email]);
  await forgotten(user.email);
  expect((await server.find(user.email, /Reset your password/)).text).toContain(`account ${user.email}.`);
});

test('a mail about a sign-in does not repeat an address from the User-Agent header (security R124)', async () => {
  const user = await newUser();
  const agent = new UserAgent(service, { 'user-agent': 'www.evil.example' });
  await agent.signIn(user);
  const mail = await server.find(user.email, /sign-in/);
  for (const part of foreignParts(mail, user.email)) expect(part).not.toContain('evil');
});
