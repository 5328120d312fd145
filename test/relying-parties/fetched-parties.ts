// Fetches and builds the relying parties of other registries in a folder of the user's cache, and again when their files change.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Party } from './party.ts';

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gatehouse-relying-parties');

/** The match of `pattern` in a file of a party's folder: the version to fetch. */
export function wanted(file: string, pattern: RegExp): string {
  return pattern.exec(readFileSync(join(import.meta.dirname, file), 'utf8'))![1]!;
}

/** The folder in which a party is built: another one whenever a file of its own changes. */
export function buildFolder(party: string): string {
  const sources = join(import.meta.dirname, party);
  const hash = createHash('sha256');
  for (const name of (readdirSync(sources, { recursive: true }) as string[]).sort()) {
    const file = join(sources, name);
    if (statSync(file).isFile()) hash.update(`${name}\n`).update(readFileSync(file));
  }
  return join(cache, `${party}-${hash.digest('hex').slice(0, 12)}`);
}

/** Builds into a folder that exists only when it is complete, and deletes what was built from earlier files. */
export function build(folder: string, work: () => void): void {
  const done = join(folder, 'built');
  if (existsSync(done)) return;
  const party = folder.slice(0, folder.lastIndexOf('-'));
  for (const name of existsSync(cache) ? readdirSync(cache) : []) {
    if (join(cache, name).startsWith(`${party}-`)) rmSync(join(cache, name), { recursive: true });
  }
  mkdirSync(folder, { recursive: true });
  work();
  mkdirSync(done);
}

/** @throws with the output of the program */
export function run(
  program: string,
  args: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): void {
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error) throw new Error(`${program} cannot be run: ${error.message}`);
  if (status !== 0) throw new Error(`${program} ${args[0]} failed: ${(stderr + stdout).slice(-2000)}`);
}

const proxyVersion = wanted('oauth2-proxy/go.mod', /oauth2-proxy\/v7 v(\S+)/);
const proxyFolder = buildFolder('oauth2-proxy');
const authlibVersion = wanted('authlib/requirements.txt', /authlib==(\S+)/);
const authlibFolder = buildFolder('authlib');
const springVersion = wanted('spring-security/pom.xml', /<version>(\S+)<\/version>/);
const springFolder = buildFolder('spring-security');

export const fetchedParties: Party[] = [
  {
    folder: 'oauth2-proxy',
    name: 'oauth2-proxy',
    fetch: () =>
      build(proxyFolder, () => {
        const go = { cwd: proxyFolder, env: { GOFLAGS: '-mod=mod -modcacherw' } };
        cpSync(join(import.meta.dirname, 'oauth2-proxy/go.mod'), join(proxyFolder, 'go.mod'));
        run('go', ['build', '-o', 'oauth2-proxy', 'github.com/oauth2-proxy/oauth2-proxy/v7'], go);
      }),
    version: () => `oauth2-proxy ${proxyVersion}`,
    callback: '/oauth2/callback',
    refreshes: true,
    command: () => ({ program: process.execPath, args: ['application.ts', join(proxyFolder, 'oauth2-proxy')] }),
  },
  {
    folder: 'authlib',
    name: 'Authlib',
    fetch: () =>
      build(authlibFolder, () => {
        run('python3', ['-m', 'venv', authlibFolder]);
        const requirements = join(import.meta.dirname, 'authlib/requirements.txt');
        run(join(authlibFolder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', '-r', requirements]);
      }),
    version: () => `Authlib ${authlibVersion}`,
    callback: '/callback',
    refreshes: true,
    command: () => ({ program: join(authlibFolder, 'bin/python'), args: ['application.py'] }),
  },
  {
    folder: 'spring-security',
    name: 'Spring Security',
    fetch: () =>
      build(springFolder, () => {
        cpSync(join(import.meta.dirname, 'spring-security'), springFolder, { recursive: true });
        run('mvn', ['--quiet', '--batch-mode', 'package'], { cwd: springFolder });
      }),
    version: () => `Spring Boot ${springVersion}`,
    callback: '/login/oauth2/code/gatehouse',
    backchannelLogout: '/logout/connect/back-channel/gatehouse',
    refreshes: true,
    command: () => ({ program: 'java', args: ['-Xmx256m', '-jar', join(springFolder, 'target/party.jar')] }),
  },
];
