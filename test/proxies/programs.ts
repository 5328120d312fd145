// Runs real proxies with the very files of deploy/forward-auth/, whose placeholders and port are replaced.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeCertificates } from '../helpers/certificates.ts';
import { patience } from '../helpers/limits.ts';
import { freePort } from '../helpers/server-process.ts';

export interface Setting {
  host: string;
  secret: string;
  /** The base address of the service. */
  gatehouse: string;
  /** The port of the application. */
  application: number;
}

export interface Program {
  name: string;
  /** Where it is installed, if it is. */
  path: string | undefined;
  /** Whether Debian has no package of it, so that only the walk runs it. */
  isFetched?: true;
  /** Its file in deploy/forward-auth/. */
  file: string;
  /** Writes what it needs beside the file. @returns its arguments */
  arrange(folder: string, file: string, port: number, other: number): string[];
  /** How the file names the port, and how it does at another one. */
  port?: [string, (port: number) => string];
}

const found = (variable: string, ...paths: string[]): string | undefined =>
  [process.env[variable], ...paths].find((path) => path !== undefined && existsSync(path));

/** The first two are packages of Debian; test/proxies/run.ts fetches the others. */
export const programs: readonly Program[] = [
  {
    name: 'nginx',
    path: found('NGINX', '/usr/sbin/nginx'),
    file: 'nginx.conf',
    port: ['listen 443 ssl', (port) => `listen 127.0.0.1:${port} ssl`],
    arrange(folder, file) {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      );
      const main = join(folder, 'main.conf');
      writeFileSync(
        main,
        `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr; events {}
http { access_log off; ${temporary.join(' ')} include ${file}; }\n`,
      );
      return ['-e', 'stderr', '-p', folder, '-c', main];
    },
  },
  {
    name: 'Caddy',
    path: found('CADDY', '/usr/bin/caddy'),
    file: 'Caddyfile',
    arrange(folder, file, port, other) {
      const main = join(folder, 'main.caddyfile');
      const options = `{\n\tadmin off\n\thttp_port ${other}\n\thttps_port ${port}\n\tdefault_bind 127.0.0.1\n\tauto_https disable_redirects\n\tstorage file_system ${folder}/caddy\n}\n`;
      writeFileSync(main, options + readFileSync(file, 'utf8'));
      return ['run', '--config', main, '--adapter', 'caddyfile'];
    },
  },
  {
    name: 'Traefik',
    path: found('TRAEFIK'),
    isFetched: true,
    file: 'traefik.yml',
    arrange: (_folder, file, port) => [
      `--entryPoints.websecure.address=127.0.0.1:${port}`,
      `--providers.file.filename=${file}`,
      '--global.checkNewVersion=false',
      '--global.sendAnonymousUsage=false',
    ],
  },
  {
    name: 'Envoy',
    path: found('ENVOY'),
    isFetched: true,
    file: 'envoy.yaml',
    port: ['port_value: 443 ', (port) => `port_value: ${port} `],
    arrange: (_folder, file) => ['-c', file, '--concurrency', '1', '--use-dynamic-base-id', '--log-level', 'warning'],
  },
];

export interface RunningProxy {
  port: number;
  output(): string;
  stop(): Promise<void>;
}

/** Starts a proxy of a site, and waits until it listens. */
export async function startProxy(
  program: Program,
  { host, secret, gatehouse, application }: Setting,
): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-proxy-'));
  const [port, other] = [await freePort(), await freePort()];
  const { hostname, port: servicePort, host: serviceHost } = new URL(gatehouse);
  makeCertificates(folder, { name: host });
  const [usual, elsewhere] = program.port ?? ['', undefined];
  const values: [string, string][] = [
    ['SITE_HOST', host],
    ['GATEHOUSE_HOST', serviceHost],
    ['GATEHOUSE_ADDRESS', gatehouse.replace(hostname, '127.0.0.1')],
    ['GATEHOUSE_UPSTREAM', `127.0.0.1:${servicePort}`],
    ['GATEHOUSE_IP', '127.0.0.1'],
    ['GATEHOUSE_PORT', servicePort],
    ['PROXY_SECRET', secret],
    ['APPLICATION_IP', '127.0.0.1'],
    ['APPLICATION_PORT', String(application)],
    ['APPLICATION', `127.0.0.1:${application}`],
    ['CERTIFICATE_KEY', join(folder, 'server.key')],
    ['CERTIFICATE', join(folder, 'server.pem')],
  ];
  const source = readFileSync(new URL(`../../deploy/forward-auth/${program.file}`, import.meta.url), 'utf8');
  // Traefik takes a traefik.yml of the home folder for its other configuration
  mkdirSync(join(folder, 'site'));
  const file = join(folder, 'site', program.file);
  const text = values.reduce((made, [name, value]) => made.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), value), source);
  writeFileSync(file, elsewhere ? text.replace(usual, elsewhere(port)) : text);
  const printed = openSync(join(folder, 'printed'), 'a');
  const child = spawn(program.path!, program.arrange(folder, file, port, other), {
    env: { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', printed, printed],
  });
  closeSync(printed);
  const output = () => readFileSync(join(folder, 'printed'), 'utf8');
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(timer);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await listening(child, host, port, output);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, output, stop };
}

async function listening(child: ChildProcess, host: string, port: number, printed: () => string): Promise<void> {
  for (const begin = performance.now(); ; await delay(20)) {
    // Traefik listens before it has read its file, and answers 404 until then
    const status = await statusOf(host, port).catch(() => undefined);
    if (status !== undefined && status !== 404) return;
    if (child.exitCode !== null || child.pid === undefined) throw new Error(`it ended at its start: ${printed()}`);
    if (performance.now() - begin > patience) throw new Error(`it does not answer: ${printed()}`);
  }
}

const statusOf = (host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const where = { host: '127.0.0.1', port, servername: host, rejectUnauthorized: false, agent: false };
    const sent = request({ ...where, path: '/', headers: { host }, setHost: false }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    sent.on('error', reject).end();
  });
