// Attacks introspection: clients that may not introspect, dead tokens that should look alike, unusual requests.
import { afterAll, beforeAll, expect } from 'vitest';
import { newOpaqueToken, tokenPrefixes, type OpaqueTokenKind } from '../../src/tokens/opaque-token.ts';
import { adminToken, call, obtainCode, redeem, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';
import { basic, type CodeFlow, form, introspect, register, runCodeFlow, second, wholeClient } from '../spec/kit.ts';
import { attack } from './attack.ts';

let service: TestService;
let client: TestClient;
let mine: CodeFlow;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  client = await service.createClient(wholeClient);
  mine = await runCodeFlow(service, client, { scope: 'openid' });
});
afterAll(() => service?.stop());

/** Everything in an answer except what differs each time. */
async function bytes(response: Response) {
  const volatile = ['date', 'connection', 'keep-alive'];
  return {
    status: response.status,
    headers: [...response.headers].filter(([name]) => !volatile.includes(name)),
    body: await response.text(),
  };
}
const post = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${second(service)}/introspect`, { method: 'POST', body: new URLSearchParams(fields), headers }).then(bytes);

attack(
  {
    id: 'A93',
    name: 'No client or a wrong client',
    request:
      'Introspection of a valid, an unknown, a malformed and no token without credentials, by a public, an unknown and a disabled client, with a wrong secret and with a token as credentials',
    answer:
      'The same 401 for all, before the token is checked; a disabled client with its right secret gets 403, whatever the token',
    source: 'RFC 7662 2.1',
    requirements: ['R75'],
  },
  async () => {
    const open = await service.createClient({ token_endpoint_auth_method: 'none' });
    const disabled = await service.createClient({}, { status: 'disabled' });
    const tokens: Record<string, string>[] = [
      { token: mine.tokens.access_token },
      { token: newOpaqueToken('access_token').token },
      { token: 'malformed' },
      { token: mine.tokens.access_token, token_type_hint: 'nonsense' },
      {},
    ];
    const callers: [Record<string, string>, Record<string, string>][] = [
      [{}, {}],
      [{ client_id: open.clientId }, {}],
      [{}, { authorization: basic(open.clientId, '') }],
      [{}, { authorization: basic(open.clientId, 'invented') }],
      [{ client_id: client.clientId }, {}],
      [{ client_id: client.clientId, client_secret: 'wrong' }, {}],
      [{}, { authorization: basic('nobody', 'x') }],
      [{}, { authorization: basic(client.clientId, 'wrong') }],
      [{}, { authorization: basic(client.clientId, '') }],
      [{}, { authorization: basic(disabled.clientId, 'wrong') }],
      [{}, { authorization: `Bearer ${mine.tokens.access_token}` }],
      [{}, { authorization: `Basic ${client.basic.slice(6)}garbage` }],
    ];
    const answers = [];
    for (const [fields, headers] of callers)
      for (const token of tokens) answers.push(await post({ ...token, ...fields }, headers));
    expect(answers[0]).toMatchObject({ status: 401, body: expect.stringContaining('"error":"invalid_client"') });
    expect(Object.fromEntries(answers[0]!.headers)['www-authenticate']).toMatch(/^Basic /);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    const refusals = await Promise.all(tokens.map((token) => post(token, { authorization: disabled.basic })));
    for (const answer of refusals) expect(answer).toEqual(refusals[0]);
    expect(refusals[0]).toMatchObject({ status: 403, body: expect.stringContaining('"error":"unauthorized_client"') });
  },
);

attack(
  {
    id: 'A95',
    name: 'All dead tokens look alike',
    request:
      'Introspection of tokens that are unknown but well formed, expired, revoked, killed by reuse, of another audience, of a disabled user or client, of an ended session, refresh and registration tokens, the value of a session cookie',
    answer: 'Status, headers and bytes of the answer are the same: {"active":false}',
    source: 'RFC 7662 2.2',
    requirements: ['R77', 'R30'],
  },
  async () => {
    const sql = service.database.sql;
    const fresh = (of = client) => runCodeFlow(service, of, { scope: 'openid' });
    const dead: Record<string, string> = {};
    for (const kind of Object.keys(tokenPrefixes) as OpaqueTokenKind[])
      dead[`an unknown ${kind}`] = newOpaqueToken(kind).token;

    const expired = await fresh();
    await sql(
      `UPDATE access_tokens SET expires_at = now() WHERE client_session_id IN (SELECT id FROM client_sessions WHERE sub = $1)`,
      [expired.user.sub],
    );
    dead['an expired one'] = expired.tokens.access_token;
    const revoked = await fresh();
    await form(`${service.issuer}/revoke`, { token: revoked.tokens.refresh_token }, { authorization: client.basic });
    dead['a revoked one'] = revoked.tokens.access_token;
    dead['a revoked handle'] = revoked.tokens.client_session_handle;
    const reused = await fresh();
    await sql(`UPDATE authorization_codes SET redeemed_at = redeemed_at - interval '1 minute'`);
    expect((await redeem(service.issuer, client, reused.code)).status).toBe(400);
    dead['one killed by reuse'] = reused.tokens.access_token;
    dead['a code killed by reuse'] = reused.code;
    dead['a handle killed by reuse'] = reused.tokens.client_session_handle;
    const gone = await fresh();
    await service.store.users.update(gone.user.sub, { status: 'disabled' });
    dead['one of a disabled user'] = gone.tokens.access_token;
    dead['the ID Token of a disabled user'] = gone.tokens.id_token;
    const closed = await service.createClient(wholeClient);
    const of = await fresh(closed);
    dead['one of a disabled client'] = of.tokens.access_token;
    dead['the ID Token of a disabled client'] = of.tokens.id_token;
    dead['the registration token of a disabled client'] = closed.registrationAccessToken;
    await sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [closed.clientId]);
    const out = await fresh();
    dead['a code that was not redeemed in time'] = await obtainCode(service, client, out.user, {}, out.agent);
    await out.agent.submit(await out.agent.get('/logout'), { decision: 'sign-out' });
    dead['one of an ended session'] = out.tokens.access_token;
    dead['the handle of an ended session'] = out.tokens.client_session_handle;
    dead['a live refresh token'] = mine.tokens.refresh_token;
    dead['a live registration token'] = client.registrationAccessToken;
    dead['the cookie of a live session'] = mine.agent.cookies.get('JSESSIONOPENID')!.split('.')[1]!;
    const token = await adminToken(service);
    const { body } = await call(`${service.issuer}/admin/api/registration-tokens`, { token, body: {} });
    dead['a live initial access token'] = body['initial_access_token'] as string;
    dead['the token of another client'] = (await fresh(await service.createClient(wholeClient))).tokens.access_token;
    dead["an administrator's"] = token;
    const [header, payload] = mine.tokens.id_token.split('.');
    dead['an ID Token with another signature'] = `${header}.${payload}.${'A'.repeat(342)}`;

    const hints: Record<string, string>[] = [{}, { token_type_hint: 'access_token' }, { token_type_hint: 'pct' }];
    const answers = Object.entries(dead).flatMap(([what, value]) =>
      hints.map(
        async (hint) => [what, await post({ token: value, ...hint }, { authorization: client.basic })] as const,
      ),
    );
    const [[, first], ...rest] = (await Promise.all(answers)) as [[string, object], ...[string, object][]];
    expect(first).toMatchObject({ status: 200, body: '{"active":false}' });
    for (const [what, answer] of rest) expect(answer, what).toEqual(first);
    expect((await introspect(second(service), client, mine.tokens.access_token)).body['active']).toBe(true);
  },
);

attack(
  {
    id: 'A98',
    name: 'Unusual requests',
    request:
      'GET with the token in the query, credentials or the token of a POST in the query, a JSON, text and multipart body, Accept of a signed answer, HEAD, and a preflight of another origin',
    answer:
      '405, 400 or 415; a signed answer is for its caller alone, and any other Accept gets JSON; no CORS header, and no token in the log',
    source: 'Abblix#326, CVE-2026-18208',
    requirements: ['R80', 'R97'],
  },
  async () => {
    const token = mine.tokens.access_token;
    const address = `${service.issuer}/introspect`;
    const authorization = client.basic;
    const inQuery = `${address}?token=${token}`;
    const status = async (url: string, init: RequestInit) => {
      const response = await fetch(url, {
        ...init,
        headers: { origin: 'https://rp.example.com', authorization, ...(init.headers as object) },
      });
      expect([...response.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
      expect(await response.text()).not.toContain('"active":true');
      return response.status;
    };
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
      expect(await status(inQuery, { method }), method).toBe(405);
    expect(await status(address, { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } })).toBe(
      405,
    );
    expect(await status(inQuery, { method: 'POST', body: new URLSearchParams() })).toBe(400);
    expect(await status(inQuery, { method: 'POST' })).toBe(415);
    for (const [type, body] of [
      ['application/json', JSON.stringify({ token })],
      ['text/plain', `token=${token}`],
      [
        'multipart/form-data; boundary=x',
        `--x\r\ncontent-disposition: form-data; name="token"\r\n\r\n${token}\r\n--x--\r\n`,
      ],
      ['application/x-www-form-urlencoded\ta', `token=${token}`],
    ] as const)
      expect(await status(address, { method: 'POST', body, headers: { 'content-type': type } }), type).toBe(415);
    const twice = new URLSearchParams([
      ['token', token],
      ['token', token],
    ]);
    expect(await status(address, { method: 'POST', body: twice })).toBe(400);

    for (const [accept, type] of [
      ['application/token-introspection+jwt', 'application/token-introspection+jwt'],
      ['application/jwt', 'application/json; charset=utf-8'],
      ['text/html', 'application/json; charset=utf-8'],
    ] as const) {
      const headers = { authorization, accept, origin: 'https://rp.example.com' };
      const response = await fetch(address, { method: 'POST', body: new URLSearchParams({ token }), headers });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe(type);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.has('access-control-allow-origin')).toBe(false);
    }
    expect(JSON.stringify(service.logs)).not.toContain(token);
    // other endpoints answer as before
    expect((await register(service)).status).toBe(201);
    expect((await tokenRequest(service.issuer, undefined, { grant_type: 'x' })).status).toBe(401);
  },
);
