// The console's user pages find, create, change, delete and export users.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
let admin: Awaited<ReturnType<TestService['createUser']>>;
beforeAll(async () => {
  service = await startTestService();
  admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
});
afterAll(() => service?.stop());

async function post(path: string, fields: Record<string, string>) {
  const page = await agent.get(path);
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)![1]!;
  return agent.follow(await agent.post(path, { csrf, ...formOf(page, path), ...fields }));
}

test('an administrator finds users, and opens the page of each (pages, users)', async () => {
  const user = await service.createUser({ username: 'Zoë', claims: { name: 'Zoë <b>Bold</b>' }, groups: ['deck'] });
  for (const query of ['q=zoe', 'group=deck', 'q=bold&status=enabled&order=name']) {
    const page = await agent.get(`/admin/users?${query}`);
    expect(page.body).toContain(`href="/admin/users/${user.sub}"`);
    expect(page.body).not.toContain('<b>Bold');
  }
  expect((await agent.get('/admin/users?q=nobody')).body).toContain('No users found.');
  expect((await agent.get(`/admin/users/${user.sub}`)).body).toContain('Zoë');
  expect((await agent.get('/admin/users/none')).status).toBe(404);
});

test("an administrator disables, enables and deletes a user and changes the user's groups, each with an event (pages, users)", async () => {
  const user = await service.createUser({ username: 'goes' });
  const path = `/admin/users/${user.sub}`;
  const find = async () => (await service.store.users.find(user.sub))!;
  expect((await post(`${path}/disable`, {})).url).toContain('done=user-disabled');
  expect((await find()).status).toBe('disabled');
  await post(path, { act: 'enable' });
  await service.createUser({ groups: ['one', 'two'] });
  await post(path, { act: 'join', group: ' one ' });
  await post(path, { act: 'join', group: 'two' });
  expect(await find()).toMatchObject({ status: 'enabled', groups: ['one', 'two'] });
  expect((await post(path, { act: 'join', group: 'x'.repeat(256) })).status).toBe(400);
  const none = await post(path, { act: 'join', group: 'three' });
  expect(none.status).toBe(400);
  expect(none.body).toMatch(/This group doesn’t exist.*value="three"/s);
  expect((await post(`${path}/make-admin`, { typed: 'go' })).status).toBe(400);
  expect((await find()).admin).toBe(false);
  await post(`${path}/make-admin`, { typed: 'goes' });
  expect((await find()).admin).toBe(true);
  expect((await post(`${path}/delete`, { typed: 'somebody' })).status).toBe(400);
  expect((await post(`${path}/delete`, { typed: 'goes' })).url).toContain('done=user-deleted');
  expect(await service.store.users.find(user.sub)).toBeUndefined();
  const events = await service.database.sql<{ type: string }>(
    'SELECT type FROM audit_events WHERE sub = $1 AND actor = $2 ORDER BY id',
    [user.sub, admin.sub],
  );
  expect(events.map((event) => event.type)).toEqual([
    'user.disabled',
    'user.changed',
    'user.changed',
    'user.changed',
    'user.changed',
    'user.deleted',
  ]);
});

test('the last administrator cannot lose the admin flag, and a forged form does nothing (security R52, R91)', async () => {
  const path = `/admin/users/${admin.sub}`;
  for (const [operation, fields] of [
    ['no-admin', {}],
    ['disable', {}],
    ['delete', { typed: admin.username }],
  ] as const) {
    const page = await post(`${path}/${operation}`, fields);
    expect(page.status).toBe(400);
    expect(page.body).toContain('last enabled administrator');
    const forged = await agent.post(`${path}/${operation}`, { csrf: 'x', ...fields });
    expect(forged.status).toBe(400);
  }
  expect(await service.store.users.find(admin.sub)).toMatchObject({ status: 'enabled', admin: true });
});

test('making an administrator or disabling a user needs a sign-in within 15 minutes; ending sessions does not (security R91)', async () => {
  const user = await service.createUser();
  const path = `/admin/users/${user.sub}`;
  await service.database.sql(`UPDATE sessions SET auth_time = now() - interval '16 minutes'`);
  for (const operation of ['make-admin', 'disable']) {
    const action = `${path}/${operation}`;
    const asked = await agent.post(action, { ...formOf(await agent.get(action), action), typed: user.username });
    expect(asked.location, operation).toContain('/authorize?');
  }
  expect(await service.store.users.find(user.sub)).toMatchObject({ admin: false, status: 'enabled' });
  const end = '/admin/sessions/end';
  const form = formOf(await agent.get(`${end}?sub=${user.sub}`), end);
  const ended = await agent.post(end, { ...form, typed: user.username });
  expect(ended.location).toMatch(/[?&]done=/);
  await service.database.sql(`UPDATE sessions SET auth_time = now()`);
});
test('an outdated page of a user removes no group that was added since (pages, users)', async () => {
  const user = await service.createUser({ username: 'regrouped', groups: ['one'] });
  const path = `/admin/users/${user.sub}`;
  const old = await agent.get(path);
  await post(path, { act: 'join', group: 'two' });
  await agent.post(path, { ...formOf(old, path), act: 'leave', group: 'one' });
  expect((await service.store.users.find(user.sub))?.groups).toEqual(['two']);
});

const linkOf = (body: string) => /https?:\/\/[^<]*\/(?:password\/reset|invitation)\?token=[\w-]+/.exec(body)?.[0];

test('an administrator creates a user with an invitation to hand over; sending the form again creates no second user (pages, users)', async () => {
  const form = formOf(await agent.get('/admin/users/new'), '/admin/users/new');
  const typed = {
    ...form,
    username: 'made-here',
    email: 'created@example.com',
    email_verified: 'true',
    given_name: 'Mia',
  };
  const created = await agent.post('/admin/users/new', typed);
  expect(created.status).toBe(200);
  expect(created.body).toContain('User made-here created');
  const user = (await service.store.users.findByUsername('made-here'))!;
  expect(user).toMatchObject({ email: 'created@example.com', emailVerified: true, claims: { given_name: 'Mia' } });
  // a browser without the administrator's session
  const page = await new UserAgent(service).get(linkOf(created.body)!.slice(service.issuer.length));
  expect(page.status).toBe(200);
  const again = await agent.post('/admin/users/new', { ...typed, username: 'made-twice' });
  expect(again.location).toBe(`${service.issuer}/admin/users/${user.sub}?done=user-made`);
  expect(await service.store.users.findByUsername('made-twice')).toBeUndefined();
  // two requests at once
  const other = { ...formOf(await agent.get('/admin/users/new'), '/admin/users/new'), username: 'at-once' };
  const answers = await Promise.all([1, 2].map(() => agent.post('/admin/users/new', other)));
  expect(answers.map(({ status }) => status).sort()).not.toContain(409);
  const rows = await service.database.sql(`SELECT FROM users WHERE username = 'at-once'`);
  expect(rows).toHaveLength(1);
  // the form is bound to its sub
  const forged = await agent.post('/admin/users/new', { ...other, sub: '7b1c7a0e-4f6a-4f0e-9a53-0d6a5a0f1c11' });
  expect(forged.status).toBe(400);
});

test('the errors of a new user are shown at their fields, and the form keeps its input except the password (pages, users)', async () => {
  await service.createUser({ username: 'occupied', email: 'occupied@example.com' });
  const page = await post('/admin/users/new', {
    username: 'Occupied',
    email: 'OCCUPIED@example.com',
    name: 'Typed <i>',
  });
  expect(page.status).toBe(409);
  expect(page.body).toMatch(/id="username-fault">This user name is already in use/);
  expect(page.body).toMatch(/id="email-fault">This email address is already in use/);
  expect(page.body).toContain('value="Typed &lt;i&gt;"');
  const weak = await post('/admin/users/new', {
    username: '',
    email: 'x',
    access: 'password',
    password: 'too-short-1',
  });
  expect(weak.status).toBe(400);
  for (const fault of ['username', 'email', 'password']) expect(weak.body).toContain(`id="${fault}-fault"`);
  expect(weak.body).not.toContain('too-short-1');
  const set = await post('/admin/users/new', {
    username: 'with-password',
    access: 'password',
    password: 'quiet harbour lantern 7',
  });
  expect(set.url).toContain('done=user-made');
  const german = await agent.fetch('/admin/users/new', { headers: { 'accept-language': 'de' } });
  expect(german.body).toContain('Benutzer erstellen');
});

test('an administrator changes the claims of a user, and an outdated page does not overwrite newer changes (pages, users)', async () => {
  const claims = {
    name: 'Ada',
    address: { locality: 'London', country: 'GB' },
    phone_number: '+44 1',
    website: 'https://a.example',
  };
  const user = await service.createUser({ username: 'edited', email: 'edited@example.com', claims });
  const path = `/admin/users/${user.sub}/edit`;
  const find = async () => (await service.store.users.find(user.sub))!;
  const events = () => service.database.sql('SELECT FROM audit_events WHERE sub = $1', [user.sub]);
  const fields = (body: string) => ({
    ...Object.fromEntries(
      [
        ...body.matchAll(/<input id="(\w+)" name="\w+"(?! type="(?:checkbox|radio|password)")[^>]* value="([^"]*)"/g),
      ].map((m) => [m[1]!, m[2]!]),
    ),
    ...Object.fromEntries([...body.matchAll(/<textarea id="(\w+)"[^>]*>\n?([^<]*)</g)].map((m) => [m[1]!, m[2]!])),
  });
  const old = await agent.get(path);
  expect(old.status).toBe(200);
  const form = { ...formOf(old, path), ...fields(old.body) };
  const before = await find();
  const count = (await events()).length;
  expect(
    (await agent.follow(await agent.post(path, { ...form, ...(before.emailVerified && { email_verified: 'true' }) })))
      .url,
  ).toContain('done=user-saved');
  expect(await find()).toMatchObject({ claims, email: 'edited@example.com', emailVerified: before.emailVerified });
  expect(await events()).toHaveLength(count);
  const current = await agent.get(path);
  const change = {
    ...formOf(current, path),
    ...fields(current.body),
    name: '',
    nickname: 'Countess',
    locality: 'Paris',
    website: '',
    phone_number_verified: 'true',
  };
  const saved = await agent.follow(await agent.post(path, change));
  expect(saved.url).toContain('done=user-saved');
  expect((await find()).claims).toEqual({
    nickname: 'Countess',
    address: { locality: 'Paris', country: 'GB' },
    phone_number: '+44 1',
    phone_number_verified: true,
  });
  const late = await agent.post(path, { ...form, nickname: 'Late' });
  expect(late.status).toBe(409);
  expect(late.body).toContain('This user was changed elsewhere');
  expect(late.body).toContain('value="Late"');
  expect((await find()).claims['nickname']).toBe('Countess');
  const wrong = await agent.post(path, {
    ...formOf(late, path),
    ...fields(late.body),
    birthdate: 'May',
    picture: 'here',
    email: 'no',
  });
  expect(wrong.status).toBe(400);
  for (const fault of ['birthdate', 'picture', 'email']) expect(wrong.body).toContain(`id="${fault}-fault"`);
});

test('a link to choose a password is shown once and works, and setting a password ends all sessions (pages, users, security R54)', async () => {
  const user = await service.createUser({ username: 'helped' });
  const path = `/admin/users/${user.sub}/password`;
  const shown = await post(path, { act: 'link', lifetime: '3600' });
  expect(shown.status).toBe(200);
  expect((await new UserAgent(service).get(linkOf(shown.body)!.slice(service.issuer.length))).status).toBe(200);
  const [row] = await service.database.sql<{ seconds: number }>(
    `SELECT extract(epoch FROM expires_at - created_at)::int AS seconds FROM mailed_links WHERE sub = $1`,
    [user.sub],
  );
  expect(row?.seconds).toBe(3600);
  expect((await post(path, { act: 'link', lifetime: '99999' })).status).toBe(400);
  // each request is answered once
  expect(service.logs.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  expect((await post(path, { act: 'set', new_password: 'short' })).status).toBe(400);
  const usersAgent = new UserAgent(service);
  await usersAgent.signIn(user);
  expect(await service.store.sessions.list({ sub: user.sub }, { limit: 5, after: undefined })).toHaveLength(1);
  expect((await post(path, { act: 'set', new_password: 'quiet harbour lantern 7' })).url).toContain(
    'done=user-password-set',
  );
  expect(await service.store.sessions.list({ sub: user.sub }, { limit: 5, after: undefined })).toHaveLength(0);
  const events = await service.database.sql<{ type: string }>(
    'SELECT type FROM audit_events WHERE sub = $1 AND actor = $2 ORDER BY id',
    [user.sub, admin.sub],
  );
  expect(events.map(({ type }) => type)).toEqual(['link.created', 'user.password_changed']);
  await service.store.users.update(user.sub, { status: 'disabled' });
  const disabled = await agent.get(path);
  expect(disabled.body).toContain('Enable the user first');
  expect((await post(path, { act: 'link' })).status).toBe(409);
});

test("an administrator removes second factors after a confirmation, but not an administrator's only means to sign in (pages, users)", async () => {
  const user = await service.createUser({ username: 'factored' });
  const enrol = async (id: string, sub = user.sub) => {
    await service.database.sql(
      `INSERT INTO passkey_users (sub, user_handle) VALUES ($1, sha512($1::text::bytea)) ON CONFLICT DO NOTHING`,
      [sub],
    );
    await service.database.sql(
      `INSERT INTO passkeys (id, credential_id, sub, public_key, sign_count, aaguid, backup_eligible, backed_up, name)
       VALUES ($1, sha256($1::text::bytea), $2, '\\x00', 0, gen_random_uuid(), false, false, $1)`,
      [id, sub],
    );
  };
  await enrol('blue-key');
  await enrol('red-key');
  const path = `/admin/users/${user.sub}/second-factors/remove`;
  const page = await agent.get(`/admin/users/${user.sub}`);
  expect(page.body).toContain(`${path}?id=blue-key`);
  const one = await agent.get(`${path}?id=blue-key`);
  expect(one.body).toContain('Remove blue-key from factored?');
  // the form removes only what its page showed
  expect((await agent.post(path, { ...formOf(one, path), id: 'red-key' })).status).toBe(400);
  expect((await agent.follow(await agent.post(path, formOf(one, path)))).url).toContain('done=user-factor-removed');
  expect((await service.store.secondFactors.list(user.sub)).map(({ id }) => id)).toEqual(['red-key']);
  expect((await agent.get(`${path}?id=blue-key`)).status).toBe(404);
  expect((await post(path, {})).url).toContain('done=user-factor-removed');
  const other = await service.createUser({ username: 'keyless', admin: true });
  await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [other.sub]);
  await enrol('only-key', other.sub);
  const refused = await post(`/admin/users/${other.sub}/second-factors/remove`, {});
  expect(refused.status).toBe(409);
  expect(refused.body).toContain('An administrator must be able to sign in');
  expect(await service.store.secondFactors.list(other.sub)).toHaveLength(1);
});

test('the forms that create or change users, and set passwords or remove second factors, need a sign-in within 15 minutes (security R91)', async () => {
  const user = await service.createUser();
  const paths = ['new', `${user.sub}/edit`, `${user.sub}/password`, `${user.sub}/second-factors/remove`];
  const forms = await Promise.all(paths.slice(0, 3).map((path) => agent.get(`/admin/users/${path}`)));
  await service.database.sql(`UPDATE sessions SET auth_time = now() - interval '16 minutes'`);
  for (const path of paths) {
    const asked = await agent.get(`/admin/users/${path}`);
    expect(asked.location, path).toContain('/authorize?');
  }
  for (const [index, page] of forms.entries()) {
    const path = `/admin/users/${paths[index]}`;
    const sent = await agent.post(path, { ...formOf(page, path), username: 'unmade', act: 'link' });
    expect(sent.location, path).toContain('/authorize?');
  }
  expect(await service.store.users.findByUsername('unmade')).toBeUndefined();
  await service.database.sql(`UPDATE sessions SET auth_time = now()`);
});

test('an administrator exports the users of a search, after a recent sign-in and with an event (pages, users, security R91)', async () => {
  for (const n of [1, 2, 3]) await service.createUser({ username: `export-${n}`, groups: n < 3 ? ['takers'] : [] });
  const list = await agent.get('/admin/users?group=takers&q=export');
  const uri = /href="(\/admin\/users\/export[^"]*)"/.exec(list.body)![1]!.replaceAll('&amp;', '&');
  const page = await agent.get(uri);
  expect(page.body).toMatch(/name="group"[^>]*value="takers"/);
  const path = '/admin/users/export';
  const send = (more: Record<string, string>) => agent.post(path, { ...formOf(page, path), ...more });
  const file = await send({ q: 'export', group: 'takers', format: 'jsonl' });
  expect(file.headers.get('content-disposition')).toBe('attachment; filename="users.jsonl"');
  const names = (body: string) => [...body.matchAll(/"username":"([^"]+)"/g)].map(([, name]) => name);
  expect(names(file.body)).toEqual(['export-1', 'export-2']);
  expect((await send({ q: 'nobody-at-all', format: 'csv' })).body.split('\n')).toHaveLength(2);
  const everybody = await service.database.sql('SELECT FROM users');
  expect(names((await send({ format: 'jsonl' })).body)).toHaveLength(everybody.length);
  const events = await service.database.sql(
    `SELECT detail FROM audit_events WHERE type = 'users.exported' AND actor = $1 ORDER BY id`,
    [admin.sub],
  );
  expect(events.map(({ detail }) => detail)).toEqual([
    { format: 'jsonl', password_hashes: false, words: true, group: 'takers' },
    { format: 'csv', password_hashes: false, words: true },
    { format: 'jsonl', password_hashes: false },
  ]);
  await service.database.sql(`UPDATE sessions SET auth_time = now() - interval '16 minutes'`);
  expect((await send({ group: 'takers', format: 'csv' })).location).toContain('/authorize?');
  await service.database.sql(`UPDATE sessions SET auth_time = now()`);
});
