// Runs the demonstration beside a service that runs already, as a process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { freePort, surroundings } from '../helpers/server-process.ts';
import { startTestService } from '../helpers/service.ts';

const root = join(import.meta.dirname, '../..');

test.each([
  [
    'off',
    [
      /^ +The television is missing, .*DEVICE_GRANT=off: start that service with DEVICE_GRANT=on/m,
      /^ +The counter of the bank is missing, .*CIBA=off: start that service with CIBA=on/m,
    ],
  ],
  ['on', [/^ +http:\/\/127\.0\.0\.1:\d+ {2}a television/m, /^ +http:\/\/127\.0\.0\.1:\d+ {2}the counter of the bank/m]],
])(
  'beside a service with DEVICE_GRANT and CIBA %s, the demonstration shows the television and the counter, or says how to switch them on',
  async (grant, lines) => {
    const service = await startTestService({ environment: { DEVICE_GRANT: grant, CIBA: grant } });
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-demo-'));
    const names = ['', 'APPLICATION_', 'DEVICE_', 'MCP_', 'BANK_', 'SAML_', 'GATEWAY_', 'COUNTER_'];
    const ports = names.map((name) => `DEMO_${name}PORT`);
    const given = await Promise.all(ports.map(async (name) => [name, String(await freePort())]));
    const demo = spawn(process.execPath, ['demo/demo.ts'], {
      cwd: root,
      env: {
        ...surroundings,
        BASE_URL: service.issuer,
        DATABASE_URL: service.database.url,
        SECRET_KEY: service.secretKey,
        DATA_DIR: folder,
        ...Object.fromEntries(given),
      },
    });
    const exited = once(demo, 'exit');
    let printed = '';
    for (const output of [demo.stdout, demo.stderr])
      output.setEncoding('utf8').on('data', (part: string) => (printed += part));
    try {
      await vi.waitUntil(() => printed.includes('Ctrl-C ends') || demo.exitCode !== null, {
        timeout: 60_000,
        interval: 10,
      });
      for (const line of lines) expect(printed).toMatch(line);
      expect(printed).toContain('Gatehouse ran already');
      expect(printed).toMatch(/^ +http:\/\/127\.0\.0\.1:\d+ {2}a library that speaks SAML 2\.0/m);
      // another program may have the port of https, or the user may not listen there
      expect(printed).toMatch(/^ +(https:\/\/wiki\.localhost|The protected site is missing)/m);
    } finally {
      demo.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true, force: true });
      await service.stop();
    }
  },
  120_000,
);
