// Administrators upload the logos of clients and connections and the pictures of users: by the console, the API and commands.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { jpeg, notImages, png, webp } from '../helpers/images.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { loadImage, upload } from '../helpers/upload.ts';
import { authorizationUrl, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let admin: TestUser;
let agent: UserAgent;
let token: string;
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-logos-'));
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, START_PAGE: 'on' } });
  admin = await service.createUser({ admin: true });
  ({ agent } = await openConsole(service, admin));
  token = await adminToken(service);
  await call(`${service.issuer}/admin/api/connections`, {
    token,
    body: {
      id: 'corporate',
      kind: 'oauth',
      preset: 'github',
      display_name: 'Corporate',
      settings: { client_id: 'x' },
    },
  });
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true });
});

const api = (path: string, method: string, body?: object) =>
  call(`${service.issuer}/admin/api${path}`, { method, token, ...(body && { body }) });
const owners: [noun: string, member: string, make: () => Promise<string>][] = [
  ['user', 'picture', async () => `/users/${(await service.createUser()).sub}`],
  ['client', 'logo', async () => `/clients/${(await service.createClient({ client_name: 'Harbour' })).clientId}`],
  ['connection', 'logo', () => Promise.resolve('/connections/corporate')],
];

test.each(owners)('the console uploads and removes the image of a %s (pages, faces)', async (_noun, _member, make) => {
  const page = `/admin${await make()}`;
  const path = `${page}/image`;
  expect((await agent.get(page)).body).toContain(`href="${path}"`);
  const refused = await upload(agent, path, { file: notImages['an SVG']! });
  expect(refused.status).toBe(400);
  expect(refused.body).toContain('isn’t a PNG, JPEG or WebP image');
  expect((await upload(agent, path, { file: png })).location).toBe(`${service.issuer}${page}?done=image-saved`);
  const shown = await agent.get(path);
  const [, source] = /<img src="(\/assets\/images\/[^"]*)"/.exec(shown.body)!;
  expect(await loadImage(service.issuer + source)).toMatchObject({ status: 200, body: png });
  expect((await upload(agent, path, { fields: { act: 'remove' } })).location).toContain('done=image-removed');
  expect((await agent.get(path)).body).not.toContain('<img src="/assets/images');
  expect((await loadImage(service.issuer + source)).status).toBe(404);
});

test.each(owners)(
  'the API uploads and removes the image of a %s (decisions section 8)',
  async (_noun, member, make) => {
    const path = `${await make()}/${member}`;
    const { status, body } = await api(path, 'POST', { [member]: jpeg.toString('base64') });
    expect(status).toBe(200);
    expect(body).toEqual({ uri: expect.any(String) as string, type: 'image/jpeg', size: jpeg.length });
    expect(await loadImage(String(body['uri']))).toMatchObject({ status: 200, body: jpeg });
    for (const content of [...Object.values(notImages).filter((file) => file.length > 0), Buffer.alloc(2_000_000)])
      expect((await api(path, 'POST', { [member]: content.toString('base64') })).status).toBeGreaterThanOrEqual(400);
    expect((await api(path, 'POST', { [member]: '!!' })).body['error_description']).toContain(
      `${member} must be a PNG`,
    );
    expect((await api(path, 'DELETE')).status).toBe(204);
    expect((await loadImage(String(body['uri']))).status).toBe(404);
    expect((await api(path, 'DELETE')).status).toBe(204);
    const nowhere = path.replace(/^\/(\w+)\/[^/]+/, '/$1/nowhere');
    expect((await api(nowhere, 'POST', { [member]: png.toString('base64') })).status).toBe(404);
    expect((await api(nowhere, 'DELETE')).status).toBe(404);
  },
);

test('commands read images from files (decisions section 8)', async () => {
  const file = join(folder, 'logo.webp');
  writeFileSync(file, webp);
  const { clientId } = await service.createClient();
  const user = await service.createUser();
  for (const [noun, id, member] of [
    ['client', clientId, 'logo'],
    ['connection', 'corporate', 'logo'],
    ['user', user.username, 'picture'],
  ] as const) {
    const set = await runCommand(service, [noun, `set-${member}`, id, `--${member}-file`, file]);
    expect(set).toMatchObject({ code: 0, stderr: '' });
    expect(set.stdout).toMatch(/^Stored image\/webp, \d+ bytes, at http/);
    expect(await runCommand(service, [noun, `remove-${member}`, id])).toMatchObject({ code: 0, stderr: '' });
  }
  writeFileSync(file, notImages['an HTML page']!);
  const refused = await runCommand(service, ['client', 'set-logo', clientId, '--logo-file', file]);
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain('must be a PNG, JPEG or WebP image');
});

test('the uploaded logo goes before logo_uri on sign-in and consent, is on the start page, and no page then names the other site (pages, faces)', async () => {
  const client = await service.createClient({
    client_name: 'Harbour',
    logo_uri: 'https://rp.example.com/logo.png',
    client_uri: 'https://rp.example.com/',
  });
  await api(`/clients/${client.clientId}`, 'PATCH', { start_uri: 'https://rp.example.com/start' });
  const browser = new UserAgent(service);
  const first = await browser.follow(await browser.get(authorizationUrl(service.issuer, client)));
  expect(first.body).toContain('<img src="https://rp.example.com/logo.png"');
  expect(first.headers.get('content-security-policy')).toContain(`img-src 'self' data: https://rp.example.com;`);
  const { body } = await api(`/clients/${client.clientId}/logo`, 'POST', { logo: png.toString('base64') });
  const source = new URL(String(body['uri'])).pathname;
  const second = await browser.follow(await browser.get(authorizationUrl(service.issuer, client)));
  expect(second.body).toContain(`<img src="${source}"`);
  expect(second.headers.get('content-security-policy')).toContain(`img-src 'self' data:;`);
  const consent = await browser.signIn(await service.createUser(), second);
  expect(consent.body).toContain('id="allow"');
  expect(consent.body).toContain(`<img src="${source}"`);
  expect((await browser.get('/account/start')).body).toContain(`<img src="${source}"`);
  const events = await service.database.sql(
    `SELECT detail -> 'members' AS members FROM audit_events WHERE client_id = $1 AND type = 'client.updated' ORDER BY id DESC LIMIT 1`,
    [client.clientId],
  );
  expect(events).toEqual([{ members: ['logo'] }]);
  expect((await api(`/clients/${client.clientId}`, 'GET')).body['logo']).toBe(source);
  await api(`/clients/${client.clientId}`, 'DELETE');
  expect((await loadImage(service.issuer + source)).status).toBe(404);
});

test('a file that is sent with a sign-in that is too old is chosen again, with a word (pages, kept forms)', async () => {
  const { agent: late } = await openConsole(service, admin);
  const { clientId } = await service.createClient();
  const path = `/admin/clients/${clientId}/image`;
  const { csrf } = Object.fromEntries([['csrf', /name="csrf" value="([^"]*)"/.exec((await late.get(path)).body)![1]!]]);
  await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '16 minutes' WHERE sub = $1`, [
    admin.sub,
  ]);
  const confirmation = await late.follow(await upload(late, path, { file: png, fields: { csrf: csrf! } }));
  const back = await late.signIn(admin, confirmation);
  expect(new URL(back.url).pathname).toBe(path);
  expect(back.body).toContain('<p class="notice" role="status">Choose the files again.</p>');
  expect((await api(`/clients/${clientId}`, 'GET')).body['logo']).toBeUndefined();
});

test('only administrators send a file to the console (security R96)', async () => {
  const browser = new UserAgent(service);
  await browser.signIn(await service.createUser());
  const { clientId } = await service.createClient();
  const sent = await upload(browser, `/admin/clients/${clientId}/image`, { file: png, fields: { csrf: 'x' } });
  expect(sent.location).toBe(`${service.issuer}/admin`);
});
