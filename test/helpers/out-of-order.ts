// Records events in transactions that are open together, and commit in another order than they began.
import pg from 'pg';
import type { TestDatabase } from './database.ts';

/** @returns the ids of the events, of the actor `test` */
export async function recordOutOfOrder(database: TestDatabase, sessions: number, each: number): Promise<string[]> {
  const clients = Array.from({ length: sessions }, () => new pg.Client(database.connection));
  await Promise.all(clients.map((client) => client.connect()));
  const before = await database.sql<{ last: string }>('SELECT coalesce(max(id), 0) AS last FROM audit_events');
  for (const client of clients) await client.query('BEGIN');
  for (let count = 0; count < each; count++)
    for (const [index, client] of clients.entries())
      await client.query('SELECT record_event($1)', [
        { type: 'group.changed', outcome: 'success', actor: 'test', detail: { group: `${index}-${count}` } },
      ]);
  // every third from the end, then the others
  const order = clients.map((client, index) => ({ client, place: ((index * 7) % sessions) + (index % 3) * sessions }));
  for (const { client } of order.sort((a, b) => b.place - a.place)) await client.query('COMMIT');
  await Promise.all(clients.map((client) => client.end()));
  const rows = await database.sql<{ id: string }>(
    `SELECT id::text FROM audit_events WHERE id > $1 AND actor = 'test' AND type = 'group.changed'`,
    [before[0]!.last],
  );
  return rows.map(({ id }) => id);
}
