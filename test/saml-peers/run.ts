// Walks through SAML programs of other authors, as both sides: pysaml2, which PyPI has, and what Debian's packages have.
//
//   node test/saml-peers/run.ts
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const needed = {
  'libapache2-mod-auth-mellon': '/usr/lib/apache2/modules/mod_auth_mellon.so',
  xmlsec1: '/usr/bin/xmlsec1',
  'libxml2-utils': '/usr/bin/xmllint',
  'simplesamlphp php-xml php-mbstring': '/usr/share/simplesamlphp/www/module.php',
};
const missing = Object.entries(needed).filter(([, path]) => !existsSync(path));
if (missing.length > 0) {
  console.error(`Install: apt-get install --no-install-recommends ${missing.map(([name]) => name).join(' ')}`);
  process.exit(2);
}
const requirements = join(import.meta.dirname, 'requirements.txt');
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gatehouse-saml-peers');
const folder = join(cache, createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16));
if (!existsSync(folder)) {
  mkdirSync(cache, { recursive: true });
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', folder, '-r', requirements];
  if (spawnSync('python3', pip, { stdio: 'inherit' }).status !== 0) process.exit(2);
}
const { status } = spawnSync(process.execPath, ['test/run.ts', 'test/saml-peers', 'test/relying-parties/mellon'], {
  stdio: 'inherit',
  env: { ...process.env, WALKS: 'all', PYSAML2: folder },
});
process.exit(status ?? 1);
