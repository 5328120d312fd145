// Tests the database's own rules: it refuses invalid states from every writer.
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

const foreign = '23503';
const double = '23505';
const broken = '23514';

test.each([
  ['a client of an unknown status', `UPDATE clients SET status = 'half'`, broken],
  ['a client without redirect_uris', `UPDATE clients SET metadata = metadata - 'redirect_uris'`, broken],
  [
    'a client whose authentication method is no name',
    `UPDATE clients SET metadata = metadata || '{"token_endpoint_auth_method": ["none"]}'`,
    broken,
  ],
  ['a confidential client without a secret', `UPDATE clients SET client_secret_hash = NULL`, broken],
  ['a client with a secret in clear', `UPDATE clients SET client_secret_hash = 'secret'`, broken],
  ['a client identifier with a blank', `UPDATE clients SET client_id = 'a b'`, broken],
  ['a lifetime of nothing', `UPDATE clients SET access_token_lifetime = 0`, broken],
  ['an unknown right', `UPDATE clients SET introspect = 'all'`, broken],
  ['two users of one name', `INSERT INTO users (username) SELECT upper(username) || ' ' FROM users`, double],
  [
    'two users of one address',
    `INSERT INTO users (username, email) VALUES ('m1', 'A@x.example'), ('m2', 'a@X.example')`,
    double,
  ],
  ['a user of no name', `UPDATE users SET username = ''`, broken],
  ['a code redeemed at no time', `UPDATE authorization_codes SET redeemed_at = NULL`, broken],
  ['a code with six failures', `UPDATE authorization_codes SET failures = 6`, broken],
  [
    'a second code of one authorization',
    `INSERT INTO authorization_codes SELECT sha256('x'), client_session_id, redirect_uri, NULL, now(), now() FROM authorization_codes`,
    double,
  ],
  ['a challenge of 42 characters', `UPDATE authorization_codes SET code_challenge = repeat('a', 42)`, broken],
  ['a code in clear', `UPDATE authorization_codes SET code_hash = 'ghac_x'`, broken],
  ['a token without a subject', `UPDATE access_tokens SET client_session_id = NULL`, broken],
  [
    'a token of two owners',
    `UPDATE access_tokens SET client_id = (SELECT client_id FROM clients), client_epoch = 0, scope = ''`,
    broken,
  ],
  ['a token of an authorization that is gone', `UPDATE access_tokens SET client_session_id = 0`, foreign],
  ['a refresh token spent but never used', `UPDATE refresh_tokens SET uses = 0 WHERE spent_at IS NOT NULL`, broken],
  ['a refresh token used but not spent', `UPDATE refresh_tokens SET spent_at = NULL WHERE uses > 0`, broken],
  ['a refresh token of generation 0', `UPDATE refresh_tokens SET generation = 0`, broken],
  [
    'an authorization without a session and without offline_access',
    `UPDATE client_sessions SET session_id = NULL`,
    broken,
  ],
  ['a session idle beyond its end', `UPDATE sessions SET idle_expires_at = expires_at + interval '1 second'`, broken],
  ['a private key among the public ones', `UPDATE signing_keys SET public_jwk = public_jwk || '{"d": "x"}'`, broken],
  ['a key of an unknown algorithm', `UPDATE signing_keys SET alg = 'HS256'`, broken],
  ['two keys that begin to sign at one moment', `UPDATE signing_keys SET alg = 'RS256', active_at = now()`, double],
  ['an event without an outcome', `INSERT INTO audit_events (type, outcome) VALUES ('x', 'perhaps')`, broken],
])('%s is refused (architecture, single use and uniqueness in SQL)', async (_what, statement, code) => {
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

  test('raises the version, and disabling raises the epoch as well; an update without a change raises neither (decisions section 2)', async () => {
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

  test('cannot change the audit trail (decisions section 7)', async () => {
    for (const statement of ['UPDATE audit_events SET sub = NULL', 'DELETE FROM audit_events', 'TRUNCATE audit_events'])
      await expect(service.database.sql(statement)).rejects.toThrow(/append-only/);
  });
});
