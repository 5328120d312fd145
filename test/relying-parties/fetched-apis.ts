// Fetches and builds the APIs of other registries: programs that take the service's JWT access tokens, and programs that exchange tokens or come with
// certificates, in a folder of the user's cache.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { build, buildFolder, run, wanted } from './fetched-parties.ts';
import type { ApiParty } from './api-walk.ts';
import type { TokenParty } from './token-walk.ts';

const springVersion = wanted('spring-resource-server/pom.xml', /<version>(\S+)<\/version>/);
const springFolder = buildFolder('spring-resource-server');
const authlibVersion = wanted('authlib-resource-server/requirements.txt', /authlib==(\S+)/);
const authlibFolder = buildFolder('authlib-resource-server');
const springTokens = buildFolder('spring-tokens');
const authlibTokens = buildFolder('authlib-tokens');

function buildSpring(folder: string, party: string): void {
  build(folder, () => {
    cpSync(join(import.meta.dirname, party), folder, { recursive: true });
    run('mvn', ['--quiet', '--batch-mode', 'package'], { cwd: folder });
  });
}

function buildAuthlib(folder: string, party: string): void {
  build(folder, () => {
    run('python3', ['-m', 'venv', folder]);
    const requirements = join(import.meta.dirname, party, 'requirements.txt');
    run(join(folder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', '-r', requirements]);
  });
}

export const fetchedApis: ApiParty[] = [
  {
    folder: 'spring-resource-server',
    name: 'Spring Security as a resource server',
    version: () => `Spring Boot ${springVersion}`,
    acceptsProofs: true,
    fetch: () => buildSpring(springFolder, 'spring-resource-server'),
    command: () => ({ program: 'java', args: ['-Xmx256m', '-jar', join(springFolder, 'target/api.jar')] }),
  },
  {
    folder: 'authlib-resource-server',
    name: 'Authlib as a resource server',
    version: () => `Authlib ${authlibVersion}`,
    acceptsProofs: false,
    fetch: () => buildAuthlib(authlibFolder, 'authlib-resource-server'),
    command: () => ({ program: join(authlibFolder, 'bin/python'), args: ['application.py'] }),
  },
];

export const fetchedTokenParties: TokenParty[] = [
  {
    folder: 'spring-tokens',
    name: 'Spring Security with token exchange and certificates',
    version: () => `Spring Boot ${wanted('spring-tokens/pom.xml', /<version>(\S+)<\/version>/)}`,
    checksCertificates: true,
    requestsDetails: false,
    fetch: () => buildSpring(springTokens, 'spring-tokens'),
    command: () => ({ program: 'java', args: ['-Xmx256m', '-jar', join(springTokens, 'target/tokens.jar')] }),
  },
  {
    folder: 'authlib-tokens',
    name: 'Authlib with token exchange and certificates',
    version: () => `Authlib ${wanted('authlib-tokens/requirements.txt', /authlib==(\S+)/)}`,
    checksCertificates: false,
    requestsDetails: true,
    fetch: () => buildAuthlib(authlibTokens, 'authlib-tokens'),
    command: () => ({ program: join(authlibTokens, 'bin/python'), args: ['application.py'] }),
  },
];
