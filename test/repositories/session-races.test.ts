// Tests the very moment at which a session ends or a password changes: only a race shows it.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAdministration } from '../../src/domain/administration/administration.ts';
import type { Repositories } from '../../src/repositories/store.ts';
import { newOpaqueToken } from '../../src/tokens/opaque-token.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { signInOf } from '../helpers/sign-in.ts';
import { responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { unbound } from '../helpers/grants.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
});
afterAll(() => service?.stop());

const rounds = 25;
const by = { actor: 'test' };

/** Waits until one statement like this waits for a lock. */
async function expectWaiting(like: string): Promise<void> {
  const waiting = `SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`;
  await expect.poll(async () => (await service.database.sql<{ count: number }>(waiting, [like]))[0]!.count).toBe(1);
}

test('a password change that waits for a concurrent sign-in ends the session that this creates (security R54)', async () => {
  const administration = createAdministration(service.store);
  const user = await service.createUser();
  let change: Promise<unknown> = Promise.resolve();
  await service.store.transaction(async ({ signIns }) => {
    const made = await signIns.insert(
      signInOf({ tokenHash: randomBytes(32), sid: 'raced', sub: user.sub, passwordHash: user.passwordHash! }, 3600),
    );
    expect(made).toBe(true);
    change = administration.changeUser(by, user.sub, {}, 'another hash');
    await expectWaiting('SELECT * FROM users WHERE sub = %');
  });
  await change;
  expect(await service.database.sql('SELECT 1 FROM sessions WHERE sub = $1', [user.sub])).toHaveLength(0);
});

test('a silent request concurrent with the end of its session gets a protocol answer, and no code that works (security R54, R110)', async () => {
  const client = await service.createClient();
  for (let round = 0; round < rounds; round++) {
    const user = await service.createUser();
    const agent = new UserAgent(service);
    await agent.authorize(client, user);
    const silent = Array.from({ length: 4 }, () => agent.authorize(client, undefined, { prompt: 'none' }));
    const [pages] = await Promise.all([
      Promise.all(silent),
      service.database.sql('DELETE FROM sessions WHERE sub = $1', [user.sub]),
    ]);
    for (const page of pages) {
      expect(page.status).toBeLessThan(500);
      const { code } = page.location === undefined ? {} : responseParameters(page);
      if (code === undefined) continue;
      const redeemed = await tokenRequest(service.instances[1]!, client, {
        grant_type: 'authorization_code',
        code,
        redirect_uri: client.redirectUri,
      });
      expect(redeemed.body).toMatchObject({ error: 'invalid_grant' });
    }
  }
});

test.each([
  ['the user signs in again', undefined, 'id="sign-in"'],
  ['a silent request gets login_required', 'none', 'error=login_required'],
])('a session ends while its code is being issued, and %s (OpenID Connect Core 3.1.2.6)', async (_, prompt, answer) => {
  const client = await service.createClient();
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.authorize(client, user);
  let page: ReturnType<UserAgent['authorize']>;
  const [session] = await service.store.sessions.list({ sub: user.sub }, { limit: 1, after: undefined });
  await service.store.transaction(async ({ sessions }) => {
    await sessions.end(session!.id);
    page = agent.authorize(client, undefined, prompt === undefined ? {} : { prompt });
    await expectWaiting('%issue_code%');
  });
  const answered = await page!;
  expect(answered.location ?? answered.body).toContain(answer);
});

test.each(['the response', 'the withdrawal'])(
  'a grant that is withdrawn while the browser gets an access token leaves no valid token: %s comes first (security R30)',
  async (first) => {
    const client = await service.createClient();
    const user = await service.createUser();
    const agent = new UserAgent(service);
    await agent.authorize(client, user);
    const [session] = await service.store.sessions.list({ sub: user.sub }, { limit: 1, after: undefined });
    const { version } = (await service.store.clients.find(client.clientId))!;
    const token = newOpaqueToken('access_token');
    const operations: Record<string, (repositories: Repositories) => Promise<unknown>> = {
      'the withdrawal': ({ grants }) => grants.withdraw(user.sub, client.clientId),
      'the response': ({ authorizationCodes }) =>
        authorizationCodes.issue({
          codeHash: undefined,
          accessTokenHash: token.hash,
          sessionId: session!.id,
          clientId: client.clientId,
          clientVersion: version,
          scope: ['openid'],
          claims: [],
          requested: undefined,
          offline: false,
          redirectUri: client.redirectUri,
          nonce: undefined,
          codeChallenge: undefined,
          codeBinding: 'none',
          address: undefined,
          audience: undefined,
          resources: [],
          subject: undefined,
          lifetime: 60,
          accessTokenLifetime: 600,
          clientSessionLifetime: 600,
          requestHash: undefined,
          maxCodes: 1,
          maxPerMinute: 0,
        }),
    };
    const second = Object.keys(operations).find((name) => name !== first)!;
    let later: Promise<unknown> = Promise.resolve();
    await service.store.transaction(async (repositories) => {
      expect(await operations[first]!(repositories)).toEqual(
        first === 'the response' ? { issuedAt: expect.any(Date), clientSessionId: expect.any(String) } : true,
      );
      later = operations[second]!(service.store);
      await expectWaiting(first === 'the response' ? '%FROM grants%' : '%issue_code%');
    });
    await later;
    expect(await service.store.accessTokens.find(token.hash)).toBeUndefined();
  },
);

test('a refresh of an offline grant concurrent with the logout leaves no access token alive (decisions section 6)', async () => {
  const client = await service.createClient({ scope: 'openid offline_access' });
  for (let round = 0; round < rounds; round++) {
    const user = await service.createUser();
    const agent = new UserAgent(service);
    const { code } = responseParameters(await agent.authorize(client, user, { scope: 'openid offline_access' }));
    const { body } = await tokenRequest(service.issuer, client, {
      grant_type: 'authorization_code',
      code: code!,
      redirect_uri: client.redirectUri,
    });
    const question = await agent.get('/logout');
    let loggedOut = 0;
    const [refreshed] = await Promise.all([
      tokenRequest(service.instances[1]!, client, {
        grant_type: 'refresh_token',
        refresh_token: body['refresh_token'] as string,
      }),
      agent.submit(question, { decision: 'sign-out' }).then(() => (loggedOut = performance.now())),
    ]);
    expect(loggedOut).toBeGreaterThan(0);
    expect(refreshed.status).toBe(200);
    // in either order the grant lives on, and its next token is valid
    const next = await tokenRequest(service.issuer, client, {
      grant_type: 'refresh_token',
      refresh_token: refreshed.body['refresh_token'] as string,
    });
    expect(next.status).toBe(200);
    const first = await fetch(`${service.instances[1]}/user/info`, {
      headers: { authorization: `Bearer ${body['access_token'] as string}` },
    });
    expect(first.status).toBe(401);
  }
});

test('a token that is stored while its client is deleted is dead, also when the client_id exists again (security R42)', async () => {
  const { clientId } = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
  const tokenHash = randomBytes(32);
  await service.store.transaction(async ({ accessTokens }) => {
    const token = { tokenHash, clientId, scope: '', lifetime: 600, audience: undefined, ...unbound };
    expect(await accessTokens.insertForClient(token)).toBe('stored');
    await service.database.sql('CREATE TABLE gone AS SELECT * FROM clients WHERE client_id = $1', [clientId]);
    // does not see the token, which is not committed yet
    await service.database.sql('DELETE FROM clients WHERE client_id = $1', [clientId]);
  });
  expect(await service.database.sql('SELECT 1 FROM access_tokens WHERE token_hash = $1', [tokenHash])).toHaveLength(1);
  expect(await service.store.accessTokens.find(tokenHash)).toBeUndefined();
  const columns = 'client_id, status, metadata, client_secret_hash, shared_secret_encrypted, approved_by';
  await service.database.sql(`INSERT INTO clients (${columns}) SELECT ${columns} FROM gone`);
  expect(await service.store.clients.find(clientId)).toMatchObject({ status: 'enabled' });
  expect(await service.store.accessTokens.find(tokenHash)).toBeUndefined();
});

test('a code that is issued while its client is deleted cannot be redeemed, also when the client_id exists again (security R42)', async () => {
  const client = await service.createClient();
  const { clientId } = client;
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.authorize(await service.createClient(), user);
  await service.store.grants.add(
    user.sub,
    clientId,
    { scope: ['openid'], claims: [], resources: {} },
    client.redirectUri,
  );
  const [session] = await service.database.sql<{ id: string }>('SELECT id FROM sessions WHERE sub = $1', [user.sub]);
  const code = newOpaqueToken('authorization_code');
  const columns = 'client_id, status, metadata, client_secret_hash, shared_secret_encrypted, approved_by';
  const { version } = (await service.store.clients.find(clientId))!;
  let deletion: Promise<unknown> = Promise.resolve();
  await service.store.transaction(async ({ authorizationCodes }) => {
    const issued = await authorizationCodes.issue({
      codeHash: code.hash,
      accessTokenHash: undefined,
      sessionId: session!.id,
      clientId,
      clientVersion: version,
      scope: ['openid'],
      claims: [],
      requested: undefined,
      offline: false,
      redirectUri: client.redirectUri,

      nonce: undefined,
      codeChallenge: undefined,
      codeBinding: 'none',
      address: undefined,
      audience: undefined,
      resources: [],
      subject: undefined,
      requestHash: undefined,
      lifetime: 60,
      accessTokenLifetime: 60,
      clientSessionLifetime: 120,
      maxCodes: 5,
      maxPerMinute: 0,
    });
    expect(issued).toEqual({ issuedAt: expect.any(Date), clientSessionId: expect.any(String) });
    await service.database.sql('CREATE TABLE gone_too AS SELECT * FROM clients WHERE client_id = $1', [clientId]);
    // waits for the grant, whose lock the issuing of the code holds, and then ends both
    deletion = service.database.sql('DELETE FROM clients WHERE client_id = $1', [clientId]);
    await expectWaiting('DELETE FROM clients%');
  });
  await deletion;
  await service.database.sql(`INSERT INTO clients (${columns}) SELECT ${columns} FROM gone_too`);
  const redeemed = await tokenRequest(service.instances[1]!, client, {
    grant_type: 'authorization_code',
    code: code.token,
    redirect_uri: client.redirectUri,
  });
  expect(redeemed.body).toMatchObject({ error: 'invalid_grant' });
});

test('deleting a client deletes its pending requests and its part in sessions (security R42)', async () => {
  const client = await service.createClient();
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.authorize(client, user);
  await new UserAgent(service).authorize(client, undefined);
  const rows = () =>
    Promise.all(
      ['client_sessions', 'session_clients', 'authorization_requests'].map(
        async (table) =>
          (await service.database.sql(`SELECT 1 FROM ${table} WHERE client_id = $1`, [client.clientId])).length,
      ),
    );
  // the request that waits, and the one that a double click may send again
  expect(await rows()).toEqual([1, 1, 2]);
  await service.store.clients.delete(client.clientId);
  expect(await rows()).toEqual([0, 0, 0]);
});

test('deleting a client deletes its tokens (security R42)', async () => {
  const { clientId } = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
  const token = { tokenHash: randomBytes(32), clientId, scope: '', lifetime: 600, audience: undefined, ...unbound };
  await service.store.accessTokens.insertForClient(token);
  await service.store.clients.delete(clientId);
  expect(await service.database.sql('SELECT 1 FROM access_tokens WHERE client_id = $1', [clientId])).toHaveLength(0);
});
