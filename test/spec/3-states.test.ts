// Specification section 3: tests every state of a registration and a token, and its transitions, on a second instance within a second.
import { beforeAll, expect, test } from 'vitest';
import { adminToken, approveClient, call, eventually, refresh } from '../helpers/grants.ts';
import { runCommand } from '../helpers/command-line.ts';
import { authorizationUrl, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import {
  ask,
  basic,
  createTestUser,
  introspect,
  manage,
  register,
  runCodeFlow,
  second,
  useService,
  wholeClient,
} from './kit.ts';

const service = useService();
let token: string;
beforeAll(async () => {
  token = await adminToken(service());
});

type Registered = Record<string, string>;
const machine = { redirect_uris: ['https://rp.example.com/callback'], grant_types: ['client_credentials'] };
const credentials = (client: Registered) => ({ basic: basic(client['client_id']!, client['client_secret']!) });
/** "enabled", or the reason why a token is refused, at the second instance. */
const state = async (client: Registered) => {
  const fields = { grant_type: 'client_credentials' };
  const { status, body } = await tokenRequest(second(service()), credentials(client), fields);
  return status === 200 ? 'enabled' : body['error'];
};

test('3 (none) to registered, disabled: a valid registration gets credentials and a shared secret, and no access (decisions 2)', async () => {
  const { status, body } = await register(service(), machine);
  expect(status).toBe(201);
  expect(body).toMatchObject({
    status: 'disabled',
    client_secret: expect.any(String),
    shared_secret: expect.any(String),
  });
  expect(await state(body)).toBe('unauthorized_client');
});

test('3 disabled to enabled: an approval takes effect on every instance within a second (decisions 2)', async () => {
  const ways: ((id: string) => Promise<unknown>)[] = [
    (id) => approveClient(service().issuer, token, id),
    (id) => service().database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [id]),
    (id) => runCommand(service(), ['client', 'approve', id]),
  ];
  for (const approve of ways) {
    const { body } = await register(service(), machine);
    expect(await state(body)).toBe('unauthorized_client');
    await approve(body['client_id']!);
    await eventually(
      () => state(body),
      (now) => now === 'enabled',
    );
  }
});

test('3 disabled: only an enabled client may store End-User settings (decisions 2, 5)', async () => {
  const client = await service().createClient(wholeClient);
  const { user } = await runCodeFlow(service(), client);
  const put = () => ask(second(service()), `/user/${user.sub}/settings`, client.basic, { settings: { a: 1 } });
  expect((await put()).status).toBe(200);
  await call(`${service().issuer}/admin/api/clients/${client.clientId}/disable`, { method: 'POST', token });
  expect(await eventually(put, ({ status }) => status === 403)).toMatchObject({
    body: { error: 'unauthorized_client' },
  });
});

test('3 registered, repeat registration: the state stays, and new credentials and a new shared secret replace the old ones (decisions 2)', async () => {
  const { body: first } = await register(service(), machine);
  await approveClient(service().issuer, token, first['client_id']!);
  let current = first;
  for (let times = 0; times < 3; times++) {
    const proof = { authorization: `Bearer ${current['registration_access_token']}` };
    const repeated = await register(service(), machine, proof);
    expect(repeated.status).toBe(200);
    expect(repeated.body).toMatchObject({ client_id: first['client_id'], status: 'enabled' });
    for (const renewed of ['client_secret', 'shared_secret', 'registration_access_token'])
      expect(repeated.body[renewed]).not.toBe(current[renewed]);
    await eventually(
      () => state(current),
      (now) => now === 'invalid_client',
    );
    expect((await manage(current, 'GET')).status).toBe(401);
    current = repeated.body;
  }
  expect(await state(current)).toBe('enabled');
});

test('3 registered, repeat registration: a disabled client stays disabled, and a request without proof makes a new client (decisions 2)', async () => {
  const { body: first } = await register(service(), machine);
  const again = await register(service(), machine, { authorization: credentials(first).basic });
  expect(again.body).toMatchObject({ client_id: first['client_id'], status: 'disabled' });
  const twin = await register(service(), { ...machine, client_id: first['client_id'] });
  expect(twin.status).toBe(201);
  expect(twin.body['client_id']).not.toBe(first['client_id']);
});

test('3 registered to deregistered: a DELETE with the registration access token answers 204, and the client is unknown (decisions 2)', async () => {
  const { body } = await register(service(), machine);
  expect(await manage({ ...body, registration_access_token: 'wrong' }, 'DELETE')).toMatchObject({ status: 401 });
  expect((await manage(body, 'DELETE')).status).toBe(204);
  await eventually(
    () => state(body),
    (now) => now === 'invalid_client',
  );
  expect((await manage(body, 'GET')).status).toBe(401);
  const gone = { clientId: body['client_id']!, redirectUri: machine.redirect_uris[0]! };
  const page = await new UserAgent(service()).get(authorizationUrl(service().issuer, gone));
  expect(page.location).toMatch(`${service().issuer}/login?problem=client`);
});

test('3 token (any), introspection: inactive, invalid and other clients’ tokens get 200 with active false (decisions 4)', async () => {
  const client = await service().createClient(wholeClient);
  const otherClient = await service().createClient();
  const { tokens } = await runCodeFlow(service(), client, {}, { user: await createTestUser(service()) });
  const { body: refreshed } = await refresh(service().issuer, client, tokens.refresh_token);
  await service().database.sql(`UPDATE access_tokens SET expires_at = now() WHERE client_id IS NULL`);
  const [header, payload] = tokens.id_token.split('.');
  for (const [caller, asked] of [
    [client, tokens.access_token],
    [client, refreshed['refresh_token'] as string],
    [client, `${header}.${payload}.AAAA`],
    [otherClient, tokens.client_session_handle],
  ] as const) {
    const { status, body } = await introspect(second(service()), caller, asked);
    expect([status, body]).toEqual([200, { active: false }]);
  }
});
