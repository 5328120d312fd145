// A start adopts a database from before the baseline, with all its data.
import { randomUUID } from 'node:crypto';
import { decodeProtectedHeader, SignJWT } from 'jose';
import { Secret, TOTP } from 'otpauth';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { migrate } from '../../src/database/migrations.ts';
import { catalogueOf } from '../helpers/catalogue.ts';
import { runCommand } from '../helpers/command-line.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { fillFormerDatabase, kept, runFormerMigrations } from '../helpers/former-database.ts';
import { eventually, obtainTokens, refresh, userinfo } from '../helpers/grants.ts';
import { LogoutReceiver } from '../helpers/logout-receiver.ts';
import { MailServer } from '../helpers/mail-server.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const migrationsOf = async (database: TestDatabase) =>
  (await database.sql<{ name: string }>('SELECT name FROM migrations ORDER BY id')).map(({ name }) => name);

/** The former migrations, without rows: it is cloned. */
let former: TestDatabase;
let database: TestDatabase;
const adopt = () => migrate(database.connection);
beforeAll(async () => {
  former = await createTestDatabase('template0');
  await runFormerMigrations(former);
});
afterAll(() => former.drop());
beforeEach(async () => {
  database = await createTestDatabase(former.connection.database);
});

describe('a database at the last migration before the baseline', () => {
  afterEach(() => database.drop());

  test('a start gives the database the catalogue and the migrations of a fresh one (decisions section 8)', async () => {
    const fresh = await createTestDatabase();
    await fillFormerDatabase(database);
    const names = await adopt();
    expect(names[0]).toBe('0101_users');
    expect(await migrationsOf(database)).toEqual(await migrationsOf(fresh));
    expect(await catalogueOf(database)).toEqual(await catalogueOf(fresh));
    expect(await migrate(database.connection)).toEqual([]);
    await fresh.drop();
  });

  test('exactly one of several instances that start at the same time adopts the database (decisions section 8)', async () => {
    await fillFormerDatabase(database);
    const all = await Promise.all([1, 2, 3].map(adopt));
    expect(all.filter((names) => names.length > 0)).toHaveLength(1);
  });

  test('a start is refused while an older instance is connected, and adopts the database once that instance has stopped (decisions section 8)', async () => {
    await fillFormerDatabase(database);
    const older = new pg.Client({
      ...database.connection,
      application_name: 'gatehouse listener 0123456789abcdef 1/1',
    });
    await older.connect();
    await expect(adopt()).rejects.toThrow('An instance of the previous version is connected');
    expect(await database.sql(`SELECT 1 FROM migrations WHERE name = '0128_instances'`)).toEqual([]);
    await older.end();
    expect(await adopt()).not.toEqual([]);
  });

  test('is refused while an older instance only reconnects, whose listening connection had broken (decisions section 8)', async () => {
    await fillFormerDatabase(database);
    const refused = expect(adopt()).rejects.toThrow('An instance of the previous version is connected');
    const looked = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'gatehouse migrations'
        AND state = 'idle in transaction' AND query LIKE '%listener%'`;
    await eventually(
      () => database.sql(looked),
      (rows) => rows.length > 0,
    );
    const older = new pg.Client({
      ...database.connection,
      application_name: 'gatehouse listener 0123456789abcdef 1/1',
    });
    await older.connect();
    await refused;
    await older.end();
  });

  test.each([
    ['0233_guarded_groups_by_sql', `DELETE FROM migrations WHERE name > '0234'`],
    [
      '0056_refresh_token_lines',
      `DELETE FROM migrations; INSERT INTO migrations (name, run_on) VALUES ('0001_clients', now()), ('0056_refresh_token_lines', now())`,
    ],
  ])(
    'a start is refused at the earlier migration %s, and says in one sentence which version to start first (decisions section 8)',
    async (last, sql) => {
      await database.sql('BEGIN; ' + sql + '; COMMIT');
      await expect(adopt()).rejects.toThrow(
        `The database is at the migration ${last}: first start the version whose last migration is 0234_sessions_of_unasked_links (commit f7be2423), stop it, then start this one.`,
      );
    },
  );

  test('a start is refused at a later migration, which it does not know (decisions section 8)', async () => {
    await database.sql(`INSERT INTO migrations (name, run_on) VALUES ('0239_other', now())`);
    await expect(adopt()).rejects.toThrow(
      'The database has the migration 0239_other, which is unknown to this version',
    );
  });

  test('a failed adoption leaves the database as it was (decisions section 8)', async () => {
    await fillFormerDatabase(database);
    // the last statement of the adoption fails
    await database.sql('CREATE TABLE schema_functions (of_another_program int)');
    const before = await catalogueOf(database);
    await expect(adopt()).rejects.toThrow('schema_functions');
    expect(await catalogueOf(database)).toEqual(before);
    expect((await migrationsOf(database)).at(-1)).toBe('0234_sessions_of_unasked_links');
    expect(await database.sql('SELECT 1 FROM users')).toHaveLength(kept.rows['users']!.length);
  });
});

describe('the data of an adopted database', () => {
  const receiver = new LogoutReceiver();
  const mailServer = new MailServer();
  let service: TestService | undefined;
  beforeEach(async () => {
    await receiver.start();
    await mailServer.start();
    await fillFormerDatabase(database, receiver.host);
    // what the triggers of the former version order: the end of what users have of a client that admits them no longer, and a mail about a refusal
    await database.sql(`UPDATE clients SET access = 'groups', access_groups = '{none}' WHERE client_id = $1`, [
      kept.lostClient.clientId,
    ]);
    await database.sql(
      `SELECT record_event(jsonb_build_object('type', 'client.refused', 'outcome', 'success', 'client_id', $1::text, 'detail', $2::jsonb))`,
      [kept.client.clientId, { reason: 'No.' }],
    );
    expect(await database.sql('SELECT channel FROM outbox GROUP BY channel ORDER BY channel')).toEqual(
      ['access', 'event', 'mail'].map((channel) => ({ channel })),
    );
    // the command does what a start does
    const { code, stdout } = await runCommand({ issuer: 'http://127.0.0.1', database, secretKey: kept.secretKey }, [
      'migrate',
    ]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+ migrations applied\.\n/)]);
  });
  afterEach(async () => {
    // which drops the database, too
    await (service ? service.stop() : database.drop());
    service = undefined;
    await receiver.stop();
    await mailServer.stop();
  });

  test('users, tokens, grants, encrypted secrets and keys still work, and all that waits goes out (decisions section 8)', async () => {
    service = await startTestService({
      database,
      secretKey: kept.secretKey,
      environment: { SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`, OUTBOUND_ALLOW: receiver.host },
    });
    const { issuer } = service;
    expect(await userinfo(issuer, kept.accessToken)).toMatchObject({
      status: 200,
      body: { sub: kept.user.sub, roles: ['captain'] },
    });
    const refreshed = await refresh(issuer, kept.client, kept.refreshToken);
    expect(refreshed).toMatchObject({ status: 200 });

    // the signing key decrypts: the token is signed with a key of the dump
    const tokens = await obtainTokens(service, kept.client as TestClient, kept.user);
    const { kid } = decodeProtectedHeader(tokens.id_token);
    expect(kept.rows['signing_keys']!.map((row) => row['kid'])).toContain(kid);

    // a client secret that is an HMAC key decrypts
    const assertion = await new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(kept.jwtClient.clientId)
      .setSubject(kept.jwtClient.clientId)
      .setAudience(issuer)
      .setIssuedAt()
      .setExpirationTime('2 minutes')
      .sign(Buffer.from(kept.jwtClient.clientSecret));
    const asserted = await tokenRequest(issuer, undefined, {
      grant_type: 'client_credentials',
      client_assertion: assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
    expect(asserted).toMatchObject({ status: 200 });

    // the secret of an authenticator decrypts
    const agent = new UserAgent(service);
    const asksCode = await agent.signIn(kept.authenticator);
    const code = new TOTP({ secret: Secret.fromBase32(kept.authenticator.key) }).generate();
    const signedIn = await agent.submit(asksCode, { code });
    expect(signedIn.url).toBe(`${issuer}/account`);

    const [mail] = await mailServer.to('ada@example.com', 3);
    expect(mail!.parsed.subject).toBeTruthy();
    expect((await mailServer.find('desk@example.com', /not approved/)).text).toContain('No.');
    await eventually(
      async () => receiver.received.map(({ claims }) => claims['sid']),
      (sids) => sids.includes(kept.sid),
    );
    await eventually(
      () => database.sql(`SELECT id FROM client_sessions WHERE client_id = $1`, [kept.lostClient.clientId]),
      (rows) => rows.length === 0,
    );
    await eventually(
      () => database.sql('SELECT channel, name, last_failure FROM outbox'),
      (rows) => rows.length === 0,
    );
  });

  test('every sealed value of every table decrypts: all are encrypted with another key (decisions section 8)', async () => {
    const next = randomSecret();
    const { code, stderr } = await runCommand(
      { issuer: 'http://127.0.0.1', database, secretKey: `${next},${kept.secretKey}` },
      ['secret-key', 'reencrypt'],
    );
    expect([code, stderr]).toEqual([0, '']);
    const columns = await database.sql<{ table: string; column: string }>(
      `SELECT table_name AS table, column_name AS column FROM information_schema.columns
        WHERE table_schema = 'public' AND column_name LIKE '%\\_encrypted' ORDER BY 1, 2`,
    );
    expect(columns.length).toBeGreaterThanOrEqual(10);
    // a table that came later than the former database has no rows from it
    for (const { table, column } of columns.filter((one) => kept.rows[one.table] !== undefined)) {
      const values = await database.sql<{ id: string }>(
        `SELECT sealed_key_id(${column}) AS id FROM ${table} WHERE ${column} IS NOT NULL`,
      );
      const before = kept.rows[table]!.filter((row) => row[column] !== null);
      expect(before, `${table}.${column}`).not.toEqual([]);
      expect(values, `${table}.${column}`).toEqual(before.map(() => ({ id: parseSecretKey(next).id })));
    }
  });
});
