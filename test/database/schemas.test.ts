// Starts on databases whose schema is not ours alone: a role that may not create, a schema of its own, and tables of another program.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterEach, expect, inject, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { execute } from '../helpers/global-setup.ts';

const secretKey = randomBytes(32).toString('base64url');
let cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

/** An empty database of the tests' server, with the rights of its superuser. */
async function emptyDatabase() {
  const server = { ...inject('postgres'), ...(inject('cluster') !== undefined && { user: 'postgres' }) };
  const name = `test_${randomBytes(6).toString('hex')}`;
  await execute({ ...server, database: 'postgres' }, `CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
  cleanUps.push(() => execute({ ...server, database: 'postgres' }, `DROP DATABASE ${name} WITH (FORCE)`));
  const urlOf = (user: string) =>
    `postgresql://${user}@/${name}?host=${encodeURIComponent(server.host)}&port=${server.port}`;
  return {
    url: urlOf(server.user),
    urlOf,
    async sql<Row extends pg.QueryResultRow>(text: string) {
      const client = new pg.Client({ ...server, database: name });
      await client.connect();
      try {
        return (await client.query<Row>(text)).rows;
      } finally {
        await client.end();
      }
    },
  };
}
type Database = Awaited<ReturnType<typeof emptyDatabase>>;

/** A new role that owns nothing, and the address with which it connects. */
async function newRole(database: Database): Promise<{ role: string; url: string }> {
  const role = `role_${randomBytes(4).toString('hex')}`;
  await database.sql(`CREATE ROLE ${role} LOGIN`);
  cleanUps.push(() => database.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`));
  return { role, url: database.urlOf(role) };
}

const migrate = (url: string) =>
  runCommand({ issuer: '', secretKey, database: { url } } as Parameters<typeof runCommand>[0], ['migrate']);
const tables = async (database: Database) =>
  database.sql(
    `SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );

test('a role that may not create in the schema is refused at once, with the schema and the GRANT (reports B6)', async () => {
  const database = await emptyDatabase();
  const { role, url } = await newRole(database);
  const { code, stdout, stderr } = await migrate(url);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^[^\n]*\.?\n$/);
  expect(stderr).toContain(`GRANT CREATE ON SCHEMA public TO ${role};`);
  expect(await tables(database)).toEqual([]);
  await database.sql(`GRANT CREATE ON SCHEMA public TO ${role}`);
  expect(await migrate(url)).toMatchObject({ code: 0, stderr: '' });
});

test('a schema of its own works by the search_path of the role, beside the tables of another program (reports B6)', async () => {
  const database = await emptyDatabase();
  const { role, url } = await newRole(database);
  await database.sql('CREATE TABLE public.users (id int)');
  await database.sql(`ALTER ROLE ${role} SET search_path = idp`);
  const missing = await migrate(url);
  expect([missing.code, missing.stderr]).toEqual([
    1,
    expect.stringContaining(`CREATE SCHEMA name AUTHORIZATION ${role}`),
  ]);
  await database.sql(`CREATE SCHEMA idp AUTHORIZATION ${role}`);
  expect(await migrate(url)).toMatchObject({ code: 0, stderr: '' });
  const found = await tables(database);
  expect(found.filter(({ schemaname }) => schemaname === 'public')).toEqual([
    { schemaname: 'public', tablename: 'users' },
  ]);
  expect(found.length).toBeGreaterThan(50);
  const service = { issuer: '', secretKey, database: { url } } as Parameters<typeof runCommand>[0];
  expect(await runCommand(service, ['user', 'list'])).toMatchObject({ code: 0, stderr: '' });
  expect(await migrate(url)).toMatchObject({ stdout: 'The database schema is up to date.\n' });
});

test.each([
  ['CREATE TABLE users (id int)', /another program .*users/],
  ['CREATE TABLE second_factors (id int)', /another program .*second_factors/],
  ['CREATE TYPE sessions AS (id int)', /another program .*sessions/],
  ['CREATE TABLE migrations (version text)', /another program .*migrations/],
  [
    `CREATE TABLE migrations AS SELECT 1 AS id, 'create_posts' AS name, now() AS run_on`,
    /another program .*migrations/,
  ],
])(
  'a database in which another program ran %j is refused with one sentence, and nothing is left behind (reports B6)',
  async (sql, sentence) => {
    const database = await emptyDatabase();
    await database.sql(sql);
    const before = await tables(database);
    const { code, stderr } = await migrate(database.url);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^[^\n]*\.\n$/);
    expect(stderr).toMatch(sentence);
    expect(await tables(database)).toEqual(before);
  },
);
