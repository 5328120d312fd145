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
   SELECT $1, $2, $3::jsonb WHERE $5::bigint IS NULL OR $5 = 0
   ON CONFLICT (sub, client_id) DO UPDATE SET
     settings = (s.settings - $4::text[]) || excluded.settings, version = s.version + 1, updated_at = now()
    WHERE $5 IS NULL
   RETURNING version`,
);
const writeAt = statement(
  'user_settings.write_at',
  `UPDATE user_settings SET settings = (settings - $4::text[]) || $3::jsonb, version = version + 1, updated_at = now()
    WHERE sub = $1 AND client_id = $2 AND version = $5::bigint RETURNING version`,
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
     * @param expected the version that must still hold, undefined for any
     * @returns changed when it does not, too-large when the whole would pass the limits
     */
    async write(
      sub: string,
      clientId: string,
      change: { set: Record<string, unknown>; remove: string[] },
      expected: string | undefined,
    ): Promise<WriteResult> {
      const chosen = expected === undefined || expected === '0' ? write : writeAt;
      try {
        const rows = await sql.query(chosen, [sub, clientId, JSON.stringify(change.set), change.remove, expected]);
        return rows.length > 0 ? 'written' : 'changed';
      } catch (error) {
        if (isCheckViolation(error, 'user_settings_limits')) return 'too-large';
        throw error;
      }
    },
  };
}
