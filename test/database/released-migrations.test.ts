// The migrations since a release come after those of the release, and a database on which they ran in another order is refused.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { migrate } from '../../src/database/migrations.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { releasedDump } from '../helpers/released.ts';

const names = readdirSync(join(import.meta.dirname, '../../migrations'))
  .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
  .map((file) => file.replace('.sql', ''))
  .toSorted();

test('the released migrations stay, and the number of a new one is greater (decisions section 8)', () => {
  const rows = /^INSERT INTO public\.migrations VALUES\n(.*?);$/ms.exec(releasedDump('0.1.0'))![1]!;
  const released = [...rows.matchAll(/'(\d{4}_\w+)'/g)].map((match) => match[1]!);
  expect(released.length).toBeGreaterThan(50);
  expect(names.slice(0, released.length)).toEqual(released);
});

test('a database that lacks a migration before its last one is refused at once, in one sentence (decisions section 8)', async () => {
  const database = await createTestDatabase();
  const [early, late] = [names.at(-2)!, names.at(-1)!];
  await database.sql('DELETE FROM migrations WHERE name = $1', [early]);
  await expect(migrate(database.connection)).rejects.toThrow(
    `The database has the migration ${late} without ${early}, so a version in between that was never released made it: start that version, or restore a backup.`,
  );
  await database.drop();
});
