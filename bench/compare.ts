// Compares the processor time of an operation in two checkouts, in alternating runs: the cost of a change.
//
//   node bench/compare.ts --before ../gatehouse-before --only introspect-live,userinfo,client-credentials --runs 5
//
// Both checkouts need their packages (npm ci). Each run is one of `node bench/bench.ts --sides service --connections 32` in one of them, on a database
// of its own. The result is the median of the processor time of server and database for each request, with the spread of the runs.
// A difference smaller than the spread does not count.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { operations } from './operations.ts';

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    only: { type: 'string', default: 'introspect-live,userinfo,client-credentials' },
    runs: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
  },
});
if (values.before === undefined) throw new Error('Name the other checkout: --before FOLDER');
const checkouts = { before: resolve(values.before), now: resolve(import.meta.dirname, '..') };
const run = promisify(execFile);

/** Processor time of one request in microseconds, server and database together. */
async function measure(folder: string, key: string): Promise<number> {
  const options = ['--sides', 'service', '--only', key, '--connections', '32', '--rounds', values.rounds];
  const { stdout } = await run(process.execPath, ['bench/bench.ts', ...options], { cwd: folder, maxBuffer: 1 << 24 });
  const { name } = operations.find((operation) => operation.key === key) ?? {};
  if (name === undefined) throw new Error(`There is no operation ${key}.`);
  const costs = stdout.slice(stdout.indexOf('Costs at'));
  const line = costs.split('\n').find((each) => each.startsWith(name));
  const found = /^(\d+)(?: \+ (\d+))?/.exec(line?.slice(name.length).trim() ?? '');
  if (!found) throw new Error(`The benchmark in ${folder} printed no costs of ${name}:\n${stdout}`);
  return Number(found[1]) + Number(found[2] ?? 0);
}

const median = (sorted: number[]) => sorted[Math.floor(sorted.length / 2)]!;
const shown = (sorted: number[]) => `${median(sorted)} µs (${sorted[0]} to ${sorted.at(-1)})`;

for (const key of values.only.split(',')) {
  const times: Record<keyof typeof checkouts, number[]> = { before: [], now: [] };
  const ratios: number[] = [];
  for (let index = 0; index < Number(values.runs); index++) {
    // the order changes with each pair, so that neither side always follows the other
    const order = index % 2 === 0 ? (['before', 'now'] as const) : (['now', 'before'] as const);
    for (const side of order) times[side].push(await measure(checkouts[side], key));
    ratios.push(times.now.at(-1)! / times.before.at(-1)!);
    process.stderr.write(`${key}: run ${index + 1}, ${ratios.at(-1)!.toFixed(3)} of before\n`);
  }
  const [before, now, ratio] = [times.before, times.now, ratios].map((each) => each.toSorted((a, b) => a - b));
  const spread = `${ratio![0]!.toFixed(3)} to ${ratio!.at(-1)!.toFixed(3)}`;
  console.log(
    `${key}: before ${shown(before!)}, now ${shown(now!)}, now/before ${median(ratio!).toFixed(3)} (${spread})`,
  );
}
