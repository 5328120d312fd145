// Declares a statement that selects one row by its key: once for a single caller, or in one batch for all that wait.
import { batchedStatement } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';

/**
 * @param types of the parts of the key
 * @param text makes the SELECT, of one row at most, from the expressions for these parts
 */
export function batchedSelect(name: string, types: readonly string[], text: (...key: string[]) => string): Statement {
  const columns = types.map((_, index) => `key_${index + 1}`);
  const arrays = types.map((type, index) => `$${index + 1}::${type}[]`);
  return batchedStatement(
    'read',
    name,
    text(...types.map((_, index) => `$${index + 1}`)),
    // LIMIT keeps the plan that uses the index: a plain join with the keys would read a table whole that is small when it is planned
    `SELECT asked.place::integer, found.*
       FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS asked (${columns.join(', ')}, place),
            LATERAL (${text(...columns.map((column) => `asked.${column}`))} LIMIT 1) AS found`,
  );
}
