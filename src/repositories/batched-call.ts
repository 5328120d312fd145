// Declares a statement that calls a stored function for a whole operation: once for a single caller, or in one batch for all that wait.
import { batchedStatement } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import type { StoredFunction } from '../database/stored-functions.ts';

export interface Call {
  function: Pick<StoredFunction, 'name'>;
  /** The types of its parameters, in order, separated by commas. */
  types: string;
  /** The columns to return, of its result `r` and of the tables in `join`. */
  columns: string;
  join?: string;
  /**
   * The parameters, named `value_1` and so on, whose rows are locked. A batch locks in this order, which is the same for all statements, so
   * that no deadlock occurs. Without it, the function must not wait for a lock.
   */
  locks?: string;
}

export function batchedCall(
  name: string,
  { function: { name: called }, types, columns, join = '', locks }: Call,
): Statement {
  const each = types.split(/,\s*/);
  const parameters = each.map((_, index) => `value_${index + 1}`);
  // PostgreSQL has no array of arrays, only one of two dimensions
  const isArray = (type: string) => type.endsWith('[]');
  const arrays = each.map((type, index) => `$${index + 1}::${isArray(type) ? 'text' : type}[]`);
  const values = each.map((type, index) => `asked.${parameters[index]}${isArray(type) ? `::${type}` : ''}`);
  return batchedStatement(
    locks === undefined ? 'write' : 'operation',
    name,
    `SELECT ${columns} FROM ${called}(${each.map((_, index) => `$${index + 1}`).join(', ')}) AS r ${join}`,
    `SELECT asked.place::integer, ${columns}
       FROM (SELECT * FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS given (${parameters.join(', ')}, place)
              ORDER BY ${locks ?? 'place'}) AS asked
      CROSS JOIN LATERAL ${called}(${values.join(', ')}) AS r ${join}`,
  );
}
