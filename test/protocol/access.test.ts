// Who may use a client, from the sign-in to the last token: groups, networks, the page for the user, and the loss of access.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { decide, deviceCodes, deviceMetadata, allowPolls, poll } from '../helpers/device.ts';
import {
  adminToken,
  call,
  eventually,
  obtainCode,
  obtainTokens,
  redeem,
  refresh,
  userinfo,
  withoutLimits,
} from '../helpers/grants.ts';
import { LogoutReceiver } from '../helpers/logout-receiver.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

let service: TestService;
let receiver: LogoutReceiver;
let token: string;
let open: TestClient;
let closed: TestClient & { path: string };
beforeAll(async () => {
  receiver = await new LogoutReceiver().start();
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, DEVICE_GRANT: 'on', OUTBOUND_ALLOW: receiver.host },
  });
  token = await adminToken(service);
  open = await service.createClient();
  closed = { ...(await restricted({ access: 'groups', access_groups: ['staff', 'ops'] })), path: '/out' };
});
afterAll(async () => {
  receiver?.release();
  await service?.stop();
  await receiver?.stop();
});

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  service.database.sql<Row>(text, values);
const change = (client: TestClient, body: Record<string, unknown>) =>
  call(`${service.issuer}/admin/api/clients/${client.clientId}`, { token, method: 'PATCH', body });
async function restricted(
  members: Record<string, unknown>,
  metadata: Record<string, unknown> = {},
): Promise<TestClient> {
  const client = await service.createClient({
    backchannel_logout_uri: receiver.uri('/out'),
    contacts: ['help@harbour.example', 'Harbour desk'],
    ...metadata,
  });
  const { status, body } = await change(client, members);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return client;
}
async function userIn(...groups: string[]): Promise<TestUser> {
  const user = await service.createUser();
  await sql('UPDATE users SET groups = $2 WHERE sub = $1', [user.sub, groups]);
  return user;
}
const leave = (user: TestUser) => sql(`UPDATE users SET groups = '{}' WHERE sub = $1`, [user.sub]);
const authorize = async (agent: UserAgent, client: TestClient, parameters: Record<string, string> = {}) =>
  agent.follow(await agent.get(authorizationUrl(service.issuer, client, parameters)));

describe('the sign-in', () => {
  test('a member of one of the groups gets tokens, and every user those of a client for everyone (federation 7)', async () => {
    const tokens = await obtainTokens(service, closed, await userIn('crew', 'ops'));
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(200);
    await obtainTokens(service, open, await userIn());
  });

  test('another user reads who can help before any consent, and the client then gets access_denied (federation 7)', async () => {
    const user = await userIn('crew');
    const agent = new UserAgent(service);
    const page = await agent.signIn(user, await authorize(agent, closed, { state: 's1' }));
    expect(page).toMatchObject({ status: 403, url: expect.stringContaining('/access-denied?transaction=') as string });
    expect(page.body).toContain('this account isn’t allowed to use this application');
    expect(page.body).toContain('href="mailto:help@harbour.example"');
    expect(page.body).toContain('Harbour desk');
    expect(page.body).not.toContain('id="allow"');
    const answer = responseParameters(await agent.submit(page, {}));
    expect(answer).toMatchObject({ error: 'access_denied', state: 's1', iss: service.issuer });
    const events = await sql(
      `SELECT outcome FROM audit_events WHERE type = 'access.refused' AND sub = $1 AND client_id = $2`,
      [user.sub, closed.clientId],
    );
    expect(events).toEqual([{ outcome: 'failure' }]);
    expect(await sql('SELECT FROM grants WHERE sub = $1', [user.sub])).toEqual([]);
  });

  test('a user who joins meanwhile goes on at once, and one who uses another account, too (federation 7)', async () => {
    const user = await userIn();
    const agent = new UserAgent(service);
    const page = await agent.signIn(user, await authorize(agent, closed));
    await sql(`UPDATE users SET groups = '{staff}' WHERE sub = $1`, [user.sub]);
    expect((await agent.follow(await agent.get(page.url))).body).toContain('id="allow"');
  });

  test('prompt=none is answered with access_denied, also for a client without consent pages (federation 7)', async () => {
    const firstParty = await restricted({ access: 'groups', access_groups: ['staff'], first_party: true });
    const agent = new UserAgent(service);
    await agent.signIn(await userIn('crew'));
    for (const client of [closed, firstParty]) {
      const page = await agent.get(authorizationUrl(service.issuer, client, { prompt: 'none' }));
      expect(responseParameters(page)).toMatchObject({ error: 'access_denied' });
    }
    const page = await authorize(agent, firstParty);
    expect(page.status).toBe(403);
  });

  test('the form of the page works in its own browser only (security R10)', async () => {
    const agent = new UserAgent(service);
    const page = await agent.signIn(await userIn(), await authorize(agent, closed));
    const transaction = new URL(page.url).searchParams.get('transaction')!;
    const forged = await agent.post('/access-denied', { csrf: 'x', transaction });
    expect(forged.status).toBe(400);
    expect(forged.body).toContain('verify where this form came from');
    const stranger = await new UserAgent(service).post('/access-denied', { csrf: 'x', transaction });
    expect(stranger.location).toBe(`${service.issuer}/login?problem=expired`);
    // nothing was decided
    expect(responseParameters(await agent.submit(page, {}))).toMatchObject({ error: 'access_denied' });
  });
});

describe('networks (federation F68)', () => {
  test('a browser elsewhere reads that the network is the reason; a header of an untrusted peer changes nothing (security R65)', async () => {
    const office = await restricted({ networks: ['192.0.2.0/24', '2001:db8::/32'] });
    for (const headers of [{}, { 'x-forwarded-for': '192.0.2.7' }, { forwarded: 'for=192.0.2.7' }]) {
      const agent = new UserAgent(service, headers as Record<string, string>);
      const page = await agent.signIn(await userIn(), await authorize(agent, office));
      expect(page.status).toBe(403);
      expect(page.body).toContain('can’t be used from your current network');
    }
  });

  test('a refresh elsewhere is refused with access_denied, and the refresh token stays good (federation 7)', async () => {
    const client = await restricted({ networks: ['127.0.0.0/8', '::1'] });
    const tokens = await obtainTokens(service, client, await userIn());
    expect((await change(client, { networks: ['192.0.2.0/24'] })).status).toBe(200);
    const refused = await eventually(
      () => refresh(service.instances[1]!, client, tokens.refresh_token),
      (answer) => answer.status !== 200,
    );
    expect(refused).toMatchObject({ status: 400, body: { error: 'access_denied' } });
    expect((await change(client, { networks: [] })).body['networks']).toEqual([]);
    const again = await eventually(
      () => refresh(service.instances[1]!, client, tokens.refresh_token),
      (answer) => answer.status === 200,
    );
    expect(again.status).toBe(200);
  });
});

describe('devices', () => {
  test('a user who may not use the client cannot approve its device, which another user still can (federation 7)', async () => {
    const television = await restricted({ access: 'groups', access_groups: ['staff'] }, deviceMetadata);
    const codes = await deviceCodes(service.issuer, television);
    const agent = new UserAgent(service);
    await agent.signIn(await userIn('crew'));
    const page = await agent.get(codes.verification_uri_complete);
    expect(page).toMatchObject({ status: 403 });
    expect(page.body).toContain('isn’t allowed to use this application');
    const colleague = new UserAgent(service);
    await colleague.signIn(await userIn('staff'));
    await decide(colleague, codes);
    expect((await poll(service.issuer, television, codes)).status).toBe(200);
  });

  test('a user who loses the client after the approval: the device is told access_denied (federation 7)', async () => {
    const television = await restricted({ access: 'groups', access_groups: ['staff'] }, deviceMetadata);
    const user = await userIn('staff');
    const codes = await deviceCodes(service.issuer, television);
    const agent = new UserAgent(service);
    await agent.signIn(user);
    await decide(agent, codes);
    await leave(user);
    const first = await poll(service.issuer, television, codes);
    expect(first.status).toBe(400);
    await eventually(
      () => sql(`SELECT decision FROM device_authorizations WHERE client_id = $1`, [television.clientId]),
      ([device]) => device?.['decision'] === 'denied',
    );
    await allowPolls(service);
    expect((await poll(service.issuer, television, codes)).body['error']).toBe('access_denied');
  });
});

describe('the loss of access', () => {
  test.each<[string, (user: TestUser, client: TestClient) => Promise<unknown>]>([
    [
      'by an administrator who removes the user from the group',
      (user) => call(`${service.issuer}/admin/api/groups/staff/members`, { token, body: { remove: [user.sub] } }),
    ],
    ['by plain SQL', (user) => leave(user)],
    ['by other groups of the client', (_user, client) => change(client, { access_groups: ['ops'] })],
    [
      'by plain SQL on the client',
      (_user, client) => sql(`UPDATE clients SET access_groups = '{ops}' WHERE client_id = $1`, [client.clientId]),
    ],
    [
      'by the deletion of the group',
      () => call(`${service.issuer}/admin/api/groups/staff`, { token, method: 'DELETE' }),
    ],
  ])(
    '%s ends codes, tokens and the part in the session, tells the client, and nothing else (federation FR42)',
    async (_how, lose) => {
      const client = await restricted({ access: 'groups', access_groups: ['staff'] });
      const user = await userIn('staff', 'crew');
      const agent = new UserAgent(service);
      const tokens = await obtainTokens(
        service,
        client,
        user,
        { scope: 'openid offline_access', prompt: 'consent' },
        agent,
      );
      const others = await obtainTokens(service, open, undefined, {}, agent).catch(async () => {
        const code = await obtainCode(service, open, user, {}, agent);
        return (await redeem(service.issuer, open, code)).body as unknown as typeof tokens;
      });
      const code = await obtainCode(service, client, user, {}, agent);
      const logouts = () => receiver.received.filter(({ path }) => path === '/out').length;
      const before = logouts();
      const data = await fetch(`${service.issuer}/user/${user.sub}/settings`, {
        headers: { authorization: client.basic },
      });
      expect(data.status).toBe(200);
      const answer = (await lose(user, client)) as { status?: number };
      if (answer.status !== undefined) expect(answer.status).toBeLessThan(300);
      // from the moment of the change, at each instance
      for (const instance of service.instances) {
        expect((await userinfo(instance, tokens.access_token)).status).toBe(401);
        expect((await introspect(instance, client, tokens.access_token)).body['active']).toBe(false);
        expect((await refresh(instance, client, tokens.refresh_token)).body['error']).toBe('invalid_grant');
        expect((await redeem(instance, client, code)).body['error']).toBe('invalid_grant');
        const data = (init: RequestInit) => fetch(`${instance}/user/${user.sub}/settings`, init);
        const headers = { authorization: client.basic, 'content-type': 'application/json' };
        // a client that plain SQL changes is read again once its notification has arrived
        await eventually(
          async () => (await data({ headers })).status,
          (status) => status === 403,
        );
        expect((await data({ method: 'PUT', headers, body: '{"settings":{}}' })).status).toBe(403);
      }
      expect((await userinfo(service.issuer, others.access_token)).status).toBe(200);
      // and then the rows
      await eventually(
        () =>
          sql(
            `SELECT FROM client_sessions WHERE client_id = $1 UNION ALL SELECT FROM session_clients WHERE client_id = $1`,
            [client.clientId],
          ),
        (rows) => rows.length === 0,
      );
      await eventually(
        async () => logouts(),
        (count) => count > before,
      );
      const events = await sql(`SELECT actor, detail FROM audit_events WHERE type = 'access.lost' AND sub = $1`, [
        user.sub,
      ]);
      expect(events).toEqual([{ actor: 'service', detail: { reason: 'not_in_group' } }]);
      // the session itself lives, and leads to the page
      expect((await authorize(agent, client)).status).toBe(403);
    },
  );

  test('a renamed group takes its clients along, and no user loses one meanwhile (federation 7)', async () => {
    await sql(`INSERT INTO groups (name) VALUES ('harbour') ON CONFLICT DO NOTHING`);
    const client = await restricted({ access: 'groups', access_groups: ['harbour', 'ops'] });
    const tokens = await obtainTokens(service, client, await userIn('harbour'));
    const body = { name: 'port' };
    expect((await call(`${service.issuer}/admin/api/groups/harbour`, { token, method: 'PATCH', body })).status).toBe(
      200,
    );
    expect((await service.store.clients.find(client.clientId))!.accessGroups.sort()).toEqual(['ops', 'port']);
    await eventually(
      () => sql(`SELECT FROM outbox WHERE channel = 'access'`),
      (rows) => rows.length === 0,
    );
    expect((await refresh(service.issuer, client, tokens.refresh_token)).status).toBe(200);
  });

  // a walk takes it from 10,000
  const others = process.env['WALKS'] === 'all' ? 10_000 : 1000;
  test('access taken from a group of many users: refused within a second, rows and logout messages follow (federation FR42)', async () => {
    const client = await restricted({ access: 'groups', access_groups: ['hands'] });
    const user = await userIn('hands');
    const tokens = await obtainTokens(service, client, user);
    await sql(
      `WITH made AS (
         INSERT INTO users (username, groups) SELECT 'hand ' || n, '{hands}' FROM generate_series(1, ${others}) AS n RETURNING sub),
       granted AS (INSERT INTO grants (sub, client_id, granted) SELECT sub, $1, '{"scope": ["openid"], "claims": [], "resources": {}}' FROM made),
       begun AS (
         INSERT INTO sessions (token_hash, sid, sub, amr, idle_expires_at, expires_at)
         SELECT sha256(sub::bytea), 'sid ' || sub, sub, '{pwd}', now() + interval '1 hour', now() + interval '1 hour' FROM made RETURNING id, sid, sub),
       parts AS (INSERT INTO session_clients (session_id, client_id) SELECT id, $1 FROM begun),
       families AS (
         INSERT INTO client_sessions (session_id, sid, sub, client_id, client_epoch, scope, offline, auth_time, amr, expires_at)
         SELECT id, sid, sub, $1, (SELECT epoch FROM clients WHERE client_id = $1), 'openid', false, now(), '{pwd}', now() + interval '1 hour'
           FROM begun RETURNING id, sub)
       INSERT INTO access_tokens (token_hash, client_session_id, expires_at) SELECT sha256(sub::bytea), id, now() + interval '1 hour' FROM families`,
      [client.clientId],
    );
    const answer = await change(client, { access_groups: ['nobody'] });
    const changed = performance.now();
    expect(answer.status).toBe(200);
    expect((await refresh(service.instances[1]!, client, tokens.refresh_token)).body['error']).toBe('invalid_grant');
    expect((await introspect(service.instances[1]!, client, tokens.access_token)).body['active']).toBe(false);
    // the statement asks: it needs no row to be gone, so that the time depends on no number of users
    expect(performance.now() - changed).toBeLessThan(60_000);
    const left = () => sql(`SELECT FROM client_sessions WHERE client_id = $1 LIMIT 1`, [client.clientId]);
    await eventually(left, (rows) => rows.length === 0);
    const [counted] = await sql<{ events: string; logouts: string }>(
      `SELECT (SELECT count(*) FROM audit_events WHERE type = 'access.lost' AND client_id = $1) AS events,
              (SELECT count(*) FROM logout_deliveries WHERE client_id = $1) AS logouts`,
      [client.clientId],
    );
    expect(counted).toEqual({ events: String(others + 1), logouts: String(others + 1) });
    await sql(`DELETE FROM logout_deliveries WHERE client_id = $1`, [client.clientId]);
  });

  test('of a refresh, a redemption, a poll, an approval and an authorization at the moment of the loss nothing is left, on two instances (security R133, federation FR42)', async () => {
    const grantTypes = ['authorization_code', ...deviceMetadata.grant_types];
    const client = await restricted(
      { access: 'groups', access_groups: ['staff'] },
      { grant_types: grantTypes, scope: 'openid offline_access' },
    );
    const offline = { scope: 'openid offline_access', prompt: 'consent' };
    for (let round = 0; round < 10; round++) {
      const [first, second] = service.instances as [string, string];
      const user = await userIn('staff');
      const agent = new UserAgent(service);
      const tokens = await obtainTokens(service, client, user, offline, agent);
      const code = await obtainCode(service, client, user, {}, agent);
      const [approved, asked] = [await deviceCodes(first, client), await deviceCodes(first, client)];
      await decide(agent, approved);
      await allowPolls(service);
      const answers = await Promise.all([
        refresh(first, client, tokens.refresh_token),
        leave(user),
        redeem(second, client, code),
        poll(second, client, approved),
        decide(agent, asked).catch(() => undefined),
        agent.get(authorizationUrl(service.issuer, client)),
      ]);
      const issued = [answers[0], answers[2], answers[3]].flatMap(({ body }) => body['access_token'] ?? []);
      for (const access of issued)
        for (const instance of [first, second]) {
          expect((await userinfo(instance, String(access))).status).toBe(401);
          expect((await introspect(instance, client, String(access))).body['active']).toBe(false);
        }
      // a user who joins again begins anew: no row of before is left, whatever was stored meanwhile
      await eventually(
        () =>
          sql(
            `SELECT FROM client_sessions WHERE sub = $1 UNION ALL
             SELECT FROM session_clients sc JOIN sessions s ON s.id = sc.session_id WHERE s.sub = $1 AND sc.client_id = $2 UNION ALL
             SELECT FROM outbox WHERE channel = 'access'`,
            [user.sub, client.clientId],
          ),
        (rows) => rows.length === 0,
      );
      await sql(`UPDATE users SET groups = '{staff}' WHERE sub = $1`, [user.sub]);
      for (const access of [tokens.access_token, ...issued])
        expect((await introspect(first, client, String(access))).body['active']).toBe(false);
      expect((await poll(first, client, asked)).body['access_token']).toBeUndefined();
    }
  });

  test('a response that is issued while the user leaves is worth nothing afterwards (security R133, federation FR42)', async () => {
    const client = await restricted({ access: 'groups', access_groups: ['staff'] });
    for (let round = 0; round < 5; round++) {
      const user = await userIn('staff');
      const agent = new UserAgent(service);
      await obtainTokens(service, client, user, {}, agent);
      const [page] = await Promise.all([agent.get(authorizationUrl(service.issuer, client)), leave(user)]);
      const code = page.location === undefined ? null : new URL(page.location).searchParams.get('code');
      if (code !== null) expect((await redeem(service.issuer, client, code)).status).toBe(400);
    }
  });
});

describe('what administrators set', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['no group', { access: 'groups', access_groups: [] }, 'access_groups must name at least one group'],
    ['an unknown rule', { access: 'nobody' }, 'access'],
    ['bits beside the prefix', { networks: ['192.0.2.1/24'] }, 'networks'],
    ['a name as network', { networks: ['office'] }, 'networks'],
    ['a script as start', { start_uri: 'javascript:alert(1)' }, 'start_uri must be an https URL'],
    ['http as start', { start_uri: 'http://rp.example.com/' }, 'start_uri must be an https URL'],
    ['a user name in the start', { start_uri: 'https://ada@rp.example.com/' }, 'start_uri must be an https URL'],
    ['a fragment in the start', { start_uri: 'https://rp.example.com/#a' }, 'start_uri must be an https URL'],
  ])('%s is refused with a sentence (federation F66)', async (_what, members, sentence) => {
    const { status, body } = await change(open, members);
    expect(status).toBe(400);
    expect(body['error_description']).toContain(sentence);
    expect((await service.store.clients.find(open.clientId))!.access).toBe('everyone');
  });

  test('plain SQL cannot store what the routes refuse (federation F66, F68)', async () => {
    for (const set of [
      `start_uri = 'http://rp.example.com/'`,
      `start_uri = 'https://a@rp.example.com'`,
      `access = 'x'`,
    ]) {
      await expect(sql(`UPDATE clients SET ${set} WHERE client_id = $1`, [open.clientId])).rejects.toThrow(/check/);
    }
    await expect(sql(`UPDATE clients SET networks = '{junk}' WHERE client_id = $1`, [open.clientId])).rejects.toThrow(
      /cidr/,
    );
  });

  test('they are shown, and each change is an event that names the members (security R101)', async () => {
    const client = await restricted({
      access: 'groups',
      access_groups: ['staff'],
      networks: ['192.0.2.0/24'],
      start_uri: 'https://rp.example.com/start',
      start_hidden: true,
    });
    const { body } = await call(`${service.issuer}/admin/api/clients/${client.clientId}`, { token });
    expect(body).toMatchObject({
      access: 'groups',
      access_groups: ['staff'],
      networks: ['192.0.2.0/24'],
      start_uri: 'https://rp.example.com/start',
      start_hidden: true,
    });
    const [event] = await sql<{ detail: unknown }>(
      `SELECT detail FROM audit_events WHERE type = 'client.updated' AND client_id = $1`,
      [client.clientId],
    );
    expect(event!.detail).toMatchObject({
      members: ['access', 'access_groups', 'networks', 'start_hidden', 'start_uri'],
    });
  });

  test('a client gives itself no rights: registration ignores them, and an update refuses them (federation F61)', async () => {
    const rights = {
      access: 'everyone',
      access_groups: ['staff'],
      networks: ['0.0.0.0/0'],
      start_uri: 'https://x.example/',
    };
    const metadata = { client_name: 'X', redirect_uris: ['https://rp.example.com/cb'] };
    const registered = await call(`${service.issuer}/register`, { body: { ...metadata, ...rights } });
    if (registered.status === 201) {
      const stored = (await service.store.clients.find(String(registered.body['client_id'])))!;
      expect(stored).toMatchObject({ access: 'everyone', accessGroups: [], networks: [], startUri: undefined });
      const { registration_client_uri: uri, registration_access_token: own, client_id } = registered.body;
      const put = await call(String(uri), {
        token: String(own),
        method: 'PUT',
        body: { client_id, ...metadata, access_groups: ['staff'] },
      });
      expect(put).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
    } else expect(registered.body['error']).toBe('invalid_client_metadata');
  });
});
