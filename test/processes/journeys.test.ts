// Counts the feature files that run for a token request and an introspection, so that a feature costs nothing to clients without it.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

/** The most feature files of a journey (architecture, the path of a token request). */
const most = { 'code grant': 14, introspection: 8 };

test('a code grant runs at most 14 feature files, and an introspection 8 (architecture, the path of a token request)', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/journeys.ts'], { cwd: root });
  const rows = stdout.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  for (const [journey, limit] of Object.entries(most)) {
    const count = Number(rows.find(([, name]) => name === journey)?.[4]);
    expect(count, `${journey}: node bench/journeys.ts --files "${journey}" names them`).toBeGreaterThan(0);
    expect(count, `${journey}: node bench/journeys.ts --files "${journey}" names them`).toBeLessThanOrEqual(limit);
  }
});
