// Checks what a release says of itself: one version everywhere, and a workflow whose first step accepts only the tag of this version.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config.ts';
import { openapiDocument } from '../../src/admin/api/openapi-document.ts';
import { launcher, surroundings } from '../helpers/server-process.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };

test('command line, OpenAPI document, image, chart, compose files and lock file have the version of package.json (delivery 7)', () => {
  const printed = spawnSync(launcher, ['--version'], { env: surroundings, encoding: 'utf8' });
  expect(printed.stdout).toBe(`gatehouse ${version}\n`);
  const { info } = openapiDocument([], loadConfig({}), '1.0') as { info: { version: string } };
  expect(info.version).toBe(version);
  expect(/org\.opencontainers\.image\.version="([^"]+)"/.exec(read('Dockerfile'))![1]).toBe(version);
  expect(parse(read('deploy/helm/gatehouse/Chart.yaml'))).toMatchObject({ version, appVersion: version });
  const images = globSync('deploy/compose/*/compose.yml', { cwd: root }).map((file) => [
    file,
    /GATEHOUSE_IMAGE:-gatehouse[\w-]*:([\w.]+)\}/.exec(read(file))?.[1],
  ]);
  expect(images).toEqual(images.map(([file]) => [file, version]));
  const lock = JSON.parse(read('package-lock.json')) as {
    version: string;
    packages: Record<string, { version: string }>;
  };
  expect([lock.version, lock.packages['']!.version]).toEqual([version, version]);
});

test('the changelog has a section for this version, with a date (delivery 7)', () => {
  expect(read('CHANGELOG.md')).toMatch(
    new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm'),
  );
});

interface Job {
  needs?: string;
  steps: { run?: string; uses?: string; name?: string }[];
}
const { jobs } = parse(read('.github/workflows/release.yml')) as { jobs: Record<string, Job> };

test('a release begins with the tests, and only the tag of this version begins one (delivery 7)', () => {
  const [step] = jobs['check']!.steps.filter(({ run }) => run !== undefined);
  const begin = (tag: string) =>
    spawnSync('bash', ['--norc', '-ec', step!.run!], {
      cwd: root,
      env: { ...surroundings, GITHUB_REF_NAME: tag },
      encoding: 'utf8',
    });
  expect(begin(`v${version}`)).toMatchObject({ status: 0, stderr: '' });
  expect(begin('v99.0.0')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`package.json has ${version}`) as string,
  });
  for (const [name, job] of Object.entries(jobs)) {
    const path = [name];
    for (let needed = job.needs; needed !== undefined; needed = jobs[needed]!.needs) path.push(needed);
    if (name !== 'check') expect(path.slice(-2), name).toEqual(name === 'test' ? path : ['test', 'check']);
  }
});

test('the steps of the release are well-formed, and use files that exist (delivery 7)', () => {
  const steps = Object.values(jobs).flatMap(({ steps: all }) => all);
  for (const { run } of steps) {
    if (run === undefined) continue;
    // expressions of the workflow are values
    const script = run.replaceAll(/\$\{\{.*?\}\}/g, 'value');
    expect(spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' }).stderr).toBe('');
    for (const [path] of script.matchAll(/\b(?:deploy|scripts|\.ci)\/[\w./-]+/g))
      expect(existsSync(join(root, path)), path).toBe(true);
  }
  const text = read('.github/workflows/release.yml');
  // image with SBOM and provenance, chart and archive: each is signed
  for (const part of [
    'sbom: true',
    'provenance: mode=max',
    'cosign sign --yes --recursive',
    'helm push',
    'git archive',
    'attest-build-provenance',
    'npm run docs',
  ])
    expect(text).toContain(part);
  // what the chart's step writes stands in the file that it changes
  const values = read('deploy/helm/gatehouse/values.yaml');
  for (const line of ['  repository: gatehouse', "  digest: ''"]) expect(values.split('\n')).toContain(line);
});
