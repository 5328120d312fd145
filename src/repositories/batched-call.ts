// Calls a stored function that does all of an operation, on the hot paths: one statement for one caller, or one for all callers that wait.
import { sharedStatement } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import type { StoredFunction } from '../database/stored-functions.ts';

export interface Call {
  function: Pick<StoredFunction, 'name'>;
  /** Of its parameters, in order, with commas between them. */
  types: string;
  /** What is read of its result `r`, and of what is joined to that. */
  columns: string;
  join?: string;
  /**
   * What is locked, of the parameters `value_1` and so on: in its order, the same for all who lock it, so that they do not wait for each
   * other in a circle. Without, it waits for nobody.
   */
  locks?: string;
}

export function call(name: string, { function: { name: called }, types, columns, join = '', locks }: Call): Statement {
  const each = types.split(/,\s*/);
  const given = each.map((_, index) => `value_${index + 1}`);
  // an array of arrays would be one of two dimensions
  const isArray = (type: string) => type.endsWith('[]');
  const arrays = each.map((type, index) => `$${index + 1}::${isArray(type) ? 'text' : type}[]`);
  const values = each.map((type, index) => `asked.${given[index]}${isArray(type) ? `::${type}` : ''}`);
  return sharedStatement(
    locks === undefined ? 'write' : 'act',
    name,
    `SELECT ${columns} FROM ${called}(${each.map((_, index) => `$${index + 1}`).join(', ')}) AS r ${join}`,
    `SELECT asked.place::integer, ${columns}
       FROM (SELECT * FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS given (${given.join(', ')}, place)
              ORDER BY ${locks ?? 'place'}) AS asked
      CROSS JOIN LATERAL ${called}(${values.join(', ')}) AS r ${join}`,
  );
}
