// The test command: checks the code, runs every test on the embedded PostgreSQL, and the black-box tests again on an installed one.
//
//   npm test                            everything
//   npm test -- --install               the same, but first installs what is missing (as root on Debian or Ubuntu)
//   npm test -- test/protocol/token    only vitest, with these arguments, on the embedded PostgreSQL
//
// With CI=true it installs what is missing, and any omitted or skipped test is a failure.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const BLACK_BOX = ['protocol', 'login', 'account', 'admin', 'jobs', 'server', 'flows', 'repositories', 'spec'].map(
  (folder) => `test/${folder}/`,
);
/** Files that the second run omits: what only they show does not depend on the version of PostgreSQL. */
const SAME_ON_ALL = `
  access account* active-directory address-carry-over address-changes admin-access admin-bodies admin-changes admin-grants admin-lists
  admin-recent-sign-in admin-routes admin-sessions admin-user-search api-consent api-resources attributes audit-stream auth-js
  authentication authorization authorization-errors authorization-frame authorization-prompt
  backchannel-logout backchannel-logout-delivery better-auth certificate-listener change-commands ciba-client-libraries
  claims-parameter cli client-claims client-certificate-header client-connections client-document-settings client-documents
  client-libraries client-secrets command-options config/files config/kept config/ownership config/routes confirmed-addresses
  connection-attributes connection-cases connection-ends connection-keys connection-limits connection-origins
  connection-presets connections consent consent-decision console* counter csv-formulas database-deadline
  deferred-authorization demo development-clients device devices directories directory-import directory-memberships discovery
  doctor doctor-checks doctor-planted domain-routing double-click dpop dpop-client-libraries encrypted-responses end-session error-uri
  files-and-terminals first-passkey forward-auth frontchannel-logout gatehouse-as-provider given-clients global-revocation
  groups-scope health hostile-json id-jag id-token-claims images import-keycloak import-products import-seen-keys
  import-updates introspection invitation jwks jwt-access-tokens jwt-authorization-responses key-schedule language-menu largest-bodies limits links-of-power
  localized-metadata logged-addresses login* logout look-alikes loopback-localhost lying-provider mail* malformed-requests mcp metrics mtls
  mtls-nginx mtls-port neighbours oauth-connection older-session opaque-tokens openapi owned-members pairwise passkeys
  password-normalization password-reset passwords permissions picture pipeline planted* posted-answers
  protected-resource-metadata provider-logout provisioning provisioning-targets public-clients pushed-authorization-request
  redaction references refusals refused-before-routes registration registration-approval registration-approval-page registration-deferred
  registration-refusal registration-repeat registration-trust registration-validation registration-waiting-changes remember-me request-object
  request-uri resource resource-conflicts response-types revocation saml saml-applications saml-assertions saml-connections
  saml-logout saml-requests scim-clients scim-dialects scim-sizes second-factor-demands second-factor-kinds second-factors
  second-tab secret-kinds sector-identifier service-resources session-limits session-management sign-in-flood sign-in-limits
  sign-up sign-up-links signed-introspection single-group spared-second-factor spreadsheets start-page stored-addresses stored-requests
  token-assertions token-client-authentication token-jwt-bearer token-requests traces trial-without-certificate
  undotted-schemes unreadable-requests untimed-connections upstream-token user-access user-additions user-data user-transfer
  userinfo userinfo-signed uses webfinger webhooks-without-database
`;
const BROWSER_TESTS = '**/*.browser.test.ts';
/** Chromium without a window: it draws the same pages for less than half the work. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell';
const APACHE_MODULE = '/usr/lib/apache2/modules/mod_auth_openidc.so';
const PGBOUNCER = '/usr/sbin/pgbouncer';
const SLAPD = '/usr/sbin/slapd';
const SAMBA = '/usr/sbin/samba';
const NGINX = '/usr/sbin/nginx';
const CADDY = '/usr/bin/caddy';
const LDAPADD = '/usr/bin/ldapadd';
const HAPROXY = '/usr/sbin/haproxy';
/** Gives initdb the name of a user id without one. */
const NAMES = '/usr/lib/*/libnss_wrapper.so';
const CLUSTER_DEFAULTS = '/etc/postgresql-common/createcluster.d';

process.chdir(join(import.meta.dirname, '..'));
const ci = process.env.CI === 'true';
const vitestArguments = process.argv.slice(2).filter((argument) => argument !== '--install');
const mayInstall = ci || process.argv.includes('--install');
const totals = { passed: 0, failed: 0, skipped: 0 };
/** Failures other than failed tests; each counts as one. */
const problems: string[] = [];
/** What vitest prints about failures; it is printed again at the end. */
const explanations: string[] = [];
const leftOut: string[] = [];

if (vitestArguments.length > 0) {
  await tests('tests as chosen, on the embedded PostgreSQL', 'embedded', vitestArguments);
} else {
  // side by side: the installation waits for the network and the disk
  const [, isGood] = await Promise.all([installMissing(), step('type check, eslint, prettier', checks)]);
  if (!isGood) problems.push('The code check failed: `npm run fix` mends what a tool can.');
  await tests('all tests on the embedded PostgreSQL', 'embedded', []);
  if (!existsSync(APACHE_MODULE)) {
    leftOut.push('Apache did not run as a relying party: install libapache2-mod-auth-openidc.');
  }
  if (!existsSync(SLAPD) || !existsSync(LDAPADD)) leftOut.push('No directory was read: install slapd and ldap-utils.');
  if (!existsSync(SAMBA))
    leftOut.push(
      'No Active Directory was read: install samba-ad-dc and samba-ad-provision, and run the tests as root.',
    );
  for (const [path, name] of [
    [NGINX, 'nginx'],
    [CADDY, 'caddy'],
  ] as const)
    if (!existsSync(path))
      leftOut.push(`No protected site, and not the service itself, was tested behind ${name}: install ${name}.`);
  if (!existsSync(HAPROXY)) leftOut.push('The service was not tested behind HAProxy: install haproxy.');
  if (globSync(NAMES).length === 0)
    leftOut.push('The embedded PostgreSQL did not start as a user without a name: install libnss-wrapper.');
  if (!existsSync(PGBOUNCER)) leftOut.push('Nothing was tested behind PgBouncer: install pgbouncer.');
  const postgres = installedPostgres();
  if (postgres) {
    // what a browser or a page shows, what a terminal prints, how long keys are kept and what is refused before any statement do not
    // depend on the database's version; the remaining files run the same statements, and row-types prepares every statement
    await tests(`black-box tests on PostgreSQL ${postgres.major} (${postgres.bin})`, postgres, [
      ...BLACK_BOX,
      'test/database/row-types.test.ts',
      `--exclude=${BROWSER_TESTS}`,
      ...SAME_ON_ALL.trim()
        .split(/\s+/)
        .map((name) => `--exclude=test/*/${name}.test.ts`),
    ]);
  } else {
    leftOut.push(
      'The black-box tests did not run on an installed PostgreSQL: install postgresql-15, or any from 15 on.',
    );
  }
}
report();

interface Postgres {
  major: number;
  bin: string;
}

/** The installed PostgreSQL 15 (the oldest that is supported), else the newest one from 15 on. */
function installedPostgres(): Postgres | undefined {
  const debian = '/usr/lib/postgresql';
  const folders = existsSync(debian) ? readdirSync(debian).map((version) => join(debian, version, 'bin')) : [];
  const found = [...folders, output('pg_config', ['--bindir'])]
    .map((bin) => ({ bin, major: Number(/ (\d+)/.exec(output(join(bin, 'postgres'), ['--version']))?.[1]) }))
    .filter(({ major }) => major >= 15)
    .sort((a, b) => b.major - a.major);
  return found.find(({ major }) => major === 15) ?? found[0];
}

function installedChromium(): string | undefined {
  return [
    process.env.CHROMIUM,
    HEADLESS_SHELL,
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ].find((path) => path && existsSync(path));
}

async function installMissing(): Promise<void> {
  const apt = existsSync('/usr/bin/apt-get') && process.getuid?.() === 0;
  const needsBrowser = process.env.CHROMIUM === undefined && !existsSync(HEADLESS_SHELL);
  const all =
    installedPostgres() &&
    !needsBrowser &&
    [APACHE_MODULE, PGBOUNCER, SLAPD, LDAPADD, SAMBA, NGINX, CADDY, HAPROXY].every((path) => existsSync(path)) &&
    globSync(NAMES).length > 0;
  if (!mayInstall || !apt || all) return;
  await step('install what is missing', async () => {
    const options = { DEBIAN_FRONTEND: 'noninteractive' };
    if (!(await run('apt-get', ['-qq', 'update'], options))) return false;
    const packages: string[] = [];
    const hasShell = output('apt-cache', ['show', 'chromium-headless-shell']) !== '';
    if (needsBrowser && hasShell) packages.push('chromium-headless-shell');
    else if (!installedChromium()) packages.push('chromium');
    // It brings the programs of Apache, and starts no service.
    if (!existsSync(APACHE_MODULE)) packages.push('libapache2-mod-auth-openidc');
    if (!existsSync(PGBOUNCER)) packages.push('pgbouncer');
    if (!existsSync(NGINX)) packages.push('nginx-light');
    if (!existsSync(CADDY)) packages.push('caddy');
    if (!existsSync(HAPROXY)) packages.push('haproxy');
    if (globSync(NAMES).length === 0) packages.push('libnss-wrapper');
    if (!existsSync(LDAPADD)) packages.push('ldap-utils');
    if (!existsSync(SAMBA)) packages.push('samba', 'samba-ad-dc', 'samba-ad-provision', 'python3-samba');
    if (!existsSync(SLAPD)) packages.push('slapd');
    if (!installedPostgres()) {
      // Only the programs are needed: no cluster is created, so none is started.
      mkdirSync(CLUSTER_DEFAULTS, { recursive: true });
      writeFileSync(join(CLUSTER_DEFAULTS, 'no-main-cluster.conf'), 'create_main_cluster = false\n');
      packages.push(output('apt-cache', ['show', 'postgresql-15']) ? 'postgresql-15' : 'postgresql');
    }
    if (packages.length === 0) return true;
    console.log(`apt-get install ${packages.join(' ')}`);
    return withoutServices(() =>
      run('apt-get', ['-qq', 'install', '--yes', '--no-install-recommends', ...packages], options, 'ignore'),
    );
  });
}

/** Installs packages of which only the programs are needed: the packages ask this file whether they may start their services. */
async function withoutServices(install: () => Promise<boolean>): Promise<boolean> {
  const policy = '/usr/sbin/policy-rc.d';
  if (existsSync(policy)) return install();
  writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    return await install();
  } finally {
    rmSync(policy);
  }
}

/** Runs what `npm run check` runs, the tools side by side: each uses one core. */
async function checks(): Promise<boolean> {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: { check: string } };
  const environment = { ...process.env, PATH: `${resolve('node_modules/.bin')}${delimiter}${process.env.PATH}` };
  const done = scripts.check.split(' && ').map(async (command) => {
    const child = spawn(command, { shell: true, env: environment, stdio: ['ignore', 'inherit', 'inherit'] });
    const [status] = (await once(child, 'close')) as [number | null];
    return status === 0;
  });
  return (await Promise.all(done)).every(Boolean);
}

/** Runs vitest once and adds up its figures. */
async function tests(title: string, postgres: Postgres | 'embedded', filters: string[]): Promise<void> {
  const chromium = installedChromium();
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const file = join(folder, 'report.json');
  const environment = {
    CHROMIUM: chromium,
    TEST_POSTGRES: postgres === 'embedded' ? postgres : String(postgres.major),
    TEST_POSTGRES_BIN: postgres === 'embedded' ? undefined : postgres.bin,
  };
  const options = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  if (!chromium) {
    options.push(`--exclude=${BROWSER_TESTS}`);
    const remark = 'The browser tests did not run: install chromium, or set CHROMIUM to the path of one.';
    if (!leftOut.includes(remark)) leftOut.push(remark);
  }
  await step(title, async () => {
    const ok = await runAndRecord(
      process.execPath,
      ['node_modules/vitest/vitest.mjs', 'run', ...options, ...filters],
      environment,
    );
    const counts = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>) : {};
    totals.passed += counts.numPassedTests ?? 0;
    totals.failed += counts.numFailedTests ?? 0;
    totals.skipped += (counts.numPendingTests ?? 0) + (counts.numTodoTests ?? 0);
    // For example, a file that does not load fails no test.
    if (!ok && !counts.numFailedTests) problems.push(`vitest failed: ${title}.`);
    return ok;
  });
  rmSync(folder, { recursive: true });
}

async function step(title: string, work: () => boolean | Promise<boolean>): Promise<boolean> {
  console.log(`\n== ${title}`);
  const start = performance.now();
  const ok = await work();
  console.log(`== ${ok ? 'done' : 'FAILED'} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return ok;
}

async function run(
  command: string,
  args: string[],
  environment: Record<string, string | undefined> = {},
  stdout: 'inherit' | 'ignore' = 'inherit',
): Promise<boolean> {
  const child = spawn(command, args, { env: { ...process.env, ...environment }, stdio: ['ignore', stdout, 'inherit'] });
  const [status] = await once(child, 'close').catch((error: unknown) => [console.error(String(error))]);
  return status === 0;
}

/** Runs vitest, and keeps what it prints about failures: of tests, unhandled errors, its own exit. */
async function runAndRecord(command: string, args: string[], environment: Record<string, string | undefined>) {
  const colour = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  const child = spawn(command, args, {
    env: { ...process.env, ...colour, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const) {
    from.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      to.write(text);
    });
  }
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) {
    const lines = stripVTControlCharacters(said).split('\n');
    // vitest prints a line of ⎯ before it reports failures
    const first = lines.findIndex((line) => line.startsWith('⎯⎯⎯'));
    explanations.push(...(first < 0 ? lines.slice(-40) : lines.slice(first, first + 150)));
    if (status === null) explanations.push(`It was ended by ${child.signalCode}.`);
  }
  return status === 0;
}

/** The output of a command; empty if the command does not exist. */
function output(command: string, args: string[]): string {
  return spawnSync(command, args, { encoding: 'utf8' }).stdout?.trim() ?? '';
}

function report(): void {
  if (ci && totals.skipped > 0 && vitestArguments.length === 0) {
    problems.push(`CI allows no skipped tests; skipped: ${totals.skipped}.`);
  }
  if (ci) problems.push(...leftOut);
  else if (leftOut.length > 0)
    leftOut.push('As root on Debian or Ubuntu, `npm test -- --install` installs what is missing.');
  if (explanations.length > 0) console.log(`\n== what failed\n${explanations.join('\n')}`);
  console.log(`\n${[...(ci ? [] : leftOut), ...problems].map((line) => `${line}\n`).join('')}`);
  const failed = totals.failed + problems.length;
  console.log(`${totals.passed} passed, ${failed} failed${totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''}`);
  process.exitCode = failed > 0 ? 1 : 0;
}
