// Short versions of the database's faults, each under load; `npm run faults` makes them at full length and prints its figures.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bed } from './bed.ts';
import { type ScenarioName, scenarios } from './scenarios.ts';

let bed: Bed;
beforeAll(async () => {
  bed = await Bed.open({ processes: 1 });
});
afterAll(async () => {
  const lines = await bed?.close();
  // whatever failed did so for want of the database, and said so
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

test('a database that is killed under load is back by itself, with all that was acknowledged (security R109)', () =>
  expectUnharmed('kill'));

test('a database that stands still is answered with 503 in time, and nothing happens late (security R108, F8)', () =>
  expectUnharmed('freeze'));

test('a pool that is exhausted is answered with 503 in time, and nobody gets a verdict (security R108, F9)', () =>
  expectUnharmed('exhaust'));

test('a read-only database refuses what writes, signs nobody out and gives no verdict (security R108, F11)', () =>
  expectUnharmed('readonly'));

test('a full disk refuses what writes, and is forgotten once there is room (security R108)', () =>
  expectUnharmed('full'));

test('ended connections fail no more requests than they had (security R109, F7)', () => expectUnharmed('terminate'));

test('a connection that is lost at its COMMIT answers no token, and a retry finds one state or the other (security R110, F6)', () =>
  expectUnharmed('cut'));

test('a service that starts before its database is ready once that is there (security R109, F10)', () =>
  expectUnharmed('boot'));

test('a standby is asked nothing: what it shows may be older than what was acknowledged (security R108)', () =>
  expectUnharmed('astray'));

test('after a failover to the synchronous standby all that was acknowledged is there (security R109, R110)', () =>
  expectUnharmed('failover'));
