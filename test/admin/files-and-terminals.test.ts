// Files that commands cannot read or write, and what commands print on a terminal.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandLine } from '../../src/command-line/command-line.ts';
import { runCommand } from '../helpers/command-line.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let folder: string;
beforeAll(async () => {
  service = await startTestService();
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-files-'));
  mkdirSync(join(folder, 'folder.csv'));
  writeFileSync(join(folder, 'file'), '');
  symlinkSync('loop.csv', join(folder, 'loop.csv'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await service?.stop();
});

describe.each([
  ['user import', ['user', 'import']],
  ['client create --jwks', ['client', 'create', '--name', 'Bank', '--redirect-uri', 'https://b.example/cb', '--jwks']],
  ['appearance set --logo', ['appearance', 'set', '--logo']],
])('%s says in one sentence', (_name, words) => {
  test.each([
    ['that a file is missing', 'none.csv', 'does not exist.'],
    ['that a folder is missing', 'none/none.csv', 'does not exist.'],
    ['that a part of the path is a file', 'file/none.csv', 'does not exist: a part of its path is not a folder.'],
    ['that it is a directory', 'folder.csv', 'is a directory.'],
    ['why it cannot be used otherwise', 'loop.csv', 'cannot be used (ELOOP).'],
  ])('%s', async (_what, name, reason) => {
    const file = join(folder, name);
    expect(await runCommand(service, [...words, file])).toEqual({
      code: 1,
      stdout: '',
      stderr: `The file ${file} ${reason}\n`,
    });
  });
});

/** Runs a command and returns its output, on a terminal or in a pipe. */
async function output(words: string[], isTTY: boolean): Promise<string> {
  let printed = '';
  const write = (text: string) => {
    printed += text;
    return true;
  };
  const terminal = {
    stdin: Readable.from(['']),
    stdout: { write, isTTY } as unknown as NodeJS.WritableStream & { isTTY: boolean },
    stderr: { write: () => true },
  };
  const environment = { DATABASE_URL: service.database.url, SECRET_KEY: service.secretKey, BASE_URL: service.issuer };
  expect(await runCommandLine(words, terminal as never, environment)).toBe(0);
  return printed;
}

test('an export on a terminal cannot move its cursor, and a program gets the text as it is (security R166)', async () => {
  const name = 'Ada \u009b2J\u202eecalevoL';
  const { sub } = await service.createUser({ username: 'ada' });
  await service.database.sql(`UPDATE users SET claims = jsonb_build_object('name', $1::text) WHERE sub = $2`, [
    name,
    sub,
  ]);
  for (const format of ['csv', 'jsonl']) {
    const words = ['user', 'export', '--format', format];
    const [shown, piped] = [await output(words, true), await output(words, false)];
    expect(piped).toContain(name);
    expect(shown).not.toMatch(/[\u009b\u202e]/);
    expect(shown.split('\n')).toHaveLength(piped.split('\n').length);
  }
  const json = await output(['user', 'show', 'ada', '--json'], true);
  expect(json).not.toMatch(/[\u009b\u202e]/);
  expect(json).toContain('\\u009b');
  expect(JSON.stringify(JSON.parse(json))).toContain(name);
});

test('client create prints id, secret, issuer and scopes, and the rest on demand', async () => {
  const create = ['client', 'create', '--name', 'Quay', '--redirect-uri', 'https://quay.example/cb'];
  const usual = await output(create, true);
  expect(usual).toMatch(/client_id +\S+\n +client_secret +\S+\n/);
  expect(usual).toContain(`Issuer: ${service.issuer}`);
  expect(usual).toContain('Scopes: openid profile email\n');
  expect(usual).not.toMatch(/^ +(shared_secret|registration_access_token)/m);
  expect(await output([...create, '--kind', 'spa'], true)).not.toMatch(/^ +\w+_(secret|token)/m);
  expect(await output([...create, '--verbose'], true)).toMatch(
    /shared_secret +\S+\n +registration_access_token +\S+\n/,
  );
  expect(JSON.parse(await output([...create, '--json'], true))).toMatchObject({
    shared_secret: expect.any(String) as string,
    registration_access_token: expect.any(String) as string,
  });
});

test('no help offers a kind of connection that is not built', async () => {
  const help = await output(['connection', 'create', '--help'], true);
  expect(help).toContain('oidc|oauth|ldap|saml');
  expect(help).not.toContain('kerberos');
  const refused = await runCommand(service, ['connection', 'create', 'x', 'kerberos', '--display-name', 'X']);
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/kerberos|oidc/i) as string });
});
