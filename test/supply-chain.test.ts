// Checks the installed packages: pinned versions, no unlisted install script, no version younger than a week, only allowed licences (security R112).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verdict } from '../scripts/audit.ts';
import { allowed, allowedInDevelopment, licences, lockedPackages } from '../scripts/licences.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const manifest = JSON.parse(read('package.json')) as Record<string, unknown> & {
  allowScripts: Record<string, boolean>;
};
const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, Record<string, unknown>> };
const packages = lockedPackages();
const versionOf = (name: string) => packages.filter((each) => each.name === name).map((each) => each.version);

test('every package is pinned to one version and one content, and the lock file matches package.json (security R112)', () => {
  for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    const named = manifest[kind] as Record<string, string>;
    expect(lock.packages['']![kind]).toEqual(named);
    for (const [name, wanted] of Object.entries(named)) {
      // a package may have another name here than in the registry
      const version = wanted.replace(/^npm:(?:@[\w-]+\/)?[\w-]+@/, '');
      expect(version, name).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
      expect(lock.packages[`node_modules/${name}`]!['version'], name).toBe(version);
    }
  }
  for (const { name, integrity } of packages) expect(integrity, name).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
});

test('builds install from the lock file alone (security R112)', () => {
  const workflows = readdirSync(join(root, '.github/workflows')).map((file) => `.github/workflows/${file}`);
  for (const file of ['.ci/run', 'Dockerfile', ...workflows]) {
    const installs = read(file).match(/\bnpm (ci|i|in|install|add|update|exec)\b.*|\bnpx\b.*/g) ?? [];
    for (const line of installs) expect(line, file).toMatch(/^npm ci\b/);
  }
  expect(read('.ci/run')).toContain('npm ci');
});

test('only listed packages run a script when they are installed, and an update waits until a version is a week old (security R112)', () => {
  const named = Object.entries(manifest.allowScripts).flatMap(([name, may]) => (may ? [name] : []));
  expect(
    packages
      .filter((each) => each.installs)
      .map((each) => each.name)
      .sort(),
  ).toEqual(named.sort());
  const settings = read('.npmrc').split('\n');
  expect(settings).toEqual(expect.arrayContaining(['strict-allow-scripts=true', 'save-exact=true']));
  // the delay applies where a version is chosen: npm's own setting would also refuse to install from the lock file
  const updates = read('.github/dependabot.yml').split('package-ecosystem:').slice(1);
  for (const update of updates) expect(update).toMatch(/cooldown:\n +default-days: 7\n/);
  expect(read('CONTRIBUTING.md')).toContain('npm install --save-exact --min-release-age=7');
});

test('the packages of the site are pinned to one content, have an allowed licence, and run no script when they are installed (security R112)', () => {
  const site = JSON.parse(read('docs/site/package.json')) as {
    devDependencies: Record<string, string>;
    allowScripts: Record<string, boolean>;
  };
  const { packages: locked } = JSON.parse(read('docs/site/package-lock.json')) as {
    packages: Record<
      string,
      { version: string; license?: string; integrity?: string; hasInstallScript?: boolean; devDependencies?: object }
    >;
  };
  expect(locked['']!.devDependencies).toEqual(site.devDependencies);
  expect(Object.values(site.allowScripts)).not.toContain(true);
  expect(read('docs/site/.npmrc')).toBe(read('.npmrc'));
  for (const [path, each] of Object.entries(locked).filter(([name]) => name !== '')) {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    expect(each.integrity, name).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
    expect([...allowedInDevelopment, 'CC0-1.0'], name).toContain(each.license);
    if (each.hasInstallScript) expect(site.allowScripts, name).toHaveProperty(name);
  }
});

test.each([
  ['fastify', '5.12.2'],
  ['node', '24.0.0'],
  ['jose', '4.15.5'],
])('%s is at least version %s (security R112)', (name, floor) => {
  const number = (version: string) => version.split('.').reduce((sum, part) => sum * 10_000 + Number(part), 0);
  expect(versionOf(name).length).toBeGreaterThan(0);
  for (const version of versionOf(name)) expect(number(version), version).toBeGreaterThanOrEqual(number(floor));
  expect(read('Dockerfile')).toMatch(/^ARG BASE=node:24-/m);
});

test('one XML parser is installed, in one version, so that the bytes that are read are those that were verified (federation FR20)', () => {
  expect(versionOf('@xmldom/xmldom')).toEqual(['0.8.15']);
  expect(versionOf('xml-crypto')).toEqual(['6.3.2']);
});

test('docs/licences.md equals what scripts/licences.ts makes of the lock file (security R112)', () => {
  expect(read('docs/licences.md')).toBe(licences());
});

test('every package has a licence that is allowed for its use (security R112)', () => {
  const refused = packages.filter(
    ({ use, licence }) => !(use === 'development' ? allowedInDevelopment : allowed).includes(licence),
  );
  expect(refused.map(({ name, licence }) => `${name}: ${licence}`)).toEqual([]);
});

test.each<[string, string, number, RegExp]>([
  ['a clean report', '{"vulnerabilities":{},"metadata":{"dependencies":{"total":331}}}', 0, /331 packages/],
  [
    'an advisory',
    '{"vulnerabilities":{"left":{"severity":"high","range":"<2"}},"metadata":{"dependencies":{"total":1}}}',
    1,
    /^high: left <2$/,
  ],
  [
    'a refusal of the registry',
    '{"message":"405 Method Not Allowed - POST https://registry.example/"}',
    2,
    /^NOT CHECKED/,
  ],
  ['an error', '{"error":{"code":"ENOTFOUND","summary":"request failed"}}', 2, /^NOT CHECKED.*request failed/],
  ['half a report', '{"vulnerabilities":{}}', 2, /^NOT CHECKED/],
  ['no answer', '', 2, /^NOT CHECKED/],
])('the audit reports %s, and passes only a clean report (security R112)', (_what, answer, code, text) => {
  expect(verdict(answer)).toEqual({ code, text: expect.stringMatching(text) as string });
});
