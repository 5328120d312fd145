// Tests the connections of a client: by which ones its users sign in, from the sign-in page to the last token, and what ends when they become fewer.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { addConnection, answerOf, leave, signInPage } from '../helpers/connections.ts';
import { runCommand } from '../helpers/command-line.ts';
import {
  adminToken,
  call,
  obtainTokens,
  redeem,
  refresh,
  type Tokens,
  userinfo,
  withoutLimits,
} from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

let service: TestService;
let provider: Provider;
let token: string;
const ids = ['one', 'two', 'three', 'four', 'five', 'six'];

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  token = await adminToken(service);
  for (const [position, id] of ids.entries())
    await addConnection(service, provider, id, { provisioning: 'on', position, hidden: id === 'two' });
  await vi.waitUntil(async () => buttonsOf(await new UserAgent(service).get('/login')).length === 5, {
    timeout: 5000,
    interval: 50,
  });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

let number = 0;
const change = (client: TestClient, connections: string[]) =>
  call(`${service.issuer}/admin/api/clients/${client.clientId}`, { token, method: 'PATCH', body: { connections } });
const clientOf = async (...connections: string[]): Promise<TestClient> => {
  const client = await service.createClient({ scope: 'openid offline_access' }, { firstParty: true });
  if (connections.length > 0) expect((await change(client, connections)).status).toBe(200);
  return client;
};
const arrive = async (agent: UserAgent, client: TestClient, parameters: Record<string, string> = {}) =>
  agent.follow(await agent.get(authorizationUrl(service.issuer, client, parameters)));
const buttonsOf = ({ body }: Page) => [...body.matchAll(/id="connection-([a-z]+)"/g)].map(([, id]) => id);
/** The tokens of a user who signs in by a connection. */
async function tokensBy(id: string, client: TestClient, parameters: Record<string, string> = {}) {
  provider.be({ sub: `member-${++number}`, preferred_username: `member ${number}` });
  const agent = new UserAgent(service);
  const page = await signInPage(agent, id, authorizationUrl(service.issuer, client, parameters));
  const left = await leave(agent, page, id);
  const done = await agent.follow(await agent.get(await answerOf(left)));
  const { status, body } = await redeem(service.issuer, client, responseParameters(done)['code']!);
  expect(status).toBe(200);
  return { agent, tokens: body as unknown as AllTokens };
}

type AllTokens = Tokens & { client_session_handle: string };

describe('the sign-in page', () => {
  test('shows the connections of the client alone, also a hidden one, and no password (federation 4)', async () => {
    const page = await arrive(new UserAgent(service), await clientOf('two', 'three'));
    expect(buttonsOf(page)).toEqual(['two', 'three']);
    expect(page.body).not.toContain('id="password"');
  });

  test('shows every visible one for another client, and folds more than five (federation 4)', async () => {
    const page = await arrive(new UserAgent(service), await clientOf());
    expect(buttonsOf(page)).toEqual(['one', 'three', 'four', 'five', 'six']);
    expect(page.body).not.toContain('<details>');
    const many = await arrive(new UserAgent(service), await clientOf(...ids));
    expect(buttonsOf(many)).toEqual(ids);
    expect(buttonsOf({ ...many, body: many.body.slice(0, many.body.indexOf('<details>')) })).toEqual(ids.slice(0, 4));
  });

  test('leads to no other connection, whatever the request or a form names (federation 4)', async () => {
    const client = await clientOf('one');
    const agent = new UserAgent(service);
    const page = await arrive(agent, client, { connection: 'three' });
    expect(page.url).toContain('/login?transaction=');
    const transaction = new URL(page.url).searchParams.get('transaction')!;
    expect((await agent.get(`/connections/three?transaction=${transaction}`)).location).toBe(page.url);
    expect((await agent.get(`/connections/one?transaction=${transaction}`)).location).toContain(provider.issuer);
    // the form of a page from before the client named its connections
    const later = await clientOf();
    const before = await arrive(agent, later);
    const fields = hiddenFields(before.body.slice(before.body.indexOf('action="/connections/three"')));
    expect((await change(later, ['one'])).status).toBe(200);
    await vi.waitUntil(async () => buttonsOf(await agent.get(before.url)).length === 1, {
      timeout: 5000,
      interval: 20,
    });
    const sent = await agent.post('/connections/three', fields);
    expect(sent.status).toBe(400);
    expect(sent.body).toContain('This way to sign in isn’t available');
    expect(await service.database.sql(`SELECT FROM connection_steps WHERE connection_id = 'three'`)).toEqual([]);
  });
});

describe('a user who signed in another way', () => {
  test('reads this on a page, and the client gets access_denied; by the connection the same user can continue (federation 7, FR5)', async () => {
    const client = await clientOf('one');
    const user = await service.createUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const silent = await agent.get(authorizationUrl(service.issuer, client, { prompt: 'none' }));
    expect(responseParameters(silent)).toMatchObject({ error: 'access_denied' });
    const page = await arrive(agent, client);
    expect(page).toMatchObject({ status: 403, url: expect.stringContaining('/access-denied?transaction=') as string });
    expect(page.body).toContain('this application requires another way to sign in');
    const switching = /href="([^"]*)" id="switch-account"/.exec(page.body)![1]!;
    expect(buttonsOf(await agent.get(switching))).toEqual(['one']);
    expect(responseParameters(await agent.submit(page, {}))).toMatchObject({ error: 'access_denied' });
    const { tokens } = await tokensBy('one', client);
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(200);
  });

  test('by another connection is refused as well (federation 7, FR5)', async () => {
    const { agent } = await tokensBy('three', await clientOf());
    expect((await arrive(agent, await clientOf('one'))).status).toBe(403);
  });
});

describe('tokens', () => {
  test('of another way end at once on both instances when the client names its connections, and those of the connection live (federation 7, FR42)', async () => {
    const client = await service.createClient(
      { scope: 'openid offline_access', uma_profile: true },
      { firstParty: true },
    );
    const user = await service.createUser();
    const local = (await obtainTokens(service, client, user, {
      scope: 'openid offline_access',
      prompt: 'consent',
    })) as AllTokens;
    const other = (await tokensBy('three', client)).tokens;
    const offline = (await tokensBy('three', client, { scope: 'openid offline_access', prompt: 'consent' })).tokens;
    const kept = (await tokensBy('one', client)).tokens;
    expect((await change(client, ['one'])).status).toBe(200);
    for (const base of service.instances) {
      for (const lost of [local, other, offline]) {
        expect((await userinfo(base, lost.access_token)).status).toBe(401);
        for (const one of [lost.access_token, lost.id_token, lost.client_session_handle])
          expect((await introspect(base, client, one)).body).toEqual({ active: false });
        expect((await refresh(base, client, lost.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
      }
      for (const one of [kept.access_token, kept.id_token, kept.client_session_handle])
        expect((await introspect(base, client, one)).body).toMatchObject({ active: true });
    }
    expect((await refresh(service.instances[1]!, client, kept.refresh_token)).status).toBe(200);
    const families = () =>
      service.database.sql('SELECT connection_id FROM client_sessions WHERE client_id = $1', [client.clientId]);
    await vi.waitUntil(async () => (await families()).length === 1, { timeout: 10_000, interval: 20 });
    expect(await families()).toEqual([{ connection_id: 'one' }]);
    const events = await service.database.sql(
      `SELECT detail FROM audit_events WHERE type = 'access.lost' AND client_id = $1`,
      [client.clientId],
    );
    expect(events).toEqual(Array(3).fill({ detail: { reason: 'connection_not_allowed' } }));
  });

  test('and a code of another way that is redeemed later is refused (federation 7, FR42)', async () => {
    const client = await clientOf();
    const agent = new UserAgent(service);
    const page = await agent.authorize(client, await service.createUser());
    await change(client, ['one']);
    expect((await redeem(service.issuer, client, responseParameters(page)['code']!)).body).toMatchObject({
      error: 'invalid_grant',
    });
  });

  test('stay refused when the connection is deleted: a deletion opens no client (federation 7, F27)', async () => {
    await addConnection(service, provider, 'short-lived', { provisioning: 'on' });
    const client = await clientOf('short-lived');
    const { tokens } = await tokensBy('short-lived', client);
    await call(`${service.issuer}/admin/api/connections/short-lived`, { token, method: 'DELETE' });
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
    const agent = new UserAgent(service);
    await agent.signIn(await service.createUser());
    expect((await arrive(agent, client)).status).toBe(403);
  });
});

describe('the members of a client', () => {
  test('name existing connections only, by route and command (federation 7)', async () => {
    const client = await clientOf();
    for (const wrong of [['nowhere'], ['One'], ['one', 7], 'one'])
      expect((await change(client, wrong as string[])).status).toBe(400);
    const done = await runCommand(service, [
      'client',
      'access',
      client.clientId,
      '--connection',
      'one',
      '--connection',
      'two',
    ]);
    expect(done.stdout).toContain('signed in by one, two');
    const shown = await call(`${service.issuer}/admin/api/clients/${client.clientId}`, { token });
    expect(shown.body['connections']).toEqual(['one', 'two']);
    await runCommand(service, ['client', 'access', client.clientId, '--unset', 'connection']);
    expect(
      (await call(`${service.issuer}/admin/api/clients/${client.clientId}`, { token })).body['connections'],
    ).toEqual([]);
    const events = await service.database.sql(
      `SELECT detail -> 'members' AS members FROM audit_events WHERE client_id = $1 AND type = 'client.updated'`,
      [client.clientId],
    );
    expect(events).toEqual([{ members: ['connections'] }, { members: ['connections'] }]);
  });

  test('are set by administrators only: a registration that names them, or a change of the client itself, sets none (federation F61)', async () => {
    const other = await startTestService({ environment: { ...withoutLimits, REGISTRATION_APPROVAL: 'automatic' } });
    try {
      const registered = await call(`${other.issuer}/register`, {
        body: { redirect_uris: ['https://rp.example.com/callback'], connections: ['one'] },
      });
      const stored = await other.database.sql('SELECT connections FROM clients WHERE self_registered');
      expect([registered.status, stored]).toEqual(registered.status === 201 ? [201, [{ connections: [] }]] : [400, []]);
    } finally {
      await other.stop();
    }
  });
});
