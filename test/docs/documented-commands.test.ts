// Runs the shell blocks of the documents as readers do: in Bash, with the command line and curl, on a service of their own.
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { commands, madeOf } from '../../src/command-line/index.ts';
import { runCommand } from '../helpers/command-line.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { foreign, type Page, pages, startTheProvider, stopProvider } from './pages.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const listed = (folder: string) => readdirSync(join(root, folder)).filter((file) => file.endsWith('.md'));
// the reference is generated from the commands themselves
const documents = ['README.md', ...listed('docs').map((file) => `docs/${file}`)].filter((file) => !/reference/.test(file));
const guides = listed('docs/guides').map((file) => `docs/guides/${file}`);

const blocksOf = (document: string): string[] =>
  [...read(document).matchAll(/^( *)```(?:sh|bash|shell|console)\n(.*?)^ *```$/gms)].map(([, indent, block]) =>
    block!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
/** What is run of a block. */
const ours = (block: string): string =>
  foreign.reduce((text, { words }) => text.replaceAll(words, ''), block).replaceAll(/^\s*#.*$/gm, '');

interface Call {
  name: string;
  words: string;
  code: number;
  output: string;
}

let service: TestService;
let calls: Call[];
let environment: Record<string, string> | undefined;
/** Runs the commands that the scripts call: a process for each would start the program again a hundred times. */
const runner: Server = createServer((request, response) => {
  void (async () => {
    const words = Buffer.from(String(request.headers['words']), 'base64').toString().split('\0').slice(0, -1);
    process.chdir(String(request.headers['folder']));
    const stdin = (await buffer(request)).toString();
    const { code, stdout, stderr } = await runCommand(service, words, { stdin, ...(environment && { environment }) });
    calls.push({ name: 'gatehouse', words: words.join(' '), code: code!, output: stderr });
    response.end(`${code}\n${Buffer.from(stderr).toString('base64')}\n${stdout}`);
  })().catch((error: unknown) => response.end(`70\n${Buffer.from(String(error)).toString('base64')}\n`));
});
const start = process.cwd();
beforeAll(async () => {
  await startTheProvider();
  await new Promise<void>((resolve) => runner.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  runner.close();
  await stopProvider();
});
afterEach(() => {
  process.chdir(start);
});

/** The program that a script calls as bin/gatehouse or gatehouse. */
const gatehouse = () => `#!/bin/bash
words=$(printf '%s\\0' "$@" | base64 -w0)
if [ -p /dev/stdin ] || [ -f /dev/stdin ]; then body=(--data-binary @-); else body=(--data-binary ''); fi
/usr/bin/curl -s "http://127.0.0.1:${(runner.address() as AddressInfo).port}/" -H "words: $words" -H "folder: $PWD" "\${body[@]}" | {
  read -r code; read -r errors; cat; printf %s "$errors" | base64 -d >&2; exit "$code"
}
`;
/** curl, which counts a refusal as an error and notes it. */
const curl = `#!/bin/bash
/usr/bin/curl --show-error --fail-with-body "$@" 2>"$NOTES.$$"
code=$?
printf '%s\\036%s\\036%s\\037' "$*" "$code" "$(cat "$NOTES.$$")" >>"$NOTES"
exit $code
`;

/** Runs a script, and returns what it called. */
async function run(script: string, page: Page, values: Record<string, string>): Promise<Call[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-document-'));
  try {
    for (const made of ['bin', 'data']) mkdirSync(join(folder, made));
    for (const [name, text] of Object.entries({ gatehouse: gatehouse(), curl })) {
      writeFileSync(join(folder, 'bin', name), text);
      chmodSync(join(folder, 'bin', name), 0o755);
    }
    for (const [name, content] of Object.entries(page.files ?? {})) {
      mkdirSync(join(folder, dirname(name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
    const notes = join(folder, '.curl');
    calls = [];
    const PATH = `${join(folder, 'bin')}:${join(root, 'node_modules/.bin')}:/usr/bin:/bin`;
    const env = { ...values, PATH, HOME: folder, NOTES: notes, TMPDIR: folder };
    const printed = await new Promise<string>((resolve) => {
      const options = { cwd: folder, env, maxBuffer: 10_000_000 };
      execFile('/bin/bash', ['--norc', '-uc', script], options, (_error, _stdout, stderr) => resolve(stderr)).stdin!.end();
    });
    // Bash names a missing program or file, and an unset variable
    expect(printed, script).not.toMatch(/bash: line|unbound variable|syntax error/);
    const noted = existsSync(notes) ? readFileSync(notes, 'utf8').split('\x1f').slice(0, -1) : [];
    for (const [words = '', code, output = ''] of noted.map((line) => line.split('\x1e')))
      calls.push({ name: 'curl', words, code: Number(code), output });
    return calls;
  } finally {
    process.chdir(start);
    rmSync(folder, { recursive: true, force: true });
  }
}

const escaped = (word: string) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Runs the blocks of documents one after the other. */
async function walk(names: readonly string[], page: Page): Promise<void> {
  environment = page.environment;
  service = await startTestService(environment ? { environment } : {});
  try {
    const values = (await page.before?.(service)) ?? {};
    const here = { ...values, 'http://localhost:3000': service.issuer, 'https://id.example.com': service.issuer };
    // a variable has the form of a name, and is not replaced where it is read
    const text = Object.entries(here).reduce(
      (script, [word, value]) => script.replaceAll(new RegExp(`(?<![$\\w])${escaped(word)}(?![=\\w])`, 'g'), value),
      names.flatMap(blocksOf).map(ours).join('\n'),
    );
    const script = page.edit?.(text) ?? text;
    const made = await run(script, page, Object.fromEntries(Object.entries(values).filter(([name]) => /^\w+$/.test(name))));
    const written = [...script.matchAll(/(?:^\s*|[|(]\s*)(?:(?:bin\/)?gatehouse|curl) /gm)];
    expect(made.length, script).toBeGreaterThanOrEqual(written.length);
    const refused = page.refused ?? [];
    expect(made.filter(({ code, words }) => code !== 0 && !refused.some((expected) => expected.test(words)))).toEqual([]);
    // an exception that is no longer one goes
    for (const one of refused) expect(made.some(({ code, words }) => code !== 0 && one.test(words)), one.source).toBe(true);
  } finally {
    await service.stop();
  }
}

const withBlocks = documents.filter((document) => blocksOf(document).map(ours).join('').trim() !== '');

test.each(withBlocks)(
  'every command and every request in the shell blocks of %s works (reports B1)',
  (document) => walk([document], pages[document] ?? {}),
);

test('every command in the shell blocks of the guides works (reports B1, RFC 7591 2)', () => walk(guides, pages['docs/guides']!));

test('the list of what is not run has nothing that the documents do not call (reports B1)', () => {
  const all = [...documents, ...guides].flatMap(blocksOf).join('\n');
  for (const { words, why } of foreign) expect(all.match(words) ?? [], why).not.toEqual([]);
});

const offered = Object.fromEntries(await madeOf(commands()));
/** Commands that a sentence names: with the program before them, or by their names alone. */
const spans = [...documents, ...guides].flatMap((document) =>
  [...read(document).replaceAll(/^ *```.*?^ *```$/gms, '').matchAll(/`((?:bin\/)?gatehouse |npm run idp -- )?([a-z][a-z-]+(?: [a-z][a-z0-9-]+)?)([^`]*)`/g)]
    .map(([span, program, name, rest]) => ({ document, span, program, name: name!, rest: rest! }))
    .filter(({ program, name }) => program !== undefined || Object.hasOwn(offered, name)),
);

test('every document writes a command as it is typed in the folder of the installation, bin/gatehouse (reports B1)', () => {
  const words = [...new Set(Object.keys(offered).map((name) => name.split(' ')[0]))].join('|');
  const bare = new RegExp(`(?<![\\w/.-])gatehouse (?:${words}|help|COMMAND)(?!\\w).*`, 'g');
  expect([...documents, ...guides].flatMap((document) => (read(document).match(bare) ?? []).map((line) => `${document}: ${line}`))).toEqual([]);
});

test('every command that a sentence of the documents names exists, with its options (reports B1)', () => {
  expect(spans.length).toBeGreaterThan(30);
  for (const { document, span, name, rest } of spans) {
    const [first = ''] = name.split(' ');
    if (['help', 'start'].includes(first)) continue;
    const command = offered[name] ?? offered[first];
    expect(command, `${document}: ${span}`).toBeDefined();
    const known = (command!.options ?? []).map(([option]) => option.split(' ')[0]);
    for (const [option] of rest.matchAll(/(?<![\w-])--[a-z][a-z\d-]*/g))
      if (!['--json', '--help'].includes(option)) expect(known, `${document}: ${span}`).toContain(option);
  }
});
