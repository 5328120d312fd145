// Runs the faults of the database at full length, each under load: `npm run faults`, or `npm run faults -- kill failover`.
import { parseArgs } from 'node:util';
import { Bed } from './bed.ts';
import { type Figure, type ScenarioName, scenarios } from './scenarios.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { postgres: { type: 'string' }, short: { type: 'boolean', default: false } },
});
const unknown = positionals.find((name) => !(name in scenarios));
if (unknown !== undefined) {
  console.error(`There is no scenario ${unknown}. There are: ${Object.keys(scenarios).join(', ')}.`);
  process.exit(1);
}
const chosen = (positionals.length > 0 ? positionals : Object.keys(scenarios)) as ScenarioName[];

const bed = await Bed.open({
  processes: 2,
  bin: values.postgres ?? process.env['TEST_POSTGRES_BIN'],
});
const seconds = (figures: number[]) => figures.map((figure) => (figure / 1000).toFixed(2)).join(' ');
let failed = false;
try {
  const { rows } = { rows: await bed.primary.sql<{ version: string }>('SHOW server_version') };
  console.log(`Node ${process.versions.node}, PostgreSQL ${JSON.stringify(rows[0])}, two service processes\n`);
  for (const name of chosen) {
    const { title, full, short, run } = scenarios[name];
    const extent = values.short ? short : full;
    const before = { ...bed.load.requests.counts };
    const known = bed.violations.length;
    bed.takeTimes();
    let figures: Figure[] = [];
    try {
      figures = await run(bed, extent);
    } catch (error) {
      bed.load.violations.push(`${name}: ${String(error instanceof Error ? error.stack : error)}`);
    }
    const { refusal, withoutDatabase, memory } = bed.takeTimes();
    const { answered, unavailable, lost } = bed.load.requests.counts;
    const violations = bed.violations.slice(known);
    failed ||= violations.length > 0;
    console.log(`${name} ${extent}: ${title}`);
    console.log(`  first success, seconds after the fault began  ${seconds(figures.map(({ outage }) => outage))}`);
    console.log(`  and after the database was back               ${seconds(figures.map(({ recovery }) => recovery))}`);
    console.log(
      `  answered ${answered - before.answered}, 503 ${unavailable - before.unavailable}, unanswered ${lost - before.lost}; ` +
        `slowest 503 ${Math.round(refusal)} ms, slowest JWKS or discovery ${Math.round(withoutDatabase)} ms, ` +
        `memory ${Math.round(memory)} MB at most`,
    );
    for (const violation of violations.slice(0, 10)) console.log(`  WRONG: ${violation}`);
    if (violations.length > 10) console.log(`  and ${violations.length - 10} more`);
  }
  await bed.load.verifyAll();
  for (const violation of bed.violations.slice(0, 5)) console.log(`WRONG: ${violation}`);
  failed ||= bed.violations.length > 0;
  console.log(
    `\n${bed.load.summary}\n${failed ? 'Something was lost or wrong.' : 'Nothing acknowledged was lost, and nothing wrong was answered.'}`,
  );
} finally {
  const lines = await bed.close();
  // what an operator would have to read: everything except refusals because of the database
  for (const line of lines
    .filter((text) => /"level":[56]0/.test(text) && !text.includes('DatabaseUnavailable'))
    .slice(-10))
    console.log(`log: ${line}`);
}
process.exitCode = failed ? 1 : 0;
