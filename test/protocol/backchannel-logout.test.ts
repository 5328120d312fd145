// The end of a session orders a Logout Token for each client that registered a back-channel logout URI.
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';
import type { TestUser } from '../helpers/service.ts';
import { useBackchannel } from '../helpers/backchannel.ts';
import { call } from '../helpers/grants.ts';
import type { LogoutReceiver } from '../helpers/logout-receiver.ts';
import type { TestClient, TestService } from '../helpers/service.ts';
import type { UserAgent } from '../helpers/user-agent.ts';
import { endSessionAddress } from '../spec/kit.ts';

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
const channel = useBackchannel();
const { newClient, signInTo, signOut, arrived, admin, deliveries, delivery, events } = channel;
let service: TestService;
let receiver: LogoutReceiver;
beforeAll(() => {
  service = channel.service();
  receiver = channel.receiver();
});

test('the discovery document says that back-channel logout is supported, with session ids (Back-Channel Logout 1.0 section 2.1)', async () => {
  const { body } = await call(`${service.issuer}/.well-known/openid-configuration`);
  expect(body).toMatchObject({ backchannel_logout_supported: true, backchannel_logout_session_supported: true });
});

test('when a user signs out, each client of the session gets its own Logout Token, and no other client does (Back-Channel Logout 1.0 sections 2.4, 2.5)', async () => {
  const [one, two] = [await newClient(), await newClient({ id_token_signed_response_alg: 'ES256' })];
  const [silent, other] = [await service.createClient(), await newClient()];
  const { agent, user, idTokens, sid } = await signInTo([one, two, silent]);
  await signInTo([other], user);
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
    // a successful delivery is not recorded as an event
    expect(await events(client)).toEqual([]);
  }
  expect(receiver.at(one.path)[0]!.claims.jti).not.toBe(receiver.at(two.path)[0]!.claims.jti);
  expect(await deliveries(silent)).toEqual([]);
  expect(await deliveries(other)).toEqual([]);
});

test("a Logout Token for a pairwise client contains that client's subject, as in its ID Token (OpenID Connect Core 8.1)", async () => {
  const client = await newClient({ subject_type: 'pairwise' });
  const { agent, user, idTokens } = await signInTo([client]);
  await signOut(agent);
  const [received] = await arrived(client.path);
  const { sub } = decodeJwt(received!.token);
  expect(sub).toBe(decodeJwt(idTokens[0]!).sub);
  expect(sub).not.toBe(user.sub);
});

test('a client with HS256 ID Tokens gets a Logout Token that is signed with its secret (Back-Channel Logout 1.0 section 2.4)', async () => {
  const client = await newClient({ id_token_signed_response_alg: 'HS256' });
  const { agent } = await signInTo([client]);
  await signOut(agent);
  const [received] = await arrived(client.path);
  const { protectedHeader } = await jwtVerify(received!.token, Buffer.from(client.clientSecret));
  expect(protectedHeader).toEqual({ alg: 'HS256', typ: 'logout+jwt' });
});

test('a Logout Token is not accepted as an id_token_hint (RFC 8725 section 3.12)', async () => {
  const client = await newClient();
  const { agent } = await signInTo([client]);
  await signOut(agent);
  const [received] = await arrived(client.path);
  expect(decodeProtectedHeader(received!.token).typ).toBe('logout+jwt');
  const page = await agent.get(`/logout?${new URLSearchParams({ id_token_hint: received!.token }).toString()}`);
  expect(page.status).toBe(400);
});

describe('the end of a session', () => {
  test.each<[string, (signIn: { agent: UserAgent; user: TestUser; sid: string }) => Promise<unknown>]>([
    ['an administrator ends it', ({ sid }) => admin(`/sessions/${sid}`, 'DELETE')],
    ['the user is disabled', ({ user }) => admin(`/users/${user.sub}`, 'PATCH', { status: 'disabled' })],
    ['the user is deleted', ({ user }) => admin(`/users/${user.sub}`, 'DELETE')],
    ['the password changes', ({ user }) => admin(`/users/${user.sub}`, 'PATCH', { password: 'a quite new password' })],
    [
      'another user signs in',
      async ({ agent }) => agent.signIn(await service.createUser(), await agent.get('/login?switch=1')),
    ],
    ['SQL deletes it', ({ sid }) => service.database.sql('DELETE FROM sessions WHERE sid = $1', [sid])],
  ])('sends the client a Logout Token: %s (Back-Channel Logout 1.0 section 2.5)', async (_how, end) => {
    const client = await newClient();
    const signIn = await signInTo([client]);
    await end(signIn);
    const [received] = await arrived(client.path);
    expect(received!.claims).toMatchObject({ sid: signIn.sid, sub: signIn.user.sub });
  });

  test('by expiry sends no Logout Token (decisions section 4)', async () => {
    const client = await newClient();
    const { sid } = await signInTo([client]);
    await service.database.sql('UPDATE sessions SET idle_expires_at = now() WHERE sid = $1', [sid]);
    await service.database.sql('DELETE FROM sessions WHERE sid = $1', [sid]);
    expect(await deliveries(client)).toEqual([]);
  });

  test('does not happen when the same user signs in again, so that no Logout Token is sent (decisions section 4)', async () => {
    const client = await newClient();
    const { agent, user } = await signInTo([client]);
    await agent.authorize(client, user, { prompt: 'login' });
    expect(await deliveries(client)).toEqual([]);
  });

  test("by a client's own signed request sends that client no Logout Token (decisions section 6)", async () => {
    const [asking, other] = [await newClient(), await newClient()];
    const { agent } = await signInTo([asking, other]);
    expect((await agent.get(await endSessionAddress(service, asking))).status).toBe(302);
    expect([await deliveries(asking), await deliveries(other)]).toEqual([[], []]);
    await signOut(agent);
    await arrived(other.path);
    expect(await deliveries(asking)).toEqual([]);
  });

  test("by a first-party client's request for all clients sends the other clients a Logout Token (decisions section 6)", async () => {
    const [asking, other] = [await newClient({}, { firstParty: true }), await newClient()];
    const { agent } = await signInTo([asking, other]);
    expect((await agent.get(await endSessionAddress(service, asking, { all: true }))).status).toBe(302);
    await arrived(other.path);
    expect(await deliveries(asking)).toEqual([]);
  });
});
test.each([
  ['disabled', (client: TestClient) => admin(`/clients/${client.clientId}/disable`, 'POST')],
  ['deleted', (client: TestClient) => admin(`/clients/${client.clientId}`, 'DELETE')],
])('a client that is %s gets no further Logout Token (decisions section 2)', async (_what, end) => {
  const client = await newClient();
  const [before, after] = [await signInTo([client]), await signInTo([client])];
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

  test('a client registers the URI and the flag, and the answer shows them (Back-Channel Logout 1.0 section 2.2)', async () => {
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
    // removing the URI needs no approval
    expect((await put({ ...body, backchannel_logout_uri: undefined })).body).not.toHaveProperty(
      'backchannel_logout_uri',
    );
  });
});
