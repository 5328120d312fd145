// Imports the files that spreadsheets of several languages write, by command, by admin route and in the console.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import type { UserAgent } from '../helpers/user-agent.ts';

const files = join(import.meta.dirname, '../fixtures/csv');
let service: TestService;
let token: string;
let admin: UserAgent;
let folder: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-sheets-'));
  ({ agent: admin } = await openConsole(service, await service.createUser({ username: 'root', admin: true })));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await service?.stop();
});

const nameOf = async (username: string) => (await service.store.users.findByUsername(username))?.claims['name'];

/** Imports by each entrance; returns what each answers, as text. */
const entrances: Record<string, (content: Buffer) => Promise<{ ok: boolean; text: string }>> = {
  async command(content) {
    const file = join(folder, 'users.csv');
    writeFileSync(file, content);
    const { code, stdout, stderr } = await runCommand(service, ['user', 'import', file]);
    return { ok: code === 0, text: stdout + stderr };
  },
  async route(content) {
    const answer = await fetch(`${service.issuer}/admin/api/users/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv' },
      body: new Uint8Array(content),
    });
    return { ok: answer.status === 200, text: await answer.text() };
  },
  // a browser sends what was pasted, in UTF-8
  async console(content) {
    const page = await admin.get('/admin/users/import');
    const answer = await admin.post('/admin/users/import', {
      ...formOf(page, '/admin/users/import'),
      act: 'check',
      users: content.toString('utf8').replace(/^\ufeff/, ''),
    });
    return { ok: answer.status === 200, text: answer.body };
  },
};

describe.each(Object.keys(entrances))('by %s (reports B7)', (entrance) => {
  const send = (content: string | Buffer) => entrances[entrance]!(Buffer.from(content));
  const own = (text: string) =>
    text.replace(/\ba(\d)(?=[a-z])/g, `${entrance}$1`).replace(/(?<=[a-z]{2})a(?=\d@)/g, entrance);

  test.each(['semicolon-crlf-bom.csv', 'semicolon-lf.csv', 'tab.csv'])('%s is read', async (file) => {
    const text = own(readFileSync(join(files, file), 'utf8'));
    const { ok, text: answer } = await send(text);
    expect([ok, answer]).toEqual([true, expect.stringContaining('3')]);
    if (entrance === 'console') return;
    const [, ...rows] = text
      .trim()
      .split(/\r?\n/)
      .map((row) => row.split(/[;\t]/));
    expect(await nameOf(rows[0]![0]!)).toBe('Jörg Müller');
    expect(await nameOf(rows[2]![0]!)).toBe('Zoë "Z" Ö');
  });

  test('the names of the header are read in any case', async () => {
    const { ok } = await send(
      `Username;EMAIL;Given_Name\n${entrance}cased;${entrance}cased@example.com;Ada, Countess\n`,
    );
    expect(ok).toBe(true);
    if (entrance === 'console') return;
    const user = await service.store.users.findByUsername(`${entrance}cased`);
    expect(user).toMatchObject({ email: `${entrance}cased@example.com`, claims: { given_name: 'Ada, Countess' } });
  });

  test.each([
    ['username|email|name\nx|x@example.com|X\n', /\|.*(semicolon|use a comma)/i],
    ['username email\nx x@example.com\n', /space.*(semicolon|use a comma)/i],
    ['', /no users|paste|enter|empty/i],
    ['\n\n', /no users|no column|paste|enter|empty/i],
    ['username,email\n', /no users/i],
  ])('%j is refused with a word about it', async (content, sentence) => {
    const { ok, text } = await send(content);
    expect(ok).toBe(false);
    expect(text).toMatch(sentence);
    expect(text).not.toContain('zoneinfo');
  });

  // what is pasted into the console has no encoding
  if (entrance !== 'console')
    test('Latin-1 and UTF-16 are refused with a word, and nothing is stored', async () => {
      const latin = readFileSync(join(files, 'latin1.csv'));
      for (const content of [latin, Buffer.from('\ufeffusername\temail\r\nx\tx@example.com\r\n', 'utf16le')]) {
        const { ok, text } = await send(content);
        expect([ok, text]).toEqual([false, expect.stringMatching(/not in UTF-8.*Latin-1/)]);
      }
      expect(await nameOf('a8al')).toBeUndefined();
    });
});

test('a file of JSON Lines without users is refused, too (reports D)', async () => {
  for (const [name, content] of [
    ['none.jsonl', ''],
    ['blank.jsonl', '\n \n'],
  ] as const) {
    writeFileSync(join(folder, name), content);
    expect(await runCommand(service, ['user', 'import', join(folder, name)])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'The file has no users.\n',
    });
  }
});
