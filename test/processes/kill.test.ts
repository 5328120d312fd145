// Kills the service and the database under load, and expects everything that was acknowledged, and a service that recovers by itself.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Load } from '../helpers/load.ts';
import { freePort, postmasterOf, runCommand, startServer, stopServers } from '../helpers/server-process.ts';

/** Rounds of each test: more rounds find rarer faults, and every run has time for three; KILL_ROUNDS=20 asks for more. */
const kills = Number(process.env['KILL_ROUNDS'] ?? 3);
const loadTime = [200, 600] as const; // milliseconds before a kill, at least and at most
const limit = kills * 150_000; // milliseconds

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-kill-'));
});
afterEach(async ({ task }) => {
  const printed = await stopServers();
  const unexpected = printed.filter((line) => line && !/"level":[1-4]0|"status":503/.test(line));
  if (task.result?.state === 'fail') console.error(unexpected.slice(-20).join('\n'));
  rmSync(folder, { recursive: true, force: true });
});

/** Kills `kills` times under load, and checks each time what is still stored. */
async function killRepeatedly(what: { service: boolean; database: boolean }): Promise<void> {
  const dataDir = join(folder, 'data');
  const settings = { PORT: String(await freePort()), DATA_DIR: dataDir, ADMIN_PASSWORD: 'correct horse battery' };
  let server = startServer(settings);
  await server.ready();
  const admin = await runCommand(
    ['client', 'create', '--name', 'Admin', '--grant-type', 'client_credentials', '--scope', 'admin'],
    settings,
  );
  const load = new Load({
    issuer: server.issuer,
    database: () => ({ host: dataDir, port: 5432, user: 'gatehouse', database: 'gatehouse' }),
    admin: { clientId: admin['client_id'] as string, clientSecret: admin['client_secret'] as string },
    mayLoseConnections: what.service,
    tokensOnly: true,
  });
  await load.prepare();
  const times: number[] = [];
  for (let round = 0; round < kills; round++) {
    const before = { ...load.counts };
    load.begin();
    await delay(loadTime[0] + Math.random() * (loadTime[1] - loadTime[0]));
    // the kill could lose something of every kind
    const kinds = ['codes', 'refreshes', 'ended'] as const;
    await vi.waitUntil(() => load.violations.length > 0 || kinds.every((kind) => load.counts[kind] > before[kind]));
    const postmaster = postmasterOf(dataDir);
    expect(postmaster).toBeDefined();
    const begin = performance.now();
    if (what.database) process.kill(postmaster!, 'SIGKILL');
    if (what.service) {
      server.kill('SIGKILL');
      expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL' });
      server = startServer(settings);
    }
    times.push(
      await load.firstSuccess(begin, () => {
        const present = postmasterOf(dataDir);
        return present !== undefined && (!what.database || present !== postmaster);
      }),
    );
    await load.end();
    await load.verifyRound();
    expect(load.violations).toEqual([]);
  }
  await load.verifyAll();
  expect(load.violations).toEqual([]);
  const sorted = times.map(Math.round).sort((a, b) => a - b);
  const of = Object.entries(what).filter(([, killed]) => killed);
  console.info(
    `${kills} kills of the ${of.map(([name]) => name).join(' and the ')}: first success after ` +
      `${sorted[Math.floor(kills / 2)]} ms in the median, ${sorted.at(-1)} ms at most; ` +
      load.summary,
  );
  server.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  expect(postmasterOf(dataDir)).toBeUndefined();
}

test(
  'a killed service comes up at the next start with everything that it acknowledged (decisions section 8, security F5)',
  () => killRepeatedly({ service: true, database: false }),
  limit,
);

test(
  'the service restarts a killed database by itself and loses nothing that it acknowledged (decisions section 8, security R109)',
  () => killRepeatedly({ service: false, database: true }),
  limit,
);

test(
  'a service and a database that are killed at once come up with everything that was acknowledged, and spent tokens are dead (decisions section 8, security F16)',
  () => killRepeatedly({ service: true, database: true }),
  limit,
);
