// A text that names two users is a fault of its field, on each page of the console where a text names a user.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import type { Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
let one: TestUser;
let other: TestUser;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  const { sql } = service.database;
  one = await service.createUser({ username: 'one' });
  other = await service.createUser({ username: 'other' });
  // a pair from before the rule
  await sql('ALTER TABLE users DISABLE TRIGGER users_keys');
  await sql('UPDATE users SET username = $2 WHERE sub = $1', [other.sub, one.sub]);
  await sql('ALTER TABLE users ENABLE TRIGGER users_keys');
  await sql('INSERT INTO shared_login_keys VALUES ($1, $2)', [one.sub, other.sub]);
  await sql(`INSERT INTO groups (name) VALUES ('crew')`);
  ({ agent } = await openConsole(service, await service.createUser({ username: 'root', admin: true })));
});
afterAll(() => service?.stop());

const sentence = /more than one user matches/i;
/** The field with the text, and the sentence that describes it. */
function fieldOf({ body }: Page, name: string, typed: string) {
  const tags = [...body.matchAll(new RegExp(`<(?:input|textarea)[^>]* name="${name}"[^>]*>\\s*[^<]*`, 'g'))];
  const marked = tags.map(([tag]) => tag).find((tag) => tag.includes('aria-invalid="true"')) ?? '';
  const [, ids = ''] = /aria-describedby="([^"]*)"/.exec(marked) ?? [];
  const texts = ids.split(' ').map((id) => new RegExp(`id="${id}"[^>]*>([^<]*)`).exec(body)?.[1] ?? '');
  return { keeps: marked.includes(typed), says: sentence.test(texts.join(' ')), isNamed: body.includes('one</bdi>') };
}
const marked = { keeps: true, says: true, isNamed: false };

describe('a text that names two users is a fault of its field', () => {
  test('in the filter of the sessions (security R153)', async () => {
    const page = await agent.get(`/admin/sessions?user=${one.sub}`);
    expect([page.status, fieldOf(page, 'user', one.sub)]).toEqual([400, marked]);
  });

  test.each(['user', 'actor'])('in the filter %s of the audit trail (security R153)', async (member) => {
    const page = await agent.get(`/admin/audit?${member}=${one.sub}`);
    expect([page.status, fieldOf(page, member, one.sub)]).toEqual([400, marked]);
  });

  test('in the preview of claims, and where a role is given or taken (security R153)', async () => {
    const { clientId } = await service.createClient();
    const path = `/admin/clients/${clientId}/claims`;
    const preview = await agent.get(`${path}?user=${one.sub}`);
    expect([preview.status, fieldOf(preview, 'user', one.sub)]).toEqual([400, marked]);
    const send = async (fields: Record<string, string>) =>
      agent.follow(await agent.post(path, { ...formOf(await agent.get(path), path), ...fields }));
    await send({ act: 'role-add', name: 'editor' });
    for (const act of ['role-give', 'role-take']) {
      const page = await send({ act, role: 'editor', user: one.sub });
      expect([page.status, fieldOf(page, 'user', one.sub)], act).toEqual([400, marked]);
    }
    expect((await service.store.clientRoles.list(undefined, clientId))[0]!.users).toBe(0);
  });

  test('where members are added to a group, beside the other lines (security R153)', async () => {
    const action = '/admin/groups/crew/members';
    const form = formOf(await agent.get('/admin/groups/crew'), action);
    const page = await agent.post(action, { ...form, users: `root\n${one.sub}` });
    expect([page.status, fieldOf(page, 'users', `root\n${one.sub}`)]).toEqual([400, marked]);
  });
});

test('a role or a group that does not exist marks its field, too (security R153)', async () => {
  const { clientId } = await service.createClient();
  const path = `/admin/clients/${clientId}/claims`;
  const form = formOf(await agent.get(path), path);
  await agent.post(path, { ...form, act: 'role-add', name: 'editor' });
  for (const [name, typed] of [
    ['user', 'nobody-here'],
    ['group', 'no-such-group'],
  ] as const) {
    const page = await agent.post(path, { ...form, act: 'role-give', role: 'editor', [name]: typed });
    expect([page.status, fieldOf(page, name, typed).keeps], name).toEqual([400, true]);
  }
});
