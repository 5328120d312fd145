// The parameter resource selects the one resource server for which a token is issued (RFC 8707).
import { afterAll, beforeAll, expect, test } from 'vitest';
import { introspect } from '../spec/kit.ts';
import { obtainCode, obtainTokens } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { responseParameters, UserAgent } from '../helpers/user-agent.ts';

const [first, second] = ['https://one.example.com/', 'https://two.example.com/'] as const;

let service: TestService;
let client: TestClient;
let machine: TestClient;
let server: TestClient;
beforeAll(async () => {
  service = await startTestService();
  client = await service.createClient({ grant_types: ['authorization_code', 'refresh_token'] });
  machine = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
  server = await service.createClient({ resource_uris: [first, second] });
});
afterAll(() => service?.stop());

const token = async (rp: TestClient, fields: [string, string][]) => {
  const response = await fetch(`${service.issuer}/token`, {
    method: 'POST',
    headers: { authorization: rp.basic },
    body: new URLSearchParams(fields),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
};
const both: [string, string][] = [
  ['resource', first],
  ['resource', second],
];
const refusal = {
  error: 'invalid_target',
  error_description: 'name one resource: request a separate token for each',
  error_uri: expect.stringMatching(/\/errors#invalid_target$/),
};

test('one resource becomes the audience of the tokens (RFC 8707 2.2)', async () => {
  const { access_token } = await obtainTokens(service, client, await service.createUser(), { resource: first });
  expect((await introspect(service.issuer, server, access_token)).body['aud']).toEqual([first, server.clientId]);
});

test.each(['GET', 'POST'])(
  'more than ten by %s are reported to the client with its state (RFC 8707 2, RFC 6749 4.1.2.1)',
  async (method) => {
    const agent = new UserAgent(service);
    await obtainCode(service, client, await service.createUser(), {}, agent);
    const query = new URLSearchParams([
      ['client_id', client.clientId],
      ['redirect_uri', client.redirectUri],
      ['response_type', 'code'],
      ['scope', 'openid'],
      ['state', 's'],
      ['prompt', 'none'],
      ...Array.from({ length: 11 }, (_, index) => ['resource', `${first}${index}`] as [string, string]),
    ]);
    const page =
      method === 'GET'
        ? await agent.get(`/authorize?${query}`)
        : await agent.fetch('/authorize', { method, body: query });
    expect(page.status).toBe(302);
    expect(page.location).toMatch(new RegExp(`^${client.redirectUri}\\?`));
    expect(responseParameters(page)).toMatchObject({ error: 'invalid_target', state: 's', iss: service.issuer });
  },
);

test.each(['GET', 'POST'])(
  'several by %s are granted, and each token request names one (RFC 8707 2, 2.2)',
  async (method) => {
    const agent = new UserAgent(service);
    await obtainCode(service, client, await service.createUser(), {}, agent);
    const query = new URLSearchParams([
      ['client_id', client.clientId],
      ['redirect_uri', client.redirectUri],
      ['response_type', 'code'],
      ['scope', 'openid'],
      ['prompt', 'none'],
      ...both,
    ]);
    const page =
      method === 'GET'
        ? await agent.get(`/authorize?${query}`)
        : await agent.fetch('/authorize', { method, body: query });
    const redemption: [string, string][] = [
      ['grant_type', 'authorization_code'],
      ['code', responseParameters(page)['code']!],
      ['redirect_uri', client.redirectUri],
    ];
    // without the parameter it would be a token for both, or the service would choose
    expect(await token(client, redemption)).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
    const { body } = await token(client, [...redemption, ['resource', second]]);
    expect((await introspect(service.issuer, server, body['access_token']!)).body['aud']).toEqual([
      second,
      server.clientId,
    ]);
    const refresh: [string, string][] = [
      ['grant_type', 'refresh_token'],
      ['refresh_token', body['refresh_token']!],
    ];
    expect(await token(client, refresh)).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
    const other = await token(client, [...refresh, ['resource', first]]);
    expect((await introspect(service.issuer, server, other.body['access_token']!)).body['aud']).toEqual([
      first,
      server.clientId,
    ]);
  },
);

test('several resources at the token endpoint are invalid_target, and consume neither code nor token (RFC 8707 2)', async () => {
  const user = await service.createUser();
  const code = await obtainCode(service, client, user, { resource: first });
  const redemption: [string, string][] = [
    ['grant_type', 'authorization_code'],
    ['code', code],
    ['redirect_uri', client.redirectUri],
  ];
  expect(await token(client, [...redemption, ...both])).toEqual({ status: 400, body: refusal });
  const redeemed = await token(client, [...redemption, both[0]!]);
  expect(redeemed.status).toBe(200);
  const refresh: [string, string][] = [
    ['grant_type', 'refresh_token'],
    ['refresh_token', redeemed.body['refresh_token']!],
  ];
  expect(await token(client, [...refresh, ...both])).toEqual({ status: 400, body: refusal });
  expect((await token(client, [...refresh, both[0]!])).status).toBe(200);
  expect(await token(machine, [['grant_type', 'client_credentials'], ...both])).toEqual({ status: 400, body: refusal });
});

test('any other repeated parameter is invalid_request (security R5)', async () => {
  expect(
    await token(machine, [
      ['grant_type', 'client_credentials'],
      ['scope', 'a'],
      ['scope', 'b'],
    ]),
  ).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  const agent = new UserAgent(service);
  const page = await agent.follow(await agent.get('/authorize?client_id=a&client_id=b'));
  expect(page.status).toBe(400);
});
