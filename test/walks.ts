// Runs what tests more than a test run does, one program after another, and prints what each came to.
//
//   npm run walks                     all of them
//   npm run walks -- fuzz pages       some of them
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** How many generated requests, and how many kills. */
const many = {
  FUZZ_RUNS: '500',
  FUZZ_SEED: String(Date.now() % 1_000_000),
  KILL_ROUNDS: '20',
};

interface Walk {
  name: string;
  says: string;
  /** The arguments of Node. */
  command: readonly string[];
  environment?: Record<string, string>;
}

const tests = ['test/run.ts'];
const walks: readonly Walk[] = [
  { name: 'fuzz', says: 'generated requests to every route', command: [...tests, 'test/fuzz'] },
  {
    name: 'events',
    says: 'a thousand events that commit out of order, while service and collector are killed',
    command: [...tests, 'test/processes/audit-stream-delivery'],
    environment: { WALKS: 'all' },
  },
  { name: 'kill', says: 'kills of the service and the database', command: [...tests, 'test/processes/kill'] },
  {
    name: 'pages',
    says: 'every page with the longest words, every page for users in each language; the console and the account pages by keyboard, in each language at each size',
    command: [
      ...tests,
      'test/pages/pages.browser',
      'test/pages/languages',
      'test/flows/console',
      'test/flows/account',
      'test/flows/chooser',
    ],
    environment: { WALKS: 'all' },
  },
  {
    name: 'connections',
    says: 'sign-ins by connections, in each language, with a picture of each page in WALK_PICTURES',
    command: [...tests, 'connection.browser', 'directory.browser', 'hostile-provider', 'active-directory'],
    environment: { WALKS: 'all' },
  },
  {
    name: 'imports',
    says: 'hostile YAML in a table, generated exports of each product, and an export of a million users',
    command: [...tests, 'test/rules/yaml-text', 'test/fuzz/imported-names', 'test/admin/import-'],
    environment: { WALKS: 'all', IMPORT_USERS: '1000000' },
  },
  {
    name: 'provisioning',
    says: 'accounts at a SCIM server of another make, which is downloaded, with outages',
    command: [...tests, 'test/jobs/provisioning-peer'],
    environment: { WALKS: 'all' },
  },
  {
    name: 'scim',
    says: 'SCIM with a group of 10,000, 100,000 and 50,000 users, with their figures',
    command: [...tests, 'test/protocol/scim-sizes'],
    environment: { WALKS: 'all' },
  },
  {
    name: 'scim-compliance',
    says: 'published tests of SCIM servers, which are downloaded',
    command: ['test/compliance/run.ts'],
  },
  {
    name: 'relying-parties',
    says: 'every relying party, also those that are downloaded',
    command: ['test/relying-parties/run.ts'],
  },
  {
    name: 'proxies',
    says: 'every proxy of protected sites, also those that are downloaded',
    command: ['test/proxies/run.ts'],
  },
  {
    name: 'image',
    says: 'what the Dockerfile does, without a container engine, and what it makes as several users; as root on Debian',
    command: ['test/deploy/image.ts'],
  },
  {
    name: 'helm',
    says: 'the Helm chart by helm and by the schemas of Kubernetes, which are downloaded',
    command: ['test/deploy/fetch.ts', 'helm'],
  },
  {
    name: 'compose',
    says: 'the compose files by the library of compose, which is downloaded',
    command: ['test/deploy/fetch.ts', 'compose'],
  },
  {
    name: 'saml',
    says: 'SAML programs of other authors as both sides: mod_auth_mellon, pysaml2, simplesamlphp, xmlsec1 and xmllint',
    command: ['test/saml-peers/run.ts'],
  },
  {
    name: 'saml-fuzz',
    says: '100,000 mutated responses and requests of SAML, in a process for each processor',
    command: ['test/fuzz/saml-shards.ts'],
  },
  {
    name: 'docs-site',
    says: 'the site of the documents: built, its links followed, searched in Chromium, checked with axe',
    command: [...tests, 'test/docs/site'],
    environment: { WALKS: 'all' },
  },
  {
    name: 'guides-go',
    says: 'the guides of nginx, Caddy and Traefik with oauth2-proxy, and of Miniflux: sign-in, a lost group, a disabled user',
    command: [...tests, 'test/docs/guides-go'],
    environment: { WALKS: 'all' },
  },
  ...['python', 'java', 'go'].map((language) => ({
    name: `dev-${language}`,
    says: `the example of docs/dev.md for ${language}, whose libraries are downloaded`,
    command: ['test/dev-examples/run.ts', language],
  })),
  { name: 'faults', says: 'databases that are killed, frozen and failed over', command: ['test/faults/run.ts'] },
];

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !walks.some((walk) => walk.name === name));
if (unknown.length > 0) {
  console.error(`There is no walk ${unknown.join(', ')}. Name some of: ${walks.map(({ name }) => name).join(', ')}.`);
  process.exit(2);
}
const rows = walks
  .filter(({ name }) => chosen.length === 0 || chosen.includes(name))
  .map(({ name, says, command, environment }) => {
    console.log(`\n== ${name}: ${says}`);
    const begin = performance.now();
    const { status } = spawnSync(process.execPath, command, {
      cwd: join(import.meta.dirname, '..'),
      env: { CHROMIUM: '/usr/bin/chromium', ...many, ...process.env, ...environment },
      stdio: 'inherit',
    });
    return {
      name,
      result: status === 0 ? 'passed' : `failed (${status})`,
      minutes: (performance.now() - begin) / 60_000,
    };
  });
console.log(`\nThe seed of the generated requests was ${process.env['FUZZ_SEED'] ?? many.FUZZ_SEED}.`);
for (const { name, result, minutes } of rows)
  console.log(`${name.padEnd(16)} ${result.padEnd(12)} ${minutes.toFixed(1)} min`);
process.exitCode = rows.every(({ result }) => result === 'passed') ? 0 : 1;
