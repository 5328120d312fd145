// Sends the statements of one transaction: those that are issued without awaiting each other go as one batch, in one round trip.
import type pg from 'pg';
import { isKnown, newPart, type Part } from './batch.ts';
import type { Statement } from './statement.ts';

interface Entry {
  part: Part;
  resolve: (part: Part) => void;
  reject: (error: unknown) => void;
}

/**
 * Returns the function that runs one statement. All statements of a failed batch get its error, since all are rolled back.
 * @param send runs parts in order
 */
export function createTransactionBatches(client: pg.ClientBase, send: (parts: readonly Part[]) => Promise<void>) {
  const queue: Entry[] = [];

  async function flush(): Promise<void> {
    while (queue.length > 0) {
      const unknown = queue.findIndex(({ part }) => !isKnown(client, part.statement));
      const batch = queue.splice(0, unknown < 0 ? queue.length : Math.max(1, unknown));
      try {
        await send(batch.map(({ part }) => part));
        for (const { part, resolve } of batch) resolve(part);
      } catch (error) {
        for (const { reject } of [...batch, ...queue.splice(0)]) reject(error);
      }
    }
  }

  return (statement: Statement, values: unknown[] = []): Promise<Part> =>
    new Promise((resolve, reject) => {
      queue.push({ part: newPart(statement, values), resolve, reject });
      if (queue.length === 1) queueMicrotask(() => void flush());
    });
}
