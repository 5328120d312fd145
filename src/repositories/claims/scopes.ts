// Reads and writes the table scopes: scopes of an operator that release claims.
import { type Sql, statement } from '../../database/database.ts';

export interface ClaimScope {
  name: string;
  /** What users read on the consent page, by language. */
  text: Record<string, string>;
  claims: string[];
}

const columns = 'name, text, claims';
const list = statement('scopes.list', `SELECT ${columns} FROM scopes ORDER BY name`);
const namesAmong = statement('scopes.names_among', 'SELECT name FROM scopes WHERE name = ANY ($1)');
// makes a scope and an API with the same word see each other; the number is arbitrary
const lockWords = statement('scopes.lock_words', 'SELECT pg_advisory_xact_lock(7106346)');
// a client that is registered for the word would get the scope without an administrator's word
const isTaken = statement(
  'scopes.is_taken',
  `SELECT EXISTS (SELECT FROM resources WHERE scopes ? $1) OR EXISTS (
     SELECT FROM clients WHERE $1 = ANY (string_to_array(metadata ->> 'scope', ' '))
        OR $1 = ANY (string_to_array(pending_metadata ->> 'scope', ' '))) AS taken`,
);
const insert = statement(
  'scopes.insert',
  `INSERT INTO scopes (${columns}) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING ${columns}`,
);
const update = statement(
  'scopes.update',
  `UPDATE scopes SET text = coalesce($2, text), claims = coalesce($3, claims) WHERE name = $1 RETURNING ${columns}`,
);
const remove = statement('scopes.delete', 'DELETE FROM scopes WHERE name = $1');

export function scopesRepository(sql: Sql) {
  return {
    list: (): Promise<ClaimScope[]> => sql.query<ClaimScope>(list),
    /** Those of the words that are scopes of an operator. */
    async namesAmong(words: readonly string[]): Promise<string[]> {
      return (await sql.query<{ name: string }>(namesAmong, [words])).map(({ name }) => name);
    },
    /** In a transaction: no other one makes a scope of a word meanwhile. */
    async lockWords(): Promise<void> {
      await sql.query(lockWords);
    },
    /** Whether an API has the word as a scope, or a client is registered for it. */
    async isTaken(name: string): Promise<boolean> {
      return (await sql.query<{ taken: boolean }>(isTaken, [name]))[0]!.taken;
    },
    async insert({ name, text, claims }: ClaimScope): Promise<ClaimScope | undefined> {
      return (await sql.query<ClaimScope>(insert, [name, text, claims]))[0];
    },
    async update(name: string, change: Partial<Omit<ClaimScope, 'name'>>): Promise<ClaimScope | undefined> {
      return (await sql.query<ClaimScope>(update, [name, change.text, change.claims]))[0];
    },
    async delete(name: string): Promise<void> {
      await sql.query(remove, [name]);
    },
  };
}
