// Starts what the compose files of deploy/ start, without a container: the same settings, the same commands and the same files of the proxies.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { patience } from '../helpers/limits.ts';
import { freePort, type ServerProcess, startServer, stopServers } from '../helpers/server-process.ts';
import { found } from '../proxies/programs.ts';

const root = resolve(import.meta.dirname, '../..');
const kinds = ['single', 'caddy', 'traefik', 'cluster'] as const;
type Kind = (typeof kinds)[number];
const fileOf = (kind: Kind, name = 'compose.yml') => join(root, 'deploy/compose', kind, name);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const domain = 'id.localhost';
const adminPassword = randomBytes(16).toString('hex');

interface Part {
  image: string;
  build?: string | { context: string; args?: Record<string, string> };
  environment: Record<string, string>;
  command?: string[];
  volumes?: string[];
  ports?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
}

interface Written extends Omit<Part, 'environment'> {
  environment?: Record<string, string | null>;
}

/** Replaces variables as compose does. */
const interpolate = (text: string, variables: Record<string, string>): string =>
  text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, operator: string | undefined, rest = '') => {
    const value = variables[name] ?? '';
    if (value !== '') return value;
    if (operator === '?') throw new Error(`${name} is missing: ${rest}`);
    return operator === '-' ? rest : '';
  });

/** The services of a file, with the lines of `.env` that its first comment names. */
function partsOf(kind: Kind, variables: Record<string, string>): Record<string, Part> {
  const replace = (_key: unknown, value: unknown) =>
    typeof value === 'string' ? interpolate(value, variables) : value;
  const text = readFileSync(fileOf(kind), 'utf8');
  // a variable is replaced in the value that YAML gives: nothing is then an empty value, which the service refuses
  const { services } = parse(text, replace, { merge: true }) as { services: Record<string, Written> };
  return Object.fromEntries(
    Object.entries(services).map(([name, { environment = {}, ...part }]) => {
      // a name without a value takes that of .env, and is left out where there is none
      const values = Object.entries(environment).map(([key, value]) => [key, value ?? variables[key]] as const);
      return [name, { ...part, environment: Object.fromEntries(values.filter(([, value]) => value !== undefined)) }];
    }),
  ) as Record<string, Part>;
}

const envOf: Record<Kind, Record<string, string>> = {
  single: {},
  caddy: { DOMAIN: domain, ACME_EMAIL: 'you@example.com', ADMIN_PASSWORD: adminPassword },
  traefik: { DOMAIN: domain, ACME_EMAIL: 'you@example.com', ADMIN_PASSWORD: adminPassword },
  cluster: {
    BASE_URL: 'http://localhost:8080',
    SECRET_KEY: randomBytes(32).toString('base64url'),
    POSTGRES_PASSWORD: randomBytes(12).toString('hex'),
    ADMIN_PASSWORD: adminPassword,
  },
};

let folder: string;
let database: TestDatabase;
const proxies: ChildProcess[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-compose-'));
  database = await createTestDatabase();
});
afterAll(async () => {
  for (const proxy of proxies) {
    proxy.kill('SIGKILL');
    if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, 'close');
  }
  await stopServers();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a service of a file as its container does: the settings of the image, and then those of the file. */
async function start({ environment }: Part, changed: Record<string, string>): Promise<ServerProcess> {
  const image = /^ENV (.*)$/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8'))![1]!;
  const settings = Object.fromEntries([...image.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]));
  const server = startServer({ ...settings, ...environment, PORT: String(await freePort()), ...changed });
  await server.ready();
  return server;
}

function startProgram(path: string, args: string[], environment: Record<string, string> = {}): () => string {
  const places = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(path, args, { env: { PATH: process.env['PATH'], ...places, ...environment } });
  proxies.push(child);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (printed += text.toString()));
  return () => printed;
}

/** Waits until the proxy leads to the service. @returns the issuer in the discovery document */
async function issuerBy(port: number, host: string | undefined, printed: () => string): Promise<unknown> {
  const ask = () =>
    new Promise<string>((done, failed) => {
      const options = {
        host: '127.0.0.1',
        port,
        path: '/.well-known/openid-configuration',
        agent: false as const,
        ...(host !== undefined && { servername: host, headers: { host }, rejectUnauthorized: false }),
      };
      const sent = (host === undefined ? httpRequest : httpsRequest)(options, (answer) => {
        let text = '';
        answer.on('data', (part: Buffer) => (text += part.toString())).on('end', () => done(text));
      });
      sent.on('error', failed).end();
    });
  const text = await vi.waitFor(
    async () => {
      const answer = await ask();
      if (!answer.startsWith('{"issuer"')) throw new Error(`${answer} ${printed()}`);
      return answer;
    },
    { timeout: patience, interval: 50 },
  );
  return (JSON.parse(text) as Record<string, unknown>)['issuer'];
}

/** The text of a proxy's file, with other names and ports. */
function placed(kind: Kind, name: string, changes: [string | RegExp, string][]): string {
  const text = readFileSync(fileOf(kind, name), 'utf8');
  const file = join(folder, `${kind}-${name}`);
  writeFileSync(
    file,
    changes.reduce((made, [from, to]) => {
      const changed = made.replaceAll(typeof from === 'string' ? from : new RegExp(from, 'gm'), to);
      expect(changed, `${name}: ${from}`).not.toBe(made);
      return changed;
    }, text),
  );
  return file;
}

test.each(kinds)(
  'compose %s: an image of this version, existing files, no rights that it does not need, and no secret with a default (delivery 4, delivery 7)',
  (kind) => {
    const parts = partsOf(kind, envOf[kind]);
    const own = Object.entries(parts).filter(([name]) => name.startsWith('gatehouse'));
    expect(own.length).toBe(kind === 'cluster' ? 2 : 1);
    for (const [, part] of own) {
      expect(part).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
      expect(part.image.split(':')[1]).toBe(version);
      const context = typeof part.build === 'string' ? part.build : part.build!.context;
      expect(existsSync(resolve(fileOf(kind), '..', context, 'Dockerfile'))).toBe(true);
      // the proxy alone reaches the service, and this computer alone where there is none
      if (kind === 'single') expect(part.ports).toEqual(['127.0.0.1:3000:3000']);
      else expect(part.ports).toBeUndefined();
    }
    const mounts = Object.values(parts).flatMap(({ volumes = [] }) => volumes.filter((each) => each.startsWith('.')));
    for (const mount of mounts) expect(existsSync(resolve(fileOf(kind), '..', mount.split(':')[0]!)), mount).toBe(true);
    const text = readFileSync(fileOf(kind), 'utf8');
    expect(text.match(/\$\{\w*(?:PASSWORD|KEY|SECRET)\w*:-[^}]/g)).toBeNull();
    // its first comment names every variable that it cannot do without, and none is left out
    const needed = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name!);
    for (const name of needed) {
      expect(text, name).toMatch(new RegExp(`^#   ${name}=`, 'm'));
      expect(() => partsOf(kind, { ...envOf[kind], [name]: '' })).toThrow(`${name} is missing`);
    }
  },
);

test('single: the service starts without any setting, with its own database (delivery 4)', async () => {
  const server = await start(partsOf('single', {})['gatehouse']!, { DATA_DIR: join(folder, 'single') });
  const answer = await fetch(`http://localhost:${server.port}/.well-known/openid-configuration`);
  expect(((await answer.json()) as { issuer: string }).issuer).toBe('http://localhost:3000');
  expect(server.stdout).toMatch(/password {3}\S{16,}/);
});

test('caddy: the commands of the page at home make a site of Caddy, which gets its certificate itself (delivery 4)', () => {
  const page = readFileSync(join(root, 'docs/start-at-home.md'), 'utf8');
  const command = /^ *(sed -e (?:.*\\\n)*.*) > "\$SITES\/wiki\.caddy"$/m.exec(page)![1]!;
  const env = { ...process.env, PROXY_SECRET: 'the-secret' };
  const site = execFileSync('bash', ['-euc', command], { cwd: root, env, encoding: 'utf8' });
  expect(site.replaceAll(/^\s*#.*$/gm, '')).not.toMatch(/\b[A-Z]+_[A-Z]+\b|\bAPPLICATION\b|^\s*tls /m);
  expect(site).toContain('X-Gatehouse-Proxy-Secret the-secret');
  mkdirSync(join(folder, 'sites'));
  writeFileSync(join(folder, 'sites/wiki.caddy'), site);
  // the folder of the sites is mounted where the file looks
  const mounts = partsOf('caddy', envOf.caddy)['caddy']!.volumes!;
  expect(mounts).toContain('./sites:/etc/caddy/sites:ro');
  const file = placed('caddy', 'Caddyfile', [['/etc/caddy/sites/', `${folder}/sites/`]]);
  const caddy = found('CADDY', '/usr/bin/caddy');
  if (caddy === undefined) return;
  const adapted = execFileSync(caddy, ['adapt', '--config', file, '--adapter', 'caddyfile'], {
    env: { PATH: process.env['PATH'], ...envOf.caddy },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  for (const host of [domain, 'wiki.example.com']) expect(adapted).toContain(`"host":["${host}"]`);
  expect(adapted).toContain('"dial":"gatehouse:3000"');
});

test('Caddy and Traefik: the five lines of .env lead from https to the service (delivery 4)', async () => {
  // the database of the cluster, too
  const settings = { DATABASE_URL: database.url, SECRET_KEY: envOf.cluster['SECRET_KEY']! };
  const { gatehouse } = partsOf('caddy', envOf.caddy);
  const other = partsOf('traefik', envOf.traefik)['gatehouse']!.environment!;
  expect({ ...gatehouse!.environment, TRUST_PROXY: other['TRUST_PROXY'] }).toEqual(other);
  const server = await start(gatehouse!, { ...settings, TRUST_PROXY: '127.0.0.1' });
  const upstream = `127.0.0.1:${server.port}`;
  const [port, plain] = [await freePort(), await freePort()];
  const caddy = partsOf('caddy', envOf.caddy)['caddy']!;
  const caddyPath = found('CADDY', '/usr/bin/caddy');
  if (caddyPath !== undefined) {
    const options = `{\n\tadmin off\n\thttp_port ${plain}\n\thttps_port ${port}\n\tskip_install_trust\n\tstorage file_system ${folder}/caddy`;
    // a name of this computer gets a certificate of Caddy's own authority
    const file = placed('caddy', 'Caddyfile', [
      [/^\{$/, options],
      ['gatehouse:3000', upstream],
    ]);
    const printed = startProgram(caddyPath, ['run', '--config', file, '--adapter', 'caddyfile'], caddy.environment);
    expect(await issuerBy(port, domain, printed)).toBe(`https://${domain}`);
  }
  const traefikPath = found('TRAEFIK');
  if (traefikPath !== undefined) {
    const traefik = partsOf('traefik', envOf.traefik)['traefik']!;
    const file = placed('traefik', 'gatehouse.yml', [['gatehouse:3000', upstream]]);
    const [secure, web] = [await freePort(), await freePort()];
    const args = traefik.command!.map((argument) =>
      argument
        .replace('web.address=:80', `web.address=127.0.0.1:${web}`)
        .replace('websecure.address=:443', `websecure.address=127.0.0.1:${secure}`)
        .replace('/etc/traefik/gatehouse.yml', file)
        .replace('/certificates/', `${folder}/`),
    );
    const printed = startProgram(traefikPath, args, traefik.environment);
    expect(await issuerBy(secure, domain, printed)).toBe(`https://${domain}`);
  }
  // the cluster has the database under another address
  server.kill('SIGTERM');
  await server.exited;
});

test.runIf(found('HAPROXY', '/usr/sbin/haproxy') !== undefined)(
  'cluster: the load balancer leads to both instances, and to the other one when one ends (delivery 4)',
  async () => {
    const parts = partsOf('cluster', envOf.cluster);
    const settings = { DATABASE_URL: database.url, TRUST_PROXY: '127.0.0.1' };
    const servers = [await start(parts['gatehouse-1']!, settings), await start(parts['gatehouse-2']!, settings)];
    const port = await freePort();
    const file = placed('cluster', 'haproxy.cfg', [
      ['bind :8080', `bind 127.0.0.1:${port}`],
      ['gatehouse-1:3000', `127.0.0.1:${servers[0]!.port}`],
      ['gatehouse-2:3000', `127.0.0.1:${servers[1]!.port}`],
      // there is no name server of containers
      [/^resolvers docker\n.*\n.*\n/, ''],
      [' resolvers docker init-addr libc,none', ''],
    ]);
    const printed = startProgram(found('HAPROXY', '/usr/sbin/haproxy')!, ['-db', '-f', file]);
    expect(await issuerBy(port, undefined, printed)).toBe('http://localhost:8080');
    servers[0]!.kill('SIGTERM');
    await servers[0]!.exited;
    expect(await issuerBy(port, undefined, printed)).toBe('http://localhost:8080');
  },
);
