// The relying parties that come from other registries: fetched and built in a folder of the user's cache, once for each version.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Party } from './party.ts';

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gatehouse-relying-parties');

/** What `pattern` finds in a file of a party's folder: the version to fetch. */
function wanted(file: string, pattern: RegExp): string {
  return pattern.exec(readFileSync(join(import.meta.dirname, file), 'utf8'))![1]!;
}

/** Builds into a folder that is there only when it is whole. */
function build(folder: string, work: (folder: string) => void): Promise<void> {
  return new Promise((resolve) => {
    if (!existsSync(join(folder, 'whole'))) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      work(folder);
      mkdirSync(join(folder, 'whole'));
    }
    resolve();
  });
}

/** @throws with what the program printed */
function run(program: string, args: string[], options: { cwd?: string; env?: Record<string, string> } = {}): void {
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
const proxyFolder = join(cache, `oauth2-proxy-${proxyVersion}`);
const authlibVersion = wanted('authlib/requirements.txt', /authlib==(\S+)/);
const authlibFolder = join(cache, `authlib-${authlibVersion}`);
const springVersion = wanted('spring-security/pom.xml', /<version>(\S+)<\/version>/);
const springFolder = join(cache, `spring-boot-${springVersion}`);

export const fetchedParties: Party[] = [
  {
    folder: 'oauth2-proxy',
    name: 'oauth2-proxy',
    fetch: () =>
      build(proxyFolder, (folder) => {
        const go = { cwd: folder, env: { GOFLAGS: '-mod=mod -modcacherw' } };
        cpSync(join(import.meta.dirname, 'oauth2-proxy/go.mod'), join(folder, 'go.mod'));
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
      build(authlibFolder, (folder) => {
        run('python3', ['-m', 'venv', folder]);
        const requirements = join(import.meta.dirname, 'authlib/requirements.txt');
        run(join(folder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', '-r', requirements]);
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
      build(springFolder, (folder) => {
        cpSync(join(import.meta.dirname, 'spring-security'), folder, { recursive: true });
        run('mvn', ['--quiet', '--batch-mode', 'package'], { cwd: folder });
      }),
    version: () => `Spring Boot ${springVersion}`,
    callback: '/login/oauth2/code/gatehouse',
    refreshes: true,
    command: () => ({ program: 'java', args: ['-Xmx256m', '-jar', join(springFolder, 'target/party.jar')] }),
  },
];
