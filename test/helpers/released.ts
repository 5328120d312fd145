// Brings back what was released: the code of a version as its tag has it, and the database that scripts/upgrade-fixture.ts filled with it.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { installedVersion } from '../../src/config/version.ts';
import type { TestClient } from './service.ts';

const root = join(import.meta.dirname, '../..');
const fixtures = join(root, 'test/fixtures/released');
const parts = ['bin', 'src', 'templates', 'migrations', 'package.json', '.env.example'];

/** What the database of a release holds. */
export interface ReleasedDatabase {
  version: string;
  /** The commit whose code filled the database. */
  commit: string;
  /** The times in the dump are shifted from here to the present. */
  dumpedAt: string;
  secretKey: string;
  secretKeyId: string;
  users: { plain: string; second: string; administrator: string; password: string; totp: string };
  client: Pick<TestClient, 'clientId' | 'basic' | 'redirectUri'>;
  refreshToken: string;
  accessToken: string;
  /** The number of rows by table. */
  rows: Record<string, number>;
}

export const releasedDatabase = (version: string): ReleasedDatabase =>
  JSON.parse(readFileSync(join(fixtures, `${version}.json`), 'utf8')) as ReleasedDatabase;

/** The dump as SQL for an empty database, as if it had been made a moment ago. */
export function releasedDump(version: string): string {
  const shift = Date.now() - Date.parse(releasedDatabase(version).dumpedAt);
  const sql = gunzipSync(readFileSync(join(fixtures, `${version}.sql.gz`))).toString('utf8');
  return sql.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00/g, (at) =>
    new Date(Date.parse(at.replace(' ', 'T').replace('+00', 'Z')) + shift).toISOString(),
  );
}

/** Whether this tree is newer than the version: it has another number, or changes after the section of the version in the changelog. */
function isPast(version: string): boolean {
  const changes = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^## /m);
  const isEmpty = !/^- /m.test(changes.find((section) => section.startsWith('[Unreleased]')) ?? '');
  const hasSection = changes.some((section) => section.startsWith(`[${version}]`));
  return installedVersion() !== version || (hasSection && !isEmpty);
}

const exists = (revision: string): boolean =>
  spawnSync('git', ['-C', root, 'cat-file', '-e', `${revision}^{commit}`]).status === 0;

/**
 * Unpacks the code of a released version into the folder, by its tag, or in a clone without tags by its commit. Before the release a clone without
 * history takes the code of this tree.
 * @throws Error for a clone that has neither
 */
export function unpackReleased(version: string, folder: string): string {
  const tree = join(folder, version);
  mkdirSync(tree);
  const revision = [`v${version}`, releasedDatabase(version).commit].find(exists);
  if (revision !== undefined) {
    const archive = ['-C', root, 'archive', revision, ...parts];
    execFileSync('tar', ['-x', '-C', tree], { input: execFileSync('git', archive, { maxBuffer: 2 ** 28 }) });
  } else if (isPast(version)) throw new Error(`this clone lacks the tag v${version}: git fetch --tags --unshallow`);
  else for (const part of parts) execFileSync('cp', ['-a', join(root, part), tree]);
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  return tree;
}
