// Creates the functions of migrations/functions/, which tables, triggers and statements use, and replaces those whose text has changed.
import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type pg from 'pg';

export interface SchemaFunction {
  /** Its name, which is also that of its file. */
  name: string;
  text: string;
}

/** Says that a function needs a table, a type, a column or another function, which may come later. */
const waits = 'undefined_table OR undefined_object OR undefined_column OR undefined_function';

/** Reads the functions of a folder, each from a file of its own. */
export async function readSchemaFunctions(directory: string): Promise<SchemaFunction[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (file) => ({
      name: basename(file, '.sql'),
      text: await readFile(join(directory, file), 'utf8'),
    })),
  );
}

/** The names of those functions that are in the schema. */
export async function presentFunctions(
  client: pg.ClientBase,
  functions: readonly SchemaFunction[],
): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT proname AS name FROM pg_proc WHERE pronamespace = quote_ident(current_schema())::regnamespace AND proname = ANY ($1)',
    [functions.map(({ name }) => name)],
  );
  return new Set(rows.map(({ name }) => name));
}

/**
 * Creates the functions that are missing, before numbered files need them: for an index, a constraint or a trigger. Functions that exist stay as they
 * are, since the tables may still lack what the new text needs. One that needs a table which is missing yet waits for writeSchemaFunctions().
 * @returns the functions that wait
 */
export async function createMissingFunctions(
  client: pg.ClientBase,
  functions: readonly SchemaFunction[],
): Promise<SchemaFunction[]> {
  // else a body that names a later table is refused
  await client.query('SET check_function_bodies = off');
  let present = await presentFunctions(client, functions);
  let missing = functions.filter(({ name }) => !present.has(name));
  for (let before = Infinity; missing.length > 0 && missing.length < before;) {
    before = missing.length;
    // the exception is caught in the server, so that its log has no error
    for (const { text } of missing)
      await client.query(
        `DO $create$ BEGIN EXECUTE $text$${text}$text$; EXCEPTION WHEN ${waits} THEN NULL; END $create$`,
      );
    present = await presentFunctions(client, missing);
    missing = missing.filter(({ name }) => !present.has(name));
  }
  await client.query('RESET check_function_bodies');
  return missing;
}

/**
 * Writes the functions whose text is not the one that was written last, unless a newer version wrote it: so an instance of an older version, which starts
 * while the newer one serves too, takes nothing back. Called under the migration lock, after the numbered files.
 * @param version the version of this program
 * @returns the names of those that it wrote
 */
export async function writeSchemaFunctions(
  client: pg.ClientBase,
  functions: readonly SchemaFunction[],
  version: string,
): Promise<string[]> {
  const { rows } = await client.query<{ name: string; digest: string; version: string }>(
    'SELECT name, digest, version FROM schema_functions',
  );
  const written = new Map(rows.map((row) => [row.name, row]));
  const present = await presentFunctions(client, functions);
  const stale = functions.filter(({ name, text }) => {
    const last = written.get(name);
    return !present.has(name) || !last || (last.digest !== digestOf(text) && !isNewer(last.version, version));
  });
  if (stale.length === 0) return [];
  await client.query('BEGIN');
  try {
    await createMissingFunctions(client, stale);
    // now with a check of their bodies
    for (const { text } of stale) await client.query(text);
    await client.query(
      `INSERT INTO schema_functions (name, digest, version) SELECT *, $3 FROM unnest($1::text[], $2::text[])
         ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, version = excluded.version, written_at = now()`,
      [stale.map(({ name }) => name), stale.map(({ text }) => digestOf(text)), version],
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
  return stale.map(({ name }) => name);
}

const digestOf = (text: string) => hash('sha256', text);

/** Whether version `a`, such as 0.2.0, is newer than `b`. */
function isNewer(a: string, b: string): boolean {
  const [left, right] = [a, b].map((version) => version.split(/[.+-]/, 3).map(Number));
  const place = left!.findIndex((number, index) => number !== right![index]);
  return place >= 0 && left![place]! > right![place]!;
}
