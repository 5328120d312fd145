// Tests the plans of the audit view's lists on big tables: by their indexes, never a whole table.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../src/database/database.ts';
import { type AuditFilter, auditViewRepository } from '../../src/repositories/audit/audit-view.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.sql(
    `INSERT INTO users (sub, username) SELECT 'user-' || i, 'user-' || i FROM generate_series(1, 500) i`,
  );
  await database.sql(
    `INSERT INTO clients (client_id, status, metadata, shared_secret_encrypted)
     SELECT 'client-' || i, 'enabled', '{"redirect_uris": [], "grant_types": [], "response_types": [], "scope": "", "token_endpoint_auth_method": "none"}', decode(repeat('03', 16), 'hex')
       FROM generate_series(1, 50) i`,
  );
  await database.sql(
    `INSERT INTO audit_events (at, type, outcome, client_id, sub)
     SELECT now() - i * interval '1 second', CASE i % 500 WHEN 0 THEN 'keys.rotated' ELSE 'token.revoked' END, 'success', 'client-' || i % 50 + 1, 'user-' || i % 500 + 1
       FROM generate_series(1, 20000) i`,
  );
  await database.sql(
    `INSERT INTO client_sessions (sid, sub, client_id, client_epoch, scope, offline, auth_time, amr, expires_at)
     SELECT 's', 'user-' || i % 500 + 1, 'client-' || i % 50 + 1, 0, 'openid', true, now(), '{pwd}', now() FROM generate_series(1, 10000) i`,
  );
  await database.sql(
    `INSERT INTO access_tokens (token_hash, client_session_id, issued_at, expires_at)
     SELECT sha256(id::text::bytea), id, now() - id * interval '1 second', now() FROM client_sessions`,
  );
  await database.sql(
    `INSERT INTO access_tokens (token_hash, client_id, client_epoch, scope, issued_at, expires_at)
     SELECT sha256(('own' || i)::bytea), 'client-' || i % 50 + 1, 0, '', now() - i * interval '1 second', now() FROM generate_series(1, 10000) i`,
  );
  await database.sql('ANALYZE');
});
afterAll(() => database?.drop());

/** The plans of the statements that a list sends. */
async function plan(filter: AuditFilter, before?: string): Promise<string> {
  const plans: string[] = [];
  const sql: Sql = {
    async query<Row>(statement: { text: string }, values: unknown[] = []) {
      if (statement.text.includes('AS moment FROM')) return [{ moment: '1790000000000000' }] as Row[];
      const rows = await database.sql<Record<string, string>>(`EXPLAIN ${statement.text}`, values);
      plans.push(...rows.map((row) => Object.values(row)[0]!));
      return [];
    },
  };
  await auditViewRepository(sql).list(filter, { limit: 50, before });
  return plans.join('\n');
}

test.each<[string, AuditFilter]>([
  ['everything', {}],
  ['one client', { clientId: 'client-7' }],
  ['one user', { sub: 'user-7' }],
  ['one type', { type: 'keys.rotated' }],
  ['the issues of tokens', { type: 'token.issued' }],
])(
  'the view of %s reads no big table as a whole, on the first page and on later pages (architecture, hot paths)',
  async (_, filter) => {
    for (const before of [undefined, '17', 'token-1790000000000000-0123456789abcdef'])
      expect(await plan(filter, before)).not.toMatch(/Seq Scan on (audit_events|access_tokens|client_sessions)/);
  },
);
