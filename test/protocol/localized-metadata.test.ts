// A client registers its name and its addresses in several languages, and pages show those of their language.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { filledForm, openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
});
afterAll(() => service?.stop());

const words = {
  client_name: 'Harbour',
  'client_name#fr': 'Le port',
  'client_name#pt-BR': 'O porto',
  'client_name#ja-Jpan-JP': 'クライアント名',
  logo_uri: 'https://cdn.example/logo.png',
  'logo_uri#fr': 'https://fr.cdn.example/logo.png',
  policy_uri: 'https://rp.example.com/policy',
  'policy_uri#fr': 'https://rp.example.com/fr/policy',
  'tos_uri#fr': 'https://rp.example.com/fr/tos',
  'client_uri#de': 'https://rp.example.com/de',
};
const base = { redirect_uris: ['https://rp.example.com/callback'], scope: 'openid' };
const register = (body: Record<string, unknown>) => call(`${service.issuer}/register`, { body: { ...base, ...body } });
const update = ({ body }: Awaited<ReturnType<typeof register>>, change: Record<string, unknown>) =>
  call(body['registration_client_uri'] as string, {
    method: 'PUT',
    token: body['registration_access_token'] as string,
    body: { ...base, client_id: body['client_id'], ...change },
  });
const consent = async (language: string, metadata: Record<string, unknown> = words) => {
  const client = await service.createClient(metadata);
  const agent = new UserAgent(service, { 'accept-language': language });
  const page = await agent.follow(await agent.get(authorizationUrl(service.issuer, client)));
  return agent.signIn(await service.createUser(), page);
};

test('members with a language tag are registered, read and replaced under their names, each by its own rule (RFC 7591 2.2, OpenID Connect Registration 2.1)', async () => {
  const made = await register(words);
  expect(made).toMatchObject({ status: 201, body: words });
  expect(made.body).not.toHaveProperty('localized');
  const token = made.body['registration_access_token'] as string;
  const read = await call(made.body['registration_client_uri'] as string, { token });
  expect(read.body).toMatchObject(words);
  const { status, ...rest } = read.body;
  expect(status).toBe('disabled');
  // what was read can be sent back, and what is left out is gone
  expect((await update(made, rest)).body).toMatchObject(words);
  const { body } = await update(made, { client_name: 'Harbour', 'client_name#fr': 'Le havre' });
  expect(body['client_name#fr']).toBe('Le havre');
  expect(Object.keys(body).filter((name) => name.includes('#'))).toEqual(['client_name#fr']);
});

test.each([
  ['client_name#fr', 'Le\u202eport', 'client_name#fr must not contain'],
  ['client_name#fr', 'x'.repeat(101), 'client_name#fr must'],
  ['client_name#fr', '', 'client_name#fr must'],
  ['client_name#fr', 7, 'client_name#fr must'],
  ['client_name#fr', null, 'client_name#fr must'],
  ['logo_uri#fr', 'http://rp.example.com/logo.png', 'logo_uri#fr must'],
  ['policy_uri#fr', 'javascript:alert(1)', 'policy_uri#fr must'],
  ['client_name#', 'Le port', 'language tags'],
  ['client_name#fr_FR', 'Le port', 'language tags'],
  ['client_name#"><b>', 'Le port', 'language tags'],
])('%s with the value %j is refused (security R48)', async (member, value, sentence) => {
  const answer = await register({ client_name: 'Harbour', [member]: value });
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
  expect(answer.body['error_description']).toContain(sentence);
});

test('more than 20 languages are refused, another member with a tag is left out, and a tag may have any name (security R48)', async () => {
  const letters = [...'abcdefghijklmnopqrstu'];
  const many = Object.fromEntries(letters.map((letter) => [`client_name#a${letter}`, 'x']));
  expect(await register(many)).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
  const made = await register({ 'contacts#fr': ['x'], 'redirect_uris#fr': ['x'], 'client_name#toString': 'Harbour' });
  expect(made).toMatchObject({ status: 201, body: { 'client_name#toString': 'Harbour' } });
  expect(made.body).not.toHaveProperty('contacts#fr');
});

test('consent names the client in the language of the page, with its logo and its links, and else without a language (RFC 7591 2.2)', async () => {
  const french = await consent('fr-CA');
  expect(french.body).toContain('<html lang="fr"');
  for (const text of ['Le port', 'fr.cdn.example/logo.png', 'rp.example.com/fr/policy', 'rp.example.com/fr/tos'])
    expect(french.body).toContain(text);
  expect(french.body).not.toContain('Harbour');
  // the page may load this logo and no other
  expect(french.headers.get('content-security-policy')).toContain(`img-src 'self' data: https://fr.cdn.example;`);
  expect((await consent('pt')).body).toContain('O porto');
  expect((await consent('ja')).body).toContain('クライアント名');
  const german = await consent('de');
  for (const text of ['Harbour', 'https://cdn.example/logo.png', 'https://rp.example.com/policy'])
    expect(german.body).toContain(text);
  expect(german.body).not.toMatch(/Le port|O porto/);
  // a name in one language only is no name for the others
  expect((await consent('de', { 'client_name#fr': 'Le port' })).body).not.toContain('Le port');
});

test('hostile text is shown inertly in each language (security R93)', async () => {
  const page = await consent('fr', { client_name: 'Harbour', 'client_name#fr': '<script>alert(1)</script>' });
  expect(page.body).not.toContain('<script>alert(1)');
  expect(page.body).toContain('&lt;script&gt;alert(1)');
});

test('a change of a name in another language waits for an administrator, who sees it and who it looks like (security R117, R43)', async () => {
  await service.createClient({ client_name: 'Lighthouse' });
  const made = await register({ client_name: 'Tower' });
  const id = made.body['client_id'] as string;
  await service.database.sql(
    `UPDATE clients SET status = 'enabled', approved_by = 'administrator' WHERE client_id = $1`,
    [id],
  );
  const changed = await update(made, { client_name: 'Tower', 'client_name#fr': 'Lighthouse' });
  expect(changed.body).not.toHaveProperty('client_name#fr');
  expect(changed.body).toMatchObject({ pending_changes: { 'client_name#fr': 'Lighthouse' } });
  const { agent } = await openConsole(service, await service.createUser({ admin: true }));
  const page = await agent.get(`/admin/clients/${id}`);
  expect(page.body).toMatch(/mistaken for another client[^]*Lighthouse<\/bdi><\/a> looks the same/);
});

test('an administrator reads and changes them as one member, by the API, by the form and by a command (RFC 7591 2.2)', async () => {
  const token = await adminToken(service);
  const clients = `${service.issuer}/admin/api/clients`;
  const create = (body: object) => call(clients, { token, body: { ...base, client_name: 'Harbour', ...body } });
  const made = await create({ localized: { fr: { client_name: 'Le port' } } });
  expect(made).toMatchObject({ status: 201, body: { localized: { fr: { client_name: 'Le port' } } } });
  // members with a tag are those of a registration
  expect((await create({ 'client_name#fr': 'Le port' })).status).toBe(400);
  const uri = `${clients}/${made.body['client_id'] as string}`;
  const patch = (localized: unknown) => call(uri, { method: 'PATCH', token, body: { localized } });
  expect(await patch({ de: { client_name: 'Der Hafen' } })).toMatchObject({
    status: 200,
    body: { localized: { de: { client_name: 'Der Hafen' } } },
  });
  expect(await patch({ de: { scope: 'admin' } })).toMatchObject({ status: 400 });
  const { agent } = await openConsole(service, await service.createUser({ admin: true }));
  const path = `/admin/clients/${made.body['client_id'] as string}/edit`;
  const form = filledForm(await agent.get(path));
  expect(JSON.parse(form['localized']!)).toEqual({ de: { client_name: 'Der Hafen' } });
  const saved = await agent.post(path, { ...form, localized: '{"es":{"client_name":"El puerto"}}' });
  expect(saved.status).toBe(303);
  expect((await call(uri, { token })).body['localized']).toEqual({ es: { client_name: 'El puerto' } });
  expect((await agent.post(path, { ...filledForm(await agent.get(path)), localized: '{' })).status).toBe(400);
  const id = made.body['client_id'] as string;
  const command = await runCommand(service, [
    'client',
    'change',
    id,
    '--localized',
    '{"it":{"client_name":"Il porto"}}',
  ]);
  expect(command).toMatchObject({ code: 0, stderr: '' });
  expect((await call(uri, { token })).body['localized']).toEqual({ it: { client_name: 'Il porto' } });
  expect((await patch(null)).body).not.toHaveProperty('localized');
});
