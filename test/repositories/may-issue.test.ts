// The check before issuing: the stored function decides as the rule in src/oauth does, whatever is stored; and a fact that changes between the decision
// and the storing issues nothing.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type IssueFacts, mayIssue } from '../../src/rules/access/may-issue.ts';
import { actsAt, mayIssueFunction, mayIssueToClient } from '../../src/repositories/tokens/may-issue.ts';
import { obtainCode, obtainTokens, redeem, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
});
afterAll(() => service?.stop());

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  service.database.sql<Row>(text, values);

/** Mostly the value with which something is issued, so that every later reason is reached, too. */
const mostly = <T>(good: T, ...others: T[]) =>
  fc.oneof({ arbitrary: fc.constant(good), weight: 6 }, { arbitrary: fc.constantFrom(...others), weight: 1 });

test('the stored function issues exactly where the rule says yes, in any state of all facts (security R133)', async () => {
  const { clientId } = await service.createClient({});
  const { sub } = await service.createUser();
  const facts = fc.record({
    isOfUser: mostly(true, false),
    userStatus: mostly<'enabled' | 'disabled'>('enabled', 'disabled'),
    groups: fc.constantFrom(['staff'], ['staff', 'crew'], ['crew'], []),
    paused: fc.boolean(),
    clientStatus: mostly<'enabled' | 'disabled'>('enabled', 'disabled'),
    access: fc.constantFrom<'everyone' | 'groups'>('everyone', 'groups'),
    networks: fc.constantFrom([], [], ['192.0.2.0/24', '2001:db8::/32']),
    connections: fc.constantFrom([], [], ['corp']),
    cameBy: fc.constantFrom(undefined, 'corp', 'other'),
    epoch: mostly<number | undefined>(7, undefined, 6),
    consent: mostly(true, false),
    session: mostly<'live' | 'idle' | 'none' | 'other'>('live', 'idle', 'none', 'other'),
    offline: fc.boolean(),
    inKnownBrowser: mostly(true, false),
    address: fc.constantFrom(
      'unasked',
      undefined,
      '192.0.2.7',
      '::ffff:192.0.2.7',
      '198.51.100.1',
      '2001:db8::1',
      'junk',
    ),
  });
  const reached = new Set<string>();
  const other = await service.createUser();
  const sessionOf = async (owner: string) =>
    (
      await sql<{ id: string }>(
        `INSERT INTO sessions (token_hash, sid, sub, amr, idle_expires_at, expires_at)
         VALUES ($1, $2, $3, '{pwd}', now() + interval '1 hour', now() + interval '1 day') RETURNING id::text`,
        [randomBytes(32), randomBytes(16).toString('hex'), owner],
      )
    )[0]!.id;
  const [own, foreign] = [await sessionOf(sub), await sessionOf(other.sub)];
  await sql(
    `INSERT INTO sign_in_failures (account, sub, failures, held_until, expires_at) VALUES ($1, $2, 9, '-infinity', 'infinity')`,
    [randomBytes(32), sub],
  );
  // they would end the session of a disabled user, which is another fact here
  const triggers = (state: string) =>
    sql(`ALTER TABLE users ${state} TRIGGER USER; ALTER TABLE clients ${state} TRIGGER USER`);
  await triggers('DISABLE');
  await fc.assert(
    fc.asyncProperty(facts, async (now) => {
      await sql(
        `BEGIN; UPDATE users SET status = '${now.userStatus}', groups = '{${now.groups.join(',')}}' WHERE sub = '${sub}';
         UPDATE clients SET status = '${now.clientStatus}', epoch = 7, access = '${now.access}', access_groups = '{staff,ops}',
                networks = '{${now.networks.join(',')}}', connections = '{${now.connections.join(',')}}' WHERE client_id = '${clientId}';
         UPDATE sessions SET idle_expires_at = now() + interval '1 hour' * ${now.session === 'idle' ? -1 : 1} WHERE id = ${own};
         UPDATE sign_in_failures SET held_until = ${now.paused ? "now() + interval '1 hour'" : "'-infinity'"} WHERE sub = '${sub}';
         DELETE FROM grants WHERE sub = '${sub}';
         ${now.consent ? `INSERT INTO grants (sub, client_id, granted) VALUES ('${sub}', '${clientId}', '{"scope": ["openid"], "claims": [], "resources": {}}');` : ''}
         COMMIT`,
      );
      const asked = now.address !== 'unasked';
      const unasked: IssueFacts = {
        user: now.isOfUser ? { status: now.userStatus, groups: now.groups, paused: now.paused } : undefined,
        client: {
          status: now.clientStatus,
          epoch: 7,
          access: now.access,
          networks: now.networks,
          accessGroups: ['staff', 'ops'],
          connections: now.connections,
        },
        atEpoch: now.epoch,
        consent: now.consent,
        offline: now.offline,
        inKnownBrowser: now.inKnownBrowser,
        sessionLives: now.session === 'live',
        by: { connection: now.cameBy },
      };
      const rule = asked ? { ...unasked, from: { address: now.address } } : unasked;
      const answer = mayIssue(rule);
      reached.add(answer);
      const session = { live: own, idle: own, other: foreign, none: null }[now.session];
      const rows = await sql(`SELECT * FROM ${mayIssueFunction.name}($1, $2, $3, $4, $5, $6, $7, $8)`, [
        now.isOfUser ? sub : null,
        clientId,
        now.epoch ?? null,
        session,
        now.offline,
        now.inKnownBrowser,
        now.cameBy ?? null,
        asked ? actsAt(now.address) : null,
      ]);
      expect(rows, answer).toHaveLength(answer === 'yes' ? 1 : 0);
      // what stores a token by client credentials asks
      const ofClient = mayIssue({ ...unasked, user: undefined, atEpoch: undefined });
      expect(await sql(`SELECT * FROM ${mayIssueToClient('$1')}`, [clientId])).toEqual(
        ofClient === 'yes' ? [{ epoch: 7 }] : [],
      );
    }),
    { numRuns: 500 },
  );
  await triggers('ENABLE');
  expect([...reached].sort()).toEqual(
    ['client_disabled', 'client_ended', 'connection_not_allowed', 'network', 'no_consent', 'not_in_group'].concat([
      'session_ended',
      'user_disabled',
      'user_paused',
      'yes',
    ]),
  );
});

test('PostgreSQL inlines it: a call costs no more than the joins that it replaces (security R133)', async () => {
  const rows = await sql<{ 'QUERY PLAN': string }>(
    `EXPLAIN SELECT session_end FROM ${mayIssueFunction.name}('sub', 'client', 1, 2, false, true, NULL, NULL)`,
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).not.toContain('Function Scan');
  // what a known browser and an unasked network make unnecessary is not even planned
  expect(plan).not.toMatch(/sign_in_failures|networks/);
});

type Change = (sub: string, clientId: string) => Promise<unknown>;
const users =
  (set: string): Change =>
  (sub) =>
    sql(`UPDATE users SET ${set} WHERE sub = $1`, [sub]);
const clients =
  (set: string): Change =>
  (_sub, clientId) =>
    sql(`UPDATE clients SET ${set} WHERE client_id = $1`, [clientId]);

test.each<[fact: string, change: Change, undo?: Change]>([
  ['the user is disabled', users(`status = 'disabled'`)],
  ['the user leaves the group', users(`groups = '{}'`)],
  ['the client is disabled', clients(`status = 'disabled'`), clients(`status = 'enabled'`)],
  ['the client gives up the group', clients(`access_groups = '{ops}'`), clients(`access_groups = '{staff}'`)],
  ['the consent is withdrawn', (sub) => sql('DELETE FROM grants WHERE sub = $1', [sub])],
  ['the session ends', (sub) => sql('DELETE FROM sessions WHERE sub = $1', [sub])],
])(
  '%s while a code and a refresh token are used: nothing that was issued lives (security R133)',
  async (_, change, undo) => {
    const client = await service.createClient({ scope: 'openid' });
    await clients(`access = 'groups', access_groups = '{staff}'`)('', client.clientId);
    const [first, second] = service.instances as [string, string];
    for (let round = 0; round < 4; round++) {
      const user = await service.createUser();
      await users(`groups = '{staff}'`)(user.sub, client.clientId);
      const tokens = await obtainTokens(service, client, user);
      const code = await obtainCode(service, client, user);
      const [redeemed, refreshed] = await Promise.all([
        redeem(first, client, code),
        refresh(second, client, tokens.refresh_token),
        change(user.sub, client.clientId),
      ]);
      for (const { status, body } of [redeemed, refreshed]) {
        if (status !== 200) continue;
        expect((await userinfo(second, String(body['access_token']))).status).toBe(401);
        expect((await refresh(first, client, String(body['refresh_token']))).status).toBeGreaterThanOrEqual(400);
      }
      await undo?.(user.sub, client.clientId);
    }
  },
);

test.each<[fact: string, change: Change, undo: Change]>([
  ['the user left the group', users(`groups = '{}'`), users(`groups = '{staff}'`)],
  ['the client gave up the group', clients(`access_groups = '{ops}'`), clients(`access_groups = '{staff}'`)],
  ['the client took other networks', clients(`networks = '{192.0.2.0/24}'`), clients(`networks = '{}'`)],
  ['the consent was withdrawn', (sub) => sql('DELETE FROM grants WHERE sub = $1', [sub]), async () => undefined],
])('%s after the decision: the statement that stores issues nothing (security R133)', async (_, change, undo) => {
  const client = await service.createClient({ scope: 'openid' });
  await clients(`access = 'groups', access_groups = '{staff}'`)('', client.clientId);
  const user = await service.createUser();
  await users(`groups = '{staff}'`)(user.sub, client.clientId);
  await obtainTokens(service, client, user);
  const [session] = await sql<{ id: string }>('SELECT id::text FROM sessions WHERE sub = $1', [user.sub]);
  const { version } = (await service.store.clients.find(client.clientId))!;
  const issue = async (clientVersion: number) => {
    const [codeHash, accessTokenHash] = [randomBytes(32), randomBytes(32)];
    const outcome = await service.store.authorizationCodes.issue({
      codeHash,
      accessTokenHash,
      sessionId: session!.id,
      clientId: client.clientId,
      clientVersion,
      scope: ['openid'],
      claims: [],
      requested: undefined,
      offline: false,
      redirectUri: client.redirectUri,
      nonce: undefined,
      codeChallenge: undefined,
      codeBinding: 'none',
      audience: undefined,
      resources: [],
      subject: undefined,
      lifetime: 60,
      accessTokenLifetime: 60,
      clientSessionLifetime: 120,
      requestHash: undefined,
      maxCodes: 5,
      maxPerMinute: 0,
      address: '127.0.0.1',
    });
    const stored = await sql('SELECT FROM access_tokens WHERE token_hash = $1', [accessTokenHash]);
    return 'refusal' in outcome ? outcome.refusal : stored.length;
  };
  expect(await issue(version)).toBe(1);
  await change(user.sub, client.clientId);
  // of a client the version alone would refuse it: the newest one shows that the fact itself does
  expect(await issue((await service.store.clients.find(client.clientId))!.version)).toBe('ended');
  await undo(user.sub, client.clientId);
});
