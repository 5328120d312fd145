// An administrator gives a client the client_id and the secret that it had at another provider, by the HTTP API and by a command.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isStrongSecret } from '../../src/rules/clients/given-credentials.ts';
import { runCommand } from '../helpers/command-line.ts';
import { openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const machine = { grant_types: ['client_credentials'] };
const strong = '0123456789abcdef0123456789abcdef';
const weak = 'sesame-open';
const create = (body: object) =>
  call(`${service.issuer}/admin/api/clients`, { token, body: { ...machine, client_name: 'Moved', ...body } });
const one = (id: string) => call(`${service.issuer}/admin/api/clients/${encodeURIComponent(id)}`, { token });
async function authenticates(clientId: string, secret: string): Promise<boolean> {
  const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`;
  const { status } = await fetch(`${service.issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'openid' }),
  });
  return status !== 401;
}

describe('a client that moves in', () => {
  test('keeps its client_id and its secret, which no answer shows (delivery 2)', async () => {
    const { status, body } = await create({ client_id: 'wiki.example/oidc', client_secret: strong });
    expect({ status, id: body['client_id'], secret: body['client_secret'] }).toEqual({
      status: 201,
      id: 'wiki.example/oidc',
      secret: undefined,
    });
    expect(await authenticates('wiki.example/oidc', strong)).toBe(true);
    expect(JSON.stringify((await one('wiki.example/oidc')).body)).not.toMatch(/0123456789abcdef|weak/);
  });

  test.each([
    ['', 'client_id'],
    ['x'.repeat(256), 'client_id'],
    ['two words', 'client_id'],
    ['zoë', 'client_id'],
    ['https://client.example/metadata', 'client_id'],
    ['HTTPS://client.example', 'client_id'],
    ['ada@example.com', 'client_id'],
    ['.', 'client_id'],
    ['..', 'client_id'],
    [7, 'client_id'],
  ])('does not get the client_id %s (delivery 2; security R153)', async (id, member) => {
    const { status, body } = await create({ client_id: id });
    expect(status).toBe(400);
    expect(body['error_description']).toMatch(new RegExp(`^${member} must`));
  });

  test('gets an id of 255 characters, and any visible one (delivery 2)', async () => {
    for (const id of ['x'.repeat(255), '%2F..', 'urn:app:1', '~'])
      expect(await create({ client_id: id }), id).toMatchObject({ status: 201, body: { client_id: id } });
  });

  test('does not get the id of another client or of a user, also of two at once (delivery 2; security R153)', async () => {
    const user = await service.createUser();
    expect(await create({ client_id: user.username })).toMatchObject({ status: 409 });
    const answers = await Promise.all([1, 2, 3].map(() => create({ client_id: 'once' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    expect(answers.find(({ status }) => status === 409)!.body['error_description']).toBe(
      'a client with this client_id exists already',
    );
  });

  test('gets a weak secret only by the word, is marked, and loses the mark with a renewal (delivery 2; security R40)', async () => {
    expect(await create({ client_id: 'old', client_secret: weak })).toMatchObject({ status: 400 });
    const made = await create({ client_id: 'old', client_secret: weak, weak_secret: true });
    expect(made).toMatchObject({ status: 201, body: { weak_secret: true } });
    expect(await authenticates('old', weak)).toBe(true);
    const { agent } = await openConsole(service, await service.createUser({ admin: true }));
    expect((await agent.get('/admin/clients/old')).body).toContain('This client has a weak secret');
    const events = await service.database.sql<{ detail: object }>(
      `SELECT detail FROM audit_events WHERE client_id = 'old' AND type = 'client.created'`,
    );
    expect(events[0]!.detail).toMatchObject({ weak_secret: true });
    expect(JSON.stringify(events)).not.toContain(weak);
    // other changes keep the mark
    await call(`${service.issuer}/admin/api/clients/old`, { token, method: 'PATCH', body: { client_name: 'Old' } });
    expect((await one('old')).body['weak_secret']).toBe(true);
    await call(`${service.issuer}/admin/api/clients/old/secrets`, { token, body: {} });
    expect((await one('old')).body['weak_secret']).toBeUndefined();
    expect((await agent.get('/admin/clients/old')).body).not.toContain('This client has a weak secret');
    expect(await authenticates('old', weak)).toBe(false);
  });

  test('has no mark for a strong secret, whatever the word says (delivery 2)', async () => {
    expect((await create({ client_secret: strong, weak_secret: true })).body['weak_secret']).toBeUndefined();
  });

  test('never has a weak secret that is a key, and no secret where it needs none (delivery 2)', async () => {
    const refused: [object, RegExp][] = [
      [{ token_endpoint_auth_method: 'client_secret_jwt' }, /key of signatures/],
      [{ id_token_signed_response_alg: 'HS256' }, /key of signatures/],
      [
        {
          token_endpoint_auth_method: 'none',
          grant_types: ['authorization_code'],
          redirect_uris: ['https://rp.example/cb'],
        },
        /has no secret/,
      ],
    ];
    for (const [metadata, sentence] of refused) {
      const { status, body } = await create({ ...metadata, client_secret: weak, weak_secret: true });
      expect({ status, sentence: body['error_description'] }).toEqual({
        status: 400,
        sentence: expect.stringMatching(sentence) as string,
      });
    }
    const method = { token_endpoint_auth_method: 'client_secret_jwt' };
    expect((await create({ ...method, client_secret: strong })).status).toBe(201);
  });

  test('gets a new secret where a weak one would become a key (delivery 2; security R116)', async () => {
    const { body } = await create({ client_id: 'grows', client_secret: weak, weak_secret: true, self_managed: true });
    const update = await fetch(`${service.issuer}/register/grows`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${body['registration_access_token'] as string}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        ...machine,
        client_id: 'grows',
        client_secret: weak,
        redirect_uris: [],
        token_endpoint_auth_method: 'client_secret_jwt',
      }),
    });
    const answer = (await update.json()) as Record<string, unknown>;
    expect({ ...answer, status: update.status, secret: answer['client_secret'] }).toMatchObject({
      status: 200,
      secret: expect.stringMatching(/^[\w-]{43}$/) as string,
    });
  });
});

test.each<[string, boolean]>([
  [strong, true],
  [strong.toUpperCase(), true],
  [strong.slice(1), false],
  ['0123456789'.repeat(3) + '01', false],
  ['0123456789'.repeat(3) + '012345678', true],
  ['a'.repeat(100), false],
  ['ab'.repeat(100), true],
  ['kX3v9QpLr7Tz2WnBs8Yc5MdHf6Gj4Ae1', true],
  ['correct horse battery staple once', true],
])('the secret %s is strong enough: %s (delivery 2)', (secret, strength) => {
  expect(isStrongSecret(secret)).toBe(strength);
});

test('an unknown member of a request body is refused, and changes nothing (delivery 2)', async () => {
  for (const member of ['clientId', 'secret', 'adopt', 'toString']) {
    const { status, body } = await create({ client_id: 'unknown-members', [member]: 'x' });
    expect({ status, sentence: body['error_description'] }).toEqual({ status: 400, sentence: `${member} is unknown` });
  }
  expect((await one('unknown-members')).status).toBe(404);
  // a change gives no client another id, and no secret
  await create({ client_id: 'stays' });
  for (const change of [{ client_id: 'other' }, { client_secret: strong }, { weak_secret: true }])
    expect(
      await call(`${service.issuer}/admin/api/clients/stays`, { token, method: 'PATCH', body: change }),
    ).toMatchObject({ status: 400 });
});

test('the command reads the secret from a file, whose last line end does not count (delivery 2)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'given-'));
  const file = join(folder, 'secret');
  const run = (...args: string[]) =>
    runCommand(service, ['client', 'create', '--name', 'By command', '--scope', 'openid', ...args]);
  writeFileSync(file, `${strong}\n`);
  const made = await run('--client-id', 'by-command', '--client-secret-file', file);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(made.stdout).toContain('by-command');
  expect(made.stdout).not.toMatch(/client_secret|0123456789/);
  expect(await authenticates('by-command', strong)).toBe(true);
  writeFileSync(file, weak);
  const refused = await run('--client-secret-file', file);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toBe(
    'client_secret must have at least 32 characters and 128 bits: weak_secret accepts a weaker one until it is renewed.\n',
  );
  expect(await run('--client-secret-file', file, '--weak-secret')).toMatchObject({ code: 0 });
  const gone = await run('--client-secret-file', join(folder, 'none'));
  expect(gone).toMatchObject({ code: 1, stderr: `The file ${join(folder, 'none')} does not exist.\n` });
});
