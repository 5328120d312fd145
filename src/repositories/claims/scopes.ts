// Reads whether a word is a scope already, beside what every entity reads and writes: scopes of an operator that release claims.
import { type Sql, statement } from '../../database/database.ts';
import { scopes } from '../../entities/scopes.ts';
import { entityRepository, entityTable } from '../entities.ts';

const namesAmong = statement('scopes.names_among', 'SELECT name FROM scopes WHERE name = ANY ($1)');
// a scope for claims and a scope of an API are created one after the other, so that both cannot get the same name; the number is arbitrary
const lockWords = statement('scopes.lock_words', 'SELECT pg_advisory_xact_lock(7106346)');
// a client that is already registered for the name would get the scope without an administrator's decision
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
    /** The names among these that are scopes of an operator. */
    async namesAmong(words: readonly string[]): Promise<string[]> {
      return (await sql.query<{ name: string }>(namesAmong, [words])).map(({ name }) => name);
    },
    /** In a transaction: no other transaction creates a scope until this one ends. */
    async lockWords(): Promise<void> {
      await sql.query(lockWords);
    },
    /** Whether an API has a scope of this name, or a client is registered for it. */
    async isTaken(name: string): Promise<boolean> {
      return (await sql.query<{ taken: boolean }>(isTaken, [name]))[0]!.taken;
    },
  };
}
