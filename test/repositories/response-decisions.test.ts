// The stored function that issues an authorization response decides as the rule in src/oauth does, whatever is stored and whatever is asked.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decideResponse } from '../../src/oauth/authorization-response.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 0 });
});
afterAll(() => service?.stop());

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[]) =>
  service.database.sql<Row>(text, values);
const scopes = ['openid', 'email', 'profile'];
const some = fc.subarray(scopes, { minLength: 1 });

/** Stores a session of a user, whose responses have these ages in seconds; returns its id. */
async function storeSession(sub: string, live: boolean, ages: readonly number[]): Promise<string> {
  const [row] = await sql<{ id: string }>(
    `INSERT INTO sessions (token_hash, sid, sub, amr, idle_expires_at, expires_at, codes_at)
     VALUES ($1, $2, $3, '{pwd}', now() + interval '1 hour' * CASE WHEN $4 THEN 1 ELSE -1 END, now() + interval '1 day',
             ARRAY(SELECT now() - make_interval(secs => age) FROM unnest($5::int[]) AS age ORDER BY age DESC)) RETURNING id::text`,
    [randomBytes(32), randomBytes(16).toString('hex'), sub, live, ages],
  );
  return row!.id;
}

/** Stores codes of a session and a client, the oldest first. */
async function storeCodes(sessionId: string, clientId: string, codes: readonly Buffer[]): Promise<void> {
  await sql('INSERT INTO session_clients (session_id, client_id, codes) VALUES ($1, $2, $3)', [
    sessionId,
    clientId,
    codes,
  ]);
  await sql(
    `WITH stored AS (
       INSERT INTO client_sessions (session_id, sid, sub, client_id, client_epoch, scope, offline, auth_time, amr, expires_at)
       SELECT id, sid, sub, $2, 1, 'openid', false, auth_time, amr, now() + interval '1 hour' FROM sessions, unnest($3::bytea[]) WHERE id = $1
       RETURNING id)
     INSERT INTO authorization_codes (code_hash, client_session_id, redirect_uri, expires_at)
     SELECT code, stored.id, 'https://rp.example.com/callback', now() + interval '1 hour'
       FROM (SELECT id, row_number() OVER () AS n FROM stored) AS stored JOIN unnest($3::bytea[]) WITH ORDINALITY AS c (code, n) USING (n)`,
    [sessionId, clientId, codes],
  );
}

test('a response is issued or refused, and ends older codes, as the rule says (security R4, R19, R30, R42)', async () => {
  const { clientId, redirectUri } = await service.createClient({ scope: scopes.join(' ') });
  const { version } = (await service.store.clients.find(clientId))!;
  const { sub } = await service.createUser();
  const stored = fc.record({
    // mostly good, so that what comes after is reached
    answered: fc.constantFrom(false, false, false, false, true),
    live: fc.constantFrom(true, true, true, true, false),
    clientVersion: fc.constantFrom(version, version, version, version, version + 1),
    grant: fc.option(
      fc.record({
        scope: fc.oneof({ arbitrary: fc.constant(scopes), weight: 3 }, { arbitrary: some, weight: 1 }),
        claims: fc.subarray(['name', 'birthdate']),
      }),
      { freq: 8, nil: undefined },
    ),
    // far on one side of the limit, so that the time that the test takes does not matter
    ages: fc.array(fc.constantFrom(3600, 0), { maxLength: 4 }),
    codes: fc.integer({ min: 0, max: 6 }),
  });
  const request = fc.record({
    isStored: fc.boolean(),
    scope: some,
    claims: fc.constantFrom<string[][]>([], [], ['name']),
    hasCode: fc.boolean(),
    maxCodes: fc.integer({ min: 1, max: 5 }),
    maxPerMinute: fc.integer({ min: 0, max: 3 }),
  });
  const reached = new Set<string>();
  await fc.assert(
    fc.asyncProperty(stored, request, async ({ codes: count, ...state }, { isStored, ...asked }) => {
      await sql('DELETE FROM grants WHERE client_id = $1', [clientId]);
      if (state.grant)
        await sql('INSERT INTO grants (sub, client_id, granted) VALUES ($1, $2, $3)', [
          sub,
          clientId,
          { ...state.grant, resources: {} },
        ]);
      const sessionId = await storeSession(sub, state.live, state.ages);
      const codes = Array.from({ length: count }, () => randomBytes(32));
      await storeCodes(sessionId, clientId, codes);
      await sql('UPDATE clients SET version = $2 WHERE client_id = $1', [clientId, state.clientVersion]);
      const requestHash = isStored ? randomBytes(32) : undefined;
      const facts = { ...state, answered: isStored && state.answered };
      if (isStored && !facts.answered)
        await sql(
          `INSERT INTO authorization_requests (id_hash, client_id, endpoint, parameters, expires_at)
           VALUES ($1, $2, 'authorization', '{}', now() + interval '1 hour')`,
          [requestHash, clientId],
        );
      const hex = (hashes: readonly Buffer[]) => hashes.map((hash) => hash.toString('hex'));
      const outcome = decideResponse({ ...facts, codes: hex(codes) }, { ...asked, clientVersion: version });

      const [codeHash, accessTokenHash] = [asked.hasCode ? randomBytes(32) : undefined, randomBytes(32)];
      const result = await service.store.authorizationCodes.issue({
        ...asked,
        codeHash,
        accessTokenHash,
        sessionId,
        clientId,
        clientVersion: version,
        redirectUri,
        requestHash,

        requested: undefined,
        offline: false,
        nonce: undefined,
        codeChallenge: undefined,
        codeBinding: 'none',
        address: undefined,
        audience: undefined,
        resources: [],
        subject: undefined,
        lifetime: 60,
        accessTokenLifetime: 60,
        clientSessionLifetime: 120,
      });
      reached.add('refusal' in outcome ? outcome.refusal : outcome.replaces.length > 0 ? 'replaces' : 'issues');
      const isIssued = !('refusal' in outcome);
      expect(result).toEqual(isIssued ? { issuedAt: expect.any(Date), clientSessionId: expect.any(String) } : outcome);
      const tokens = await sql('SELECT 1 FROM access_tokens WHERE token_hash = $1', [accessTokenHash]);
      expect(tokens).toHaveLength(isIssued ? 1 : 0);
      const left = await sql<{ code: string }>(
        `SELECT encode(code_hash, 'hex') AS code FROM authorization_codes
          WHERE client_session_id IN (SELECT id FROM client_sessions WHERE session_id = $1)`,
        [sessionId],
      );
      const expected = [...hex(codes), ...hex(codeHash && isIssued ? [codeHash] : [])];
      expect(left.map(({ code }) => code).sort()).toEqual(
        expected.filter((code) => !(isIssued && outcome.replaces.includes(code))).sort(),
      );
      const requests = await sql('SELECT 1 FROM authorization_requests WHERE id_hash = $1', [requestHash]);
      expect(requests).toHaveLength(isStored && !facts.answered && !isIssued ? 1 : 0);
    }),
    { numRuns: 200 },
  );
  // no rule was left out
  expect([...reached].sort()).toEqual(['answered', 'ended', 'issues', 'limit', 'replaces']);
});
