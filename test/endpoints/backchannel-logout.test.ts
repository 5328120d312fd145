// Back-channel logout: who is told of which end of a session, by what token, and that no failure loses one.
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, type Answer, call, eventually, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { LogoutReceiver } from '../helpers/logout-receiver.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { endSessionAddress } from '../spec/kit.ts';

type Person = Awaited<ReturnType<TestService['createUser']>>;
type Delivery = Record<string, string>;

const back = 'https://rp.example.com/signed-out';
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
let receiver: LogoutReceiver;
let service: TestService;
let token: string;
let paths = 0;
beforeAll(async () => {
  receiver = await new LogoutReceiver().start();
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, OUTBOUND_ALLOW: receiver.host },
  });
  token = await adminToken(service);
});
afterAll(async () => {
  receiver?.release();
  await service?.stop();
  await receiver?.stop();
});

/** A client with a path of its own at the receiver. */
async function newClient(
  metadata: Record<string, unknown> = {},
  options: { firstParty?: boolean } = {},
): Promise<TestClient & { path: string }> {
  const path = `/logout/${paths++}`;
  const client = await service.createClient(
    { backchannel_logout_uri: receiver.uri(path), post_logout_redirect_uris: [back], ...metadata },
    options,
  );
  return { ...client, path };
}

/** A browser in which a person is signed in to these clients, with the ID Token of each. */
async function visit(clients: TestClient[], user?: Person) {
  const agent = new UserAgent(service);
  const person = user ?? (await service.createUser());
  const idTokens: string[] = [];
  for (const client of clients) idTokens.push((await obtainTokens(service, client, person, {}, agent)).id_token);
  return { agent, user: person, idTokens, sid: decodeJwt(idTokens[0]!)['sid'] as string };
}

async function signOut(agent: UserAgent): Promise<void> {
  const end = await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
  expect(end.status).toBe(200);
}

const arrived = (path: string, count = 1) =>
  eventually(
    async () => receiver.at(path),
    (received) => received.length >= count,
    5000,
  );
const admin = (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
  call(`${service.issuer}/admin/api${path}`, { method, token, ...(body !== undefined && { body }) });
const deliveries = async (client: TestClient): Promise<Delivery[]> =>
  (await admin(`/logout-deliveries?client_id=${client.clientId}`)).body['logout_deliveries'] as Delivery[];
const delivery = (client: TestClient, satisfies: (delivery: Delivery) => boolean) =>
  eventually(
    async () => (await deliveries(client))[0],
    (found) => found !== undefined && satisfies(found),
    5000,
  );
const events = async (client: TestClient): Promise<Record<string, unknown>[]> =>
  ((await admin(`/audit?client_id=${client.clientId}`)).body['events'] as Record<string, unknown>[]).filter((event) =>
    String(event['type']).startsWith('logout_token.'),
  );
/** Time passes: all pauses are over. */
const pausesEnd = async () => {
  await service.database.sql('UPDATE logout_receivers SET retry_at = now()');
  await service.database.sql(`UPDATE logout_deliveries SET next_attempt_at = now() WHERE status = 'waiting'`);
  await service.database.sql(`NOTIFY gatehouse, 'logout'`);
};

test('discovery says that it is supported, with sessions (Back-Channel Logout 1.0 section 2.1)', async () => {
  const { body } = await call(`${service.issuer}/.well-known/openid-configuration`);
  expect(body).toMatchObject({ backchannel_logout_supported: true, backchannel_logout_session_supported: true });
});

test('signing out tells each client of the session by a token of its own, and nobody else (Back-Channel Logout 1.0 sections 2.4, 2.5)', async () => {
  const [one, two] = [await newClient(), await newClient({ id_token_signed_response_alg: 'ES256' })];
  const [silent, other] = [await service.createClient(), await newClient()];
  const { agent, user, idTokens, sid } = await visit([one, two, silent]);
  await visit([other], user);
  await signOut(agent);
  const { keys } = (await call(`${service.issuer}/jwks`)).body as unknown as JSONWebKeySet;
  for (const [client, alg, idToken] of [
    [one, 'RS256', idTokens[0]!],
    [two, 'ES256', idTokens[1]!],
  ] as const) {
    const [received] = await arrived(client.path);
    expect(received!.contentType).toBe('application/x-www-form-urlencoded');
    expect([...received!.form.keys()]).toEqual(['logout_token']);
    const { payload, protectedHeader } = await jwtVerify(received!.token, createLocalJWKSet({ keys }));
    expect(protectedHeader).toEqual({ alg, typ: 'logout+jwt', kid: expect.any(String) as string });
    const { iat = 0 } = payload;
    expect(payload).toEqual({
      iss: service.issuer,
      aud: client.clientId,
      sub: user.sub,
      sid,
      iat,
      exp: iat + 120,
      jti: expect.any(String) as string,
      events: { [logoutEvent]: {} },
    });
    expect([payload['sub'], payload['sid']]).toEqual([decodeJwt(idToken).sub, decodeJwt(idToken)['sid']]);
    const found = await delivery(client, ({ status }) => status === 'delivered');
    expect(found).toMatchObject({ sub: user.sub, sid, attempts: 1 });
    // what went as it should is no event of its own
    expect(await events(client)).toEqual([]);
  }
  expect(receiver.at(one.path)[0]!.claims.jti).not.toBe(receiver.at(two.path)[0]!.claims.jti);
  expect(await deliveries(silent)).toEqual([]);
  expect(await deliveries(other)).toEqual([]);
});

test('a client with HS256 ID Tokens gets a token under its secret (Back-Channel Logout 1.0 section 2.4)', async () => {
  const client = await newClient({ id_token_signed_response_alg: 'HS256' });
  const { agent } = await visit([client]);
  await signOut(agent);
  const [received] = await arrived(client.path);
  const { protectedHeader } = await jwtVerify(received!.token, Buffer.from(client.clientSecret));
  expect(protectedHeader).toEqual({ alg: 'HS256', typ: 'logout+jwt' });
});

test('a Logout Token is no ID Token: as a hint it is refused (RFC 8725 section 3.12)', async () => {
  const client = await newClient();
  const { agent } = await visit([client]);
  await signOut(agent);
  const [received] = await arrived(client.path);
  expect(decodeProtectedHeader(received!.token).typ).toBe('logout+jwt');
  const page = await agent.get(`/logout?${new URLSearchParams({ id_token_hint: received!.token }).toString()}`);
  expect(page.status).toBe(400);
});

describe('whoever ends the session', () => {
  test.each<[string, (visited: { agent: UserAgent; user: Person; sid: string }) => Promise<unknown>]>([
    ['an administrator ends it', ({ sid }) => admin(`/sessions/${sid}`, 'DELETE')],
    ['the user is disabled', ({ user }) => admin(`/users/${user.sub}`, 'PATCH', { status: 'disabled' })],
    ['the user is deleted', ({ user }) => admin(`/users/${user.sub}`, 'DELETE')],
    ['the password changes', ({ user }) => admin(`/users/${user.sub}`, 'PATCH', { password: 'a quite new password' })],
    [
      'another person signs in',
      async ({ agent }) => agent.signIn(await service.createUser(), await agent.get('/login?switch=1')),
    ],
    ['SQL deletes it', ({ sid }) => service.database.sql('DELETE FROM sessions WHERE sid = $1', [sid])],
  ])('the client is told: %s (Back-Channel Logout 1.0 section 2.5)', async (_how, end) => {
    const client = await newClient();
    const visited = await visit([client]);
    await end(visited);
    const [received] = await arrived(client.path);
    expect(received!.claims).toMatchObject({ sid: visited.sid, sub: visited.user.sub });
  });

  test('one that merely expired was not ended: nobody is told (decisions section 4)', async () => {
    const client = await newClient();
    const { sid } = await visit([client]);
    await service.database.sql('UPDATE sessions SET idle_expires_at = now() WHERE sid = $1', [sid]);
    await service.database.sql('DELETE FROM sessions WHERE sid = $1', [sid]);
    expect(await deliveries(client)).toEqual([]);
  });

  test('the same person signs in again: the session lives on, and nobody is told (decisions section 4)', async () => {
    const client = await newClient();
    const { agent, user } = await visit([client]);
    await agent.authorize(client, user, { prompt: 'login' });
    expect(await deliveries(client)).toEqual([]);
  });

  test('a client that ends its own session by a signed request is not told what it asked for (decisions section 6)', async () => {
    const [asking, other] = [await newClient(), await newClient()];
    const { agent } = await visit([asking, other]);
    expect((await agent.get(await endSessionAddress(service, asking))).status).toBe(302);
    expect([await deliveries(asking), await deliveries(other)]).toEqual([[], []]);
    await signOut(agent);
    await arrived(other.path);
    expect(await deliveries(asking)).toEqual([]);
  });

  test('the others are told when a first-party client ends all (decisions section 6)', async () => {
    const [asking, other] = [await newClient({}, { firstParty: true }), await newClient()];
    const { agent } = await visit([asking, other]);
    expect((await agent.get(await endSessionAddress(service, asking, { all: true }))).status).toBe(302);
    await arrived(other.path);
    expect(await deliveries(asking)).toEqual([]);
  });
});

describe('a receiver that fails', () => {
  test('is told once it is up, by a fresh token, and the trail has it (decisions sections 6 and 7)', async () => {
    const client = await newClient();
    const { agent, sid } = await visit([client]);
    receiver.answers.set(client.path, 503);
    await signOut(agent);
    const waiting = await delivery(client, ({ last_failure }) => last_failure !== undefined);
    expect(waiting).toMatchObject({ status: 'waiting', attempts: 1, last_failure: 'answered 503' });
    expect(Date.parse(waiting!['next_attempt_at']!)).toBeGreaterThan(Date.parse(waiting!['created_at']!));
    // an administrator sees it by route and by command line
    const listed = await runCommand(service, ['logout-delivery', 'list', '--client', client.clientId, '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ sid, status: 'waiting', last_failure: 'answered 503' }]);
    const table = await runCommand(service, ['logout-delivery', 'list', '--status', 'waiting']);
    expect(table.stdout).toContain('answered 503');

    receiver.answers.delete(client.path);
    await pausesEnd();
    const done = await delivery(client, ({ status }) => status === 'delivered');
    expect(Number(done!['attempts'])).toBeGreaterThan(1);
    expect(done).not.toHaveProperty('next_attempt_at');
    const received = receiver.at(client.path);
    expect(new Set(received.map(({ claims }) => claims.jti)).size).toBe(received.length);
    expect(await events(client)).toMatchObject([
      { type: 'logout_token.delivered', outcome: 'success', detail: { attempts: Number(done!['attempts']) } },
    ]);
  });

  test.each([302, 404])('by %s is told again (Back-Channel Logout 1.0 section 2.7)', async (status) => {
    const client = await newClient();
    const { agent } = await visit([client]);
    receiver.answers.set(client.path, status);
    await signOut(agent);
    await delivery(client, ({ last_failure }) => last_failure === `answered ${status}`);
    expect(receiver.at('/elsewhere')).toEqual([]);
    receiver.answers.set(client.path, 204);
    await pausesEnd();
    await delivery(client, (found) => found['status'] === 'delivered');
  });

  test('the pause doubles from failure to failure, up to a minute (decisions section 6)', async () => {
    const client = await newClient();
    const { agent } = await visit([client]);
    receiver.answers.set(client.path, 503);
    await signOut(agent);
    const pauses: number[] = [];
    for (let failures = 1; failures <= 12; failures++) {
      const [found] = await eventually(
        () =>
          service.database.sql<{ failures: number; pause: number }>(
            `SELECT failures, extract(epoch FROM retry_at - now())::float8 AS pause FROM logout_receivers WHERE client_id = $1`,
            [client.clientId],
          ),
        ([row]) => row !== undefined && row.failures >= failures,
        5000,
      );
      pauses.push(found!.pause);
      failures = found!.failures;
      await pausesEnd();
    }
    expect(pauses[0]).toBeLessThanOrEqual(1);
    expect(Math.max(...pauses)).toBeGreaterThan(20);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(60);
    receiver.answers.delete(client.path);
    await pausesEnd();
    await delivery(client, ({ status }) => status === 'delivered');
    const left = await service.database.sql('SELECT FROM logout_receivers WHERE client_id = $1', [client.clientId]);
    expect(left).toEqual([]);
  });

  test('is left alone during the pause, whatever else comes for it (decisions section 6)', async () => {
    const client = await newClient();
    receiver.answers.set(client.path, 503);
    await leaveWord(client, 1);
    await delivery(client, ({ last_failure }) => last_failure !== undefined);
    await service.database.sql(
      `UPDATE logout_receivers SET retry_at = now() + interval '1 hour' WHERE client_id = $1`,
      [client.clientId],
    );
    const { length } = receiver.at(client.path);
    await leaveWord(client, 1);
    await bothLook();
    expect(receiver.at(client.path)).toHaveLength(length);
    receiver.answers.delete(client.path);
    await pausesEnd();
    await allDelivered(client);
  });

  test('by 400 has refused it for good (Back-Channel Logout 1.0 section 2.8)', async () => {
    const client = await newClient();
    const { agent } = await visit([client]);
    receiver.answers.set(client.path, 400);
    await signOut(agent);
    const refused = await delivery(client, ({ status }) => status === 'refused');
    expect(refused).toMatchObject({ attempts: 1, last_failure: 'answered 400' });
    expect(await events(client)).toMatchObject([{ type: 'logout_token.refused', outcome: 'failure' }]);
  });

  test('is given up after the retention, with an event and a line in the log (decisions section 7)', async () => {
    const client = await newClient();
    const { agent } = await visit([client]);
    receiver.answers.set(client.path, 503);
    await signOut(agent);
    await delivery(client, ({ last_failure }) => last_failure !== undefined);
    await service.database.sql(
      `UPDATE logout_deliveries SET created_at = now() - interval '86401 seconds' WHERE client_id = $1`,
      [client.clientId],
    );
    await service.database.sql(`NOTIFY gatehouse, 'logout'`);
    await delivery(client, ({ status }) => status === 'given_up');
    expect(await events(client)).toMatchObject([{ type: 'logout_token.given_up', outcome: 'failure' }]);
    const line = service.logs.find(
      ({ client_id, msg }) => client_id === client.clientId && /given up/.test(String(msg)),
    );
    expect(line).toMatchObject({ level: 40, reason: 'answered 503' });
  });

  test.each(['http://127.0.0.1:9/logout', 'https://127.0.0.1:9/logout', 'https://[::1]:9/logout'])(
    'on the own network, at %s, is not asked (decisions section 2)',
    async (uri) => {
      const client = await newClient({ backchannel_logout_uri: uri });
      const { agent } = await visit([client]);
      await signOut(agent);
      const { last_failure } = (await delivery(client, (found) => found['last_failure'] !== undefined))!;
      expect(last_failure).toMatch(/only https addresses are asked|not allowed/);
    },
  );

  test('holds up neither the answer to the person nor other receivers, and few are tried at once (decisions section 6)', async () => {
    const [dead, well] = [await newClient(), await newClient()];
    const { agent, sid } = await visit([dead, well]);
    receiver.answers.set(dead.path, 'hang');
    await leaveWord(dead, 30);
    await arrived(dead.path);
    // the answer to the person comes while the receiver hangs
    await signOut(agent);
    expect((await arrived(well.path))[0]!.claims['sid']).toBe(sid);
    await bothLook();
    // two instances, four each
    expect(receiver.at(dead.path).length).toBeLessThanOrEqual(8);
    receiver.release();
    await allDelivered(dead);
    expect(receiver.at(dead.path)).toHaveLength(31);
  });
});

/** What sessions would leave that end all at once. */
async function leaveWord({ clientId }: TestClient, count: number): Promise<void> {
  await service.database.sql(
    `INSERT INTO logout_deliveries (client_id, sub, sid) SELECT $1, 'alice', 'session-' || n FROM generate_series(1, $2::int) n`,
    [clientId, count],
  );
  await service.database.sql(`NOTIFY gatehouse, 'logout'`);
}

/** Both instances have looked at what waits, as far as that shows: what came later was delivered, again and again. */
async function bothLook(): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const client = await newClient();
    await leaveWord(client, 1);
    await arrived(client.path);
  }
}

const allDelivered = ({ clientId }: TestClient) =>
  eventually(
    () => service.database.sql(`SELECT FROM logout_deliveries WHERE client_id = $1 AND status = 'waiting'`, [clientId]),
    (waiting) => waiting.length === 0,
    5000,
  );

test('two instances that race for a hundred deliveries send each once (decisions section 6)', async () => {
  const client = await newClient();
  await leaveWord(client, 100);
  await allDelivered(client);
  expect(new Set(receiver.at(client.path).map(({ claims }) => claims['sid'])).size).toBe(100);
  expect(receiver.at(client.path)).toHaveLength(100);
});

test('what one instance is at is not tried by the other (decisions section 6)', async () => {
  const client = await newClient();
  receiver.answers.set(client.path, 'hang');
  await leaveWord(client, 4);
  await arrived(client.path, 4);
  await bothLook();
  expect(receiver.at(client.path)).toHaveLength(4);
  receiver.release();
  await allDelivered(client);
});

test('what an instance was at when it died is tried by another after the lease (decisions section 6)', async () => {
  const client = await newClient();
  await service.database.sql(
    `INSERT INTO logout_deliveries (client_id, sub, sid, attempts, next_attempt_at)
     VALUES ($1, 'alice', 'orphan', 1, now() + interval '20 seconds')`,
    [client.clientId],
  );
  await service.database.sql(`NOTIFY gatehouse, 'logout'`);
  await pausesEnd();
  const [received] = await arrived(client.path);
  expect(received!.claims['sid']).toBe('orphan');
});

test('what is finished goes after its time, and what waits stays (security R105)', async () => {
  const { clientId } = await service.createClient();
  await service.database.sql(
    `INSERT INTO logout_deliveries (client_id, sub, sid, status, finished_at, expires_at)
     VALUES ($1, 'alice', 'old', 'delivered', now(), now()), ($1, 'alice', 'new', 'delivered', now(), now() + interval '1 hour')`,
    [clientId],
  );
  await service.database.sql(
    `INSERT INTO logout_deliveries (client_id, sub, sid, next_attempt_at) VALUES ($1, 'alice', 'waiting', now() + interval '1 hour')`,
    [clientId],
  );
  await service.database.sql(
    `INSERT INTO logout_receivers VALUES ('long-ago', 3, now() - interval '25 hours'), ('lately', 3, now() - interval '23 hours')`,
  );
  for (let kind = 0; kind < service.store.expired.kinds; kind++) await service.store.expired.deleteBatch(kind);
  const left = await service.database.sql<{ sid: string }>(
    'SELECT sid FROM logout_deliveries WHERE client_id = $1 ORDER BY sid',
    [clientId],
  );
  expect(left.map(({ sid }) => sid)).toEqual(['new', 'waiting']);
  expect(
    await service.database.sql(`SELECT client_id FROM logout_receivers WHERE client_id IN ('long-ago', 'lately')`),
  ).toEqual([{ client_id: 'lately' }]);
});

test.each([
  ['disabled', (client: TestClient) => admin(`/clients/${client.clientId}/disable`, 'POST')],
  ['deleted', (client: TestClient) => admin(`/clients/${client.clientId}`, 'DELETE')],
])('a client that is %s is told nothing more (decisions section 2)', async (_what, end) => {
  const client = await newClient();
  const [before, after] = [await visit([client]), await visit([client])];
  receiver.answers.set(client.path, 503);
  await signOut(before.agent);
  await delivery(client, ({ last_failure }) => last_failure !== undefined);
  await end(client);
  receiver.answers.delete(client.path);
  await signOut(after.agent);
  expect(await deliveries(client)).toEqual([]);
});

describe('registration', () => {
  const register = (metadata: Record<string, unknown>) =>
    call(`${service.issuer}/register`, {
      body: { redirect_uris: ['https://rp.example.com/callback'], ...metadata },
    });

  test('the address and its flag are registered and shown (Back-Channel Logout 1.0 section 2.2)', async () => {
    const members = {
      backchannel_logout_uri: 'https://rp.example.com/logout?tenant=1',
      backchannel_logout_session_required: true,
    };
    expect(await register(members)).toMatchObject({ status: 201, body: members });
  });

  test.each([
    ['http://rp.example.com/logout'],
    ['https://rp.example.com/logout#part'],
    ['https://user@rp.example.com/logout'],
    ['/logout'],
    [['https://rp.example.com/logout']],
  ])('%s is refused (Back-Channel Logout 1.0 section 2.2)', async (uri) => {
    const { status, body } = await register({ backchannel_logout_uri: uri });
    expect([status, body['error']]).toEqual([400, 'invalid_client_metadata']);
  });

  test('a new address of an approved client waits for approval (decisions section 2)', async () => {
    const client = await newClient();
    const body = { ...client.metadata, client_id: client.clientId, backchannel_logout_uri: 'https://other.example/x' };
    const put = (changed: object) =>
      call(`${service.issuer}/register/${client.clientId}`, {
        method: 'PUT',
        token: client.registrationAccessToken,
        body: changed,
      });
    expect((await put(body)).body).toMatchObject({
      backchannel_logout_uri: client.metadata.backchannel_logout_uri,
      pending_changes: { backchannel_logout_uri: 'https://other.example/x' },
    });
    // to be told no more needs nobody's approval
    expect((await put({ ...body, backchannel_logout_uri: undefined })).body).not.toHaveProperty(
      'backchannel_logout_uri',
    );
  });
});
