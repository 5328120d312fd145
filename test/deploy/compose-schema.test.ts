// Reads the compose files of deploy/ with the library of compose itself, which checks them by the schema of compose.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const folder = resolve(import.meta.dirname, '../../deploy/compose');
const copies = mkdtempSync(join(tmpdir(), 'gatehouse-compose-'));
afterAll(() => rmSync(copies, { recursive: true, force: true }));

test.each(['single', 'caddy', 'traefik', 'cluster'])(
  'compose reads %s, and refuses a member that is not in its schema (delivery 4)',
  (kind) => {
    const text = readFileSync(join(folder, kind, 'compose.yml'), 'utf8');
    const needed = Object.fromEntries([...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => [name!, 'a-value']));
    const read = (content: string) => {
      const file = join(copies, `${kind}.yml`);
      writeFileSync(file, content);
      const env = { PATH: process.env['PATH'], ...needed };
      return spawnSync(process.env['COMPOSE']!, [file], { cwd: copies, encoding: 'utf8', env });
    };
    const { status, stdout, stderr } = read(text);
    expect([status, stderr]).toEqual([0, '']);
    // a name without a value is left out where it has none
    expect(stdout).not.toContain('"SMTP_URL": ""');
    expect(read(text.replace('read_only:', 'readonly:')).stderr).toMatch(/readonly/);
  },
);
