// What a page of the console shows once is in each answer to a form that a double click sends twice.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { filledForm, formOf, openConsole } from '../helpers/console.ts';
import { eventsOf } from '../helpers/events.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  ({ agent } = await openConsole(service, await service.createUser({ admin: true })));
});
afterAll(() => service?.stop());

/** Sends a form to both instances at the same instant, and once more. */
async function thrice(path: string, form: Record<string, string>): Promise<Page[]> {
  const clicks = await Promise.all([0, 1].map((index) => agent.post(service.instances[index]! + path, form)));
  return [...clicks, await agent.post(path, form)];
}

/** Expects that each answer shows the same secret, which the database has sealed and for some seconds. @returns it */
async function expectSame(pages: Page[], secret: RegExp): Promise<string> {
  const found = pages.map(({ body }) => secret.exec(body)?.[1]);
  expect(
    found[0],
    `${pages[0]!.status} ${pages[0]!.location} ${pages[0]!.body.match(/<p[^>]*(fault|error|problem)[^>]*>[^<]*/g)}`,
  ).toBeDefined();
  expect(found).toEqual([found[0], found[0], found[0]]);
  expect(pages.map(({ status }) => status)).toEqual([200, 200, 200]);
  const rows = await service.database.sql<{ row: string }>('SELECT o::text AS row FROM form_outcomes o');
  const texts = [found[0]!, Buffer.from(found[0]!).toString('hex')];
  expect(rows.filter(({ row }) => texts.some((text) => row.includes(text)))).toEqual([]);
  return found[0]!;
}
const expire = () => service.database.sql('UPDATE form_outcomes SET expires_at = now()');
const clientSecret = /client_secret<\/code><\/dt><dd[^>]*><bdi class="secret"[^>]*>([A-Za-z0-9_-]{20,})</;
const link = /id="link" dir="ltr">([^<]+)</;

async function authenticates(clientId: string, secret: string): Promise<boolean> {
  const answer = await fetch(`${service.issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'openid' }),
  });
  return answer.status !== 401;
}

test('the secret of a new client, once made, is in each answer, and for ten seconds (security R70, reports A4)', async () => {
  const path = '/admin/clients/new/web';
  const form: Record<string, string> = {
    ...filledForm(await agent.get(path)),
    client_name: 'Clicked twice',
    redirect_uris: 'https://twice.example.com/callback',
  };
  const secret = await expectSame(await thrice(path, form), clientSecret);
  expect(await authenticates(form['client_id']!, secret)).toBe(true);
  expect(await eventsOf(service, { type: 'client.created', clientId: form['client_id']! })).toHaveLength(1);
  await expire();
  expect((await agent.post(path, form)).location).toContain('done=client-made-before');
});

test('a sign-up link is in each answer, and made once (pages, sign-up links)', async () => {
  const path = '/admin/sign-up-links/new';
  const form = {
    ...filledForm(await agent.get(path)),
    name: 'Clicked twice',
    uses: '2',
    expires_at: new Date(Date.now() + 86_400_000).toISOString().slice(0, 16),
  };
  const uri = await expectSame(await thrice(path, form), link);
  expect((await agent.get(uri.slice(service.issuer.length))).status).toBe(200);
  expect(await eventsOf(service, { type: 'sign_up_link.created' })).toHaveLength(1);
  // later the form is one for a link of a name that is taken, and no page shows the first one again
  await expire();
  const again = await agent.post(path, form);
  expect([again.status, again.body.includes('A sign-up link with this name already exists')]).toEqual([400, true]);
  expect(again.body).not.toContain('ghsl_');
});

test('renewed secrets of a client are in each answer, and renewed once (security R70, reports A4)', async () => {
  const { clientId } = await service.createClient();
  const path = `/admin/clients/${clientId}/secrets`;
  const form = { ...formOf(await agent.get(path), path), client_secret: 'on' };
  const secret = await expectSame(await thrice(path, form), clientSecret);
  expect(await authenticates(clientId, secret)).toBe(true);
  expect(await eventsOf(service, { type: 'client.credentials_renewed', clientId })).toHaveLength(1);
  await expire();
  expect((await agent.post(path, form)).status).toBe(409);
});

test('the secret that a change gives a client is in each answer (security R70, reports A4)', async () => {
  const { clientId } = await service.createClient({ client_name: 'Public', token_endpoint_auth_method: 'none' });
  const path = `/admin/clients/${clientId}/edit`;
  const form = { ...filledForm(await agent.get(path)), token_endpoint_auth_method: 'client_secret_basic' };
  expect(await authenticates(clientId, await expectSame(await thrice(path, form), clientSecret))).toBe(true);
});

test('the link of a new user, of an invitation that is sent again, and of a recovery is in each answer, and made once (reports A4)', async () => {
  const path = '/admin/users/new';
  const form = { ...formOf(await agent.get(path), path), username: 'invited-twice', access: 'invite' };
  await expectSame(await thrice(path, form), link);
  const { sub } = (await service.store.users.findByUsername('invited-twice'))!;
  await expire();
  expect((await agent.post(path, form)).location).toContain('done=user-made');

  const page = `/admin/users/${sub}`;
  const again = { ...formOf(await agent.get(page), page), act: 'invite' };
  await expectSame(await thrice(page, again), link);
  expect(await eventsOf(service, { type: 'user.invited', sub })).toHaveLength(2);

  const user = await service.createUser();
  const help = `/admin/users/${user.sub}/password`;
  const uri = await expectSame(
    await thrice(help, { ...formOf(await agent.get(help), help), act: 'link', lifetime: '3600' }),
    link,
  );
  expect((await fetch(uri)).status).toBe(200);
  expect(await eventsOf(service, { type: 'link.created', sub: user.sub })).toHaveLength(1);
});

test('an invitation that is revoked and sent again at once is another one, and so is a second link to a recovery (reports A4)', async () => {
  const { status, location } = await agent.post('/admin/users/new', {
    ...formOf(await agent.get('/admin/users/new'), '/admin/users/new'),
    username: 'invited-anew',
    access: 'invite',
  });
  expect([status, location]).toEqual([200, undefined]);
  const { sub } = (await service.store.users.findByUsername('invited-anew'))!;
  const send = async (path: string, fields: Record<string, string>) =>
    link.exec((await agent.post(path, { ...formOf(await agent.get(path), path), ...fields })).body)?.[1];
  const page = `/admin/users/${sub}`;
  const revoked = await send(page, { act: 'invite' });
  await send(page, { act: 'revoke-invitation' });
  const valid = await send(page, { act: 'invite' });
  expect(await Promise.all([revoked!, valid!].map(async (uri) => (await fetch(uri)).status))).toEqual([410, 200]);

  const help = `/admin/users/${(await service.createUser()).sub}/password`;
  const links = [
    await send(help, { act: 'link', lifetime: '3600' }),
    await send(help, { act: 'link', lifetime: '3600' }),
  ];
  expect(new Set(links).size).toBe(2);
});
