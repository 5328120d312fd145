// Tests what a connection's provider must not get away with: ID Tokens, UserInfo, keys and addresses that lie, and answers that are too big or slow.
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { CompactSign, exportSPKI, importJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addConnection, answerOf, leave, signInBy, signInPage } from '../helpers/connections.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { type Lies, type Provider, providerClient, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let liar: Provider;
let token: string;

beforeAll(async () => {
  liar = await startProvider({ sub: 'liar-1', preferred_username: 'liar.one' });
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: liar.host,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  await addConnection(service, liar, 'liar', { provisioning: 'on' });
  token = await adminToken(service);
});
afterAll(async () => {
  await service?.stop();
  await liar?.stop();
});
beforeEach(() => liar.lie({}));

const now = () => Math.floor(Date.now() / 1000);
const counts = async () =>
  (
    await service.database.sql<{ sessions: number; links: number; users: number }>(
      `SELECT (SELECT count(*) FROM sessions)::int AS sessions, (SELECT count(*) FROM linked_identities)::int AS links, (SELECT count(*) FROM users)::int AS users`,
    )
  )[0]!;
/** Nothing changed but the trail, and the page has our sentence only. */
async function isRefused(lies: Lies, words = 'couldn’t verify the response', status = 400): Promise<Page> {
  liar.lie(lies);
  const before = await counts();
  const page = await signInBy(new UserAgent(service), 'liar');
  expect(page).toMatchObject({ status, body: expect.stringContaining(words) });
  expect(await counts()).toEqual(before);
  return page;
}
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const unsigned = (claims: object) => `${encoded({ alg: 'none' })}.${encoded(claims)}.`;
const withSecret = (key: string | Buffer) => (claims: object) => {
  const text = `${encoded({ alg: 'HS256', kid: 'k1' })}.${encoded(claims)}`;
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
};

describe('an ID Token is refused', () => {
  test.each<[string, Lies]>([
    ['without a signature', { sign: unsigned }],
    ['by the client secret', { sign: withSecret(providerClient.secret) }],
    ['with the audience of another client', { idToken: { aud: 'other' } }],
    ['with others in the audience and no azp', { idToken: { aud: [providerClient.id, 'other'] } }],
    ['with the azp of another client', { idToken: { azp: 'other' } }],
    ['of another issuer', { idToken: { iss: 'https://evil.example' } }],
    ['without exp', { idToken: { exp: undefined } }],
    ['that has ended', { idToken: { exp: now() - 120 } }],
    ['that ends in a year', { idToken: { exp: now() + 366 * 86_400 } }],
    ['without iat', { idToken: { iat: undefined } }],
    ['from the future', { idToken: { iat: now() + 3600 } }],
    ['not yet valid', { idToken: { nbf: now() + 3600 } }],
    ['without nonce', { idToken: { nonce: undefined } }],
    ['with another nonce', { idToken: { nonce: 'other' } }],
    ['with a list of nonces', { idToken: { nonce: ['a'] } }],
    ['without sub', { idToken: { sub: undefined } }],
    ['with an empty sub', { idToken: { sub: '' } }],
    ['with a sub of 256 characters', { idToken: { sub: 'x'.repeat(256) } }],
    ['with a number as sub', { idToken: { sub: 7 } }],
    ['with a NUL in sub', { idToken: { sub: 'a\0b' } }],
    ['with a lone surrogate in sub', { idToken: { sub: '\ud800' } }],
    ['with a key in its header', { header: { jwk: { kty: 'RSA' } } }],
    ['with an address of keys in its header', { header: { jku: 'https://evil.example/jwks' } }],
    ['with an address of certificates in its header', { header: { x5u: 'https://evil.example/x5u' } }],
  ])('%s (federation FR4, F11)', async (_title, lies) => {
    await isRefused(lies);
  });

  test('by the public key as a shared secret, with crit, with a member twice, or signed by another key (federation FR4, F11)', async () => {
    const pem = await exportSPKI((await importJWK(liar.publicJwk, 'RS256')) as never);
    await isRefused({ sign: withSecret(pem) });
    await isRefused({ sign: withSecret(JSON.stringify(liar.publicJwk)) });
    await isRefused({
      sign: (claims) =>
        new CompactSign(Buffer.from(JSON.stringify(claims)))
          .setProtectedHeader({ alg: 'RS256', kid: 'k1', crit: ['b64'], b64: true })
          .sign(liar.privateKey),
    });
    await isRefused({
      sign: (claims) =>
        new CompactSign(Buffer.from(JSON.stringify(claims).replace('{', '{"sub":"root",')))
          .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
          .sign(liar.privateKey),
    });
    const other = await startProvider();
    await isRefused({
      sign: (claims) =>
        new SignJWT(claims as never).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(other.privateKey),
    });
    await other.stop();
  });

  test('with an issuer that has a slash more, while the true one is taken (federation FR4, F11)', async () => {
    await isRefused({ idToken: { iss: `${liar.issuer}/` } });
    liar.lie({});
    expect((await signInBy(new UserAgent(service), 'liar')).url).toBe(`${service.issuer}/account`);
  });

  test('with an unknown key, for which the keys are read at most once in ten seconds (federation FR4, F11, reports C6)', async () => {
    const [before, began] = [liar.count('jwks'), performance.now()];
    for (let time = 0; time < 20; time++) await isRefused({ header: { kid: `unknown-${time}` } });
    expect(liar.count('jwks') - before).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - began) / 10_000));
  });
});

describe('UserInfo is refused', () => {
  const write = (status: number, type: string, body: string) => (response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': type, location: `${liar.issuer}/userinfo2` }).end(body);
  test.each<[string, Lies]>([
    ['about another subject', { userInfo: { sub: 'other' } }],
    ['about no subject', { userInfo: { sub: undefined } }],
    ['as a JWT', { write: { userinfo: write(200, 'application/jwt', 'a.b.c') } }],
    ['as a redirect', { write: { userinfo: write(302, 'application/json', '{}') } }],
    ['as a list', { write: { userinfo: write(200, 'application/json', '[]') } }],
    ['as text that is not JSON', { write: { userinfo: write(200, 'application/json', 'sub=liar-1') } }],
  ])('%s (federation FR1, F12)', async (_title, lies) => {
    await isRefused(lies);
  });

  test('and a false email_verified in the ID Token wins over a true one there (federation F12)', async () => {
    liar.be({ sub: 'false-wins', preferred_username: 'false.wins' });
    liar.lie({ idToken: { email_verified: false }, userInfo: { email: 'false@third.example', email_verified: true } });
    await signInBy(new UserAgent(service), 'liar');
    const [user] = await service.database.sql(`SELECT email FROM users WHERE username = 'false.wins'`);
    expect(user).toEqual({ email: null });
    liar.be({ sub: 'liar-1', preferred_username: 'liar.one' });
  });
});

describe('an answer that is too big or too slow ends', () => {
  test('10 MiB of a token answer, a bomb in gzip, and a name of a megabyte (federation FR13, F14)', async () => {
    const big = (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"id_token":"${'x'.repeat(10 * 1024 * 1024)}"}`);
    };
    await isRefused({ write: { token: big } }, 'isn’t responding', 503);
    await isRefused({
      write: {
        token: (response) =>
          void response
            .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
            .end(Buffer.from('1f8b08000000000000034bcc2f0100', 'hex')),
      },
    });
    await isRefused({ userInfo: { name: 'x'.repeat(1024 * 1024) } }, 'isn’t responding', 503);
  });

  test('claims of ten thousand levels, also where the user still has to choose a name (federation FR13, F14)', async () => {
    const deep = `"x":${'['.repeat(10_000)}${']'.repeat(10_000)}`;
    const write = (body: string) => (response: ServerResponse) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    for (const name of ['"preferred_username":"deep",', ''])
      await isRefused({ idToken: { sub: 'deep' }, write: { userinfo: write(`{"sub":"deep",${name}${deep}}`) } });
    await isRefused({
      sign: (claims) =>
        new CompactSign(Buffer.from(JSON.stringify({ ...claims, sub: 'deep' }).replace('{', `{${deep},`)))
          .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
          .sign(liar.privateKey),
    });
  });

  test('a byte a second, after five seconds (federation FR13, F14)', async () => {
    const timers: NodeJS.Timeout[] = [];
    const slow = (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      timers.push(setInterval(() => response.write(' '), 500));
    };
    await isRefused({ write: { token: slow } }, 'isn’t responding', 503);
    for (const timer of timers) clearInterval(timer);
  });
});

test('a name of the session there that cannot be stored is left out, and the user signs in (federation FR13, F15)', async () => {
  for (const sid of ['a\0b', '\ud800', 'x'.repeat(256), '', 7]) {
    liar.lie({ idToken: { sid } });
    expect((await signInBy(new UserAgent(service), 'liar')).url, JSON.stringify(sid)).toBe(`${service.issuer}/account`);
  }
  const stored = await service.database.sql<{ upstream: { sid?: string } }>('SELECT upstream FROM sessions');
  expect(stored.filter(({ upstream }) => upstream.sid !== undefined)).toEqual([]);
});

test('no part of an answer that is no JSON is in a log (federation FR13, FR17, F31)', async () => {
  // the parser quotes the beginning
  const canary = 'C4n4ry';
  const broken = (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(`${canary}=of a token`);
  await isRefused({ write: { token: broken } });
  await isRefused({ write: { userinfo: broken } });
  const text = (value: string) => Buffer.from(value).toString('base64url');
  await isRefused({ sign: () => `${text('{"alg":"RS256","kid":"k1"}')}.${text(`${canary}=of a claim`)}.c2ln` });
  expect(service.logs.length).toBeGreaterThan(0);
  expect(JSON.stringify(service.logs)).not.toContain(canary);
});

test('hostile text in claims is left out or escaped, and no header or address is made of it (federation FR13, F15)', async () => {
  liar.be({
    sub: 'hostile',
    preferred_username: '<script>alert(1)</script>',
    name: 'A\u202eB<script>',
    nickname: 'x\0y',
    given_name: 'a\r\nSet-Cookie: x=1',
    picture: 'http://169.254.169.254/',
    locale: '\ud800',
    family_name: 7,
  });
  const agent = new UserAgent(service);
  const asked = await signInBy(agent, 'liar');
  expect(asked.url).toBe(`${service.issuer}/login/name`);
  expect(asked.body).not.toContain('<script>alert');
  const page = await agent.submit(asked, { username: 'hostile' });
  expect(page.url).toBe(`${service.issuer}/account`);
  for (const address of ['/account', '/account/profile'])
    expect((await agent.get(address)).body).not.toContain('<script>alert');
  const [user] = await service.database.sql<{ claims: Record<string, unknown> }>(
    `SELECT u.claims FROM users u JOIN linked_identities l USING (sub) WHERE l.subject = 'hostile'`,
  );
  expect(Object.keys(user!.claims).sort()).toEqual(['given_name', 'name']);
  expect(liar.seen.some(({ path }) => path === 'end_session')).toBe(false);
});

test('a provider that is gone is 503 with the other ways in, and signs nobody out (federation 4)', async () => {
  const provider = await startProvider();
  const alone = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: provider.host } });
  await addConnection(alone, provider, 'gone', { provisioning: 'on' });
  const agent = new UserAgent(alone);
  const answer = await answerOf(await leave(agent, await signInPage(agent, 'gone'), 'gone'));
  await provider.stop();
  const page = await agent.get(answer);
  expect(page).toMatchObject({ status: 503, body: expect.stringContaining('href="/login"') });
  await alone.stop();
});

describe('saving a connection is refused', () => {
  const save = (settings: object = {}, more: object = {}) =>
    call(`${service.issuer}/admin/api/connections`, {
      method: 'POST',
      token,
      body: {
        id: 'saved',
        kind: 'oidc',
        display_name: 'Saved',
        secret: 'a secret of the saved',
        status: 'enabled',
        settings: { ...liar.settings, ...settings },
        ...more,
      },
    });
  test.each([
    ['token_endpoint', 'http://127.0.0.1:1/token'],
    ['token_endpoint', 'https://127.0.0.1/token'],
    ['jwks_uri', 'https://169.254.169.254/keys'],
    ['userinfo_endpoint', 'https://10.0.0.1/userinfo'],
    ['end_session_endpoint', 'https://[::ffff:7f00:1]/end'],
    ['authorization_endpoint', 'javascript:alert(1)'],
    ['token_endpoint', 'https://user:password@third.example/token'],
    ['token_endpoint', 'http://third.example/token'],
    ['pushed_authorization_request_endpoint', 'https://localhost/par'],
    // the origin would be part of a Content-Security-Policy
    ['authorization_endpoint', 'https://third.example;sandbox/authorize'],
    ['end_session_endpoint', 'https://third.example,sandbox/end'],
  ])('whose document names %s at %s, and nothing connects there (federation FR13, F13)', async (member, address) => {
    liar.lie({ discovery: { [member]: address } });
    expect((await save()).body).toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringContaining('not public'),
    });
    expect(await service.store.connections.find('saved')).toBeUndefined();
  });

  test.each<[string, object, Lies, string]>([
    ['whose issuer is not public', { issuer: 'https://10.1.2.3' }, {}, 'public host'],
    ['whose issuer is plain', { issuer: 'http://third.example' }, {}, 'public host'],
    ['whose document names another issuer', {}, { discovery: { issuer: 'https://evil.example' } }, 'another issuer'],
    [
      'whose document is no JSON',
      {},
      { write: { discovery: (response) => void response.end('<html>') } },
      'could not be read',
    ],
    ['whose document has no keys', {}, { discovery: { jwks_uri: undefined } }, 'not an OpenID Provider'],
    [
      'whose document leads elsewhere',
      {},
      { write: { discovery: (response) => void response.writeHead(302, { location: 'https://10.0.0.1/' }).end() } },
      'could not be read',
    ],
  ])('%s (federation FR13, F13)', async (_title, settings, lies, words) => {
    liar.lie(lies);
    const answer = await save(settings);
    expect(answer).toMatchObject({ status: 400, body: { error_description: expect.stringContaining(words) } });
  });
});
