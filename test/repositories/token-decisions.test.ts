// The stored functions that redeem codes and use refresh tokens decide as the rules in src/oauth do, in any state and for any request.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Binding } from '../../src/oauth/binding.ts';
import { confirmationOf } from '../../src/repositories/confirmation.ts';
import { decideRedemption } from '../../src/oauth/code-redemption.ts';
import { decideRefresh } from '../../src/oauth/refresh-rotation.ts';
import { obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  client = await service.createClient({ scope: 'openid email profile' });
  // leaves a session and a grant
  await obtainTokens(service, client, await service.createUser(), { scope: 'openid email profile' });
});
afterAll(() => service?.stop());

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[]) =>
  service.database.sql<Row>(text, values);
const lifetimes = { accessTokenLifetime: 60, refreshTokenLifetime: 600, refreshTokenAbsoluteLifetime: 6000 };
/** Far on one side of a limit of seconds, so that the time that the test takes does not matter. */
const age = fc.constantFrom(-3600, 3600);
const optional = <T>(...values: T[]) => fc.constantFrom(undefined, ...values);
/** The keys that a client can hold, mostly none. */
const key = (first: string): Binding => ({ jkt: first.repeat(43) });
const bindings = fc.constantFrom<Binding>('none', 'none', 'none', key('a'), key('b'), { x5t: 'a'.repeat(43) });
type ValueOf<A> = A extends fc.Arbitrary<infer Value> ? Value : never;
const resource = 'https://api.example.com';
const other = 'https://other.example.com';

interface Authorization {
  live: boolean;
  audience: string[] | undefined;
  scope?: string[];
  line?: Buffer | undefined;
  tokenBinding?: Binding;
}

/** A client session in the session and for the client of this test. */
async function clientSession({
  live,
  audience,
  scope = ['openid'],
  line,
  tokenBinding = 'none',
}: Authorization): Promise<string> {
  const [row] = await sql<{ id: string }>(
    `INSERT INTO client_sessions
       (session_id, sid, sub, client_id, client_epoch, scope, audience, line, cnf, offline, auth_time, amr, expires_at)
     SELECT s.id, s.sid, s.sub, c.client_id, c.epoch - CASE WHEN $2 THEN 0 ELSE 1 END, $3, $4, $5, $6, false, s.auth_time, s.amr,
            now() + interval '1 day'
       FROM sessions s, clients c WHERE c.client_id = $1 RETURNING id`,
    [client.clientId, live, scope.join(' '), audience, line, confirmationOf(tokenBinding)],
  );
  return row!.id;
}

const exists = async (id: string) => (await sql('SELECT 1 FROM client_sessions WHERE id = $1', [id])).length > 0;
const hasToken = async (hash: Buffer) =>
  (await sql('SELECT 1 FROM access_tokens WHERE token_hash = $1', [hash])).length > 0;

test('a code is redeemed, refused or revoked as the rule decides (security R14, R15, R16, R17, R22)', async () => {
  const challenges = ['a'.repeat(43), 'b'.repeat(43)];
  const stored = fc.record({
    codeChallenge: optional(...challenges),
    codeBinding: bindings,
    audience: optional([resource]),
    // mostly valid, so that later checks are reached, too
    live: fc.constantFrom(true, true, true, false),
    expired: fc.constantFrom(false, false, false, true),
    secondsSinceRedemption: fc.oneof(fc.constant(undefined), age),
    failures: fc.integer({ min: 0, max: 4 }),
  });
  const request = fc.record({
    isOwn: fc.constantFrom(true, true, true, false),
    redirectUri: fc.constantFrom(
      ...Array.from({ length: 4 }, () => client.redirectUri),
      undefined,
      'https://rp.example.com/other',
    ),
    codeChallenge: optional(...challenges),
    binding: bindings,
    resource: optional(resource, other),
    retrySeconds: fc.constantFrom(0, 5),
  });
  // one for each outcome: some are rare among the samples
  const plain: ValueOf<typeof stored> = {
    codeChallenge: undefined,
    codeBinding: 'none',
    audience: undefined,
    failures: 0,
    live: true,
    expired: false,
    secondsSinceRedemption: undefined,
  };
  const usual: ValueOf<typeof request> = {
    isOwn: true,
    redirectUri: client.redirectUri,
    codeChallenge: undefined,
    binding: 'none',
    resource: undefined,
    retrySeconds: 5,
  };
  const [challenge, another] = challenges as [string, string];
  const examples: [ValueOf<typeof stored>, ValueOf<typeof request>][] = [
    [plain, usual],
    [{ ...plain, live: false }, usual],
    [{ ...plain, expired: true }, usual],
    [plain, { ...usual, isOwn: false }],
    [plain, { ...usual, redirectUri: undefined }],
    [{ ...plain, codeChallenge: challenge }, usual],
    [plain, { ...usual, codeChallenge: challenge }],
    [
      { ...plain, codeChallenge: challenge },
      { ...usual, codeChallenge: another },
    ],
    [{ ...plain, codeBinding: key('a') }, usual],
    [plain, { ...usual, resource: other }],
    [{ ...plain, secondsSinceRedemption: 3600 }, usual],
    // the response was lost
    [{ ...plain, secondsSinceRedemption: -3600 }, usual],
  ];
  const reached = new Set<string | undefined>();
  await fc.assert(
    fc.asyncProperty(stored, request, async (code, { isOwn, ...asked }) => {
      const id = await clientSession(code);
      const [codeHash, accessTokenHash] = [randomBytes(32), randomBytes(32)];
      const { secondsSinceRedemption: seconds } = code;
      await sql(
        `INSERT INTO authorization_codes
           (code_hash, client_session_id, redirect_uri, code_challenge, failures, cnf, expires_at, redeemed_at, redemptions)
         VALUES ($1, $2, $3, $4, $5, $8, now() + interval '1 hour' * CASE WHEN $6 THEN -1 ELSE 1 END,
                 now() - make_interval(secs => $7), CASE WHEN $7::float8 IS NULL THEN 0 ELSE 1 END)`,
        [
          codeHash,
          id,
          client.redirectUri,
          code.codeChallenge,
          code.failures,
          code.expired,
          seconds,
          confirmationOf(code.codeBinding),
        ],
      );
      const presented = { ...asked, clientId: isOwn ? client.clientId : 'another' };
      const facts = { ...code, clientId: client.clientId, redirectUri: client.redirectUri };
      const refusal = decideRedemption(facts, presented);
      const hashes = { codeHash, accessTokenHash, refreshTokenHash: randomBytes(32), handleHash: undefined };
      const bound = { refreshTokenBinding: asked.binding, handleBinding: 'none', proof: undefined } as const;
      const result = await service.store.authorizationCodes.redeem({ ...presented, ...bound, ...hashes, ...lifetimes });
      reached.add(refusal?.failure);
      if (refusal) expect(result).toMatchObject({ failure: refusal.failure, burned: refusal.burned });
      else expect(result).toMatchObject({ authorization: { clientSessionId: id } });
      expect(await hasToken(accessTokenHash)).toBe(!refusal);
      expect(await exists(id)).toBe(!refusal?.ends);
    }),
    {
      numRuns: 600,
      examples,
    },
  );
  // the samples reached every rule
  expect([...reached].sort()).toEqual([
    'client',
    'ended',
    'expired',
    'key',
    'pkce',
    'pkce_missing',
    'pkce_unexpected',
    'redirect_uri',
    'replayed',
    'resource',
    'retried',
    undefined,
  ]);
});

test('a refresh token is exchanged, refused or ends its client session as the rule says (security R12, R31, R32, R33, R121)', async () => {
  const scopes = ['openid', 'email', 'profile'];
  const some = fc.subarray(scopes, { minLength: 1 });
  const mostly = fc.oneof({ arbitrary: fc.constant(scopes), weight: 3 }, { arbitrary: some, weight: 1 });
  const stored = fc.record({
    live: fc.constantFrom(true, true, true, true, false),
    scope: some,
    registered: mostly,
    consented: mostly,
    audience: optional([resource]),
    tokenBinding: bindings,
    expired: fc.constantFrom(false, false, true),
    use: fc.option(fc.record({ uses: fc.integer({ min: 1, max: 7 }), secondsSinceFirstUse: age }), { nil: undefined }),
    isOfEndedLine: fc.constantFrom(false, false, false, true),
  });
  const request = fc.record({
    isOwn: fc.constantFrom(true, true, true, true, false),
    scope: fc.oneof({ arbitrary: fc.constant(undefined), weight: 2 }, { arbitrary: some, weight: 1 }),
    resource: optional(resource),
    binding: bindings,
    rotate: fc.boolean(),
  });
  // one for each outcome: some are rare among the samples
  const plain: ValueOf<typeof stored> = {
    live: true,
    scope: scopes,
    registered: scopes,
    consented: scopes,
    audience: undefined,
    tokenBinding: 'none',
    expired: false,
    use: undefined,
    isOfEndedLine: false,
  };
  const usual: ValueOf<typeof request> = {
    isOwn: true,
    scope: undefined,
    resource: undefined,
    binding: 'none',
    rotate: true,
  };
  const used = (uses: number, secondsSinceFirstUse: -3600 | 3600) => ({
    ...plain,
    use: { uses, secondsSinceFirstUse },
  });
  const examples: [ValueOf<typeof stored>, ValueOf<typeof request>][] = [
    [plain, { ...usual, isOwn: false }],
    [{ ...plain, tokenBinding: key('a') }, usual],
    [{ ...plain, live: false }, usual],
    [
      { ...plain, scope: ['openid'] },
      { ...usual, scope: ['email'] },
    ],
    [plain, { ...usual, resource }],
    [{ ...plain, expired: true }, usual],
    [used(7, -3600), usual],
    [used(1, 3600), usual],
    [plain, usual],
    [plain, { ...usual, rotate: false }],
  ];
  const reached = new Set<string>();
  await fc.assert(
    fc.asyncProperty(stored, request, async ({ use, ...token }, { isOwn, ...asked }) => {
      const uses = use?.uses ?? 0;
      const secondsSinceFirstUse = use?.secondsSinceFirstUse;
      await sql(
        `UPDATE clients SET metadata = metadata || jsonb_build_object('scope', $2::text) WHERE client_id = $1`,
        [client.clientId, token.registered.join(' ')],
      );
      await sql(
        `UPDATE grants SET granted = jsonb_set(granted, '{scope}', to_jsonb($2::text[])) WHERE client_id = $1`,
        [client.clientId, token.consented],
      );
      const id = await clientSession({ ...token, line: token.isOfEndedLine ? randomBytes(32) : undefined });
      const [tokenHash, accessTokenHash] = [randomBytes(32), randomBytes(32)];
      await sql(
        `INSERT INTO refresh_tokens (token_hash, client_session_id, generation, uses, spent_at, expires_at)
         VALUES ($1, $2, 1, $3, now() - make_interval(secs => $4), now() + interval '1 hour' * CASE WHEN $5 THEN -1 ELSE 1 END)`,
        [tokenHash, id, uses, secondsSinceFirstUse, token.expired],
      );
      const presented = { ...asked, clientId: isOwn ? client.clientId : 'another' };
      const facts = { ...token, clientId: client.clientId, uses, secondsSinceFirstUse };
      const outcome = decideRefresh(facts, presented);
      const hashes = { tokenHash, accessTokenHash, refreshTokenHash: randomBytes(32) };
      const result = await service.store.refreshTokens.rotate({
        ...presented,
        proof: undefined,
        address: undefined,
        ...hashes,
        ...lifetimes,
      });
      reached.add('failure' in outcome ? outcome.failure : outcome.rotated ? 'rotated' : 'kept');
      if ('failure' in outcome) expect(result).toMatchObject(outcome);
      else
        expect(result).toMatchObject({
          rotated: outcome.rotated,
          authorization: { clientSessionId: id, scope: outcome.scope.join(' ') },
        });
      expect(await hasToken(accessTokenHash)).toBe(!('failure' in outcome));
      expect(await exists(id)).toBe(!('failure' in outcome && outcome.failure === 'reused'));
    }),
    { numRuns: 600, examples },
  );
  expect([...reached].sort()).toEqual([
    'client',
    'ended',
    'expired',
    'grace',
    'kept',
    'key',
    'resource',
    'reused',
    'rotated',
    'scope',
  ]);
});
