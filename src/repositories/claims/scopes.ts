// Reads whether a word is a scope already, beside what every entity reads and writes: scopes of an operator that release claims.
import { type Sql, statement } from '../../database/database.ts';
import { scopes } from '../../entities/scopes.ts';
import { entityRepository, entityTable } from '../entities.ts';

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
const table = entityTable(scopes);

export function scopesRepository(sql: Sql) {
  return {
    ...entityRepository(table, sql),
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
  };
}
