// Runs importers on the exports of other products that a test writes, in a folder of its own, and reads what they wrote: `startImports()`.
import { mkdtempSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { type Finished, runCommand } from './command-line.ts';
import type { TestService } from './service.ts';

type Values = Record<string, Record<string, Record<string, unknown>>>;

/** What an importer wrote; empty where it wrote nothing. */
export interface MovedIn extends Finished {
  output: string;
  report: string;
  config: Values;
  users: Record<string, unknown>[];
}

/** No database answers there: the importers open none. */
export const nowhere = {
  issuer: 'http://localhost:3000',
  database: { url: 'postgresql://gatehouse@127.0.0.1:1/none' },
  secretKey: randomSecret(),
} as unknown as TestService;

export function startImports() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-import-'));
  let made = 0;
  return {
    folder,
    /** Writes the files of an export. @returns their names in a new folder */
    async exported(files: Record<string, unknown>): Promise<(name: string) => string> {
      const place = join(folder, `export-${made++}`);
      await mkdir(place);
      for (const [name, content] of Object.entries(files))
        await writeFile(join(place, name), typeof content === 'string' ? content : JSON.stringify(content));
      return (name) => join(place, name);
    },
    /** Runs an importer. @param words its arguments after the product */
    async moved(product: string, ...words: string[]): Promise<MovedIn> {
      const output = join(folder, `output-${made++}`);
      const finished = await runCommand(nowhere, ['import', product, ...words, '--output', output]);
      return { ...finished, ...(await readMoved(output)) };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function readMoved(output: string): Promise<Omit<MovedIn, keyof Finished>> {
  const files = await readdir(output).catch((): string[] => []);
  const read = (name: string) => (files.includes(name) ? readFile(join(output, name), 'utf8') : '');
  const lines = (await read('users.jsonl')).split('\n').filter(Boolean);
  return {
    output,
    report: await read('report.md'),
    config: parse((await read('gatehouse.yaml')) || '{}') as Values,
    users: lines.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

/** Applies what an importer wrote, and imports its users. */
export async function moveIn(service: TestService, output: string, ...options: string[]) {
  return {
    applied: await runCommand(service, ['config', 'apply', output]),
    imported: await runCommand(service, ['user', 'import', join(output, 'users.jsonl'), ...options]),
  };
}
