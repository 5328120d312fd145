// Declares a statement that selects one row by its key: once for a single caller, or in one batch for all that wait.
import { batchedStatement } from '../database/database.ts';
import type { Kind, Statement } from '../database/statement.ts';

/**
 * @param types of the parts of the key
 * @param text makes the SELECT, of one row at most, from the expressions for these parts
 * @param options.kind `operation` for a SELECT that also writes, and may wait for another one that writes the same
 * @param options.order the part in whose order a batch runs, so that two batches cannot wait for each other
 */
export function batchedSelect(
  name: string,
  types: readonly string[],
  text: (...key: string[]) => string,
  { kind = 'read', order }: { kind?: Kind; order?: number } = {},
): Statement {
  const columns = types.map((_, index) => `key_${index + 1}`);
  const arrays = types.map((type, index) => `$${index + 1}::${type}[]`);
  const given = `unnest(${arrays.join(', ')}) WITH ORDINALITY AS asked (${columns.join(', ')}, place)`;
  return batchedStatement(
    kind,
    name,
    text(...types.map((_, index) => `$${index + 1}`)),
    // LIMIT keeps the plan that uses the index: a plain join with the keys would read a table whole that is small when it is planned
    `SELECT asked.place::integer, found.*
       FROM ${order === undefined ? given : `(SELECT * FROM ${given} ORDER BY key_${order}) AS asked`},
            LATERAL (${text(...columns.map((column) => `asked.${column}`))} LIMIT 1) AS found`,
  );
}
