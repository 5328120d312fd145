// Records each statement of a traced request as a span by its name: never its text with values, nor the message of an error (security R99).
import { asSpan, currentSpan, traced } from '../outbound/span.ts';
import type { Database, Sql } from './database.ts';

/** The same database with spans. Only a service with traces uses it, so that statements cost nothing without them. */
export function tracedDatabase(database: Database): Database {
  return {
    ...database,
    query: tracedQuery(database),
    transaction: (work) =>
      traced('transaction', () => database.transaction((sql) => work({ query: tracedQuery(sql) }))),
  };
}

const tracedQuery =
  (sql: Sql): Sql['query'] =>
  <Row>(statement: Parameters<Sql['query']>[0], values?: unknown[]) => {
    const parent = currentSpan();
    const query = () => sql.query<Row>(statement, values);
    if (!parent) return query();
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': statement.name };
    // called at once, since statements that are issued together are sent together
    return asSpan(parent.begin(statement.name, 'client', attributes), query);
  };
