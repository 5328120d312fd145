// Installs the proxies that Debian has no package of, in a folder of the user's cache: pip installs them.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gatehouse-proxies');

/** @returns the path of each program by its name */
export function fetchProxies(): (name: string) => string {
  const requirements = join(import.meta.dirname, 'requirements.txt');
  const folder = join(cache, readFileSync(requirements, 'utf8').trim().split(/\s+/).join('-'));
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', folder, '-r', requirements];
    execFileSync('python3', pip, { stdio: 'inherit' });
  }
  return (name) => join(folder, globSync(`**/{bin,_bin}/${name}`, { cwd: folder })[0] ?? name);
}
