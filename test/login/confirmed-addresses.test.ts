// The service remembers who confirmed an address: a word is not enough to join a stranger's account to a person's.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { addConnection, changeConnection, signInBy } from '../helpers/connections.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { formerMigration } from '../helpers/former-database.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let work: Provider;
let social: Provider;
let token: string;

beforeAll(async () => {
  [work, social] = [await startProvider(), await startProvider()];
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: `${work.host},${social.host}`,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  await addConnection(service, work, 'work', { provisioning: 'on', linking: 'domain' });
  await addConnection(service, social, 'social', { provisioning: 'on', trust_email: true });
  token = await adminToken(service);
});
afterAll(async () => {
  await service?.stop();
  await Promise.all([work?.stop(), social?.stop()]);
});

let number = 0;
const newSubject = () => `subject-${++number}`;
const userAt = (email: string) => service.store.users.findByEmail(email);
const linksOf = async (sub: string) =>
  (await service.store.linkedIdentities.ofUser(sub)).map((one) => one.connectionId);
const withAuthority = () => changeConnection(service, 'work', { authoritative_domains: ['firm.example'] });
const proof = (page: { url: string }) => expect(page.url).toBe(`${service.issuer}/login/connect`);

describe('an address that a stranger had confirmed by a word', () => {
  test('does not join the account to the person when authority comes later: the person proves the account (security R156)', async () => {
    await changeConnection(service, 'work', { authoritative_domains: [] });
    social.be({ sub: newSubject(), preferred_username: 'stranger', email: 'pia@firm.example', email_verified: true });
    await signInBy(new UserAgent(service), 'social');
    const account = (await userAt('pia@firm.example'))!;
    expect(account).toMatchObject({ emailVerified: true, confirmedBy: 'word' });
    await withAuthority();
    work.be({ sub: newSubject(), preferred_username: 'pia', email: 'pia@firm.example' });
    proof(await signInBy(new UserAgent(service), 'work'));
    expect(await linksOf(account.sub)).toEqual(['social']);
  });

  test('is not joined to an account with another link, whoever confirmed it (security R156)', async () => {
    await withAuthority();
    const account = await service.createUser({ email: 'linked@firm.example', emailVerified: true });
    const key = { connection_id: 'social', issuer: social.issuer, subject: newSubject() };
    const body = { connection: key.connection_id, issuer: key.issuer, subject: key.subject };
    const made = await call(`${service.issuer}/admin/api/users/${account.sub}/connections`, { token, body });
    expect(made.status).toBe(204);
    work.be({ sub: newSubject(), email: 'linked@firm.example' });
    proof(await signInBy(new UserAgent(service), 'work'));
  });

  test.each(['mail', 'administrator', 'authority'] as const)(
    'is joined without a question where %s confirmed it (security R156)',
    async (confirmedBy) => {
      await withAuthority();
      const account = await service.createUser({ email: `${confirmedBy}@firm.example`, confirmedBy });
      work.be({ sub: newSubject(), email: account.email! });
      expect((await signInBy(new UserAgent(service), 'work')).url).toBe(`${service.issuer}/account`);
      expect(await linksOf(account.sub)).toEqual(['work']);
    },
  );

  test('becomes confirmed by authority once the person has proven the account (security R156)', async () => {
    await withAuthority();
    const account = await service.createUser({ email: 'proven@firm.example', confirmedBy: 'word' });
    work.be({ sub: newSubject(), email: 'proven@firm.example' });
    const agent = new UserAgent(service);
    const page = await signInBy(agent, 'work');
    proof(page);
    const own = await agent.get('/login?destination=connect');
    const proven = await agent.signIn({ username: account.username, password: account.password }, own);
    await agent.submit(proven, {});
    expect(await service.store.users.find(account.sub)).toMatchObject({ confirmedBy: 'authority' });
  });
});

describe('who confirmed it', () => {
  const importing = (rows: object[], ...args: string[]) =>
    runCommand(service, ['user', 'import', '-', '--format', 'jsonl', ...args], {
      stdin: rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
    });

  test('is a word for an import, and an administrator with --trust-confirmations (security R156)', async () => {
    const row = (name: string) => ({ username: name, email: `${name}@firm.example`, email_verified: true });
    await importing([row('untrusted-row')]);
    expect(await userAt('untrusted-row@firm.example')).toMatchObject({ emailVerified: true, confirmedBy: 'word' });
    await importing([row('trusted-row')], '--trust-confirmations');
    expect(await userAt('trusted-row@firm.example')).toMatchObject({ confirmedBy: 'administrator' });
    // a later word makes no less of it
    await importing([row('trusted-row')], '--update');
    expect(await userAt('trusted-row@firm.example')).toMatchObject({ confirmedBy: 'administrator' });
    await importing([row('untrusted-row')], '--update', '--trust-confirmations');
    expect(await userAt('untrusted-row@firm.example')).toMatchObject({ confirmedBy: 'administrator' });
  });

  test('is an administrator for the admin routes, which show it (security R156)', async () => {
    const path = `${service.issuer}/admin/api/users`;
    const made = await call(path, {
      token,
      body: { username: 'made', email: 'made@firm.example', email_verified: true },
    });
    expect(made.body).toMatchObject({ email_verified: true, email_confirmed_by: 'administrator' });
    const sub = (made.body as { sub: string }).sub;
    const change = (body: object) => call(`${path}/${sub}`, { method: 'PATCH', token, body });
    expect((await change({ email: 'other@firm.example' })).body).toMatchObject({ email_verified: false });
    expect((await change({ email: 'other@firm.example' })).body).not.toHaveProperty('email_confirmed_by');
    expect((await change({ email_verified: true })).body).toMatchObject({ email_confirmed_by: 'administrator' });
  });

  test('is carried over: a word for users with a link by a connection without authority, else our mail (security R156, R157)', async () => {
    await withAuthority();
    const linked = await service.createUser({ email: 'carried@third.example', emailVerified: true });
    const owned = await service.createUser({ email: 'owned@firm.example', emailVerified: true });
    const plain = await service.createUser({ email: 'plain@third.example', emailVerified: true });
    for (const [sub, connection] of [
      [linked.sub, 'social'],
      [owned.sub, 'work'],
    ])
      await service.database.sql(
        `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ($1, 'x', $2, $3, 'person')`,
        [connection, newSubject(), sub],
      );
    await service.database.sql(/^UPDATE users .*?;$/ms.exec(formerMigration('0205_confirmed_by'))![0]);
    const found = async ({ sub }: { sub: string }) => (await service.store.users.find(sub))!.confirmedBy;
    expect([await found(linked), await found(owned), await found(plain)]).toEqual(['word', 'mail', 'mail']);
  });

  test('is a word for a row of plain SQL that does not say so, and an administrator for a later change (security R156)', async () => {
    await service.database.sql(
      `INSERT INTO users (sub, username, email, email_verified) VALUES ('sql-1', 'sql-1', 'sql-1@firm.example', true), ('sql-2', 'sql-2', 'sql-2@firm.example', false)`,
    );
    await service.database.sql(`UPDATE users SET email_verified = true WHERE sub = 'sql-2'`);
    expect(await service.store.users.find('sql-1')).toMatchObject({ confirmedBy: 'word' });
    expect(await service.store.users.find('sql-2')).toMatchObject({ confirmedBy: 'administrator' });
  });
});

describe('accounts in a domain whose address was confirmed by a word only', () => {
  const path = '/admin/connections/work/word-confirmations';
  const make = async () => {
    const one = await service.createUser({ email: `word-${++number}@firm.example`, confirmedBy: 'word' });
    const other = await service.createUser({ email: `word-${number}@third.example`, confirmedBy: 'word' });
    const mailed = await service.createUser({ email: `mailed-${number}@firm.example`, confirmedBy: 'mail' });
    return { one, other, mailed };
  };
  const confirmed = async ({ sub }: { sub: string }) => (await service.store.users.find(sub))!.confirmedBy;

  test('are listed and taken back by the route, and by the command (security R156)', async () => {
    await withAuthority();
    const api = `${service.issuer}/admin/api/connections/work/word-confirmations`;
    const { one, other, mailed } = await make();
    const listed = (await call(api, { token })).body as { accounts: { sub: string }[]; count: number };
    expect(listed.accounts).toContainEqual({ sub: one.sub, username: one.username, email: one.email });
    expect(listed.accounts.map(({ sub }) => sub)).not.toContain(other.sub);
    expect((await runCommand(service, ['connection', 'word-confirmed', 'work'])).stdout).toContain(one.email);
    const taken = await call(api, { method: 'DELETE', token });
    expect(taken).toMatchObject({ status: 200, body: { count: listed.count } });
    expect([await confirmed(one), await confirmed(other), await confirmed(mailed)]).toEqual([
      undefined,
      'word',
      'mail',
    ]);
    await make();
    const { stdout } = await runCommand(service, ['connection', 'take-back-confirmations', 'work']);
    expect(stdout).toContain('Marked 1 address as not verified.');
    expect((await call(api, { token })).body).toEqual({ accounts: [], count: 0 });
    expect((await call(api.replace('work', 'none'), { token })).status).toBe(404);
  });

  test('are shown by the console when the connection gets authority, with one button that takes the confirmations back (security R156)', async () => {
    await changeConnection(service, 'work', { authoritative_domains: [] });
    const { one, other } = await make();
    const { agent } = await openConsole(service, await service.createUser({ admin: true }));
    const form = await agent.get('/admin/connections/work/edit');
    const action = '/admin/connections/work/edit';
    const typed = {
      ...formOf(form, action),
      display_name: 'Work',
      issuer: work.issuer,
      client_id: work.settings.client_id,
      scope: 'openid email',
      status: 'enabled',
      linking: 'domain',
      provisioning: 'on',
      position: '0',
      token_endpoint_auth_method: 'client_secret_basic',
      response_mode: 'query',
      authoritative_domains: 'firm.example',
    };
    const page = await agent.follow(await agent.post(action, typed));
    expect(page.url).toBe(`${service.issuer}${path}?done=connection-changed`);
    expect(page.body).toContain(one.email);
    expect(page.body).not.toContain(other.email);
    expect((await agent.get('/admin/connections/work')).body).toContain(`href="${path}"`);
    const done = await agent.follow(await agent.post(path, formOf(page, path)));
    expect(done.body).toContain('Addresses marked as not verified.');
    expect(await confirmed(one)).toBeUndefined();
    const [event] = await service.database.sql<{ type: string }>(
      `SELECT type FROM audit_events WHERE sub = $1 AND detail -> 'members' ? 'email_verified'`,
      [one.sub],
    );
    expect(event).toEqual({ type: 'user.changed' });
  });
});

describe('the name of a new user', () => {
  const named = async (columns: Record<string, unknown>, claims: object) => {
    await changeConnection(service, 'social', {
      username_from: 'preferred_username',
      username_local_part: false,
      username_suffix: false,
      ...columns,
    });
    social.be({ sub: newSubject(), ...claims });
    const page = await signInBy(new UserAgent(service), 'social');
    const [link] = await service.database.sql<{ username: string }>(
      'SELECT username FROM linked_identities l JOIN users USING (sub) WHERE l.subject = $1',
      [`subject-${number}`],
    );
    return link?.username ?? page.url.slice(service.issuer.length);
  };

  test('is the part before the @ where the connection says so, and is asked for otherwise (reports D)', async () => {
    const claims = { preferred_username: 'erik@tenant.example' };
    expect(await named({}, claims)).toBe('/login/name');
    expect(await named({ username_local_part: true }, claims)).toBe('erik');
    expect(await named({ username_from: 'profile.nick' }, { profile: { nick: 'nicky' } })).toBe('nicky');
  });

  test('gets a number if another user has it, only where the connection says so (reports D)', async () => {
    const claims = { preferred_username: 'Twin@tenant.example' };
    const columns = { username_local_part: true };
    expect(await named(columns, claims)).toBe('Twin');
    expect(await named(columns, claims)).toBe('/login/name');
    expect(await named({ ...columns, username_suffix: true }, claims)).toBe('Twin2');
    expect(await named({ ...columns, username_suffix: true }, claims)).toBe('Twin3');
  });
});

test('an address that moved at the provider and is not taken over leaves one event (reports D)', async () => {
  await withAuthority();
  await service.createUser({ email: 'taken-there@firm.example', emailVerified: true });
  const sub = newSubject();
  const be = (email: string) => work.be({ sub, preferred_username: `moves-${number}`, email });
  const signIn = () => signInBy(new UserAgent(service), 'work');
  be('moves@firm.example');
  await signIn();
  be('taken-there@firm.example');
  await signIn();
  await signIn();
  const user = (await userAt('moves@firm.example'))!;
  const events = await service.database.sql(
    `SELECT detail FROM audit_events WHERE type = 'user.email_kept' AND sub = $1`,
    [user.sub],
  );
  expect(events).toEqual([{ detail: { connection: 'work' } }]);
});
