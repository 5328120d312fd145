// A start adopts a database from before the baseline, with all its data.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { decodeProtectedHeader, SignJWT } from 'jose';
import { Secret, TOTP } from 'otpauth';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { carryOverDataKeys } from '../../src/database/data-key-carry-over.ts';
import { migrate } from '../../src/database/migrations.ts';
import { catalogueOf } from '../helpers/catalogue.ts';
import { runCommand } from '../helpers/command-line.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { execute } from '../helpers/global-setup.ts';
import { eventually, obtainTokens, refresh, userinfo } from '../helpers/grants.ts';
import { LogoutReceiver } from '../helpers/logout-receiver.ts';
import { MailServer } from '../helpers/mail-server.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8');
/** What the clients and users of the dump hold. */
const kept = JSON.parse(fixture('before-baseline.json')) as {
  /** The times in the dump are shifted from here to the present. */
  dumpedAt: string;
  secretKey: string;
  user: { username: string; password: string; sub: string };
  client: Pick<TestClient, 'clientId' | 'basic' | 'redirectUri'>;
  authenticator: { username: string; password: string; key: string };
  jwtClient: { clientId: string; clientSecret: string };
  refreshToken: string;
  accessToken: string;
  sid: string;
};

/** @param receiver the host and port where the clients of the dump listen for logout tokens */
async function fill(database: TestDatabase, receiver = '127.0.0.1:9'): Promise<void> {
  const shift = Date.now() - Date.parse(kept.dumpedAt);
  const dump = fixture('before-baseline.sql')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00/g, (at) => new Date(Date.parse(at) + shift).toISOString())
    .replaceAll('http://127.0.0.1:9/', `http://${receiver}/`);
  await execute(database.connection, dump);
}

const migrationsOf = async (database: TestDatabase) =>
  (await database.sql<{ name: string }>('SELECT name FROM migrations ORDER BY id')).map(({ name }) => name);

let database: TestDatabase;
const adopt = () =>
  migrate(database.connection, { beforeAdoption: carryOverDataKeys([kept.secretKey], () => undefined) });
beforeEach(async () => {
  database = await createTestDatabase('template0');
});

describe('a database at the last migration before the baseline', () => {
  afterEach(() => database.drop());

  test('a start gives the database the catalogue and the migrations of a fresh one (decisions section 8)', async () => {
    const fresh = await createTestDatabase();
    await fill(database);
    const names = await adopt();
    expect(names[0]).toBe('0101_users');
    expect(await migrationsOf(database)).toEqual(await migrationsOf(fresh));
    expect(await catalogueOf(database)).toEqual(await catalogueOf(fresh));
    expect(await migrate(database.connection)).toEqual([]);
    await fresh.drop();
  });

  test('exactly one of several instances that start at the same time adopts the database (decisions section 8)', async () => {
    await fill(database);
    const all = await Promise.all([1, 2, 3].map(adopt));
    expect(all.filter((names) => names.length > 0)).toHaveLength(1);
  });

  test('a start is refused while an older instance is connected, and adopts the database once that instance has stopped (decisions section 8)', async () => {
    await fill(database);
    const older = new pg.Client({
      ...database.connection,
      application_name: 'gatehouse listener 0123456789abcdef 1/1',
    });
    await older.connect();
    await expect(adopt()).rejects.toThrow('An instance of the previous version is connected');
    expect(await database.sql(`SELECT 1 FROM migrations WHERE name LIKE '01%'`)).toEqual([]);
    await older.end();
    expect(await adopt()).not.toEqual([]);
  });

  test('is refused while an older instance only reconnects, whose listening connection had broken (decisions section 8)', async () => {
    await fill(database);
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

  test('is not adopted with a value that no SECRET_KEY encrypted: it could never be read again (decisions section 8)', async () => {
    await fill(database);
    await expect(migrate(database.connection)).rejects.toThrow('_sealed');
    expect(await database.sql('SELECT 1 FROM data_keys')).toHaveLength(1);
  });

  test('a start is refused at an earlier migration, and names the migration to reach first (decisions section 8)', async () => {
    await fill(database);
    await database.sql(`DELETE FROM migrations WHERE name = '0056_refresh_token_lines'`);
    await expect(migrate(database.connection)).rejects.toThrow(
      /^The database is at the migration 0053_\w+: first start the version whose last migration is 0056_refresh_token_lines, .*\.$/,
    );
  });

  test('a failed step before the adoption leaves the database as it was, and the step sees the older tables (decisions section 8)', async () => {
    await fill(database);
    const before = await catalogueOf(database);
    const failing = migrate(database.connection, {
      async beforeAdoption(client) {
        await client.query('DELETE FROM users');
        const { rows } = await client.query('SELECT version FROM data_keys');
        throw new Error(`found ${rows.length} data key`);
      },
    });
    await expect(failing).rejects.toThrow('found 1 data key');
    expect(await catalogueOf(database)).toEqual(before);
    expect(await database.sql('SELECT 1 FROM users')).toHaveLength(2);
  });
});

describe('the data of an adopted database', () => {
  const receiver = new LogoutReceiver();
  const mailServer = new MailServer();
  let service: TestService;
  beforeEach(async () => {
    await receiver.start();
    await mailServer.start();
    await fill(database, receiver.host);
    const { clientId } = kept.client;
    await database.sql(
      `UPDATE clients SET metadata = metadata || '{"contacts": ["desk@example.com"]}' WHERE client_id = $1`,
      [clientId],
    );
    // the order that older versions store for the contacts of a client
    await database.sql(
      `INSERT INTO mails (name, client_id, data) VALUES ('registration-decided', $1, '{"approved": false, "reason": "No."}')`,
      [clientId],
    );
    // the command does what a start does
    const { code, stdout } = await runCommand({ issuer: 'http://127.0.0.1', database, secretKey: kept.secretKey }, [
      'migrate',
    ]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+ migrations applied\.\n$/)]);
    service = await startTestService({
      database,
      secretKey: kept.secretKey,
      environment: { SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`, OUTBOUND_ALLOW: receiver.host },
    });
  });
  afterEach(async () => {
    await service?.stop();
    await receiver.stop();
    await mailServer.stop();
  });

  test('users, tokens, grants, encrypted secrets and keys still work, and waiting mails and logouts go out (decisions section 8)', async () => {
    const { issuer } = service;
    expect(await userinfo(issuer, kept.accessToken)).toMatchObject({ status: 200, body: { sub: kept.user.sub } });
    const refreshed = await refresh(issuer, kept.client, kept.refreshToken);
    expect(refreshed).toMatchObject({ status: 200 });

    // the signing key decrypts: the token is signed with a key of the dump
    const tokens = await obtainTokens(service, kept.client as TestClient, kept.user);
    const { kid } = decodeProtectedHeader(tokens.id_token);
    expect(fixture('before-baseline.sql')).toContain(kid!);

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
  });
});
