// Reads and writes the table connection_steps: the steps of unfinished sign-ins by a connection. Each is bound to one browser and used once.
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';

/**
 * `request` waits for the answer, and `answer` is a posted answer. `verified` keeps the user's identity until the next address decides about it.
 * `signed-out` waits until the browser returns from a logout at the provider. `prove`, `name` and `link` keep the identity until the user has
 * proven the account, chosen a name, or confirmed the link.
 */
export type StepName = 'request' | 'answer' | 'verified' | 'prove' | 'name' | 'link' | 'signed-out';

export interface NewStep {
  /** The digest of the id, in hex. */
  id: string;
  step: StepName;
  connectionId: string;
  browserHash: Buffer;
  network: string | undefined;
  sealed: Buffer;
  /** In seconds. */
  lifetime: number;
}

export interface StoredStep {
  sealed: Buffer;
  createdAt: Date;
}

interface Row {
  sealed_encrypted: Buffer;
  created_at: Date;
}

/** The most steps of a browser at a time, beside a new one. */
const maxOthers = 19;

const storeStep = storedFunction(new URL('store_step.sql', import.meta.url));
const insert = statement(
  'connection_steps.insert',
  `SELECT ${storeStep.name}($1, $2, $3, $4, $5, $6, $7, ${maxOthers}, $8) AS stored`,
);
const ofBrowser = 'id = $1 AND step = $2 AND connection_id = $3 AND browser_hash = $4 AND expires_at > now()';
const find = statement(
  'connection_steps.find',
  `SELECT sealed_encrypted, created_at FROM connection_steps WHERE ${ofBrowser}`,
);
const exists = statement(
  'connection_steps.exists',
  'SELECT FROM connection_steps WHERE id = $1 AND step = $2 AND connection_id = $3 AND expires_at > now()',
);
// if two requests take the step at once, only one gets the row
const take = statement(
  'connection_steps.take',
  `DELETE FROM connection_steps WHERE ${ofBrowser} RETURNING sealed_encrypted, created_at`,
);
const removeAll = statement('connection_steps.remove_all', 'DELETE FROM connection_steps WHERE connection_id = $1');

export function connectionStepsRepository(sql: Sql) {
  const one = async (rows: Promise<Row[]>): Promise<StoredStep | undefined> => {
    const [row] = await rows;
    return row && { sealed: row.sealed_encrypted, createdAt: row.created_at };
  };
  return {
    /** Inserts a step. False if the network has too many pending sign-ins. @param perNetwork the most of them; 0 for no limit */
    async insert(made: NewStep, perNetwork: number): Promise<boolean> {
      const { id, step, connectionId, browserHash, network, sealed, lifetime } = made;
      const values = [id, step, connectionId, browserHash, network, sealed, lifetime, perNetwork];
      const [row] = await sql.query<{ stored: boolean }>(insert, values);
      return row!.stored;
    },
    /** The step, if it belongs to this connection and this browser and has not expired. */
    find: (id: string, step: StepName, connectionId: string, browserHash: Buffer): Promise<StoredStep | undefined> =>
      one(sql.query<Row>(find, [id, step, connectionId, browserHash])),
    /** Whether any browser has such a step. */
    async exists(id: string, step: StepName, connectionId: string): Promise<boolean> {
      return (await sql.query(exists, [id, step, connectionId])).length > 0;
    },
    /** Returns the step of this browser, and deletes it (federation FR4). */
    take: (id: string, step: StepName, connectionId: string, browserHash: Buffer): Promise<StoredStep | undefined> =>
      one(sql.query<Row>(take, [id, step, connectionId, browserHash])),
    /** Deletes the steps of all unfinished sign-ins by a connection. */
    async removeAll(connectionId: string): Promise<void> {
      await sql.query(removeAll, [connectionId]);
    },
  };
}
