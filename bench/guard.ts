// Checks out the version against which the processor time of the everyday operations is guarded, and keeps the table of their ratios in docs/benchmark.md.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { machine, version } from './report.ts';
import { type OperationKey, operations } from './operations.ts';

/** The last version before federation, resources and entities: a feature that is not in use costs nothing. */
const commit = 'ea92a2c2';
/** The operations that are guarded. */
export const guarded: OperationKey[] = ['introspect-live', 'userinfo', 'client-credentials', 'code-flow', 'refresh'];
/** The most processor time that an operation may take, as a multiple of that of the guard. */
const limit = 1.05;

export interface Compared {
  key: OperationKey;
  /** Microseconds of processor time of one request, server and database together. */
  before: number;
  now: number;
  ratio: number;
  quartiles: [number, number];
}

const page = fileURLToPath(new URL('../docs/benchmark.md', import.meta.url));
const heading = '## Against an earlier version';

/** Checks the guard out, once. @returns its folder */
export function checkOutGuard(): string {
  const folder = join(tmpdir(), `gatehouse-guard-${commit}`);
  const run = (command: string, args: string[], cwd: string) => {
    const { status } = spawnSync(command, args, { cwd, stdio: 'inherit' });
    if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed`);
  };
  if (!existsSync(folder)) run('git', ['worktree', 'add', '--detach', folder, commit], import.meta.dirname);
  if (!existsSync(join(folder, 'node_modules'))) run('npm', ['ci'], folder);
  return folder;
}

/** The section of the page, which the benchmark itself keeps when it writes the page anew. */
export function guardSection(): string {
  const text = existsSync(page) ? readFileSync(page, 'utf8') : '';
  const begin = text.indexOf(heading);
  return begin === -1 ? '' : `\n${text.slice(begin)}`;
}

/** Writes the section at the end of the page. */
export function writeGuardSection(all: Compared[], slices: number, starts: number): void {
  const text = readFileSync(page, 'utf8');
  const begin = text.indexOf(heading);
  const rows = all.map(({ key, before, now, ratio, quartiles }) => {
    const { name } = operations.find((operation) => operation.key === key)!;
    const verdict = ratio <= limit ? 'met' : '**missed**';
    const spread = quartiles.map((quartile) => quartile.toFixed(2)).join(' to ');
    return `| ${name} | ${before.toFixed(0)} | ${now.toFixed(0)} | ${ratio.toFixed(2)} | ${spread} | ${verdict} |`;
  });
  const section = `${heading}

\`node bench/compare.ts --guard --write\` wrote this section: ${version()}, ${machine()}. It compares the processor time of one request, server and database together,
with that of commit ${commit}, the last one without connections, resources and their rules. Both run at once with 32 connections, in ${slices} alternating slices of ${starts} starts of each;
the ratio is the median over neighbouring slices. The quartiles show how the starts and the machine differed.

| Operation | before, CPU µs | now, CPU µs | ratio | quartiles | at most ${limit} |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
  writeFileSync(page, `${(begin === -1 ? text : text.slice(0, begin)).trimEnd()}\n\n${section}`);
}
