// The stored function that signs in decides as the rule in src/oauth does, whatever is stored and whatever is asked.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decideSignIn } from '../../src/rules/access/sign-in-decision.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { signInOf } from '../helpers/sign-in.ts';

let service: TestService;
beforeAll(async () => {
  // no instance sends the mails, so that each order stays
  service = await startTestService({ instances: 0 });
  await service.database.sql(
    `INSERT INTO connections (id, kind, display_name, status) VALUES ('honest', 'oidc', 'Honest', 'enabled'), ('closed', 'oidc', 'Closed', 'disabled')`,
  );
});
afterAll(() => service?.stop());

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[]) =>
  service.database.sql<Row>(text, values);
const optional = <T>(...values: T[]) => fc.constantFrom(undefined, ...values);

/** Stores sessions of a user, the first one with the newest sign-in; returns their ids. */
async function storeSessions(sub: string, count: number): Promise<string[]> {
  const rows = await sql<{ id: string }>(
    `INSERT INTO sessions (token_hash, sid, sub, auth_time, amr, idle_expires_at, expires_at)
     SELECT sha256(($1 || n)::bytea), $1 || n, $1, now() - n * interval '1 minute', '{pwd}', now() + interval '1 hour', now() + interval '1 day'
       FROM generate_series(1, $2::int) AS n ORDER BY n RETURNING id::text`,
    [sub, count],
  );
  return rows.map(({ id }) => id);
}

test('a sign-in is stored or refused as the rule says (security R52, R54, R63, R127, federation FR5)', async () => {
  const stored = fc.record({
    // mostly good, so that what comes after is reached
    enabled: fc.constantFrom(true, true, true, true, false),
    passwordHash: optional('hash', 'hash', 'changed'),
    enrolled: fc.boolean(),
    knownBrowser: fc.boolean(),
    // a browser that spares the user the second factor, unless the row says otherwise
    sparing: fc.constantFrom('none', 'none', 'good', 'past', 'other factors', 'administrator', 'guarded', 'unasked'),
    connections: fc.constantFrom<string[][]>(['honest'], ['honest'], []),
    sessions: fc.integer({ min: 0, max: 5 }),
  });
  const request = fc.record({
    passwordHash: optional('hash'),
    amr: fc.constantFrom<string[][]>(['pwd'], ['pwd', 'otp', 'mfa']),
    connection: optional('honest', 'closed'),
    renews: fc.constantFrom('none', 'none', 'own', 'gone'),
    maxSessions: fc.integer({ min: 0, max: 4 }),
  });
  const reached = new Set<string>();
  await fc.assert(
    fc.asyncProperty(stored, request, async ({ sessions: count, sparing, ...facts }, { renews: which, ...asked }) => {
      const { sub } = await service.createUser({
        email: `${randomBytes(8).toString('hex')}@example.com`,
        emailVerified: true,
      });
      const previousHash = randomBytes(32);
      await sql(`UPDATE users SET password_hash = $2, status = $3 WHERE sub = $1`, [
        sub,
        facts.passwordHash,
        facts.enabled ? 'enabled' : 'disabled',
      ]);
      if (facts.enrolled)
        await sql(
          `INSERT INTO authenticators (id, sub, name, secret_encrypted, last_step) VALUES (gen_random_uuid()::text, $1, '', decode(repeat('03', 16), 'hex'), 0)`,
          [sub],
        );
      if (facts.knownBrowser)
        await sql(
          `INSERT INTO known_browsers (token_hash, sub, expires_at) VALUES ($1, $2, now() + interval '1 hour')`,
          [previousHash, sub],
        );
      for (const connection of [...facts.connections, 'closed'])
        await sql(
          `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ($1, 'i', $2, $2, 'person')`,
          [connection, sub],
        );
      if (facts.knownBrowser && sparing !== 'none')
        await sql(
          `UPDATE known_browsers SET second_factor_until = now() + $2::interval, second_factors = $3::text[] || ARRAY(SELECT id FROM second_factors WHERE sub = $1 ORDER BY id) WHERE sub = $1`,
          [sub, sparing === 'past' ? '-1 minute' : '1 day', sparing === 'other factors' ? ['another'] : []],
        );
      if (sparing === 'administrator') await sql('UPDATE users SET admin = true WHERE sub = $1', [sub]);
      if (sparing === 'guarded') await sql(`UPDATE users SET groups = '{ops}' WHERE sub = $1`, [sub]);
      const sessions = await storeSessions(sub, count);
      const isSparing = sparing !== 'none' && sparing !== 'unasked';
      const renews = which === 'none' ? undefined : which === 'own' ? (sessions[0] ?? '0') : '0';
      const outcome = decideSignIn(
        { ...facts, spares: facts.knownBrowser && sparing === 'good', sessions },
        { ...asked, renews, sparing: isSparing },
      );

      const { session, browser, ...rest } = signInOf(
        { tokenHash: randomBytes(32), sid: randomBytes(16).toString('hex'), sub, passwordHash: asked.passwordHash },
        3600,
      );
      const upstream = asked.connection && { connectionId: asked.connection, issuer: 'i', subject: sub };
      const made = await service.store.signIns.insert({
        ...rest,
        session: {
          ...session,
          amr: asked.amr,
          upstream: upstream || null,
          ...(isSparing && { sparing: { browser: previousHash, guarded: ['ops'] } }),
        },
        renews,
        browser: { ...browser, previousHash },
        perUser: asked.maxSessions,
      });
      reached.add('refusal' in outcome ? outcome.refusal : `${outcome.notifies} ${outcome.ends.length > 0}`);
      expect(made).toBe(!('refusal' in outcome));
      const ends = 'refusal' in outcome ? [] : outcome.ends;
      const left = await sql<{ id: string; token_hash: Buffer }>(
        'SELECT id::text, token_hash FROM sessions WHERE sub = $1',
        [sub],
      );
      const now = left.find(({ token_hash }) => token_hash.equals(session.tokenHash))?.id;
      expect(now !== undefined).toBe(made);
      if (renews !== undefined && made) expect(now).toBe(renews);
      expect(left.map(({ id }) => id).filter((id) => !sessions.includes(id))).toEqual(made && !renews ? [now] : []);
      expect(left.map(({ id }) => id)).toEqual(expect.arrayContaining(sessions.filter((id) => !ends.includes(id))));
      expect(left).toHaveLength(sessions.length - ends.length + (made && !renews ? 1 : 0));
      const mails = await sql(`SELECT 1 FROM outbox WHERE name = 'new-sign-in' AND sub = $1`, [sub]);
      expect(mails).toHaveLength('refusal' in outcome || !outcome.notifies ? 0 : 1);
      const events = await sql<{ type: string }>(
        `SELECT type FROM audit_events WHERE sub = $1 AND type IN ('user.signed_in', 'session.ended')`,
        [sub],
      );
      expect(events.map(({ type }) => type).sort()).toEqual([
        ...ends.map(() => 'session.ended'),
        ...(made ? ['user.signed_in'] : []),
      ]);
    }),
    { numRuns: 300 },
  );
  // no rule was left out
  expect([...reached].sort()).toEqual([
    'connection',
    'false false',
    'false true',
    'password',
    'second-factor',
    'session',
    'true false',
    'true true',
    'user',
  ]);
});
