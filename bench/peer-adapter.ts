// Stores the peer's data: oidc-provider's adapter over PostgreSQL, a table for each model, indexed, with prepared statements.
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type pg from 'pg';

/** The models that the benchmark's flows store, and their further keys besides the id. */
const indexes: Record<string, ('grant_id' | 'uid' | 'user_code')[]> = {
  AccessToken: ['grant_id'],
  AuthorizationCode: ['grant_id'],
  RefreshToken: ['grant_id'],
  DeviceCode: ['grant_id', 'user_code'],
  BackchannelAuthenticationRequest: ['grant_id'],
  ClientCredentials: [],
  Client: [],
  Grant: [],
  Interaction: [],
  Session: ['uid'],
  ReplayDetection: [],
  PushedAuthorizationRequest: [],
  InitialAccessToken: [],
  RegistrationAccessToken: [],
};
const tableOf = (model: string) => `peer_${model.replace(/(?!^)[A-Z]/g, '_$&').toLowerCase()}`;

interface Row {
  payload: AdapterPayload;
  consumed: number | null;
}

export async function createTables(pool: pg.Pool): Promise<void> {
  for (const [model, columns] of Object.entries(indexes)) {
    const table = tableOf(model);
    await pool.query(
      `CREATE TABLE IF NOT EXISTS ${table} (id text PRIMARY KEY, payload jsonb NOT NULL, grant_id text, user_code text, uid text,
         expires_at timestamptz, consumed_at timestamptz)`,
    );
    for (const column of columns)
      await pool.query(`CREATE INDEX IF NOT EXISTS ${table}_${column} ON ${table} (${column})`);
  }
}

/** The documented interface, a statement for each call; an expired row counts as missing. */
export function adapterOn(pool: pg.Pool): new (model: string) => Adapter {
  return class implements Adapter {
    readonly #model: string;
    readonly #table: string;

    constructor(model: string) {
      if (!indexes[model]) throw new Error(`the peer keeps no ${model}`);
      this.#model = model;
      this.#table = tableOf(model);
    }

    async #query(name: string, text: string, values: unknown[]): Promise<Row[]> {
      return (await pool.query<Row>({ name: `${this.#table}.${name}`, text, values })).rows;
    }

    async #findBy(column: string, value: string): Promise<AdapterPayload | undefined> {
      const text = `SELECT payload, extract(epoch FROM consumed_at)::float8 AS consumed FROM ${this.#table}
        WHERE ${column} = $1 AND (expires_at IS NULL OR expires_at > now())`;
      const [row] = await this.#query(`find_${column}`, text, [value]);
      if (!row) return undefined;
      return row.consumed === null ? row.payload : { ...row.payload, consumed: row.consumed };
    }

    async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
      await this.#query(
        'upsert',
        `INSERT INTO ${this.#table} (id, payload, grant_id, user_code, uid, expires_at)
         VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
         ON CONFLICT (id) DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id,
           user_code = excluded.user_code, uid = excluded.uid, expires_at = excluded.expires_at`,
        [id, payload, payload.grantId, payload.userCode, payload.uid, expiresIn],
      );
    }

    find(id: string) {
      return this.#findBy('id', id);
    }

    findByUid(uid: string) {
      return this.#findBy('uid', uid);
    }

    findByUserCode(userCode: string) {
      return this.#findBy('user_code', userCode);
    }

    async consume(id: string): Promise<void> {
      await this.#query('consume', `UPDATE ${this.#table} SET consumed_at = now() WHERE id = $1`, [id]);
    }

    async destroy(id: string): Promise<void> {
      await this.#query('destroy', `DELETE FROM ${this.#table} WHERE id = $1`, [id]);
    }

    async revokeByGrantId(grantId: string): Promise<void> {
      if (!indexes[this.#model]!.includes('grant_id')) return;
      await this.#query('revoke', `DELETE FROM ${this.#table} WHERE grant_id = $1`, [grantId]);
    }
  };
}
