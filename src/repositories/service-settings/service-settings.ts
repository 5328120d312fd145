// Stores what commands need of the service: its settings without secrets, and its version, as its last start wrote them.
import { type Sql, statement } from '../../database/database.ts';

export interface ServiceSettings {
  /** By the names of the environment. */
  settings: Record<string, string>;
  version: string;
}

const read = statement('service_settings.read', 'SELECT settings, version FROM service_settings');
const write = statement(
  'service_settings.write',
  `INSERT INTO service_settings (settings, version) VALUES ($1, $2)
   ON CONFLICT (single) DO UPDATE SET settings = $1, version = $2, started_at = now()`,
);

export function serviceSettingsRepository(sql: Sql) {
  return {
    /** Undefined until a service has started. */
    async read(): Promise<ServiceSettings | undefined> {
      return (await sql.query<ServiceSettings>(read))[0];
    },
    async write({ settings, version }: ServiceSettings): Promise<void> {
      await sql.query(write, [JSON.stringify(settings), version]);
    },
  };
}
