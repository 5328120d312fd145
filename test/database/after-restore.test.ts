// Each table that has a secret, or that lets someone in, is emptied after a restore, or stays for a reason that the operator's guide tells.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { emptiedAfterRestore, keptAfterRestore } from '../../src/repositories/retention/after-restore.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

const names = async (text: string, values: unknown[] = []) =>
  (await database.sql<{ name: string }>(text, values)).map(({ name }) => name);

/** The tables with digests or encrypted values, and those with rights: of users at clients, of providers and of other services. */
const delicate = `
  SELECT DISTINCT table_name AS name FROM information_schema.columns JOIN pg_class ON pg_class.oid = table_name::regclass
   WHERE table_schema = current_schema() AND relkind IN ('r', 'p') AND NOT relispartition
     AND (column_name ~ '(hash|_encrypted|public_key)$' OR domain_name = 'digest'
          OR table_name ~ '(grants|tokens|sessions|links|codes|requests|authorizations|holders|memberships|identities|policies|issuers|servers|certificates)$')
   ORDER BY name`;
/** What TRUNCATE … CASCADE empties. */
const emptied = `
  WITH RECURSIVE emptied AS (
    SELECT unnest($1::text[])::regclass::oid AS id
     UNION SELECT conrelid FROM pg_constraint JOIN emptied ON confrelid = emptied.id WHERE contype = 'f')
  SELECT id::regclass::text AS name FROM emptied ORDER BY name`;

test('each table with a secret or a right is emptied after a restore, or kept for a reason (delivery 7, security F16)', async () => {
  const gone = await names(emptied, [emptiedAfterRestore]);
  const all = await names(delicate);
  expect(all.length).toBeGreaterThan(40);
  const kept = [...keptAfterRestore.keys()];
  expect(all.filter((name) => !gone.includes(name) && !kept.includes(name))).toEqual([]);
  // no list names a table that is not there, or that the other one has
  expect(kept.filter((name) => !all.includes(name) || gone.includes(name))).toEqual([]);
  // what users, clients and settings are is never emptied along with them
  expect(['users', 'clients', 'connections', 'groups', 'grants'].filter((name) => gone.includes(name))).toEqual([]);
});

test("the operator's guide names each table that is kept, and says what to do about it (delivery 7)", () => {
  const guide = readFileSync(new URL('../../docs/operator.md', import.meta.url), 'utf8');
  const rows = guide.split('\n').filter((line) => line.startsWith('|'));
  const reasons = new Set(keptAfterRestore.values());
  for (const reason of reasons) {
    const tables = [...keptAfterRestore.keys()].filter((name) => keptAfterRestore.get(name) === reason);
    const list = tables.map((name) => `\`${name}\``).join(', ');
    expect(
      rows.filter((line) => line.includes(`| ${list} | ${reason} |`)),
      list,
    ).toHaveLength(1);
  }
});
