// Runs short versions of the database's faults, each under load; `npm run faults` runs them at full length and prints its figures.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bed } from './bed.ts';
import { type ScenarioName, scenarios } from './scenarios.ts';

let bed: Bed;
beforeAll(async () => {
  bed = await Bed.open({ processes: 1 });
});
afterAll(async () => {
  const lines = await bed?.close();
  // every failure has the database as its reason, and names it
  expect(lines?.filter((line) => line.includes('"status":500'))).toEqual([]);
});

async function expectUnharmed(name: ScenarioName): Promise<void> {
  const { short, run } = scenarios[name];
  const { answered } = bed.load.requests.counts;
  const before = bed.violations.length;
  bed.takeTimes();
  await run(bed, short);
  bed.takeTimes();
  expect(bed.violations.slice(before)).toEqual([]);
  expect(bed.load.requests.counts.answered).toBeGreaterThan(answered);
}

test('a database that is killed under load recovers by itself, with everything that was acknowledged (security R109)', () =>
  expectUnharmed('kill'));

test('while the database hangs the answer is 503 in time, and nothing happens late (security R108, F8)', () =>
  expectUnharmed('freeze'));

test('while the pool is exhausted the answer is 503 in time, and no request gets a verdict (security R108, F9)', () =>
  expectUnharmed('exhaust'));

test('a read-only database refuses writes, signs no user out and gives no verdict (security R108, F11)', () =>
  expectUnharmed('readonly'));

test('a full disk refuses writes, and the service recovers once there is room (security R108)', () =>
  expectUnharmed('full'));

test('terminated connections fail no more requests than they had (security R109, F7)', () =>
  expectUnharmed('terminate'));

test('a connection that is lost at its COMMIT answers no token, and a retry finds one state or the other (security R110, F6)', () =>
  expectUnharmed('cut'));

test('a service that starts before its database is ready once the database is up (security R109, F10)', () =>
  expectUnharmed('boot'));

test('the service sends no query to a standby, whose data may be older than what was acknowledged (security R108)', () =>
  expectUnharmed('astray'));

test('after a failover to the synchronous standby everything that was acknowledged is there (security R109, R110)', () =>
  expectUnharmed('failover'));
