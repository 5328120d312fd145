// Two versions of a stored function are installed and called side by side, and a function that no instance names is dropped.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../src/database/migrations.ts';
import {
  installStoredFunctions,
  readStoredFunction,
  type StoredFunction,
} from '../../src/database/stored-functions.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { startTestService } from '../helpers/service.ts';

let folder: string;
let database: TestDatabase;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-functions-'));
  database = await createTestDatabase();
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

/** Declares a function of an SQL file with this body, which returns an integer. */
function declare(name: string, body: string, calls: StoredFunction[] = []): StoredFunction {
  const file = join(folder, `${name}.sql`);
  writeFileSync(
    file,
    `CREATE FUNCTION {{${name}}}() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN ${body}; END $$;\n`,
  );
  return readStoredFunction(pathToFileURL(file), calls);
}

/** Installs these functions, as an instance that calls only them does. */
async function install(functions: StoredFunction[]): Promise<void> {
  const client = new pg.Client(database.connection);
  await client.connect();
  await installStoredFunctions(client, functions);
  await client.end();
}

const result = async ({ name }: StoredFunction) =>
  (await database.sql<{ result: number }>(`SELECT ${name}() AS result`))[0]!.result;
const installed = async (pattern: string) => {
  const rows = await database.sql<{ name: string }>(
    `SELECT proname AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname LIKE $1 ORDER BY 1`,
    [pattern],
  );
  return rows.map(({ name }) => name);
};

test('two versions of a function, and of the function that it calls, work side by side (decisions section 8)', async () => {
  const oldInner = declare('tested_inner', '1');
  const oldOuter = declare('tested_outer', '10 * {{tested_inner}}()', [oldInner]);
  await install([oldInner, oldOuter]);
  const newInner = declare('tested_inner', '2');
  const newOuter = declare('tested_outer', '10 * {{tested_inner}}()', [newInner]);
  await install([newInner, newOuter]);
  expect(oldInner.name).toMatch(/^tested_inner_[0-9a-f]{8}$/);
  // the text is the same, but it calls another function
  expect(newOuter.name).not.toBe(oldOuter.name);
  expect([await result(oldOuter), await result(newOuter)]).toEqual([10, 20]);
  // the same text is the same function, and installing it again changes nothing
  expect(declare('tested_inner', '2').name).toBe(newInner.name);
  await install([newInner, newOuter]);
  expect(await installed('tested%')).toEqual([oldInner, newInner, oldOuter, newOuter].map(({ name }) => name).sort());
});

test('a function that no instance has named for a week is dropped, and a named function stays (decisions section 8)', async () => {
  const [gone, kept] = [declare('tested_gone', '1'), declare('tested_kept', '1')];
  await install([gone, kept]);
  await database.sql(`UPDATE stored_functions SET named_at = now() - interval '6 days' WHERE name = $1`, [kept.name]);
  await database.sql(`UPDATE stored_functions SET named_at = now() - interval '8 days' WHERE name <> $1`, [kept.name]);
  const own = (await database.sql('SELECT 1 FROM stored_functions')).length - 2;
  // the start names the functions of this version before it drops any
  await migrate(database.connection);
  expect(await installed('tested%')).toContain(kept.name);
  const left = await database.sql<{ name: string }>('SELECT name FROM stored_functions');
  expect(left.map(({ name }) => name)).not.toContain(gone.name);
  expect(await installed(gone.name)).toEqual([]);
  expect(left.length).toBeGreaterThan(own);
});

test('a function that an operator dropped is installed again by the next start (decisions section 8)', async () => {
  const dropped = declare('tested_dropped', '1');
  await install([dropped]);
  await database.sql(`DROP FUNCTION ${dropped.name}`);
  await install([dropped]);
  expect(await installed(dropped.name)).toEqual([dropped.name]);
});

test('an instance names its functions again while it serves (decisions section 8)', async () => {
  const service = await startTestService();
  await service.database.sql(`UPDATE stored_functions SET named_at = now() - interval '2 hours'`);
  await service.store.storedFunctions.name();
  const late = `SELECT 1 FROM stored_functions WHERE named_at < now() - interval '1 minute'`;
  expect(await service.database.sql(late)).toEqual([]);
  await service.stop();
});

test('a file that calls an undeclared function is refused when it is read (decisions section 8)', () => {
  expect(() => declare('tested_alone', '{{tested_missing}}()')).toThrow(
    'tested_alone.sql calls tested_missing, which is not declared',
  );
});
