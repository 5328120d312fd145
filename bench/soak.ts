// Runs the soak: the highest steady load of a mixed kind for a long time, with short lifetimes; writes docs/soak.md and says whether
// everything levels off (security F20).
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Bed, withService } from './bed.ts';
import { command } from './children.ts';
import { basicOf, makeUsers, redirectUri } from './flows.ts';
import { observe, type Sample } from './soak-observer.ts';
import { version } from './report.ts';
import { SimulatedUser } from './simulated-user.ts';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '20' }, postgres: { type: 'string' } },
});
const minutes = Number(values.minutes);
const connections = 24;
const poolSize = 20;
/** Seconds, so short that rows of every kind are created and deleted many times. */
const lifetimes = {
  ACCESS_TOKEN_LIFETIME: '60',
  ID_TOKEN_LIFETIME: '60',
  REFRESH_TOKEN_LIFETIME: '90',
  REFRESH_TOKEN_ABSOLUTE_LIFETIME: '120',
  SESSION_IDLE_LIFETIME: '60',
  SESSION_LIFETIME: '120',
  FORM_LIFETIME: '60',
  PUSHED_REQUEST_LIFETIME: '30',
  REGISTRATION_WAITING_LIFETIME: '60',
};

await withService(
  {
    DATABASE_POOL_SIZE: String(poolSize),
    // one machine represents all networks
    LIMIT_SIGN_IN_PER_NETWORK: '0',
    LIMIT_REGISTRATION_PER_NETWORK: '0',
    // a user here opens more applications in a minute than real users do
    LIMIT_CODES_PER_SESSION: '0',
    ...lifetimes,
  },
  main,
  { postgres: values.postgres },
);

async function main({ service, settings, connection, stops }: Bed): Promise<void> {
  const machine = await command(
    ['client', 'create', '--name', 'Machine', '--grant-type', 'client_credentials', '--scope', 'admin'],
    settings,
  );
  const web = await command(
    ['client', 'create', '--name', 'Web', '--redirect-uri', redirectUri, '--first-party'],
    settings,
  );
  const people = await makeUsers(service.base, basicOf(machine), connections);

  const observer = await observe(connection, service.pid, minutes);
  stops.push(() => observer.stop());
  const end = performance.now() + minutes * 60_000;
  await Promise.all(
    people.map(async (person) => {
      const user = new SimulatedUser(service.base, person, web, machine, observer.answered);
      while (performance.now() < end) await user.round();
      user.leave();
    }),
  );
  const result = await observer.result();
  const text = report(result.samples, result.longest, result.heldUp, result.cleanUps);
  process.stdout.write(text);
  if (minutes >= 20) writeFileSync(fileURLToPath(new URL('../docs/soak.md', import.meta.url)), text);
}

function report(
  samples: Sample[],
  longest: Record<string, { all: number; cleaning: number }>,
  heldUp: number,
  cleanUps: number,
): string {
  const part = (from: number, to: number) =>
    samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * to));
  const mean = (some: Sample[], of: (sample: Sample) => number) =>
    some.reduce((sum, sample) => sum + of(sample), 0) / some.length;
  const [second, last] = [part(0.25, 0.5), part(0.75, 1)];
  const level = (of: (sample: Sample) => number) => mean(last, of) / mean(second, of);
  const ratio = (of: (sample: Sample) => number) => level(of).toFixed(2);
  const tables = Object.keys(samples.at(-1)!.rows).sort();
  const lines = [
    '# Soak test',
    '',
    `\`node bench/soak.ts\` wrote this page: ${minutes} minutes of steady load by ${connections} simulated users. Each user has a browser and clients, and sends the next request as soon as the answer comes. One process of the service with a`,
    `pool of ${poolSize}, PostgreSQL with full durability, and the load share ${availableParallelism()} cores. The versions are Node ${process.versions.node} and ${version()}. Lifetimes are short (access tokens 60 s, refresh`,
    'tokens 90 s, sessions 60 s idle and 120 s at most, forms and unapproved registrations 60 s), so that rows of every kind are created and deleted. The load consists of sign-ins, code flows with',
    'refreshes, introspections, tokens by client credentials, revocations, abandoned sign-in pages and registrations without approval.',
    '',
    `**Level**: the mean of the last quarter divided by that of the second quarter. Resident memory ${ratio((s) => s.rss)}, connections ${ratio((s) => s.connections)}, `,
    `rows without the audit trail ${ratio((s) => s.live)}, their bytes on disk ${ratio((s) => s.bytes)}, requests a second ${ratio((s) => s.rate)}.`,
    'The audit trail grows with the number of events, because nothing deletes them.',
    '',
    `**Retention job**: ${cleanUps} samples (ten a second) found the job running. In ${heldUp} of them, a request waited for the job.`,
    '',
    '| Operation | longest, ms | longest while the retention job ran, ms |',
    '|---|---|---|',
    ...Object.entries(longest)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([path, { all, cleaning }]) => `| \`${path}\` | ${all.toFixed(0)} | ${cleaning.toFixed(0)} |`),
    '',
    '## Minute by minute',
    '',
    '| Minute | requests/s | p99, ms | longest, ms | memory, MB | connections | rows | rows on disk, MB | audit rows |',
    '|---|---|---|---|---|---|---|---|---|',
    ...samples.map((s) =>
      [
        s.minute.toFixed(1),
        s.rate.toFixed(0),
        s.p99.toFixed(1),
        s.longest.toFixed(0),
        (s.rss / 1e6).toFixed(0),
        s.connections,
        s.live,
        (s.bytes / 1e6).toFixed(1),
        s.audit,
      ]
        .join(' | ')
        .replace(/^.*$/, '| $& |'),
    ),
    '',
    '## Rows at the end of the second and of the last quarter',
    '',
    '| Table | second quarter | last quarter |',
    '|---|---|---|',
    ...tables.map((table) => `| \`${table}\` | ${second.at(-1)!.rows[table] ?? 0} | ${last.at(-1)!.rows[table]} |`),
    '',
  ];
  return lines.join('\n');
}
