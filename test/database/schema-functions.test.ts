// Each function of the schema stands in one file, which every start writes again when it has changed, unless a newer version wrote it.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../src/database/migrations.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

const migrations = join(import.meta.dirname, '../../migrations');
const files = readdirSync(migrations, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.sql'));

let database: TestDatabase;
let directory: string;
beforeEach(async () => {
  database = await createTestDatabase();
  directory = mkdtempSync(join(tmpdir(), 'gatehouse-migrations-'));
  cpSync(migrations, directory, { recursive: true });
});
afterEach(async () => {
  rmSync(directory, { recursive: true, force: true });
  await database.drop();
});

/** Another text of a function, which says what it is. */
const write = (name: string, answer: string) =>
  writeFileSync(
    join(directory, 'functions', `${name}.sql`),
    `CREATE OR REPLACE FUNCTION ${name}() RETURNS text[] LANGUAGE sql STABLE AS $$ SELECT '{${answer}}'::text[] $$;\n`,
  );
const answer = async (name = 'guarded_groups') =>
  (await database.sql<{ answer: string[] }>(`SELECT ${name}() AS answer`))[0]!.answer[0];
const start = (version: string) => migrate(database.connection, { directory, version });

test('a function is created once in migrations/, in the file of its name, whose first line says what it does (architecture, entities)', () => {
  const created = files.flatMap((file) =>
    [...readFileSync(join(migrations, file), 'utf8').matchAll(/^\s*CREATE (?:OR REPLACE )?FUNCTION (\w+)/gim)].map(
      ([, name]) => ({ file, name: name! }),
    ),
  );
  expect(created.length).toBeGreaterThan(50);
  const names = created.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  for (const { file, name } of created) {
    expect(file).toBe(join('functions', `${name}.sql`));
    expect(readFileSync(join(migrations, file), 'utf8'), file).toMatch(/^-- [A-Z][a-z]+s /);
  }
  expect(files.filter((file) => file.startsWith('functions')).map((file) => basename(file, '.sql'))).toEqual(
    names.sort(),
  );
});

test('the schema has no function beside these files and the stored functions (architecture, entities)', async () => {
  const unknown = await database.sql(
    `SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        AND proname NOT IN (SELECT name FROM schema_functions UNION ALL SELECT name FROM stored_functions)`,
  );
  expect(unknown).toEqual([]);
});

test('a start writes a function whose text has changed, and no other, and the next start nothing (architecture, entities)', async () => {
  const before = await database.sql(
    `SELECT name, written_at FROM schema_functions WHERE name <> 'guarded_groups' ORDER BY name`,
  );
  write('guarded_groups', 'changed');
  expect(await start('0.1.0')).toEqual(['functions/guarded_groups']);
  expect(await answer()).toBe('changed');
  expect(await start('0.1.0')).toEqual([]);
  expect(
    await database.sql(`SELECT name, written_at FROM schema_functions WHERE name <> 'guarded_groups' ORDER BY name`),
  ).toEqual(before);
});

test('an older version that starts beside a newer one leaves what the newer one wrote (architecture, entities)', async () => {
  write('guarded_groups', 'newer');
  expect(await start('0.10.0')).toEqual(['functions/guarded_groups']);
  write('guarded_groups', 'older');
  expect(await start('0.9.1')).toEqual([]);
  expect(await answer()).toBe('newer');
  write('guarded_groups', 'newest');
  expect(await start('0.10.1')).toEqual(['functions/guarded_groups']);
  expect(await answer()).toBe('newest');
});

test('a function that an operator dropped is created again (architecture, entities)', async () => {
  await database.sql('DROP FUNCTION guarded_groups()');
  expect(await start('0.1.0')).toEqual(['functions/guarded_groups']);
});

test('a new function is there before the file that needs it, and one that needs a new table after it (architecture, entities)', async () => {
  write('checked', 'checked');
  writeFileSync(
    join(directory, 'functions', 'planted_label.sql'),
    'CREATE OR REPLACE FUNCTION planted_label(of planted) RETURNS text LANGUAGE sql IMMUTABLE RETURN (of).name;\n',
  );
  writeFileSync(
    join(directory, '9999_planted.sql'),
    `CREATE TABLE planted (name text CHECK (name <> (checked())[1]));\n`,
  );
  expect(await start('0.1.0')).toEqual(['9999_planted', 'functions/checked', 'functions/planted_label']);
  await database.sql(`INSERT INTO planted VALUES ('one')`);
  expect(await database.sql('SELECT planted_label(p) AS label FROM planted p')).toEqual([{ label: 'one' }]);
});

test('of a function that cannot be written nothing stays, and the start says why (architecture, entities)', async () => {
  const before = await answer();
  write('guarded_groups', 'changed');
  writeFileSync(
    join(directory, 'functions', 'wrong.sql'),
    'CREATE OR REPLACE FUNCTION wrong() RETURNS text LANGUAGE sql RETURN no_such_function();\n',
  );
  await expect(start('0.1.0')).rejects.toThrow('no_such_function');
  expect(await answer()).toBe(before);
});
