// Fetches and builds the APIs of other registries: programs that take the service's JWT access tokens, in a folder of the user's cache.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { build, buildFolder, run, wanted } from './fetched-parties.ts';
import type { ApiParty } from './api-walk.ts';

const springVersion = wanted('spring-resource-server/pom.xml', /<version>(\S+)<\/version>/);
const springFolder = buildFolder('spring-resource-server');
const authlibVersion = wanted('authlib-resource-server/requirements.txt', /authlib==(\S+)/);
const authlibFolder = buildFolder('authlib-resource-server');

export const fetchedApis: ApiParty[] = [
  {
    folder: 'spring-resource-server',
    name: 'Spring Security as a resource server',
    version: () => `Spring Boot ${springVersion}`,
    acceptsProofs: true,
    fetch: () =>
      build(springFolder, () => {
        cpSync(join(import.meta.dirname, 'spring-resource-server'), springFolder, { recursive: true });
        run('mvn', ['--quiet', '--batch-mode', 'package'], { cwd: springFolder });
      }),
    command: () => ({ program: 'java', args: ['-Xmx256m', '-jar', join(springFolder, 'target/api.jar')] }),
  },
  {
    folder: 'authlib-resource-server',
    name: 'Authlib as a resource server',
    version: () => `Authlib ${authlibVersion}`,
    acceptsProofs: false,
    fetch: () =>
      build(authlibFolder, () => {
        run('python3', ['-m', 'venv', authlibFolder]);
        const requirements = join(import.meta.dirname, 'authlib-resource-server/requirements.txt');
        run(join(authlibFolder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', '-r', requirements]);
      }),
    command: () => ({ program: join(authlibFolder, 'bin/python'), args: ['application.py'] }),
  },
];
