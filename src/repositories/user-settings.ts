// The table user_settings: what a client keeps about a user, one row so that writers of different keys lose nothing.
import { isCheckViolation, type Sql, statement } from '../database/database.ts';

export interface UserSettings {
  settings: Record<string, unknown>;
  /** Rises with every write: the entity tag. */
  version: string;
}

export type WriteResult = 'written' | 'changed' | 'too-large';

const find = statement(
  'user_settings.find',
  'SELECT settings, version FROM user_settings WHERE sub = $1 AND client_id = $2',
);
// one statement: a second writer waits for the row and then writes on top of what the first one left
const write = statement(
  'user_settings.write',
  `INSERT INTO user_settings AS s (sub, client_id, settings)
   VALUES ($1, $2, $3::jsonb)
   ON CONFLICT (sub, client_id) DO UPDATE SET
     settings = (s.settings - $4::text[]) || excluded.settings, version = s.version + 1, updated_at = now()
   RETURNING version`,
);
// where nothing was written yet, the version is 0
const writeAt = statement(
  'user_settings.write_at',
  `WITH updated AS (
     UPDATE user_settings SET settings = (settings - $4::text[]) || $3::jsonb, version = version + 1, updated_at = now()
      WHERE sub = $1 AND client_id = $2 AND version = ANY ($5::bigint[]) RETURNING version),
   inserted AS (
     INSERT INTO user_settings (sub, client_id, settings)
     SELECT $1, $2, $3::jsonb WHERE 0 = ANY ($5) AND NOT EXISTS (SELECT FROM updated)
     ON CONFLICT (sub, client_id) DO NOTHING RETURNING version)
   SELECT version FROM updated UNION ALL SELECT version FROM inserted`,
);

export function userSettingsRepository(sql: Sql) {
  return {
    /** The settings; empty at version 0 when nothing was written yet. */
    async find(sub: string, clientId: string): Promise<UserSettings> {
      const [row] = await sql.query<UserSettings>(find, [sub, clientId]);
      return row ?? { settings: {}, version: '0' };
    },
    /**
     * Sets keys and removes others, atomically.
     * @param expected the versions of which one must still hold, undefined for any
     * @returns changed when none does, too-large when the whole would pass the limits
     */
    async write(
      sub: string,
      clientId: string,
      change: { set: Record<string, unknown>; remove: string[] },
      expected: string[] | undefined,
    ): Promise<WriteResult> {
      const values = [sub, clientId, JSON.stringify(change.set), change.remove];
      try {
        const rows = await (expected ? sql.query(writeAt, [...values, expected]) : sql.query(write, values));
        return rows.length > 0 ? 'written' : 'changed';
      } catch (error) {
        if (isCheckViolation(error, 'user_settings_limits')) return 'too-large';
        throw error;
      }
    },
  };
}
