// A look-up of one row by its key, on the hot paths: alone it is a statement for one, and those that wait at the same time are one for all.
import { sharedStatement } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';

/**
 * @param types of the parts of the key
 * @param text finds one row at most, by the names of these parts in it
 */
export function lookUp(name: string, types: readonly string[], text: (...key: string[]) => string): Statement {
  const columns = types.map((_, index) => `key_${index + 1}`);
  const arrays = types.map((type, index) => `$${index + 1}::${type}[]`);
  return sharedStatement(
    'read',
    name,
    text(...types.map((_, index) => `$${index + 1}`)),
    // LIMIT keeps the plan of one, by the indexes: joined with the keys, tables that are small when it is planned would be read whole
    `SELECT asked.place::integer, found.*
       FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS asked (${columns.join(', ')}, place),
            LATERAL (${text(...columns.map((column) => `asked.${column}`))} LIMIT 1) AS found`,
  );
}
