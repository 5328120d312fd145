// Tests the constraints of the database: it refuses invalid states from every writer.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { obtainTokens, refresh, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  client = await service.createClient({ scope: 'openid offline_access' });
  const tokens = await obtainTokens(service, client, await service.createUser(), { scope: 'openid' });
  await refresh(service.issuer, client, tokens.refresh_token);
});
afterAll(() => service?.stop());

const foreignKey = '23503';
const unique = '23505';
const check = '23514';

test.each([
  ['a client of an unknown status', `UPDATE clients SET status = 'half'`, check],
  ['a client without redirect_uris', `UPDATE clients SET metadata = metadata - 'redirect_uris'`, check],
  [
    'a client whose authentication method is not a string',
    `UPDATE clients SET metadata = metadata || '{"token_endpoint_auth_method": ["none"]}'`,
    check,
  ],
  ['a confidential client without a secret', `UPDATE clients SET client_secret_hash = NULL`, check],
  ['a client with a secret in plain text', `UPDATE clients SET client_secret_hash = 'secret'`, check],
  ['a client identifier with a space', `UPDATE clients SET client_id = 'a b'`, check],
  ['a lifetime of zero', `UPDATE clients SET access_token_lifetime = 0`, check],
  ['an unknown value of introspect', `UPDATE clients SET introspect = 'all'`, check],
  ['two users with one name', `INSERT INTO users (username) SELECT upper(username) || ' ' FROM users`, unique],
  [
    'two users with one email address',
    `INSERT INTO users (username, email) VALUES ('m1', 'A@x.example'), ('m2', 'a@X.example')`,
    unique,
  ],
  ['a user with an empty name', `UPDATE users SET username = ''`, check],
  ['a redeemed code without a time', `UPDATE authorization_codes SET redeemed_at = NULL`, check],
  ['a code with six failures', `UPDATE authorization_codes SET failures = 6`, check],
  [
    'a second code of one authorization',
    `INSERT INTO authorization_codes SELECT sha256('x'), client_session_id, redirect_uri, NULL, now(), now() FROM authorization_codes`,
    unique,
  ],
  ['a challenge of 42 characters', `UPDATE authorization_codes SET code_challenge = repeat('a', 42)`, check],
  ['a code in plain text', `UPDATE authorization_codes SET code_hash = 'ghac_x'`, check],
  ['a token without a subject', `UPDATE access_tokens SET client_session_id = NULL`, check],
  [
    'a token with two owners',
    `UPDATE access_tokens SET client_id = (SELECT client_id FROM clients), client_epoch = 0, scope = ''`,
    check,
  ],
  ['a token of a missing authorization', `UPDATE access_tokens SET client_session_id = 0`, foreignKey],
  ['a refresh token spent but never used', `UPDATE refresh_tokens SET uses = 0 WHERE spent_at IS NOT NULL`, check],
  ['a refresh token used but not spent', `UPDATE refresh_tokens SET spent_at = NULL WHERE uses > 0`, check],
  ['a refresh token of generation 0', `UPDATE refresh_tokens SET generation = 0`, check],
  [
    'an authorization without a session and without offline_access',
    `UPDATE client_sessions SET session_id = NULL`,
    check,
  ],
  [
    'a session whose idle timeout is after its end',
    `UPDATE sessions SET idle_expires_at = expires_at + interval '1 second'`,
    check,
  ],
  ['a private key among the public ones', `UPDATE signing_keys SET public_jwk = public_jwk || '{"d": "x"}'`, check],
  ['a key of an unknown algorithm', `UPDATE signing_keys SET alg = 'HS256'`, check],
  ['two keys that begin to sign at the same time', `UPDATE signing_keys SET alg = 'RS256', active_at = now()`, unique],
  ['an event without an outcome', `INSERT INTO audit_events (type, outcome) VALUES ('x', 'perhaps')`, check],
])('the database refuses %s (architecture, where a rule lives)', async (_what, statement, code) => {
  const error = await service.database.sql(statement).then(
    () => undefined,
    (refusal: { code: string }) => refusal.code,
  );
  expect(error).toBe(code);
});

describe('a change by SQL', () => {
  const state = async () =>
    (
      await service.database.sql<{ version: number; epoch: number; approved_by: string }>(
        'SELECT * FROM clients WHERE client_id = $1',
        [client.clientId],
      )
    )[0]!;

  test('a change by SQL raises the version, and a disabling raises the epoch, too; an update without a change raises neither (decisions section 2)', async () => {
    const before = await state();
    await service.database.sql('UPDATE clients SET first_party = first_party WHERE client_id = $1', [client.clientId]);
    expect(await state()).toMatchObject({ version: before.version, epoch: before.epoch });
    await service.database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [client.clientId]);
    const disabled = await state();
    expect(disabled.version).toBe(before.version + 1);
    expect(disabled.epoch).toBeGreaterThan(before.epoch);
    expect(await service.database.sql('SELECT 1 FROM client_sessions WHERE client_id = $1', [client.clientId])).toEqual(
      [],
    );
    await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [client.clientId]);
    expect(await state()).toMatchObject({ version: before.version + 2, epoch: disabled.epoch });
  });

  test('SQL cannot change the audit trail (decisions section 7)', async () => {
    for (const statement of ['UPDATE audit_events SET sub = NULL', 'DELETE FROM audit_events', 'TRUNCATE audit_events'])
      await expect(service.database.sql(statement)).rejects.toThrow(/append-only/);
  });
});
