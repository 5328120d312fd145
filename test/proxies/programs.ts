// Runs real proxies with the very files of deploy/, whose placeholders and port are replaced.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeCertificates } from '../helpers/certificates.ts';
import { patience } from '../helpers/limits.ts';
import { freePort } from '../helpers/server-process.ts';

export interface Setting {
  host: string;
  /** Further hosts of the site. */
  others?: readonly string[];
  secret: string;
  /** The base address of the service. */
  gatehouse: string;
  /** The port of the application. */
  application: number;
}

/** What starts a proxy. */
export interface Runnable {
  /** Where it is installed, if it is. */
  path: string | undefined;
  /** Writes what it needs beside the files. @returns its arguments */
  arrange(folder: string, files: readonly string[], port: number, other: number): string[];
  /** Moves the text of a file to a port of the loopback, and to a folder. */
  place?(text: string, port: number, folder: string): string;
  /** Whether certificate and key are in one file. */
  joinsKey?: true;
}

export interface Program extends Runnable {
  name: string;
  /** Whether Debian has no package of it, so that only the walk runs it. */
  isFetched?: true;
  /** Its file in deploy/forward-auth/. */
  file: string;
}

export const found = (variable: string, ...paths: string[]): string | undefined =>
  [process.env[variable], ...paths].find((path) => path !== undefined && existsSync(path));

/** The first two are packages of Debian; test/proxies/run.ts fetches the others. */
export const programs: readonly Program[] = [
  {
    name: 'nginx',
    path: found('NGINX', '/usr/sbin/nginx'),
    file: 'nginx.conf',
    place: (text, port, folder) =>
      text
        .replaceAll(/^ *listen \[::\].*\n/gm, '')
        .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
        .replace('listen 80;', `listen unix:${folder}/plain;`)
        .replaceAll('/var/log/nginx/', `${folder}/`),
    arrange(folder, files) {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      );
      const main = join(folder, 'main.conf');
      writeFileSync(
        main,
        `${process.getuid?.() === 0 ? 'user root; ' : ''}daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr; events {}
http { access_log ${folder}/access.log; ${temporary.join(' ')} ${files.map((file) => `include ${file};`).join(' ')} }\n`,
      );
      return ['-e', 'stderr', '-p', folder, '-c', main];
    },
  },
  {
    name: 'Caddy',
    path: found('CADDY', '/usr/bin/caddy'),
    file: 'Caddyfile',
    arrange(folder, files, port, other) {
      const main = join(folder, 'main.caddyfile');
      const options = `{\n\tadmin off\n\thttp_port ${other}\n\thttps_port ${port}\n\tdefault_bind 127.0.0.1\n\tauto_https disable_redirects\n\tstorage file_system ${folder}/caddy\n}\n`;
      writeFileSync(main, [options, ...files.map((file) => readFileSync(file, 'utf8'))].join('\n'));
      return ['run', '--config', main, '--adapter', 'caddyfile'];
    },
  },
  {
    name: 'Traefik',
    path: found('TRAEFIK'),
    isFetched: true,
    file: 'traefik.yml',
    arrange: (folder, _files, port) => [
      `--entryPoints.websecure.address=127.0.0.1:${port}`,
      `--providers.file.directory=${join(folder, 'site')}`,
      '--global.checkNewVersion=false',
      '--global.sendAnonymousUsage=false',
    ],
  },
  {
    name: 'Envoy',
    path: found('ENVOY'),
    isFetched: true,
    file: 'envoy.yaml',
    place: (text, port) => text.replace('port_value: 443 ', `port_value: ${port} `),
    arrange: (_folder, files) => [
      '-c',
      files[0]!,
      '--concurrency',
      '1',
      '--use-dynamic-base-id',
      '--log-level',
      'warning',
    ],
  },
];

export interface RunningProxy {
  port: number;
  /** Where it keeps its files. */
  folder: string;
  output(): string;
  stop(): Promise<void>;
}

/** Starts a proxy of a site, and waits until it listens. */
export function startProxy(program: Program, setting: Setting): Promise<RunningProxy> {
  const { host, others = [], secret, gatehouse, application } = setting;
  const { hostname, port, host: serviceHost } = new URL(gatehouse);
  return runProxy(program, {
    host,
    others,
    sources: [`forward-auth/${program.file}`],
    values: [
      ['GATEHOUSE_HOST', serviceHost],
      ['GATEHOUSE_ADDRESS', gatehouse.replace(hostname, '127.0.0.1')],
      ['GATEHOUSE_UPSTREAM', `127.0.0.1:${port}`],
      ['GATEHOUSE_IP', '127.0.0.1'],
      ['GATEHOUSE_PORT', port],
      ['PROXY_SECRET', secret],
      ['APPLICATION_IP', '127.0.0.1'],
      ['APPLICATION_PORT', String(application)],
      ['APPLICATION', `127.0.0.1:${application}`],
    ],
  });
}

interface Configuration {
  /** The name in the certificate, and of the site that answers when the proxy is ready. */
  host: string;
  /** Further names in the certificate. */
  others?: readonly string[];
  /** The files in deploy/, which are put into one folder. */
  sources: readonly string[];
  /** What the words of the files stand for, besides those of the certificate. */
  values: readonly (readonly [word: string, value: string])[];
  port?: number;
}

/** Starts a proxy with files of deploy/, and waits until it listens. */
export async function runProxy(program: Runnable, configuration: Configuration): Promise<RunningProxy> {
  const { host, others = [], sources } = configuration;
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-proxy-'));
  const [port, other] = [configuration.port ?? (await freePort()), await freePort()];
  makeCertificates(folder, { name: host, others });
  const values = [
    ['SITE_HOST', [host, ...others].join(' ')],
    ...configuration.values,
    ['KEY_FILE', join(folder, 'server.key')],
    ['CERTIFICATE_FILE', join(folder, program.joinsKey ? 'joined.pem' : 'server.pem')],
  ] as const;
  const [certificate, key] = ['server.pem', 'server.key'].map((name) => readFileSync(join(folder, name), 'utf8'));
  writeFileSync(join(folder, 'joined.pem'), `${certificate}${key}`);
  // Traefik takes a traefik.yml of the home folder for its other configuration
  mkdirSync(join(folder, 'site'));
  const files = sources.map((source) => {
    const text = values.reduce(
      (made, [name, value]) => made.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), value),
      readFileSync(new URL(`../../deploy/${source}`, import.meta.url), 'utf8'),
    );
    const file = join(folder, 'site', basename(source));
    writeFileSync(file, program.place?.(text, port, folder) ?? text);
    return file;
  });
  const printed = openSync(join(folder, 'printed'), 'a');
  const child = spawn(program.path!, program.arrange(folder, files, port, other), {
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
  return { port, folder, output, stop };
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
