// Runs the example of docs/dev.md for one language with its libraries, which it downloads: node test/dev-examples/run.ts python|java|go
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const here = import.meta.dirname;
/** The programs that a developer would call. */
const languages: Record<string, (readonly string[])[]> = {
  python: [
    ['python3', '-m', 'venv', '.venv'],
    ['.venv/bin/pip', 'install', '--quiet', '--requirement', 'requirements.txt'],
    ['.venv/bin/pytest', '-q'],
  ],
  java: [['mvn', '--batch-mode', '--quiet', 'test']],
  go: [['go', 'test', '-count=1', './...']],
};

const [language = ''] = process.argv.slice(2);
const commands = languages[language];
if (!commands) {
  console.error(`Usage: run.ts ${Object.keys(languages).join('|')}`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-dev-example-'));
try {
  cpSync(join(here, language), folder, { recursive: true });
  for (const [program, ...words] of commands) {
    const begin = performance.now();
    const { status, error } = spawnSync(program!, words, {
      cwd: folder,
      env: {
        ...process.env,
        GATEHOUSE: join(here, '../../bin/gatehouse'),
        GATEHOUSE_CONFIG: join(here, 'gatehouse.yaml'),
      },
      stdio: 'inherit',
    });
    if (error) throw error;
    console.log(`${[program, ...words].join(' ')}: ${((performance.now() - begin) / 1000).toFixed(1)} s`);
    if (status !== 0) {
      process.exitCode = 1;
      break;
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
