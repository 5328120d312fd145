// Attacks the UMA-profile and client-authenticated endpoints: codes as handles, tokens in URLs, other users' data, hostile settings.
import { afterAll, beforeAll, expect } from 'vitest';
import { call, obtainCode, redeem, refresh, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { ask, type CodeFlow, createTestUser, form, introspect, runCodeFlow, second, wholeClient } from '../spec/kit.ts';
import { attack } from './attack.ts';

let service: TestService;
let client: TestClient;
let alice: CodeFlow;
let bob: CodeFlow;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  client = await service.createClient(wholeClient);
  alice = await runCodeFlow(service, client);
  bob = await runCodeFlow(service, client);
});
afterAll(() => service?.stop());

const bearer = (token: string) => `Bearer ${token}`;
const unknown = { status: 401, body: { error: 'invalid_token' } };
const settingsOf = async (visitor: CodeFlow) =>
  (await ask(second(service), '/user/me/settings', bearer(visitor.tokens.access_token))).body['settings'];
const storedSettings = () =>
  service.database.sql<{ sub: string; client_id: string; settings: unknown }>(
    'SELECT sub, client_id, settings FROM user_settings ORDER BY sub, client_id',
  );

attack(
  {
    id: 'A99',
    name: 'Code used as a handle',
    request:
      'A code presented as a Bearer token for a client without uma_profile, after its 60 s without a use, after a second redemption, and in a query string',
    answer: '401 invalid_token in the first three, permanently; in a query string 400, and the handle is ended',
    source: "the specification's UMA profile",
    requirements: ['R81', 'R82', 'R83'],
  },
  async () => {
    const plain = await service.createClient({ ...wholeClient, uma_profile: false });
    const path = '/user/me/scope';
    const unused = await obtainCode(service, plain, alice.user, { scope: 'openid scope' }, alice.agent);
    expect(await ask(service.issuer, path, bearer(unused))).toMatchObject(unknown);
    const redeemed = await runCodeFlow(service, plain, { scope: 'openid scope' });
    expect(await ask(service.issuer, path, bearer(redeemed.code))).toMatchObject(unknown);
    expect(redeemed.tokens.client_session_handle).toBeUndefined();

    const late = await obtainCode(service, client, bob.user, { scope: 'openid scope' }, bob.agent);
    const aged = `UPDATE authorization_codes SET issued_at = issued_at - interval '61 s', expires_at = expires_at - interval '61 s'
      WHERE redeemed_at IS NULL AND activated_at IS NULL`;
    await service.database.sql(aged);
    for (const base of service.instances) expect(await ask(base, path, bearer(late))).toMatchObject(unknown);
    expect(await redeem(service.issuer, client, late)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });

    const twice = await runCodeFlow(service, client);
    expect((await ask(second(service), path, bearer(twice.code))).status).toBe(200);
    await service.database.sql(`UPDATE authorization_codes SET redeemed_at = redeemed_at - interval '1 minute'`);
    expect((await redeem(service.issuer, client, twice.code)).status).toBe(400);
    for (const handle of [twice.code, twice.tokens.client_session_handle, twice.tokens.access_token])
      expect(await ask(second(service), path, bearer(handle))).toMatchObject(unknown);

    const inQuery = await obtainCode(service, client, bob.user, { scope: 'openid scope' }, bob.agent);
    expect(await call(`${service.issuer}${path}?code=${inQuery}`)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
    expect(await ask(second(service), path, bearer(inQuery))).toMatchObject(unknown);
    expect((await redeem(service.issuer, client, inQuery)).body['error']).toBe('invalid_grant');
  },
);

attack(
  {
    id: 'A101',
    name: 'Handle in the URL',
    request:
      'A code or a handle in the path, in the query of a GET, of a POST and of a PUT, in a form and in a JSON body, alone, repeated, and together with a valid Authorization header',
    answer: '400 and the handle is ended; its value is in no log, and Referrer-Policy is no-referrer',
    source: 'RFC 9700 4.3, stonyx-oauth#45, TREK#2360',
    requirements: ['R83', 'R99'],
  },
  async () => {
    const info = `${service.issuer}/user/me/info`;
    const settings = `${service.issuer}/user/me/settings`;
    const ways: [string, (handle: string, good: string) => Promise<{ status: number; headers: Headers }>][] = [
      ['GET', (handle) => call(`${info}?session=${handle}`)],
      ['the path', (handle) => call(`${service.issuer}/user/${handle}/info`)],
      ['the path, escaped', (handle) => call(`${service.issuer}/user/${handle.replace('_', '%5f')}/settings`)],
      ['GET, escaped', (handle) => call(`${info}?x=${handle.replace('_', '%5F')}`)],
      ['GET, repeated', (handle) => call(`${info}?a=1&a=${handle}`)],
      ['GET with a good header', (handle, good) => call(`${info}?access_token=${handle}`, { token: good })],
      [
        'GET with a client',
        (handle) => call(`${info}?access_token=${handle}`, { headers: { authorization: client.basic } }),
      ],
      ['POST', (handle) => form(`${info}?session=${handle}`, {})],
      ['a form', (handle) => form(info, { access_token: handle })],
      [
        'PUT',
        (handle, good) => call(`${settings}?session=${handle}`, { method: 'PUT', token: good, body: { settings: {} } }),
      ],
      [
        'a JSON body',
        (handle, good) => call(settings, { method: 'PUT', token: good, body: { session: handle, settings: {} } }),
      ],
    ];
    for (const [what, send] of ways) {
      const { agent, user, tokens } = await runCodeFlow(
        service,
        client,
        { scope: 'openid' },
        { user: bob.user, agent: bob.agent },
      );
      const code = await obtainCode(service, client, user, { scope: 'openid' }, agent);
      for (const handle of [tokens.client_session_handle, code]) {
        service.logs.length = 0;
        const answer = await send(handle, alice.tokens.access_token);
        expect(answer.status, what).toBe(400);
        expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
        expect(JSON.stringify(service.logs), what).not.toContain(handle.slice(5, 30));
        expect(await ask(second(service), '/user/me/info', bearer(handle)), what).toMatchObject(unknown);
        expect((await introspect(second(service), client, handle)).body).toEqual({ active: false });
      }
    }
    // the other resources of the request are untouched
    expect((await ask(service.issuer, '/user/me/info', bearer(alice.tokens.access_token))).status).toBe(200);
  },
);

attack(
  {
    id: 'A103',
    name: 'Second item of another user',
    request:
      'Requests that name a value of the user together with one of another user: two resources, two subjects, the grant and the registration of another user, lists of everything',
    answer:
      'The whole request is refused and has no effect; only an administrator gets a list, and the account page shows only the user’s own data',
    source: 'CVE-2025-14778, CVE-2026-4636, CVE-2026-4630, CVE-2026-3190',
    requirements: ['R84'],
  },
  async () => {
    const [mine, others] = ['https://own.example/', 'https://bobs.example/'] as const;
    await service.createClient({ resource_uris: [mine, others] });
    const before = await storedSettings();
    const code = await obtainCode(service, client, alice.user, { scope: 'openid', resource: mine }, alice.agent);
    const redemption = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: client.redirectUri,
    });
    for (const resources of [[mine, others], [others, mine], [others]]) {
      const body = new URLSearchParams(redemption);
      for (const resource of resources) body.append('resource', resource);
      expect(await form(`${service.issuer}/token`, body.toString(), { authorization: client.basic })).toMatchObject({
        status: 400,
        body: { error: 'invalid_target' },
      });
    }
    redemption.append('resource', mine);
    expect((await form(`${service.issuer}/token`, redemption.toString(), { authorization: client.basic })).status).toBe(
      200,
    );

    // another user by name or by number, together with the user of the token
    const token = bearer(alice.tokens.access_token);
    const denied = { status: 403, body: { error: 'access_denied' } };
    for (const name of ['info', 'address', 'settings', 'scope'])
      expect(await ask(second(service), `/user/${bob.user.sub}/${name}`, token), name).toMatchObject(denied);
    expect(await ask(second(service), `/user/${bob.user.sub}/settings`, token, { settings: { a: 1 } })).toMatchObject(
      denied,
    );
    for (const both of [`${alice.user.sub},${bob.user.sub}`, `${alice.user.sub}%20${bob.user.sub}`, '*', 'all', '%25'])
      expect(await ask(second(service), `/user/${both}/info`, token), both).toMatchObject(denied);
    const otherClient = await service.createClient(wholeClient);
    for (const sub of [alice.user.sub, bob.user.sub, 'nobody', 'me'])
      for (const name of ['info', 'address', 'settings'])
        expect(await ask(second(service), `/user/${sub}/${name}`, otherClient.basic), name).toMatchObject(denied);

    // another client revokes no token and changes no registration or grant, and nothing is listed
    const revoke = (fields: Record<string, string>) =>
      form(`${service.issuer}/revoke`, fields, { authorization: otherClient.basic });
    for (const value of [bob.tokens.access_token, bob.tokens.refresh_token, bob.code]) await revoke({ token: value });
    expect((await ask(second(service), '/user/me/info', bearer(bob.tokens.access_token))).status).toBe(200);
    const account = await alice.agent.get('/account/applications');
    expect(account.body).toContain('Harbour');
    expect(account.body).not.toContain(bob.user.username);
    expect(await storedSettings()).toEqual(before);
    for (const path of [
      '/register',
      '/register/',
      '/user',
      '/user/',
      '/users',
      '/user/me',
      '/admin/api/clients',
      '/admin/api/sessions',
    ]) {
      for (const authorization of [token, client.basic])
        expect([400, 401, 403, 404, 405], path).toContain(
          (await call(service.issuer + path, { headers: { authorization } })).status,
        );
    }
    expect((await refresh(service.issuer, client, bob.tokens.refresh_token)).status).toBe(200);
  },
);

attack(
  {
    id: 'A104',
    name: 'Settings of another user',
    request: 'Writing settings with the user and the client of another in the path, query, body and headers',
    answer: '403 or ignored: only the row of the token’s own user and client is written',
    source: 'CWE-639',
    requirements: ['R86'],
  },
  async () => {
    const other = await service.createClient(wholeClient);
    const theirs = await runCodeFlow(service, other, {}, { user: bob.user });
    const write = (visitor: CodeFlow, settings: unknown) =>
      ask(service.issuer, '/user/me/settings', bearer(visitor.tokens.access_token), { settings });
    for (const visitor of [alice, bob, theirs]) expect((await write(visitor, { theme: 'light' })).status).toBe(200);
    const foreign = { sub: bob.user.sub, user: bob.user.sub, client_id: other.clientId };
    const query = new URLSearchParams(foreign).toString();
    const send = (path: string, more: object = {}, headers: Record<string, string> = {}) =>
      call(service.issuer + path, {
        method: 'PUT',
        body: { settings: { theme: 'dark' }, ...more },
        headers: { authorization: bearer(alice.tokens.access_token), ...headers },
      });
    const names = ['x-user', 'x-user-id', 'x-remote-user', 'x-forwarded-user', 'x-client-id', 'x-sub', 'from'];
    const headers = Object.fromEntries(names.map((name) => [name, bob.user.sub]));
    for (const answer of [
      await send(`/user/me/settings?${query}`),
      await send('/user/me/settings', foreign),
      await send('/user/me/settings', {}, headers),
      await send(`/user/${alice.user.sub}/settings?${query}`, foreign, headers),
    ])
      expect(answer.status).toBe(200);
    expect(await settingsOf(alice)).toEqual({ theme: 'dark' });
    expect(await send(`/user/${bob.user.sub}/settings`)).toMatchObject({
      status: 403,
      body: { error: 'access_denied' },
    });
    expect((await send(`/user/me/settings/${bob.user.sub}`)).status).toBe(404);
    expect((await send(`/user/me/settings/theme`)).status).toBe(404);
    // the client with its secret writes only its settings of the user of the path
    const bySecret = { authorization: client.basic };
    expect(
      (await send(`/user/${alice.user.sub}/settings?${query}`, { ...foreign, settings: { theme: 'sepia' } }, bySecret))
        .status,
    ).toBe(200);
    expect([await settingsOf(alice), await settingsOf(bob), await settingsOf(theirs)]).toEqual([
      { theme: 'sepia' },
      { theme: 'light' },
      { theme: 'light' },
    ]);
  },
);

attack(
  {
    id: 'A105',
    name: 'Settings storage abuse',
    request:
      'Reserved names as keys and within values, keys that are too long or not printable, values too deep, with NUL or a lone surrogate, 64 KiB and a byte, and 50 parallel writes of the last keys on two instances',
    answer:
      '400 or 413 and nothing is stored or merged; the number of keys never passes the quota, and there is no 5xx',
    source: 'arkime#2231, HilbertraumAI#251',
    requirements: ['R87', 'R88', 'R107'],
  },
  async () => {
    const visitor = await runCodeFlow(service, client);
    const authorization = bearer(visitor.tokens.access_token);
    const put = (body: string, base = service.issuer) =>
      fetch(`${base}/user/me/settings`, {
        method: 'PUT',
        body,
        headers: { authorization, 'content-type': 'application/json' },
      });
    const whole = (settings: unknown) => JSON.stringify({ settings });
    const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });
    const many = (count: number, value: unknown = 1) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));
    for (const [body, status] of [
      ['{"settings":{"__proto__":{"polluted":true}}}', 400],
      ['{"settings":{"a":{"__proto__":{"polluted":true}}}}', 400],
      ['{"settings":{"constructor":{"prototype":{"polluted":true}}}}', 400],
      ['{"settings":{"prototype":1}}', 400],
      ['{"__proto__":{"settings":{"a":1}}}', 400],
      [whole({ ['k'.repeat(129)]: 1 }), 400],
      [whole({ '': 1 }), 400],
      [whole({ 'a\u0000b': 1 }), 400],
      [whole({ 'a\u202eb': 1 }), 400],
      [whole({ a: 'b\u0000' }), 400],
      ['{"settings":{"a":"\\ud800"}}', 400],
      ['{"settings":{"\\ud800":1}}', 400],
      [whole({ a: deep(17) }), 400],
      [`{"settings":{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}}`, 400],
      ['{"settings":{"a":1e400}}', 400],
      [whole({ a: 'x'.repeat(65_536) }), 413],
      [whole({ a: 'x'.repeat(1024 * 1024) }), 413],
      [whole(many(257)), 413],
      [whole(many(10_000)), 413],
      [whole(many(256, 'x'.repeat(300))), 413],
    ] as const) {
      expect((await put(body)).status, body.slice(0, 60)).toBe(status);
    }
    expect(await settingsOf(visitor)).toEqual({});
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    // a key is a name and not a path, and a write replaces a value as a whole
    expect((await put(whole({ 'a/../b': { one: 1 }, '../../etc': 1 }))).status).toBe(200);
    expect((await put(whole({ 'a/../b': { two: 2 }, '../../etc': null }))).status).toBe(200);
    expect(await settingsOf(visitor)).toEqual({ 'a/../b': { two: 2 } });

    expect((await put(whole(many(249)))).status).toBe(200);
    const writes = Array.from({ length: 50 }, (_, index) =>
      put(whole({ [`extra ${index}`]: index }), service.instances[index % 2]),
    );
    const statuses = (await Promise.all(writes)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(6);
    expect(statuses.filter((status) => status === 413)).toHaveLength(44);
    expect(Object.keys((await settingsOf(visitor)) as object)).toHaveLength(256);
    // concurrent writers add the last keys repeatedly
    const nearlyFull = JSON.stringify(many(254));
    for (let round = 0; round < 20; round++) {
      await service.database.sql('UPDATE user_settings SET settings = $1 WHERE sub = $2', [
        nearlyFull,
        visitor.user.sub,
      ]);
      const racers = Array.from({ length: 4 }, (_, racer) =>
        put(whole({ [`r${racer}`]: 1 }), service.instances[racer % 2]),
      );
      expect((await Promise.all(racers)).map(({ status }) => status).toSorted()).toEqual([200, 200, 413, 413]);
    }
    // another user of the client is not limited by this
    expect(
      (
        await ask(
          service.issuer,
          '/user/me/settings',
          bearer(
            (
              await runCodeFlow(
                service,
                client,
                {},
                { user: await createTestUser(service), agent: new UserAgent(service) },
              )
            ).tokens.access_token,
          ),
          { settings: { a: 1 } },
        )
      ).status,
    ).toBe(200);
  },
);
