// Request objects by reference are fetched from registered URIs only, and never for an unknown or disabled client.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let server: Server;
/** The responses of the client's server, and the requests that it received. */
let hosted: { status: number; type: string | undefined; body: string; asked: { path: string; accept: string }[] };
/** While this promise is pending, the server holds its responses. */
let responsesHeldUntil: Promise<void> | undefined;
let base: string;
let agent: UserAgent;
let user: TestUser;
let key: { privateKey: CryptoKey; jwk: JWK };
let client: TestClient;

beforeAll(async () => {
  server = createServer((request, response) => {
    hosted.asked.push({ path: request.url!, accept: request.headers.accept! });
    void Promise.resolve(responsesHeldUntil).then(() =>
      response
        .writeHead(hosted.status, {
          ...(hosted.type !== undefined && { 'content-type': hosted.type }),
          location: '/other',
        })
        .end(hosted.body),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  base = `http://127.0.0.1:${port}`;
  service = await startTestService({
    environment: { ...withoutLimits, OUTBOUND_ALLOW: `127.0.0.1:${port}`, REQUEST_OBJECT_UNSIGNED: 'true' },
  });
  user = await service.createUser();
  agent = new UserAgent(service);
  await agent.signIn(user);
  const pair = await generateKeyPair('RS256', { extractable: true });
  key = { privateKey: pair.privateKey, jwk: await exportJWK(pair.publicKey) };
  client = await service.createClient(registration(), { firstParty: true });
});
afterAll(async () => {
  await service?.stop();
  server?.close();
});
beforeEach(async () => {
  responsesHeldUntil = undefined;
  hosted = { status: 200, type: 'application/oauth-authz-req+jwt', body: await signed(client), asked: [] };
});

const registration = () => ({
  jwks: { keys: [key.jwk] },
  request_uris: [`${base}/object#Wc7kR2`, `${base}/object`, 'https://rp.example.com/object'],
});
const content = (rp: TestClient) => ({
  client_id: rp.clientId,
  redirect_uri: rp.redirectUri,
  response_type: 'code',
  scope: 'openid',
  state: 'inside',
});
const signed = (rp: TestClient): Promise<string> =>
  new SignJWT({ ...content(rp), iss: rp.clientId, aud: service.issuer })
    .setProtectedHeader({ alg: 'RS256' })
    .sign(key.privateKey);
const ask = (requestUri: string, outside: Record<string, string> = {}, rp = client, browser = agent): Promise<Page> => {
  const all = { client_id: rp.clientId, request_uri: requestUri, ...outside };
  return browser.get(`${service.issuer}/authorize?${new URLSearchParams(all).toString()}`);
};
const outside = () => ({ redirect_uri: client.redirectUri, state: 'outside' });

test.each(['application/oauth-authz-req+jwt', 'application/jwt', 'text/plain; charset=utf-8'])(
  'a signed request object is fetched as %s from the URI that the client registered (RFC 9101 5.2)',
  async (type) => {
    hosted.type = type;
    const response = responseParameters(await ask(`${base}/object`));
    expect(response).toMatchObject({ code: expect.any(String), state: 'inside' });
    expect(hosted.asked).toEqual([{ path: '/object', accept: expect.stringContaining('oauth-authz-req+jwt') }]);
  },
);

test('an unsigned request object is accepted if the setting allows it, also with a line break at its end (OpenID Connect Core 6.2)', async () => {
  hosted.body = `${new UnsecuredJWT(content(client)).encode()}\n`;
  expect(responseParameters(await ask(`${base}/object`))['state']).toBe('inside');
});

test('a fragment is part of the registered URI, and is neither sent nor compared with the content (OpenID Connect Core 6.2)', async () => {
  expect(responseParameters(await ask(`${base}/object#Wc7kR2`))['code']).toBeDefined();
  expect(hosted.asked.map(({ path }) => path)).toEqual(['/object']);
  expect(responseParameters(await ask(`${base}/object#other`, outside()))['error']).toBe('invalid_request_uri');
  expect(hosted.asked).toHaveLength(1);
});

test('only URIs that the same client registered are fetched (security A18, R47)', async () => {
  const other = await service.createClient({ jwks: { keys: [key.jwk] } });
  for (const uri of [
    `${base}/secret`,
    `${base}/object?x=1`,
    `${base}/Object`,
    'http://169.254.169.254/',
    'file:///etc/passwd',
  ]) {
    const response = responseParameters(await ask(uri, outside()));
    expect(response).toMatchObject({ error: 'invalid_request_uri', state: 'outside' });
  }
  const foreign = await ask(`${base}/object`, { redirect_uri: other.redirectUri }, other);
  expect(responseParameters(foreign)['error']).toBe('invalid_request_uri');
  expect(hosted.asked).toEqual([]);
});

test('nothing is fetched for an unknown or a disabled client (security A18, R2)', async () => {
  const disabled = await service.createClient(registration(), { status: 'disabled' });
  for (const rp of [disabled, { ...client, clientId: 'unknown' }]) {
    const page = await ask(`${base}/object`, { redirect_uri: rp.redirectUri }, rp);
    expect(page.location).toBe(`${service.issuer}/login?problem=client`);
  }
  expect(hosted.asked).toEqual([]);
});

test('a registered URI does not give access to the internal network (security R47)', async () => {
  const inward = await service.createClient({
    jwks: { keys: [key.jwk] },
    request_uris: ['https://127.0.0.1:1/object', 'https://[::1]/object'],
  });
  for (const uri of inward.metadata.request_uris!)
    expect(responseParameters(await ask(uri, { redirect_uri: inward.redirectUri }, inward))['error']).toBe(
      'invalid_request_uri',
    );
});

test.each<[string, () => Partial<typeof hosted>, string]>([
  ['status 404', () => ({ status: 404 }), 'invalid_request_uri'],
  ['a redirect', () => ({ status: 302 }), 'invalid_request_uri'],
  ['an HTML page', () => ({ type: 'text/html' }), 'invalid_request_uri'],
  ['no media type', () => ({ type: undefined }), 'invalid_request_uri'],
  ['more than 64 KiB', () => ({ body: 'x'.repeat(70_000) }), 'invalid_request_uri'],
  ['a malformed object', () => ({ body: 'rubbish' }), 'invalid_request_object'],
  ['an empty body', () => ({ body: '' }), 'invalid_request_object'],
])(
  '%s is reported to the validated redirect URI outside, and otherwise to no client (RFC 9101 7)',
  async (_what, answer, error) => {
    Object.assign(hosted, answer());
    expect(responseParameters(await ask(`${base}/object`, outside()))).toMatchObject({ error, state: 'outside' });
    const page = await ask(`${base}/object`, { redirect_uri: 'https://evil.example/' });
    expect(page.location).toBe(`${service.issuer}/login?problem=client`);
  },
);

test('the fetched request object is stored for the sign-in, and the URI is not fetched again (RFC 9101 5.2)', async () => {
  const browser = new UserAgent(service);
  const login = await browser.follow(await ask(`${base}/object`, {}, client, browser));
  hosted.body = 'gone';
  expect(responseParameters(await browser.signIn(user, login))).toMatchObject({
    code: expect.any(String),
    state: 'inside',
  });
  expect(hosted.asked).toHaveLength(1);
});

test('simultaneous requests open one connection at a time to the client (security R105)', async () => {
  let release = () => {};
  responsesHeldUntil = new Promise((resolve) => (release = resolve));
  const crowd = Array.from({ length: 8 }, () => ask(`${base}/object`));
  await expect.poll(() => hosted.asked.length).toBe(1);
  // the others have arrived by then
  await fetch(`${service.issuer}/health/ready`);
  expect(hosted.asked).toHaveLength(1);
  release();
  for (const page of await Promise.all(crowd)) expect(responseParameters(page)['code']).toBeDefined();
  expect(hosted.asked.length).toBeLessThan(8);
});
