// Declares the stored functions that repositories call, and installs them under names that tell their versions apart.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type pg from 'pg';

export interface StoredFunction {
  /** In the database: the name of its file and a hash of its text. */
  readonly name: string;
  /** The statement that creates it. */
  readonly text: string;
}

/** The functions that this process calls, each after those that it calls itself. */
const declared: StoredFunction[] = [];
/** The name of a function in the text of a file: its own, or that of a function that it calls. */
const placeholder = /\{\{(\w+)\}\}/g;
/** A function that no instance names for so long is dropped. Each instance names its own every hour. */
const keptFor = '1 week';

/**
 * Reads a function from `<name>.sql`, where `{{name}}` is the name in the database of the function or of one that it calls. Its name changes with its
 * text and with those of the functions that it calls, so that instances of two versions call each their own.
 * @param calls the functions that its text names
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

/** Reads a function, and declares that this process calls it. */
export function storedFunction(...parameters: Parameters<typeof readStoredFunction>): StoredFunction {
  const made = readStoredFunction(...parameters);
  declared.push(made);
  return made;
}

const baseName = (name: string) => name.replace(/_[0-9a-f]{8}$/, '');

/** The names of the functions that this process may call. */
export const storedFunctionNames = (): string[] => declared.map(({ name }) => name);

/** Installs the functions that are missing, and drops those that no instance names any more. To be called under the lock of migrations. */
export async function installStoredFunctions(client: pg.ClientBase, functions = declared): Promise<void> {
  const names = functions.map(({ name }) => name);
  const { rows } = await client.query<{ name: string }>('SELECT name FROM stored_functions');
  const installed = new Set(rows.map(({ name }) => name));
  const missing = functions.filter(({ name }) => !installed.has(name));
  await client.query('BEGIN');
  try {
    for (const { text } of missing) await client.query(text);
    await client.query(
      `INSERT INTO stored_functions (name) SELECT unnest($1::text[]) ON CONFLICT (name) DO UPDATE SET named_at = now()`,
      [names],
    );
    const unnamed = await client.query<{ name: string }>(
      `DELETE FROM stored_functions WHERE named_at < now() - interval '${keptFor}' RETURNING quote_ident(name) AS name`,
    );
    for (const { name } of unnamed.rows) await client.query(`DROP FUNCTION IF EXISTS ${name}`);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
