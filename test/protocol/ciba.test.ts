// A client asks a user by a backchannel request, the user answers in the account, and the client polls for the tokens (OpenID Connect CIBA Core 1.0).
import type { ServerResponse } from 'node:http';
import { decodeJwt, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { cibaGrant } from '../../src/oauth/registrable-values.ts';
import { allowPolls, answer, askUser, cibaMetadata, grantSomething, poll, shownRequests } from '../helpers/ciba.ts';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { newProofKey, proofFor } from '../helpers/dpop.ts';
import { call, obtainTokens, refresh, userinfo } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { PingReceiver } from '../helpers/ping-receiver.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const bed = createMailBed();
const receiver = new PingReceiver();
let service: TestService;
let admin: string;
let client: TestClient;
beforeAll(async () => {
  await receiver.start();
  ({ service, admin } = await bed.start({ OUTBOUND_ALLOW: receiver.host }));
  client = await service.createClient(cibaMetadata);
});
afterAll(async () => {
  await bed.stop();
  await receiver.stop();
});

const ask = (parameters: Record<string, string>, of = client) => askUser(service.issuer, of, parameters);
const errorOf = ({ status, body }: { status: number; body: Record<string, unknown> }) => [status, body['error']];
const pollError = async (id: string, of = client) => errorOf(await poll(service.issuer, of, id));
const rows = (where: string, values: unknown[] = []) =>
  service.database.sql(`SELECT * FROM backchannel_requests WHERE ${where}`, values);

/** A user who has granted the client something. */
async function known(of = client, more: Parameters<typeof bed.newUser>[0] = {}): Promise<TestUser & { email: string }> {
  const user = await bed.newUser(more);
  await grantSomething(service, of, user.sub);
  return user;
}
/** A browser in which a user signs in. */
async function signedIn(as: TestUser): Promise<UserAgent> {
  const browser = new UserAgent(service);
  await browser.signIn(as);
  return browser;
}
async function asked(user: TestUser, parameters: Record<string, string> = {}, of = client): Promise<string> {
  const { status, body } = await ask({ login_hint: user.username, ...parameters }, of);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return String(body['auth_req_id']);
}
/** A request that its user has allowed. */
async function allowed(of = client, parameters: Record<string, string> = {}): Promise<string> {
  const user = await known(of);
  const id = await asked(user, parameters, of);
  await answer(await signedIn(user));
  return id;
}

describe('a request that its user answers', () => {
  test('the client gets an auth_req_id, polls, and gets tokens once the user has allowed it (OpenID Connect CIBA 7.3, 10.1)', async () => {
    const user = await known();
    const scope = 'openid profile offline_access';
    const { status, headers, body } = await ask({ login_hint: user.username, scope, binding_message: 'Pay 12.50 EUR' });
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toEqual({ auth_req_id: expect.stringMatching(/^ghbc_[\w-]{49}$/), expires_in: 120, interval: 5 });
    const id = String(body['auth_req_id']);
    expect(await pollError(id)).toEqual([400, 'authorization_pending']);
    expect(await pollError(id)).toEqual([400, 'slow_down']);
    const agent = await signedIn(user);
    const page = await agent.get('/account/requests');
    for (const shown of ['Pay 12.50 EUR', 'Harbour Bank', 'bank.example']) expect(page.body).toContain(shown);
    expect((await agent.get('/account')).body).toContain('1 request is waiting for your answer');
    expect((await answer(agent)).url).toBe(`${service.issuer}/account/requests?done=request-allowed`);
    const tokens = await poll(service.issuer, client, id);
    expect(tokens).toMatchObject({ status: 200, body: { token_type: 'Bearer', scope } });
    expect(decodeJwt(String(tokens.body['id_token']))).toMatchObject({ sub: user.sub, aud: client.clientId });
    expect((await userinfo(service.issuer, String(tokens.body['access_token']))).body['sub']).toBe(user.sub);
    expect((await refresh(service.issuer, client, String(tokens.body['refresh_token']))).status).toBe(200);
    const events = await service.database.sql<{ type: string }>(
      `SELECT type FROM audit_events WHERE client_id = $1 AND type LIKE 'backchannel.%' ORDER BY id`,
      [client.clientId],
    );
    expect(events.map(({ type }) => type)).toEqual(['backchannel.requested', 'backchannel.approved']);
  });

  test('a user is named by user name, email address or sub, and by an ID Token of the client (OpenID Connect CIBA 7.1)', async () => {
    const named = await service.createClient({
      ...cibaMetadata,
      redirect_uris: ['https://rp.example.com/callback'],
      grant_types: [cibaGrant, 'authorization_code'],
      response_types: ['code'],
    });
    const user = await known(named);
    const { id_token } = await obtainTokens(service, named, user);
    for (const hint of [user.username, user.email, user.sub]) {
      await service.database.sql('DELETE FROM backchannel_requests');
      await asked(user, { login_hint: hint }, named);
      expect(await rows('sub = $1', [user.sub])).toHaveLength(1);
    }
    expect((await askUser(service.issuer, named, { id_token_hint: String(id_token) })).status).toBe(200);
    expect(await rows('sub = $1', [user.sub])).toHaveLength(2);
  });

  test('a denial answers access_denied, and of a form that a double click sends twice both answers say so (OpenID Connect CIBA 11, reports A4)', async () => {
    const user = await known();
    const id = await asked(user);
    const agent = await signedIn(user);
    const page = await agent.get('/account/requests');
    const { csrf = '' } = hiddenFields(page.body);
    const form = { csrf, request: shownRequests(page)[0]!, decision: 'deny' };
    const answers = await Promise.all([agent.post('/account/requests', form), agent.post('/account/requests', form)]);
    for (const { location } of answers) expect(location).toBe(`${service.issuer}/account/requests?done=request-denied`);
    expect(await pollError(id)).toEqual([400, 'access_denied']);
    expect((await agent.post('/account/requests', { ...form, decision: 'allow' })).status).toBe(409);
  });

  test('each approval needs a sign-in after its request, with the second factor of a user who has one (protocols 6.2, security R143)', async () => {
    const user = await known();
    const agent = await signedIn(user);
    const [first, second] = [await asked(user), await asked(user)];
    const ids = shownRequests(await agent.get('/account/requests'));
    // the session is older than the requests
    const early = await answer(agent, 'allow', ids[1]!);
    expect(early.url).toBe(`${service.issuer}/login?destination=requests`);
    expect(await pollError(first)).toEqual([400, 'authorization_pending']);
    expect((await agent.signIn(user, early)).url).toBe(`${service.issuer}/account/requests`);
    expect((await answer(agent, 'allow', ids[1]!)).url).toContain('done=request-allowed');
    // the sign-in has confirmed one request
    expect((await answer(agent, 'allow', ids[0]!)).url).toBe(`${service.issuer}/login?destination=requests`);
    expect((await poll(service.issuer, client, first)).status).toBe(200);
    expect(await pollError(second)).toEqual([400, 'authorization_pending']);
    // a factor that was set up in another browser
    await service.database.sql('DELETE FROM backchannel_requests');
    const id = await asked(user);
    await agent.signIn(user, await agent.get('/login?destination=requests'));
    const { app } = await setUpAuthenticator(await signedIn(user));
    const step = await answer(agent);
    expect(step.url).toBe(`${service.issuer}/login/second-factor?destination=requests`);
    expect(await pollError(id)).toEqual([400, 'authorization_pending']);
    await agent.submit(step, { code: app.code(1) });
    expect((await answer(agent)).url).toContain('done=request-allowed');
    expect(decodeJwt(String((await poll(service.issuer, client, id)).body['id_token']))).toMatchObject({
      acr: 'urn:gatehouse:acr:mfa',
    });
  });

  test('another user, another site and a form of no page decide nothing (security R55, R143)', async () => {
    const user = await known();
    const id = await asked(user);
    const request = (await rows('sub = $1', [user.sub]))[0]!['id'] as string;
    const other = await known();
    const stranger = await signedIn(other);
    expect((await stranger.get('/account/requests')).body).toContain('No application is waiting');
    await asked(other);
    expect((await answer(stranger, 'allow', request)).status).toBe(409);
    const agent = await signedIn(user);
    const page = await agent.get('/account/requests');
    const form = { csrf: hiddenFields(page.body)['csrf']!, request, decision: 'allow' };
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await agent.post('/account/requests', form, foreign)).status).toBe(403);
    expect((await agent.post('/account/requests', { ...form, csrf: 'x' })).status).toBe(400);
    expect((await agent.get(`/account/requests?request=${request}&decision=allow`)).body).toContain(request);
    expect(await pollError(id)).toEqual([400, 'authorization_pending']);
  });

  test('requested_expiry sets the time as a number or as text, up to ten minutes, and acr_values ask for a level (OpenID Connect CIBA 7.1)', async () => {
    const user = await known();
    const expiry = async (requested_expiry: string) =>
      (await ask({ login_hint: user.username, requested_expiry })).body['expires_in'];
    expect([await expiry('30'), await expiry('9999')]).toEqual([30, 600]);
    for (const requested_expiry of ['0', '-5', '1.5', 'soon'])
      expect(errorOf(await ask({ login_hint: user.username, requested_expiry }))).toEqual([400, 'invalid_request']);
    expect(
      (await ask({ login_hint: user.username, acr_values: 'urn:gatehouse:acr:mfa', user_code: '1234' })).status,
    ).toBe(200);
  });

  test('a mail names the client, without a link that decides, and there is one for each client in an hour (protocols 6.2, security R144)', async () => {
    const own = await service.createClient(cibaMetadata);
    const user = await known(own);
    for (let request = 0; request < 3; request++) await asked(user, { binding_message: 'Secret 7' }, own);
    await bed.quiet();
    const mails = bed.mailsTo(user.email).filter(({ parsed }) => /waiting for your answer/.test(parsed.subject ?? ''));
    expect(mails).toHaveLength(1);
    expect(mails[0]!.text).toContain('Harbour Bank');
    expect(mails[0]!.text).toContain(`${service.issuer}/account/requests`);
    expect(mails[0]!.text).not.toContain('Secret 7');
    expect(mails[0]!.text).not.toMatch(/ghbc_|token=/);
  });
});

describe('the backchannel authentication endpoint', () => {
  test('it needs a confidential client with the grant type (OpenID Connect CIBA 4, 7.1)', async () => {
    const user = await known();
    const wrong = await askUser(service.issuer, { ...client, basic: 'Basic eDp5' }, { login_hint: user.username });
    expect(errorOf(wrong)).toEqual([401, 'invalid_client']);
    expect(errorOf(await ask({ login_hint: user.username }, await service.createClient()))).toEqual([
      400,
      'unauthorized_client',
    ]);
    const body = { ...cibaMetadata, token_endpoint_auth_method: 'none' };
    expect(errorOf(await call(`${service.issuer}/register`, { body }))).toEqual([400, 'invalid_client_metadata']);
    const open = await service.createClient({ token_endpoint_auth_method: 'none' });
    expect(errorOf(await askUser(service.issuer, open, { client_id: open.clientId, login_hint: 'x' }, {}))).toEqual([
      401,
      'invalid_client',
    ]);
  });

  test('scope must be there with openid, and is limited to the registered ones (OpenID Connect CIBA 7.1)', async () => {
    const user = await known();
    for (const [scope, error] of [
      ['', 'invalid_request'],
      ['profile', 'invalid_scope'],
      ['openid "', 'invalid_scope'],
    ] as const)
      expect(errorOf(await ask({ login_hint: user.username, scope })), scope).toEqual([400, error]);
    const id = await asked(user, { scope: 'openid phone email' });
    await answer(await signedIn(user));
    expect((await poll(service.issuer, client, id)).body['scope']).toBe('openid email');
  });

  test('Hints: none, two, of another client, by a foreign key or twice are refused without a mail; an expired one names its user (protocols P68)', async () => {
    const metadata = {
      ...cibaMetadata,
      redirect_uris: ['https://rp.example.com/callback'],
      grant_types: [cibaGrant, 'authorization_code'],
      response_types: ['code'],
    };
    const own = await service.createClient(metadata);
    const other = await service.createClient(metadata);
    const user = await known(own);
    await grantSomething(service, other, user.sub);
    await service.database.sql('UPDATE clients SET id_token_lifetime = 1 WHERE client_id = $1', [own.clientId]);
    const hint = String((await obtainTokens(service, own, user)).id_token);
    const foreign = String((await obtainTokens(service, other, user)).id_token);
    const { privateKey } = await generateKeyPair('RS256');
    const forged = await new SignJWT(decodeJwt(hint)).setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
    await bed.quiet();
    const before = bed.mailsTo(user.email).length;
    for (const hints of [
      {},
      { login_hint: user.username, id_token_hint: hint },
      { login_hint_token: hint },
      { id_token_hint: foreign },
      { id_token_hint: forged },
      { id_token_hint: 'x' },
    ] as Record<string, string>[])
      expect(errorOf(await ask(hints, own)), JSON.stringify(hints)).toEqual([400, 'invalid_request']);
    const twice = await fetch(`${service.issuer}/bc-authorize`, {
      method: 'POST',
      body: new URLSearchParams([
        ['scope', 'openid'],
        ['login_hint', user.username],
        ['login_hint', 'bob'],
      ]),
      headers: { authorization: own.basic },
    });
    expect([twice.status, await twice.json()]).toMatchObject([400, { error: 'invalid_request' }]);
    expect(await rows('client_id = $1', [own.clientId])).toEqual([]);
    await bed.quiet();
    expect(bed.mailsTo(user.email)).toHaveLength(before);
    const expired = String((await obtainTokens(service, own, user)).id_token);
    await vi.waitUntil(() => Date.now() / 1000 > decodeJwt(expired).exp!);
    expect((await ask({ id_token_hint: expired }, own)).status).toBe(200);
    expect(await rows('sub = $1 AND client_id = $2', [user.sub, own.clientId])).toHaveLength(1);
  });

  test('Hostile message: direction characters, 65 characters, a line break, HTML and a URL are refused; a good one is shown as text (protocols P70)', async () => {
    const user = await known();
    for (const binding_message of [
      'Pay \u202e05.21',
      'x'.repeat(65),
      'Pay\n12',
      '<b>Pay</b>',
      'https://evil.example',
      'Go to evil.example',
      ' ',
      '\u200b',
    ])
      expect(errorOf(await ask({ login_hint: user.username, binding_message })), binding_message).toEqual([
        400,
        'invalid_binding_message',
      ]);
    const binding_message = `Zahle 12,50 € & "mehr" für Äpfel №7`;
    await asked(user, { binding_message });
    const { body } = await (await signedIn(user)).get('/account/requests');
    expect(body).toContain('Zahle 12,50 € &amp; &quot;mehr&quot; für Äpfel №7');
  });

  test('Fatigue: 100 requests for one user leave three waiting and ten a day for each client, and one act denies all (protocols P69)', async () => {
    const clients = [client, await service.createClient(cibaMetadata), await service.createClient(cibaMetadata)];
    const user = await bed.newUser();
    for (const one of clients) await grantSomething(service, one, user.sub);
    for (const one of clients) {
      const answers = await Promise.all(Array.from({ length: 34 }, () => ask({ login_hint: user.username }, one)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
      const refused = answers.find(({ status }) => status !== 200)!;
      expect(errorOf(refused)).toEqual([429, 'slow_down']);
      expect(refused.headers.get('retry-after')).toBe('60');
    }
    const agent = await signedIn(user);
    const page = await agent.get('/account/requests');
    expect(shownRequests(page)).toHaveLength(9);
    const [, action = ''] = /<form class="ending" method="post" action="([^"]+)"/.exec(page.body)!;
    const [, fields = ''] = page.body.split('<form class="ending"');
    await agent.post(action.replaceAll('&amp;', '&'), hiddenFields(fields));
    expect(shownRequests(await agent.get('/account/requests'))).toEqual([]);
    expect(await rows(`sub = $1 AND decision = 'denied'`, [user.sub])).toHaveLength(9);
    for (let round = 0; round < 7; round++) {
      expect((await ask({ login_hint: user.username })).status).toBe(200);
      await service.database.sql('UPDATE backchannel_requests SET expires_at = now() WHERE sub = $1', [user.sub]);
    }
    expect(errorOf(await ask({ login_hint: user.username }))).toEqual([429, 'slow_down']);
    await bed.quiet();
    expect(
      bed.mailsTo(user.email).filter(({ parsed }) => /waiting for your answer/.test(parsed.subject ?? '')),
    ).toHaveLength(3);
  });

  test('nobody, a disabled or paused user, and one who has granted nothing get the same answers as a user, and the same limits (security R144)', async () => {
    const fresh = await service.createClient(cibaMetadata);
    const user = await known(fresh);
    const disabled = await known(fresh);
    await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [disabled.sub]);
    const paused = await known(fresh);
    await service.database.sql(
      `INSERT INTO sign_in_failures (account, sub, failures, held_until, expires_at)
       VALUES (sha256($1::bytea), $2, 20, now() + interval '1 hour', now() + interval '1 hour')`,
      [paused.sub, paused.sub],
    );
    const stranger = await bed.newUser();
    for (const hint of ['nobody', disabled.username, paused.username, stranger.username, user.username]) {
      const answers = [];
      for (let request = 0; request < 4; request++) answers.push(await ask({ login_hint: hint }, fresh));
      expect(
        answers.map(({ status }) => status),
        hint,
      ).toEqual([200, 200, 200, 429]);
      const { auth_req_id, ...rest } = answers[0]!.body;
      expect(rest).toEqual({ expires_in: 120, interval: 5 });
      expect(await pollError(String(auth_req_id), fresh)).toEqual([400, 'authorization_pending']);
    }
    // another hint of the same user tells nothing either
    expect((await ask({ login_hint: user.email }, fresh)).status).toBe(200);
    expect(await rows('client_id = $1 AND sub IS NOT NULL', [fresh.clientId])).toHaveLength(3);
    await service.database.sql('UPDATE backchannel_requests SET expires_at = now()');
    expect(await rows(`client_id = $1 AND mailed`, [fresh.clientId])).toHaveLength(1);
  });

  test('a client that is trusted to learns that nobody is there, and may ask a user who has granted nothing (protocols 6.2)', async () => {
    const trusted = await service.createClient(cibaMetadata);
    const set = await call(`${service.issuer}/admin/api/clients/${trusted.clientId}`, {
      method: 'PATCH',
      token: admin,
      body: { ciba_trusted: true },
    });
    expect(set.body).toMatchObject({ ciba_trusted: true });
    expect(errorOf(await ask({ login_hint: 'nobody' }, trusted))).toEqual([400, 'unknown_user_id']);
    const stranger = await bed.newUser();
    const id = await asked(stranger, {}, trusted);
    await answer(await signedIn(stranger));
    expect((await poll(service.issuer, trusted, id)).status).toBe(200);
  });

  test('discovery names the endpoint, the modes and the algorithms only where CIBA is on, and else they do not exist (OpenID Connect CIBA 4, protocols P93)', async () => {
    const metadataOf = async ({ issuer }: TestService) =>
      (await call(`${issuer}/.well-known/openid-configuration`)).body as Record<string, unknown>;
    expect(await metadataOf(service)).toMatchObject({
      backchannel_authentication_endpoint: `${service.issuer}/bc-authorize`,
      backchannel_token_delivery_modes_supported: ['poll', 'ping'],
      backchannel_authentication_request_signing_alg_values_supported: ['PS256', 'ES256'],
      backchannel_user_code_parameter_supported: false,
      grant_types_supported: expect.arrayContaining([cibaGrant]),
    });
    const off = await startTestService();
    try {
      const metadata = await metadataOf(off);
      expect(Object.keys(metadata).filter((name) => /backchannel_(auth|token|user)/.test(name))).toEqual([]);
      expect(metadata['grant_types_supported']).not.toContain(cibaGrant);
      expect((await fetch(`${off.issuer}/bc-authorize`, { method: 'POST' })).status).toBe(404);
      expect((await fetch(`${off.issuer}/account/requests`)).status).toBe(404);
      const of = await off.createClient(cibaMetadata);
      expect(errorOf(await tokenRequest(off.issuer, of, { grant_type: cibaGrant, auth_req_id: 'x' }))).toEqual([
        400,
        'unsupported_grant_type',
      ]);
    } finally {
      await off.stop();
    }
  });
});

describe('an auth_req_id', () => {
  test('Redeemed by another: of another client, twice, and after its requested_expiry (protocols P72)', async () => {
    const other = await service.createClient(cibaMetadata);
    const id = await allowed();
    expect(await pollError(id, other)).toEqual([400, 'invalid_grant']);
    expect((await poll(service.issuer, client, id)).status).toBe(200);
    expect(await pollError(id)).toEqual([400, 'invalid_grant']);
    const late = await allowed(client, { requested_expiry: '10' });
    await service.database.sql(`UPDATE backchannel_requests SET expires_at = expires_at - interval '10 seconds'`);
    expect(await pollError(late)).toEqual([400, 'expired_token']);
    expect(await pollError('ghbc_unknown')).toEqual([400, 'invalid_grant']);
  });

  test('bound to the key of a DPoP proof, it is redeemed with a proof of this key only (RFC 9449 5, security R134)', async () => {
    const [key, thief] = [await newProofKey(), await newProofKey()];
    const user = await known();
    const proof = await proofFor(key, `${service.issuer}/bc-authorize`);
    const headers = { authorization: client.basic, dpop: proof };
    const { body } = await askUser(service.issuer, client, { login_hint: user.username }, headers);
    const again = await askUser(service.issuer, client, { login_hint: user.username }, headers);
    expect(errorOf(again)).toEqual([400, 'invalid_dpop_proof']);
    await answer(await signedIn(user));
    const id = String(body['auth_req_id']);
    const redeem = async (of?: typeof key) => {
      const dpop = of && (await proofFor(of, `${service.issuer}/token`));
      const response = await fetch(`${service.issuer}/token`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: cibaGrant, auth_req_id: id }),
        headers: { authorization: client.basic, ...(dpop && { dpop }) },
      });
      return ((await response.json()) as Record<string, unknown>)[response.ok ? 'token_type' : 'error'];
    };
    expect([await redeem(), await redeem(thief), await redeem(key)]).toEqual([
      'invalid_grant',
      'invalid_grant',
      'DPoP',
    ]);
  });

  test('while failed sign-ins pause its user, an approved request stays pending, and later gives its tokens (security R133)', async () => {
    const user = await known();
    const id = await asked(user);
    await answer(await signedIn(user));
    await service.database.sql(
      `INSERT INTO sign_in_failures (account, sub, failures, held_until, expires_at)
       VALUES (sha256($1::bytea), $2, 20, now() + interval '1 hour', now() + interval '1 hour')`,
      [user.sub, user.sub],
    );
    expect(await pollError(id)).toEqual([400, 'authorization_pending']);
    await service.database.sql('DELETE FROM sign_in_failures WHERE sub = $1', [user.sub]);
    expect((await poll(service.issuer, client, id)).status).toBe(200);
  });

  test.each([
    [
      'the user is disabled',
      (sub: string) => service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [sub]),
    ],
    [
      'the session of the approval ends',
      (sub: string) => service.database.sql('DELETE FROM sessions WHERE sub = $1', [sub]),
    ],
    ['the consent is withdrawn', (sub: string) => service.database.sql('DELETE FROM grants WHERE sub = $1', [sub])],
    ['the user is deleted', (sub: string) => service.database.sql('DELETE FROM users WHERE sub = $1', [sub])],
  ])('it gives nothing once %s (security R133)', async (_, change) => {
    const user = await known();
    const id = await asked(user);
    await answer(await signedIn(user));
    await change(user.sub);
    await allowPolls(service);
    expect(await pollError(id)).toEqual([400, 'invalid_grant']);
  });
});

describe('a client that gets pings', () => {
  let pinged = 0;
  /** A client with a notification endpoint of its own, which answers as a test says. */
  async function pingClient(answers: Parameters<typeof receiver.answers.set>[1] = 204, uri?: string) {
    const path = `/ping-${++pinged}`;
    receiver.answers.set(path, answers);
    const of = await service.createClient({
      ...cibaMetadata,
      backchannel_token_delivery_mode: 'ping',
      backchannel_client_notification_endpoint: uri ?? receiver.uri(path),
    });
    return { of, path };
  }
  const token = { client_notification_token: 'bearer-of-the-client-0123456789' };
  const waitingPings = async () =>
    (await service.database.sql<{ n: number }>(`SELECT count(*)::int AS n FROM outbox WHERE channel = 'ping'`))[0]!.n;
  const ended = (of: TestClient) =>
    service.database.sql(`SELECT 1 FROM audit_events WHERE client_id = $1 AND type = 'backchannel.ping_failed'`, [
      of.clientId,
    ]);

  test('the decision is pinged with the token of the request, whether it is an approval or a denial, and the client polls (OpenID Connect CIBA 10.2)', async () => {
    const { of, path } = await pingClient();
    for (const decision of ['allow', 'deny'] as const) {
      const user = await known(of);
      const id = await asked(user, token, of);
      await answer(await signedIn(user), decision);
      const [ping] = await vi.waitUntil(() => {
        const at = receiver.at(path).filter(({ body }) => body.includes(id));
        return at.length > 0 && at;
      });
      expect(ping).toMatchObject({ method: 'POST', body: JSON.stringify({ auth_req_id: id }) });
      expect(ping!.headers).toMatchObject({
        authorization: `Bearer ${token.client_notification_token}`,
        'content-type': 'application/json',
      });
      expect((await poll(service.issuer, of, id)).body).toHaveProperty(decision === 'allow' ? 'access_token' : 'error');
    }
    expect(receiver.at(path)).toHaveLength(2);
    const stored = JSON.stringify(await rows('client_id = $1', [of.clientId]));
    expect(stored).not.toContain(Buffer.from(token.client_notification_token).toString('hex'));
  });

  test('each of several denials in one act is pinged (OpenID Connect CIBA 10.2, protocols P69)', async () => {
    const { of, path } = await pingClient();
    const user = await known(of);
    const ids = [await asked(user, token, of), await asked(user, token, of)];
    const agent = await signedIn(user);
    const page = await agent.get('/account/requests');
    const { csrf = '' } = hiddenFields(page.body.slice(page.body.indexOf('/account/requests/deny')));
    const denied = { csrf, requests: shownRequests(page).join(' ') };
    await agent.follow(await agent.post('/account/requests/deny', denied));
    await vi.waitUntil(() => receiver.at(path).length === 2);
    expect(
      receiver
        .at(path)
        .map(({ body }) => (JSON.parse(body) as { auth_req_id: string }).auth_req_id)
        .sort(),
    ).toEqual(ids.sort());
    for (const id of ids) expect(await pollError(id, of)).toEqual([400, 'access_denied']);
  });

  test('a request without an answer is not pinged when it expires: the client knows its end, and the poll says it (OpenID Connect CIBA 10.2, 11)', async () => {
    const { of, path } = await pingClient();
    const user = await known(of);
    const ids = [
      await asked(user, token, of),
      String((await ask({ login_hint: 'nobody', ...token }, of)).body['auth_req_id']),
    ];
    await service.database.sql('UPDATE backchannel_requests SET expires_at = now() WHERE client_id = $1', [
      of.clientId,
    ]);
    // an answer after the end is none
    await answer(await signedIn(user));
    for (const id of ids) expect(await pollError(id, of)).toEqual([400, 'expired_token']);
    expect([await waitingPings(), receiver.at(path)]).toEqual([0, []]);
  });

  test('Notification endpoint: redirects are not followed, 4xx is not retried, long bodies are not read, no private address is asked, and the tokens still come by poll (protocols P71)', async () => {
    const canary = receiver.uri('/canary');
    const big = (response: ServerResponse) => {
      response.writeHead(200);
      response.end(Buffer.alloc(10_000_000));
    };
    const redirect = (response: ServerResponse) => response.writeHead(301, { location: canary }).end();
    for (const [answers, uri] of [[redirect], [401], [403], [big], [204, 'https://10.0.0.1/ping']] as [
      Parameters<typeof pingClient>[0],
      string?,
    ][]) {
      const { of, path } = await pingClient(answers, uri);
      const user = await known(of);
      const id = await asked(user, token, of);
      await answer(await signedIn(user));
      if (uri === undefined)
        await vi.waitUntil(async () => (await waitingPings()) === 0 && receiver.at(path).length === 1);
      expect(await ended(of), path).toHaveLength(answers === big || uri !== undefined ? 0 : 1);
      expect((await poll(service.issuer, of, id)).status).toBe(200);
      expect(receiver.at(path)).toHaveLength(uri === undefined ? 1 : 0);
      await service.database.sql(`DELETE FROM outbox WHERE channel = 'ping'`);
    }
    expect(receiver.at('/canary')).toEqual([]);
  });

  test('it needs an endpoint at registration and a token in each request (OpenID Connect CIBA 4, 7.1)', async () => {
    const body = { ...cibaMetadata, backchannel_token_delivery_mode: 'ping' };
    expect(errorOf(await call(`${service.issuer}/register`, { body }))).toEqual([400, 'invalid_client_metadata']);
    const push = { ...cibaMetadata, backchannel_token_delivery_mode: 'push' };
    expect(errorOf(await call(`${service.issuer}/register`, { body: push }))).toEqual([400, 'invalid_client_metadata']);
    const { of } = await pingClient();
    for (const more of [
      {},
      { client_notification_token: 'with spaces in it, alas' },
      { client_notification_token: 'short' },
    ] as Record<string, string>[])
      expect(errorOf(await ask({ login_hint: 'nobody', ...more }, of))).toEqual([400, 'invalid_request']);
  });
});
