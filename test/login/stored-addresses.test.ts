// An address is stored in one form at every entrance, and rules for domains are asked of that form.
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { addConnection, changeConnection, signInBy } from '../helpers/connections.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { mailsIn } from '../helpers/mail-server.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;
let social: Provider;
let token: string;

beforeAll(async () => {
  [provider, social] = [await startProvider(), await startProvider()];
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: `${provider.host},${social.host}`,
      SIGN_UP: 'on',

      SIGN_UP_DOMAINS: 'münchen.example,open.example',
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  await addConnection(service, provider, 'work', {
    provisioning: 'on',
    domains: ['firm.example', 'xn--frma-0ra.example'],
  });
  await addConnection(service, social, 'social', { provisioning: 'on', trust_email: true });
  token = await adminToken(service);
});
afterAll(async () => {
  await service?.stop();
  await Promise.all([provider?.stop(), social?.stop()]);
});
const enforce = (enforced: boolean) => changeConnection(service, 'work', { enforced });
beforeEach(() => enforce(false));

let number = 0;
/** The address of the link in the mail to this address. */
const linkTo = async (address: string) =>
  (await vi.waitUntil(
    async () =>
      (await mailsIn(service.dataDir)).find(
        ({ parsed, link }) => link !== undefined && [parsed.to].flat().some((to) => to?.text.includes(address)),
      ),
    { timeout: 10_000, interval: 20 },
  ))!.link!;
const stored = async (username: string) => (await service.store.users.findByUsername(username))?.email;
const users = () => `${service.issuer}/admin/api/users`;
const refused = [
  'ada@firm.example.',
  'ada@firm..example',
  'ada@firm．example',
  'ada@firm\u200b.example',
  'ada@fi\u00adrm.example',
];

describe('an address', () => {
  test('of an administrator is stored with its A-label by route, command and console, and refused without one (security R158)', async () => {
    const body = { username: 'by-route', email: 'By.Route@MÜNCHEN.example' };
    expect(await call(users(), { token, body })).toMatchObject({ body: { email: 'By.Route@xn--mnchen-3ya.example' } });
    await runCommand(service, ['user', 'invite', 'by-command', '--email', 'c@MÜNCHEN.example']);
    expect(await stored('by-command')).toBe('c@xn--mnchen-3ya.example');
    const user = await service.createUser({ username: 'by-console' });
    const { agent } = await openConsole(service, await service.createUser({ admin: true }));
    const path = `/admin/users/${user.sub}/edit`;
    const typed = { ...formOf(await agent.get(path), path), username: 'by-console', email: 'd@MÜNCHEN.example' };
    await agent.follow(await agent.post(path, typed));
    expect(await stored('by-console')).toBe('d@xn--mnchen-3ya.example');
    for (const email of refused) {
      expect((await call(users(), { token, body: { username: `refused-${++number}`, email } })).status).toBe(400);
      const change = await call(`${users()}/${user.sub}`, { method: 'PATCH', token, body: { email } });
      expect(change.status).toBe(400);
    }
  });

  test('of an import is stored with its A-label, and a row without one is refused (security R158)', async () => {
    const rows = [
      { username: 'row-1', email: 'row@MÜNCHEN.example' },
      ...refused.map((email) => ({ username: `row-${++number}`, email })),
    ];
    const stdin = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    const { stdout } = await runCommand(service, ['user', 'import', '-', '--format', 'jsonl'], { stdin });
    expect(stdout).toContain(`1 created, 0 updated, 0 unchanged, ${refused.length} rejected`);
    expect(await stored('row-1')).toBe('row@xn--mnchen-3ya.example');
  });

  test('signs its user in and finds the user in either form (security R158)', async () => {
    const user = await service.createUser({
      username: 'either',
      email: 'either@xn--mnchen-3ya.example',
      emailVerified: true,
    });
    for (const username of ['either@münchen.example', 'EITHER@XN--MNCHEN-3YA.example']) {
      const agent = new UserAgent(service);
      await agent.signIn({ username, password: user.password });
      expect((await agent.get('/account')).status).toBe(200);
    }
  });

  test('of plain SQL is stored in lower case, and refused without an A-label (security R158)', async () => {
    const insert = (email: string) =>
      service.database.sql('INSERT INTO users (username, email) VALUES ($1, $2)', [`sql-${++number}`, email]);
    await insert('Sql@Open.EXAMPLE');
    expect(await stored(`sql-${number}`)).toBe('Sql@open.example');
    for (const email of [...refused, 'sql@MÜNCHEN.example', 'sql'])
      await expect(insert(email)).rejects.toThrow('must be an A-label');
  });

  test('of a connection with a domain that has no A-label is neither stored nor vouched for (security R158)', async () => {
    for (const email of refused) {
      social.be({ sub: `s-${++number}`, preferred_username: `claimed-${number}`, email, email_verified: true });
      await signInBy(new UserAgent(service), 'social');
      expect(await stored(`claimed-${number}`)).toBeUndefined();
    }
    social.be({ sub: 's-a', preferred_username: 'claimed', email: 'claimed@MÜNCHEN.example', email_verified: true });
    await signInBy(new UserAgent(service), 'social');
    expect(await stored('claimed')).toBe('claimed@xn--mnchen-3ya.example');
  });
});

describe('the domain of a sign-up', () => {
  const signUp = async (email: string) => {
    const agent = new UserAgent(service);
    return { agent, page: await agent.submit(await agent.get('/sign-up'), { email }) };
  };

  test('is compared as an A-label with SIGN_UP_DOMAINS (security R158)', async () => {
    for (const email of ['a@open.example.', 'a@open．example', 'a@else.example'])
      expect((await signUp(email)).page.status).toBe(400);
    expect((await signUp('new@MÜNCHEN.example')).page.status).toBe(200);
  });

  test('that a connection has enforced meanwhile makes no account that could not sign in (security R158)', async () => {
    const address = `meanwhile-${++number}@open.example`;
    const { agent } = await signUp(address);
    const link = await linkTo(address);
    await changeConnection(service, 'work', { domains: ['open.example'], enforced: true });
    expect((await agent.get(link)).status).toBe(410);
    await changeConnection(service, 'work', { domains: ['firm.example'], enforced: false });
    expect((await agent.get(link)).status).toBe(200);
  });
});

describe('a user of an enforced domain', () => {
  const recently = async (user: { username: string; password: string; sub: string }) => {
    const agent = new UserAgent(service);
    await agent.signIn(user);
    return agent;
  };

  test('without a link cannot order a change of the address, nor confirm one that was ordered before (security R158)', async () => {
    const user = await service.createUser({ email: `held-${++number}@firm.example`, emailVerified: true });
    const agent = await recently(user);
    const wanted = `elsewhere-${number}@open.example`;
    await agent.submit(await agent.get('/account/email'), { email: wanted });
    const link = await linkTo(wanted);
    const confirm = await agent.get(link);
    expect(confirm.status).toBe(200);
    await enforce(true);
    const page = await agent.get('/account/email');
    expect(page.body).not.toContain('id="change-email"');
    expect((await agent.submit(confirm, {})).status).toBe(410);
    expect(await service.store.users.find(user.sub)).toMatchObject({ email: user.email });
  });

  test('does not become one by a change of the address, which would leave no way in (security R158)', async () => {
    await enforce(true);
    const user = await service.createUser({ email: `free-${++number}@open.example`, emailVerified: true });
    const agent = await recently(user);
    const page = await agent.submit(await agent.get('/account/email'), { email: 'me@firm.example' });
    expect(page).toMatchObject({ status: 400, body: expect.stringContaining('sign in through their organization') });
  });

  test('is not made by another connection (security R158)', async () => {
    await enforce(true);
    social.be({
      sub: `e-${++number}`,
      preferred_username: `e-${number}`,
      email: 'new@firm.example',
      email_verified: true,
    });
    const page = await signInBy(new UserAgent(service), 'social');
    expect(page.body).toContain('With your email address, you have to sign in another way');
    expect(page.body).toContain('action="/connections/work"');
    expect(await service.store.users.findByEmail('new@firm.example')).toBeUndefined();
  });
});
