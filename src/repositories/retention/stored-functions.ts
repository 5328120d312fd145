// Declares the stored functions that this instance calls, so that the start of another version does not drop them.
import { type Sql, statement } from '../../database/database.ts';
import { storedFunctionNames } from '../../database/stored-functions.ts';

const nameAgain = statement(
  'stored_functions.name',
  `UPDATE stored_functions SET named_at = now() WHERE name = ANY ($1) AND named_at < now() - interval '1 hour'`,
);

export function storedFunctionsRepository(sql: Sql) {
  return {
    /** Writes at most once an hour. */
    async name(): Promise<void> {
      await sql.query(nameAgain, [storedFunctionNames()]);
    },
  };
}
