// JSON that is ambiguous or costly is refused before the service stores or echoes any of it.
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countMembers, hasUniqueNames } from '../../src/oauth/json-text.ts';
import { adminToken, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
/** Every address that reads JSON, with an Authorization header that it accepts. */
let addresses: [method: string, path: string, authorization: string | undefined][];
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  client = await service.createClient({ scope: 'openid profile' });
  const user = await service.createUser();
  const admin = `Bearer ${await adminToken(service)}`;
  const { access_token } = await obtainTokens(service, client, user);
  addresses = [
    ['POST', '/register', undefined],
    ['PUT', `/register/${client.clientId}`, `Bearer ${client.registrationAccessToken}`],
    ['PUT', '/user/me/settings', `Bearer ${access_token}`],
    ['POST', '/admin/api/clients', admin],
    ['PATCH', `/admin/api/clients/${client.clientId}`, admin],
    ['POST', '/admin/api/users', admin],
    ['POST', '/admin/api/registration-tokens', admin],
    ['POST', '/admin/api/keys', admin],
  ];
});
afterAll(() => service?.stop());

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const named = (count: number) => Array.from({ length: count }, (_, index) => `"m${index}":1`).join();

test.each([
  ['a repeated name', '{"client_name":"a","client_name":"b"}', /repeated member/],
  ['a repeated name behind an escape', '{"client_name":"a","client\\u005fname":"b"}', /repeated member/],
  ['a repeated name deep inside', '{"jwks":{"keys":[{"kty":"RSA","x":[{"n":1,"n":1}]}]}}', /repeated member/],
  ['17 levels', nested(17), /nested deeper|may be nested|is unknown|'settings'/],
  ['300,000 levels, which exceed the length first', '['.repeat(300_000), /too large|not JSON|nested deeper/],
  ['a reserved name', '{"a":[{"__proto__":{"admin":true}}]}', /reserved/],
  ['a number out of range', '{"a":1e400}', /number|large/],
])(
  '%s is refused at every address that reads JSON, and changes nothing (security R48, R103, A65)',
  async (_what, body, why) => {
    const before = await counts();
    for (const [method, path, authorization] of addresses) {
      const answer = await fetch(service.issuer + path, {
        method,
        body,
        headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
      });
      const { error, error_description } = (await answer.json()) as Record<string, string>;
      expect([400, 413], path).toContain(answer.status);
      expect(error, path).toMatch(/^invalid_/);
      expect(error_description, path).toMatch(why);
    }
    expect(await counts()).toEqual(before);
  },
);

test.each([
  ['in one object', `{"x":{${named(257)}}}`],
  ['in many objects', `{"x":[${Array.from({ length: 40 }, () => `{${named(7)}}`).join()}]}`],
])('more than 256 members %s are refused, and 256 members are accepted (security R103, A65)', async (_what, body) => {
  // settings have limits of their own, and the rules of a client hold more (test/admin/largest-bodies.test.ts)
  const usual = addresses.filter(([, path]) => !path.endsWith('/settings') && !path.startsWith('/admin/api/clients'));
  expect(usual).toHaveLength(5);
  for (const [method, path, authorization] of usual) {
    const answer = await fetch(service.issuer + path, {
      method,
      body,
      headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
    });
    expect(answer.status, path).toBe(400);
    expect(await answer.json(), path).toMatchObject({ error_description: 'the body has more than 256 members' });
  }
  const answer = await fetch(`${service.issuer}/register`, {
    method: 'POST',
    body: `{"redirect_uris":["https://rp.example.com/cb"],"x":{${named(254)}}}`,
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status).toBe(201);
});

test('an authorization request whose claims repeat a member gets invalid_request (security R5, R103)', async () => {
  const browser = new UserAgent(service);
  const user = await service.createUser();
  await browser.authorize(client, user);
  for (const claims of ['{"id_token":{"name":null},"id_token":{}}', '{"userinfo":{"name":null,"n\\u0061me":null}}']) {
    const page = await browser.get(authorizationUrl(service.issuer, client, { claims }));
    expect(responseParameters(page)).toMatchObject({ error: 'invalid_request' });
  }
});

test('a signed assertion, request object or end-session request that repeats a member is refused (RFC 7515 4, security R103)', async () => {
  const grants = { grant_types: ['client_credentials'], redirect_uris: [] };
  const bySecret = await service.createClient({ ...grants, token_endpoint_auth_method: 'client_secret_jwt' });
  const now = Math.floor(Date.now() / 1000);
  const assertion = (extra: string, jti: string) =>
    tokenRequest(service.issuer, undefined, {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: signed(
        `{"alg":"HS256"}`,
        `{${extra}"iss":"${bySecret.clientId}","sub":"${bySecret.clientId}","aud":"${service.issuer}","jti":"${jti}","exp":${now + 60}}`,
        bySecret.clientSecret,
      ),
    });
  expect((await assertion('"x":1,', 'first')).status).toBe(200);
  expect((await assertion('"sub":"somebody",', 'second')).status).toBe(401);

  const asking = await service.createClient({ request_object_signing_alg: 'HS256' });
  const browser = new UserAgent(service);
  await browser.authorize(client, await service.createUser());
  const ask = async (header: string) => {
    const parameters = { scope: 'openid', client_id: asking.clientId, redirect_uri: asking.redirectUri };
    const claims = { ...parameters, response_type: 'code', aud: service.issuer, iss: asking.clientId };
    const request = signed(header, JSON.stringify(claims), asking.clientSecret);
    return browser.get(authorizationUrl(service.issuer, asking, { request }));
  };
  expect((await ask('{"alg":"HS256","kid":"a"}')).location).toContain('/consent');
  const refused = await ask('{"alg":"HS256","alg":"HS256"}');
  expect(responseParameters(refused)).toMatchObject({ error: 'invalid_request_object' });

  const end = (extra: string) => {
    const { clientId, sharedSecret, redirectUri } = client;
    const claims = `{${extra}"iss":"${clientId}","aud":"${service.issuer}","iat":${now},"exp":${now + 60},"jti":"j${extra.length}","redirect_uri":"${redirectUri}"}`;
    return browser.get(`/end-session?request=${signed('{"alg":"HS256"}', claims, sharedSecret)}`);
  };
  expect((await end('"all":true,"all":false,')).status).toBe(401);
  expect((await end('')).status).toBe(302);
});

test('members are counted in one pass over the text, whatever its strings hold (security R103)', () => {
  for (const text of [
    '{}',
    '[]',
    '":"',
    '{"a:b":"c:d","e":":"}',
    '{"a\\":":1,"\\\\":2}',
    '[{"a":1},{"a":1}]',
    '{"a":{"a":{"a":":"}}}',
    ' { "a" : [ ":" , null ] } ',
  ])
    expect(hasUniqueNames(text, JSON.parse(text)), text).toBe(true);
  for (const text of ['{"a":1,"a":1}', '[{"b":{"a":1,"a":{}}}]', '{"\\u0061":1,"a":2}', '{"":1,"":2}'])
    expect(hasUniqueNames(text, JSON.parse(text)), text).toBe(false);
  // a loop without recursion counts at any depth
  expect(countMembers(JSON.parse(`${'['.repeat(200_000)}{"a":1}${']'.repeat(200_000)}`))).toBe(1);
});

function signed(header: string, payload: string, secret: string): string {
  const content = [header, payload].map((part) => Buffer.from(part).toString('base64url')).join('.');
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
}

async function counts(): Promise<unknown> {
  const [row] = await service.database.sql(
    `SELECT (SELECT count(*)::int FROM clients) AS clients, (SELECT count(*)::int FROM users) AS users,
       (SELECT count(*)::int FROM user_settings) AS settings, (SELECT count(*)::int FROM signing_keys) AS keys,
       (SELECT count(*)::int FROM initial_access_tokens) AS tokens`,
  );
  return row;
}
