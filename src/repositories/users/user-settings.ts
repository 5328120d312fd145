// Reads and writes the table user_settings: the settings that a client stores for a user, in one row, so that concurrent writes of different keys are all kept.
import { isCheckViolation, type Sql, statement } from '../../database/database.ts';
import { batchedSelect } from '../batched-select.ts';

export interface UserSettings {
  settings: Record<string, unknown>;
  /** Increases with every write: the entity tag. */
  version: string;
}

/** All settings of a user for one client. */
export interface ClientSettings {
  clientId: string;
  clientName: string;
  settings: Record<string, unknown>;
  updatedAt: Date;
}

/** One key of a user's settings for a client. */
export interface SettingOutline {
  clientId: string;
  key: string;
  /** As JSON; undefined for a long value. */
  value: string | undefined;
  /** The size of the value as JSON, in bytes. */
  size: number;
}

export type WriteResult = 'written' | 'changed' | 'too-large';

const find = batchedSelect(
  'user_settings.find',
  ['text', 'text'],
  (sub, clientId) => `SELECT settings, version FROM user_settings WHERE sub = ${sub} AND client_id = ${clientId}`,
);
const list = statement(
  'user_settings.list',
  `SELECT s.client_id, coalesce(c.metadata ->> 'client_name', c.client_id) AS client_name, s.settings, s.updated_at
     FROM user_settings s JOIN clients c USING (client_id)
    WHERE s.sub = $1 AND ($2::text IS NULL OR s.client_id > $2) ORDER BY s.client_id LIMIT $3`,
);
const outline = statement(
  'user_settings.outline',
  `SELECT s.client_id, key, CASE WHEN octet_length(value::text) <= $2 THEN value::text END AS value, octet_length(value::text) AS size
     FROM user_settings s, jsonb_each(s.settings) WHERE s.sub = $1 ORDER BY s.client_id, key LIMIT $3`,
);
// one statement: a second writer waits for the row, and then changes what the first one stored
const write = statement(
  'user_settings.write',
  `INSERT INTO user_settings AS s (sub, client_id, settings)
   VALUES ($1, $2, $3::jsonb)
   ON CONFLICT (sub, client_id) DO UPDATE SET
     settings = (s.settings - $4::text[]) || excluded.settings, version = s.version + 1, updated_at = now()
   RETURNING version`,
);
// before the first write the version is 0
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
    /** The settings; empty at version 0 before the first write. */
    async find(sub: string, clientId: string): Promise<UserSettings> {
      const [row] = await sql.query<UserSettings>(find, [sub, clientId]);
      return row ?? { settings: {}, version: '0' };
    },
    /** All settings of a user, by client. @param page.after the last client_id of the previous page */
    async list(sub: string, page: { limit: number; after: string | undefined }): Promise<ClientSettings[]> {
      const rows = await sql.query<{
        client_id: string;
        client_name: string;
        settings: Record<string, unknown>;
        updated_at: Date;
      }>(list, [sub, page.after, page.limit]);
      return rows.map((row) => ({
        clientId: row.client_id,
        clientName: row.client_name,
        settings: row.settings,
        updatedAt: row.updated_at,
      }));
    },
    /** The keys of all settings of a user, with the values of at most `maxBytes` bytes. */
    async outline(sub: string, maxBytes: number, limit: number): Promise<SettingOutline[]> {
      const rows = await sql.query<{ client_id: string; key: string; value: string | null; size: number }>(outline, [
        sub,
        maxBytes,
        limit,
      ]);
      return rows.map((row) => ({
        clientId: row.client_id,
        key: row.key,
        value: row.value ?? undefined,
        size: row.size,
      }));
    },
    /**
     * Sets keys and removes others, atomically.
     * @param expected the versions of which one must be the current one; undefined for any
     * @returns changed when none is, too-large when the settings would exceed the limits
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
