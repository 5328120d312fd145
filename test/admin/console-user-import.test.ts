// The console imports users from a text, checks it first, and reports each bad row.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
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

const importPath = '/admin/users/import';
/** Waits for an import to end, and returns its page. */
async function ended(page: { location: string | undefined }) {
  expect(page.location).toContain(`${importPath}/`);
  return vi.waitFor(async () => {
    const status = await agent.get(page.location!);
    expect(status.headers.get('refresh')).toBeNull();
    return status;
  });
}
const cell = (body: string, term: string) => new RegExp(`<dt>${term}</dt><dd>([\\d,]+)<`).exec(body)?.[1];

test('an administrator checks a text of users, then imports it in the background, with a report on each bad row (pages, imports)', async () => {
  await service.createUser({ username: 'imported-before' });
  const users = [
    'username,email,groups',
    'imported-1,one@example.com,a\\;b;c',
    'imported-2,no address,',
    'imported-before,,',
    '',
  ].join('\r\n');
  const page = await agent.get(importPath);
  const checked = await agent.post(importPath, { ...formOf(page, importPath), users, act: 'check' });
  expect(checked.status).toBe(200);
  expect(['To be created', 'To be updated', 'Rejected'].map((term) => cell(checked.body, term))).toEqual([
    '1',
    '0',
    '1',
  ]);
  expect(checked.body).toMatch(/data-label="Line">3<.*email.*Must be an email address/s);
  expect(checked.body).toContain('imported-1,one@example.com');
  expect(await service.store.users.findByUsername('imported-1')).toBeUndefined();
  // a text that was not checked is not imported
  const form = formOf(checked, importPath);
  const other = await agent.post(importPath, {
    ...form,
    users: users.replace('imported-1', 'imported-3'),
    act: 'import',
  });
  expect(other.status).toBe(409);
  expect(other.body).toContain('Something changed since the preview');
  const rights = await agent.post(importPath, { ...form, users, with_admins: 'true', act: 'import' });
  expect(rights.status).toBe(409);
  const status = await ended(await agent.post(importPath, { ...form, users, act: 'import' }));
  expect(status.body).toContain('Import complete');
  expect(['Created', 'Updated', 'Unchanged', 'Rejected'].map((term) => cell(status.body, term))).toEqual([
    '1',
    '0',
    '1',
    '1',
  ]);
  expect(status.body).toMatch(/data-label="Line">3<.*email.*Must be an email address/s);
  expect(await service.store.users.findByUsername('imported-1')).toMatchObject({ groups: ['a;b', 'c'] });
  // sending the form again starts no second import
  const again = await agent.post(importPath, { ...form, users, act: 'import' });
  expect(again.location).toBe(status.url);
  const events = await service.database.sql(
    `SELECT detail FROM audit_events WHERE type = 'users.imported' AND actor = $1`,
    [admin.sub],
  );
  expect(events.map(({ detail }) => detail)).toEqual([
    { created: 1, updated: 0, unchanged: 1, refused: 1, update: false },
  ]);
  // the stored import holds no imported value
  const [kept] = await service.database.sql<{ row: string }>('SELECT row_to_json(i)::text AS row FROM user_imports i');
  expect(kept!.row).not.toMatch(/imported-|example\.com|no address/);
});

test('a long check shows its progress, and finds what the import will find, in the language of the administrator (pages, imports)', async () => {
  const rows = Array.from({ length: 1100 }, (_, index) => `far-${index},far-${index}@example.com`);
  // in other batches than the rows with the same name and address
  rows.push('FAR-3,', 'far-new,Far-4@example.com');
  const users = `username,email\n${rows.join('\n')}\n`;
  const page = await agent.get(importPath);
  const sentInGerman = { 'accept-language': 'de' };
  const checked = await agent.post(importPath, { ...formOf(page, importPath), users }, sentInGerman);
  expect(checked.status).toBe(200);
  const steps = [...checked.body.matchAll(/<progress max="1103" value="(\d+)"/g)].map(([, line]) => Number(line));
  expect(steps.length).toBeGreaterThan(4);
  expect(steps).toEqual([...steps].sort((a, b) => a - b));
  // the progress is part of one document
  expect(checked.body.match(/<html|<main|<\/html>/g)).toHaveLength(3);
  expect(checked.body.lastIndexOf('<progress')).toBeLessThan(checked.body.indexOf('Zusammenfassung'));
  const reasons = (body: string) =>
    [...body.matchAll(/data-label="Zeile">([\d.]+)<.*data-label="Grund">([^<]+)</g)].map(([, line, reason]) => [
      line,
      reason,
    ]);
  const expected = [
    ['1.102', 'Wiederholt eine frühere Zeile'],
    ['1.103', 'Gehört einem anderen Benutzer'],
  ];
  expect(reasons(checked.body)).toEqual(expected);
  const status = await ended(await agent.post(importPath, { ...formOf(checked, importPath), users, act: 'import' }));
  expect(cell(status.body, 'Created')).toBe('1,100');
  expect(reasons((await agent.get(status.url, sentInGerman)).body)).toEqual(expected);
  await service.database.sql(`DELETE FROM users WHERE username LIKE 'far-%'`);
});

test('a service that stops lets an import finish its batch, and shows up to which line all rows are stored (pages, imports)', async () => {
  const other = await startTestService();
  try {
    const root = await other.createUser({ username: 'root', admin: true });
    const { agent, page } = await openConsole(other, root, importPath);
    const rows = Array.from({ length: 4000 }, (_, index) => `stop-${index}`);
    const users = `username\n${rows.join('\n')}\n`;
    const checked = await agent.post(importPath, { ...formOf(page, importPath), users });
    const begun = await agent.post(importPath, { ...formOf(checked, importPath), users, act: 'import' });
    await other.apps[0]!.close();
    const id = begun.location!.split('/').at(-1)!;
    const stopped = (await other.store.userImports.find(id))!;
    expect(stopped.state).toBe('stopped');
    expect(stopped.line).toBeLessThan(rows.length);
    // the stored count equals the users that were created
    const [count] = await other.database.sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM users WHERE username LIKE 'stop-%'`,
    );
    expect(count!.n).toBe(stopped.created);
    expect(stopped.created).toBe(stopped.line - 1);
  } finally {
    await other.stop();
  }
});

test('an import of JSON Lines changes users, and makes administrators, only if the administrator ticks so (pages, imports)', async () => {
  const user = await service.createUser({ username: 'import-changed' });
  const users = `${JSON.stringify({ username: 'import-changed', nickname: 'Mo' })}\n${JSON.stringify({ username: 'import-admin', admin: true })}\n`;
  const page = await agent.get(importPath);
  const plain = await agent.post(importPath, { ...formOf(page, importPath), users });
  expect(['To be created', 'To be updated', 'Rejected'].map((term) => cell(plain.body, term))).toEqual(['0', '0', '1']);
  const checked = await agent.post(importPath, {
    ...formOf(page, importPath),
    users,
    update: 'true',
    with_admins: 'true',
  });
  const more = { users, update: 'true', with_admins: 'true', act: 'import' };
  const status = await ended(await agent.post(importPath, { ...formOf(checked, importPath), ...more }));
  expect(cell(status.body, 'Updated')).toBe('1');
  expect((await service.store.users.find(user.sub))?.claims).toEqual({ nickname: 'Mo' });
  expect(await service.store.users.findByUsername('import-admin')).toMatchObject({ admin: true });
});

test('an invalid, empty or long text is refused with its reason, and an import that lost its instance is shown as stopped (pages, imports)', async () => {
  const form = formOf(await agent.get(importPath), importPath);
  const send = (users: string) => agent.post(importPath, { ...form, users });
  const head = await send('shoe,size\nx,42');
  expect(head.status).toBe(400);
  expect(head.body).toMatch(
    /id="users-fault">We couldn’t read the users: Unknown column <bdi>shoe<\/bdi>.*username, email/s,
  );
  const german = { 'accept-language': 'de' };
  const spaced = await agent.post(importPath, { ...form, users: 'username email\nx x@example.com' }, german);
  expect(spaced.body).toContain('sind durch Leerzeichen getrennt');
  const barred = await agent.post(importPath, { ...form, users: 'username|email\nx|x@example.com' }, german);
  expect(barred.body).toContain('sind durch <bdi>|</bdi> getrennt');
  expect((await send('')).status).toBe(400);
  const long = await send(`username\n${'x'.repeat(1_000_000)}`);
  expect(long.status).toBe(413);
  expect(long.body).toContain('Use the command line');
  expect((await send('x'.repeat(9 * 1024 * 1024))).status).toBe(413);
  // a long form is read only from an administrator
  const signedOut = await new UserAgent(service).post(importPath, { ...form, users: 'x'.repeat(9 * 1024 * 1024) });
  expect(signedOut.location).toBe(service.issuer + importPath);
  expect((await agent.get(`${importPath}/7b1c7a0e-4f6a-4f0e-9a53-0d6a5a0f1c11`)).status).toBe(404);
  expect((await agent.get(`${importPath}/x`)).status).toBe(404);
  const id = '7b1c7a0e-4f6a-4f0e-9a53-0d6a5a0f1c12';
  await service.store.userImports.insert(id, admin.sub, 10);
  expect((await agent.get(`${importPath}/${id}`)).headers.get('refresh')).toBe('2');
  await service.database.sql(`UPDATE user_imports SET seen_at = now() - interval '2 minutes', line = 4 WHERE id = $1`, [
    id,
  ]);
  expect((await agent.get(`${importPath}/${id}`)).body).toContain('Everything up to line 4 of 10 was stored');
  await service.database.sql(`UPDATE sessions SET auth_time = now() - interval '16 minutes'`);
  expect((await send('username\nx')).location).toContain('/authorize?');
  await service.database.sql(`UPDATE sessions SET auth_time = now()`);
});
