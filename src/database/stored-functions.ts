// Declares the stored functions that repositories call, and installs them under names that tell their versions apart.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type pg from 'pg';

export interface StoredFunction {
  /** Its name in the database: the name of its file and a hash of its text. */
  readonly name: string;
  /** The statement that creates it. */
  readonly text: string;
}

/** The functions that this process calls. Each one follows the functions that it calls itself. */
const declared: StoredFunction[] = [];
/** Matches the placeholder of a function's name in a file: its own, or that of a function that it calls. */
const placeholder = /\{\{(\w+)\}\}/g;
/** A function that no instance has declared for this long is dropped. Each instance declares its functions every hour. */
const retention = '1 week';

/**
 * Reads a function from `<name>.sql`, where `{{name}}` is replaced by the function's name in the database, or by that of a function that it
 * calls. The name changes with the text of the function and of those that it calls, so that two versions of Gatehouse can run at once.
 * @param calls the functions that its text calls
 */
export function readStoredFunction(file: URL, calls: readonly StoredFunction[] = []): StoredFunction {
  const self = basename(file.pathname, '.sql');
  const names = new Map(calls.map(({ name }) => [baseName(name), name]));
  const resolve = (text: string) => text.replace(placeholder, (found, name: string) => names.get(name) ?? found);
  const text = resolve(readFileSync(file, 'utf8'));
  names.set(self, `${self}_${hash('sha256', text).slice(0, 8)}`);
  const made = { name: names.get(self)!, text: resolve(text) };
  const unknown = /\{\{(\w+)\}\}/.exec(made.text)?.[1];
  if (unknown !== undefined) throw new Error(`${self}.sql calls ${unknown}, which is not declared`);
  return made;
}

/** Reads a function and declares that this process calls it. */
export function storedFunction(...parameters: Parameters<typeof readStoredFunction>): StoredFunction {
  const made = readStoredFunction(...parameters);
  declared.push(made);
  return made;
}

const baseName = (name: string) => name.replace(/_[0-9a-f]{8}$/, '');

/** The names of the functions that this process may call. */
export const storedFunctionNames = (): string[] => declared.map(({ name }) => name);

/** Installs missing functions, and drops those that no instance declares any more. Called under the migration lock. */
export async function installStoredFunctions(client: pg.ClientBase, functions = declared): Promise<void> {
  const names = functions.map(({ name }) => name);
  const { rows } = await client.query<{ name: string }>(
    // an operator may have dropped a function
    'SELECT name FROM stored_functions WHERE to_regproc(quote_ident(name)) IS NOT NULL',
  );
  const installed = new Set(rows.map(({ name }) => name));
  const missing = functions.filter(({ name }) => !installed.has(name));
  await client.query('BEGIN');
  try {
    for (const { text } of missing) await client.query(text);
    await client.query(
      `INSERT INTO stored_functions (name) SELECT name FROM unnest($1::text[]) AS name ORDER BY name ON CONFLICT (name) DO UPDATE SET named_at = now()`,
      [names],
    );
    const unused = await client.query<{ name: string }>(
      `DELETE FROM stored_functions WHERE named_at < now() - interval '${retention}' RETURNING quote_ident(name) AS name`,
    );
    for (const { name } of unused.rows) await client.query(`DROP FUNCTION IF EXISTS ${name}`);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
