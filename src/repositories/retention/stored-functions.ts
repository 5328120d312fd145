// Declares the stored functions that this instance calls, so that the start of another version does not drop them.
import { type Sql, statement } from '../../database/database.ts';
import { storedFunctionNames } from '../../database/stored-functions.ts';

const nameAgain = statement(
  'stored_functions.name',
  // in the order in which a start writes them, so that the two do not deadlock
  `UPDATE stored_functions SET named_at = now() WHERE name = ANY (ARRAY(
     SELECT name FROM stored_functions WHERE name = ANY ($1) AND named_at < now() - interval '1 hour' ORDER BY name FOR UPDATE))`,
);

export function storedFunctionsRepository(sql: Sql) {
  return {
    /** Writes at most once an hour. */
    async name(): Promise<void> {
      await sql.query(nameAgain, [storedFunctionNames()]);
    },
  };
}
