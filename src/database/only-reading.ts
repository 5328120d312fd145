// Wraps a database so that only statements that read reach it, and those whose names are allowed to write.
import type { Database, Sql } from './database.ts';

/** @param allowed the beginning of the names of the statements that may write */
export function onlyReading(database: Database, allowed: string): Database {
  const guarded = (sql: Sql): Sql => ({
    query(statement, values) {
      // a function could write as well: none is called from a SELECT of the statements that a doctor sends
      if (!statement.name.startsWith(allowed) && !/^\s*\(?\s*(SELECT|WITH)\b/i.test(statement.text))
        throw new Error(`the statement ${statement.name} does not only read`);
      return sql.query(statement, values);
    },
  });
  return {
    ...database,
    ...guarded(database),
    transaction: (work) => database.transaction((sql) => work(guarded(sql))),
  };
}
