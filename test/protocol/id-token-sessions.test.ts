// An ID Token stands for the one authorization that issued it, wherever it is presented: later authorizations of the same browser add nothing to it.
import { decodeJwt, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cibaGrant, deviceGrant, tokenExchangeGrant } from '../../src/oauth/registrable-values.ts';
import { tokenTypes } from '../../src/oauth/token-exchange.ts';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { answer, askUser, poll as pollRequest } from '../helpers/ciba.ts';
import { decide, deviceCodes, poll as pollDevice } from '../helpers/device.ts';
import { exchange, exchangeMetadata, made } from '../helpers/exchange.ts';
import {
  adminToken,
  obtainCode,
  obtainTokens,
  redeem,
  refresh,
  type Tokens,
  userinfo,
  withoutLimits,
} from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

let service: TestService;
let app: TestClient;
let gateway: TestClient;
const orders = 'https://orders.example/';
const strict = 'https://strict.example/';
const audience = 'https://id.tracker.example';
const multiFactor = 'urn:gatehouse:acr:mfa';
const scopes = ['orders.read', 'orders.write'].map((value) => ({ value }));

beforeAll(async () => {
  const on = { ID_JAG: 'on', DEVICE_GRANT: 'on', CIBA: 'on' };
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, ...on } });
  const token = await adminToken(service);
  gateway = await service.createClient(exchangeMetadata);
  app = await service.createClient({
    scope: 'openid profile offline_access',
    grant_types: ['authorization_code', 'refresh_token', 'implicit', tokenExchangeGrant, deviceGrant, cibaGrant],
    response_types: ['code', 'code id_token'],
  });
  await made(service, token, 'resources', { resource: orders, name: 'Orders', scopes, clients: 'approved' });
  await made(service, token, 'resources', { resource: strict, name: 'Strict', scopes, required_acr: multiFactor });
  await made(service, token, 'exchange-policies', {
    name: 'gateway',
    client_id: gateway.clientId,
    subject_clients: [app.clientId],
    resources: [orders, strict, `${service.issuer}/user/info`],
    scopes: ['orders.read', 'orders.write', 'openid', 'profile'],
  });
  await made(service, token, 'connected-servers', {
    name: 'Tracker',
    issuer: audience,
    clients: [{ client: app.clientId, id: 'app-there', scopes: ['issues.read'] }],
  });
});
afterAll(() => service?.stop());

/** A browser of a new user, which gets the tokens of one authorization after the other. */
async function browser() {
  const user = await service.createUser({ claims: { name: 'Ada Lovelace' } });
  const agent = new UserAgent(service);
  await agent.signIn(user);
  const tokens = (parameters: Record<string, string>): Promise<Tokens> =>
    obtainTokens(service, app, user, parameters, agent);
  return { user, agent, tokens };
}
const weak = { scope: 'openid offline_access' };
const strong = { scope: 'openid profile orders.read orders.write', resource: orders };

const idToken = { subject_token_type: tokenTypes.idToken };
/** What a gateway gets for an ID Token: the scope, or the error. */
async function gets(given: unknown, fields: Record<string, string> = {}, base = service.issuer) {
  const { body } = await exchange(base, gateway, String(given), { ...idToken, resource: orders, ...fields });
  return body['scope'] ?? body['error'];
}
const jag = (given: string) =>
  exchange(service.issuer, app, given, { ...idToken, requested_token_type: tokenTypes.idJag, audience });
const shown = async (given: string, by = app) => (await introspect(service.issuer, by, given)).body;

test('an exchange gives the scopes of the authorization that issued the ID Token, and of no later one (RFC 8693 1.1, security R145)', async () => {
  const { tokens } = await browser();
  const userInfo = { resource: `${service.issuer}/user/info`, scope: 'openid profile' };
  const first = await tokens(weak);
  expect(await gets(first.id_token)).toBe('invalid_scope');
  const second = await tokens(strong);
  for (const base of service.instances) {
    expect(await gets(first.id_token, {}, base)).toBe('invalid_scope');
    expect(await gets(first.id_token, { scope: 'orders.read' }, base)).toBe('invalid_scope');
    expect(await gets(first.id_token, userInfo, base)).toBe('invalid_scope');
  }
  await tokens(weak);
  for (const base of service.instances) expect(await gets(second.id_token, {}, base)).toBe('orders.read orders.write');
  const { body } = await exchange(service.issuer, gateway, second.id_token, { ...idToken, ...userInfo });
  expect((await userinfo(service.issuer, String(body['access_token']))).body['name']).toBe('Ada Lovelace');
});

test('the ID Token of a refresh belongs to the authorization of the refresh token, also where a refresh narrows the scope (RFC 8693 1.1, security R145)', async () => {
  const { tokens } = await browser();
  const first = await tokens(weak);
  const second = await tokens({ ...strong, scope: `${strong.scope} offline_access` });
  const later = await refresh(service.issuer, app, first.refresh_token);
  expect(await gets(later.body['id_token'])).toBe('invalid_scope');
  const narrowed = await refresh(service.issuer, app, String(later.body['refresh_token']), { scope: 'openid' });
  expect(narrowed.body['scope']).toBe('openid');
  expect(await gets(narrowed.body['id_token'])).toBe('invalid_scope');
  const whole = await refresh(service.issuer, app, second.refresh_token, { scope: 'openid orders.read' });
  expect(await gets(whole.body['id_token'], { scope: 'orders.write profile' })).toBe('invalid_scope');
  expect(await gets(whole.body['id_token'])).toBe('orders.read orders.write');
});

test('once its own authorization has ended, an ID Token is worth nothing, though a later one lives (security R145)', async () => {
  const { user, agent, tokens } = await browser();
  const code = await obtainCode(service, app, user, weak, agent);
  const first = (await redeem(service.issuer, app, code)).body;
  const second = await tokens(strong);
  const { body } = await refresh(service.issuer, app, String(first['refresh_token']));
  expect(await gets(body['id_token'])).toBe('invalid_scope');
  // a code that another client sends again ends this authorization alone
  await redeem(service.issuer, await service.createClient(), code);
  for (const dead of [String(first['id_token']), String(body['id_token'])]) {
    expect(await gets(dead)).toBe('invalid_request');
    expect((await jag(dead)).body['error']).toBe('invalid_request');
    expect(await shown(dead)).toEqual({ active: false });
  }
  expect(await gets(second.id_token)).toBe('orders.read orders.write');
});

test('the new token ends with the authorization that issued the ID Token, and with no other one (security R145)', async () => {
  const { user, agent, tokens } = await browser();
  const codes = [
    await obtainCode(service, app, user, strong, agent),
    await obtainCode(service, app, user, weak, agent),
  ];
  const [first] = await Promise.all(codes.map(async (code) => (await redeem(service.issuer, app, code)).body));
  await tokens(weak);
  const { body } = await exchange(service.issuer, gateway, String(first!['id_token']), {
    ...idToken,
    resource: orders,
  });
  const given = String(body['access_token']);
  const thief = await service.createClient();
  await redeem(service.issuer, thief, codes[1]!);
  expect(await shown(given, gateway)).toMatchObject({ active: true, scope: 'orders.read orders.write' });
  await redeem(service.issuer, thief, codes[0]!);
  expect(await shown(given, gateway)).toEqual({ active: false });
});

test('a later sign-in with a second factor makes an earlier ID Token no stronger, neither for an API nor in an ID-JAG (RFC 9470 3, security R145)', async () => {
  const { agent, tokens } = await browser();
  const first = await tokens(strong);
  const { app: authenticator } = await setUpAuthenticator(agent);
  const asked = { ...strong, acr_values: multiFactor };
  let page = await agent.follow(await agent.get(authorizationUrl(service.issuer, app, asked)));
  if (page.url.includes('/login/')) page = await agent.submit(page, { code: authenticator.code(1) });
  const second = (await redeem(service.issuer, app, responseParameters(page)['code']!)).body;
  const levels = [];
  for (const given of [first.id_token, String(second['id_token'])]) {
    const { body } = await jag(given);
    const exchanged = await exchange(service.issuer, gateway, given, { ...idToken, resource: orders });
    const { amr } = (await shown(String(exchanged.body['access_token']), gateway))['extended_claims'] as {
      amr: string[];
    };
    levels.push([
      amr.includes('mfa'),
      decodeJwt(given)['acr'],
      decodeJwt(String(body['access_token']))['acr'],
      (await shown(given))['acr'],
      await gets(given, { resource: strict }),
    ]);
  }
  const password = 'urn:gatehouse:acr:password';
  expect(levels).toEqual([
    [false, password, password, password, 'invalid_target'],
    [true, multiFactor, multiFactor, multiFactor, 'orders.read orders.write'],
  ]);
});

test('of many exchanges, ID-JAGs and introspections at once each has the authorization of its own ID Token (security R145)', async () => {
  const { tokens } = await browser();
  const given = [(await tokens(weak)).id_token, (await tokens(strong)).id_token];
  const results = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const one = given[index % 2]!;
      const [got, { status }, { scope }] = await Promise.all([gets(one), jag(one), shown(one)]);
      return JSON.stringify([index % 2, got, status, scope]);
    }),
  );
  expect([...new Set(results)].sort()).toEqual([
    JSON.stringify([0, 'invalid_scope', 200, weak.scope]),
    JSON.stringify([1, 'orders.read orders.write', 200, strong.scope]),
  ]);
});

test('introspection shows the scopes of the authorization that issued the ID Token (RFC 7662 2.2)', async () => {
  const { tokens } = await browser();
  const first = await tokens(weak);
  const second = await tokens(strong);
  await tokens(weak);
  expect((await shown(first.id_token))['scope']).toBe(weak.scope);
  expect((await shown(second.id_token))['scope']).toBe(strong.scope);
});

test('an ID Token from the authorization endpoint belongs to its own authorization, too (OpenID Connect Core 3.3.2)', async () => {
  const { user, agent, tokens } = await browser();
  const hybrid = async (parameters: Record<string, string>) => {
    const asked = { ...parameters, response_type: 'code id_token', nonce: 'n' };
    const { location = '' } = await agent.authorize(app, user, asked);
    return new URLSearchParams(new URL(location).hash.slice(1)).get('id_token');
  };
  await tokens(strong);
  const first = await hybrid({ scope: 'openid' });
  const second = await hybrid(strong);
  await tokens(weak);
  expect([await gets(first), await gets(second)]).toEqual(['invalid_scope', 'orders.read orders.write']);
});

describe('beside a stronger authorization in the same browser', () => {
  const issued: [string, (opened: Awaited<ReturnType<typeof browser>>) => Promise<Tokens>][] = [
    [
      'a device',
      async ({ agent }) => {
        const codes = await deviceCodes(service.issuer, app, { scope: 'openid' });
        await decide(agent, codes);
        return (await pollDevice(service.issuer, app, codes)).body as unknown as Tokens;
      },
    ],
    [
      'a backchannel request',
      async ({ user, agent }) => {
        const { body } = await askUser(service.issuer, app, { login_hint: user.username });
        await agent.signIn(user, await answer(agent));
        await answer(agent);
        return (await pollRequest(service.issuer, app, String(body['auth_req_id']))).body as unknown as Tokens;
      },
    ],
  ];
  test.each(issued)('the ID Token of %s has its own scopes only (security R145)', async (_what, obtain) => {
    const opened = await browser();
    await opened.tokens(strong);
    const given = await obtain(opened);
    await opened.tokens(strong);
    expect(decodeJwt(given.id_token)['aud']).toBe(app.clientId);
    expect(await gets(given.id_token)).toBe('invalid_scope');
    expect((await shown(given.id_token))['scope']).toBe('openid');
  });
});

test('jti is another one in each ID Token, and is the only name of the authorization that a client gets (RFC 7519 4.1.7)', async () => {
  const { tokens } = await browser();
  const first = await tokens(weak);
  const { body } = await refresh(service.issuer, app, first.refresh_token);
  const names = [first.id_token, String(body['id_token'])].map((each) => String(decodeJwt(each).jti));
  expect(new Set(names).size).toBe(2);
  for (const name of names) expect(name).toMatch(/^[\w-]{22}$/);
});

test('an ID Token that its client could have signed names an authorization of this client, user and session, or none (security R122)', async () => {
  const own = await service.createClient({ id_token_signed_response_alg: 'HS256' });
  const { user, agent, tokens } = await browser();
  const elsewhere = await obtainTokens(service, own, user, { scope: 'openid' });
  const others = [(await tokens(strong)).id_token, elsewhere.id_token].map((each) => decodeJwt(each).jti);
  const payload = decodeJwt((await obtainTokens(service, own, user, { scope: 'openid' }, agent)).id_token);
  const signed = (jti: unknown) =>
    new SignJWT({ ...payload, jti: jti as string })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .sign(Buffer.from(own.clientSecret));
  expect(await shown(await signed(payload.jti), own)).toMatchObject({ active: true, scope: 'openid' });
  for (const jti of [undefined, ...others, 7, '', 'A'.repeat(22), `${String(payload.jti)}=`])
    expect(await shown(await signed(jti), own), String(jti)).toEqual({ active: false });
});
