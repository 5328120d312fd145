// GET /end-session accepts a valid signed request of a client, and no other request changes a session.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { exportJWK, importPKCS8, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
const afterwards = 'https://rp.example.com/signed-out';
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
  client = await service.createClient({ uma_profile: true, post_logout_redirect_uris: [afterwards] });
});
afterAll(() => service?.stop());

async function signedIn(agent = new UserAgent(service), rp = client, user?: TestUser) {
  const signedInUser = user ?? (await service.createUser());
  const { code } = responseParameters(await agent.authorize(rp, signedInUser));
  const { body } = await tokenRequest(service.issuer, rp, {
    grant_type: 'authorization_code',
    code: code!,
    redirect_uri: rp.redirectUri,
  });
  return { agent, user: signedInUser, code: code!, tokens: body as Record<string, string> };
}

const now = () => Math.floor(Date.now() / 1000);

function claims(rp: TestClient, changes: Record<string, unknown> = {}): Record<string, unknown> {
  const all = {
    iss: rp.clientId,
    aud: service.issuer,
    iat: now(),
    exp: now() + 60,
    jti: randomUUID(),
    redirect_uri: afterwards,
    ...changes,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function sign(
  payload: Record<string, unknown>,
  secret = client.sharedSecret,
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT(payload).setProtectedHeader({ alg: 'HS256', ...header }).sign(Buffer.from(secret));
}

const ask = (agent: UserAgent, request: string) => agent.get(`/end-session?request=${encodeURIComponent(request)}`);

/** Asks the second instance whether the access token is active. */
async function alive(token: string): Promise<boolean> {
  return (
    (await fetch(`${service.instances[1]}/user/info`, { headers: { authorization: `Bearer ${token}` } })).status === 200
  );
}

test("a signed request ends the session of its client at once, without a page, and no other client's (specification 4.4, decisions section 6)", async () => {
  const { agent, user, code, tokens } = await signedIn();
  const other = await service.createClient();
  const otherSession = await signedIn(agent, other, user);
  const page = await ask(agent, await sign(claims(client, { state: 's 1', sub: user.sub })));
  expect(page.status).toBe(302);
  expect(page.location).toBe(`${afterwards}?state=s+1`);
  expect(await alive(tokens['access_token']!)).toBe(false);
  expect(
    (
      await tokenRequest(service.instances[1]!, client, {
        grant_type: 'refresh_token',
        refresh_token: tokens['refresh_token']!,
      })
    ).status,
  ).toBe(400);
  const handle = await fetch(`${service.instances[1]}/user/me/info`, { headers: { authorization: `Bearer ${code}` } });
  expect(handle.status).toBe(401);
  expect(await alive(otherSession.tokens['access_token']!)).toBe(true);
  expect(responseParameters(await agent.authorize(other, undefined, { prompt: 'none' }))['code']).toBeDefined();
});

test('a request works only once (security R72)', async () => {
  const { agent, user } = await signedIn();
  const request = await sign(claims(client));
  expect((await ask(agent, request)).status).toBe(302);
  const again = await signedIn(agent, client, user);
  const refused = await ask(agent, request);
  expect(refused.status).toBe(401);
  expect(JSON.parse(refused.body)).toMatchObject({ error_description: expect.stringContaining('jti was used before') });
  expect(await alive(again.tokens['access_token']!)).toBe(true);
});

test('a key of the registered key set signs a request, too (decisions section 6)', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ownClient = await service.createClient({
    post_logout_redirect_uris: [afterwards],
    jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'k' }] },
  });
  const { agent, tokens } = await signedIn(undefined, ownClient);
  const key = await importPKCS8(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, 'ES256');
  const request = await new SignJWT(claims(ownClient))
    .setProtectedHeader({ alg: 'ES256', kid: 'k', typ: 'end-session+jwt' })
    .sign(key);
  expect((await ask(agent, request)).status).toBe(302);
  expect(await alive(tokens['access_token']!)).toBe(false);
});

test('all ends the whole session, for a first-party client only (decisions section 6)', async () => {
  const { agent, tokens } = await signedIn();
  expect((await ask(agent, await sign(claims(client, { all: true })))).status).toBe(400);
  expect(await alive(tokens['access_token']!)).toBe(true);
  const firstParty = await service.createClient({ post_logout_redirect_uris: [afterwards] }, { firstParty: true });
  const mine = await signedIn(undefined, firstParty);
  const otherSession = await signedIn(mine.agent, client, mine.user);
  expect((await ask(mine.agent, await sign(claims(firstParty, { all: true }), firstParty.sharedSecret))).status).toBe(
    302,
  );
  expect(await alive(otherSession.tokens['access_token']!)).toBe(false);
  expect(mine.agent.cookies.has('JSESSIONOPENID')).toBe(false);
});

const hour = 3600;
const header = (changes: Record<string, unknown>) => sign(claims(client), client.sharedSecret, changes);

test.each<[string, () => Promise<string>]>([
  ['a jwk in the header', () => header({ jwk: { kty: 'oct', k: 'AA' } })],
  ['crit', () => header({ crit: ['b64'], b64: true })],
  ['the client secret as key', async () => sign(claims(client), client.clientSecret)],
  ['the client secret as key, with a wrong typ', () => sign(claims(client), client.clientSecret, { typ: 'JWT' })],
  ['the client secret as key, without exp', () => sign(claims(client, { exp: undefined }), client.clientSecret)],
  [
    'HS512',
    async () =>
      new SignJWT(claims(client)).setProtectedHeader({ alg: 'HS512' }).sign(Buffer.from(client.sharedSecret.repeat(2))),
  ],
  [
    'alg none',
    async () =>
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims(client))).toString('base64url')}.`,
  ],
  ['a trailing =', async () => `${await sign(claims(client))}=`],
  ['a trailing space', async () => `${await sign(claims(client))} `],
  ['an unknown client', async () => sign({ ...claims(client), iss: 'nobody' })],
  ['an unknown client without jti', async () => sign({ ...claims(client, { jti: undefined }), iss: 'nobody' })],
  ['nonsense', async () => 'nonsense'],
])(
  '%s is refused with the same 401 as JSON, and no session changes (decisions section 6, security R71, R74, A86)',
  async (_, make) => {
    const { agent, tokens } = await signedIn();
    const page = await ask(agent, await make());
    expect(page.status).toBe(401);
    expect(page.location).toBeUndefined();
    expect(JSON.parse(page.body)).toEqual({
      error: 'invalid_client',
      error_description:
        'the end-session request is not one that an enabled client signed with its shared_secret or a registered key',
    });
    expect(await alive(tokens['access_token']!)).toBe(true);
  },
);

test.each<[string, string, () => Promise<string>]>([
  ['no exp', 'exp is missing', () => sign(claims(client, { exp: undefined }))],
  ['exp in 100 years', 'exp must be later than iat', () => sign(claims(client, { exp: now() + 876_000 * hour }))],
  ['exp more than 300 s after iat', 'by at most 300 s', () => sign(claims(client, { exp: now() + 301 }))],
  ['exp in the past', 'exp has passed', () => sign(claims(client, { exp: now() - 1 }))],
  ['exp as text', 'exp is not valid', () => sign(claims(client, { exp: 'soon' }))],
  ['no iat', 'iat is missing', () => sign(claims(client, { iat: undefined }))],
  [
    'iat in an hour',
    'iat must be within 60 s',
    () => sign(claims(client, { iat: now() + hour, exp: now() + hour + 60 })),
  ],
  ['iat two minutes ago', 'iat must be within 60 s', () => sign(claims(client, { iat: now() - 120 }))],
  [
    'two audiences',
    'aud must be one value',
    () => sign(claims(client, { aud: [service.issuer, 'https://o.example'] })),
  ],
  ['another audience', 'aud must be http', () => sign(claims(client, { aud: 'https://other.example' }))],
  ['no jti', 'jti is missing', () => sign(claims(client, { jti: undefined }))],
  ['an empty jti', 'jti must be a text', () => sign(claims(client, { jti: '' }))],
  ['no redirect_uri', 'redirect_uri is missing', () => sign(claims(client, { redirect_uri: undefined }))],
  ['a state that is not a string', 'state must be well-formed text', () => sign(claims(client, { state: 7 }))],
  ['an all that is not a boolean', 'all must be true or false', () => sign(claims(client, { all: 'yes' }))],
  ['the typ JWT', 'typ must be end-session+jwt, or be left out', () => header({ typ: 'JWT' })],
])(
  '%s in a correctly signed request is refused with a 401 that names the error (decisions section 6, security A87, R71)',
  async (_, fault, make) => {
    const { agent, tokens } = await signedIn();
    const page = await ask(agent, await make());
    expect(page.status).toBe(401);
    expect(page.location).toBeUndefined();
    expect(JSON.parse(page.body)).toEqual({
      error: 'invalid_client',
      error_description: expect.stringContaining(fault),
    });
    expect(await alive(tokens['access_token']!)).toBe(true);
  },
);

test('an unknown sid, another sub and a missing cookie get the same answer, and an unregistered redirect URI is refused (security R73, R74, A90, A92)', async () => {
  const mine = await signedIn();
  const other = await signedIn();
  const answers = [
    await ask(mine.agent, await sign(claims(client, { sid: 'unknown' }))),
    await ask(mine.agent, await sign(claims(client, { sub: other.user.sub }))),
    await ask(new UserAgent(service), await sign(claims(client))),
  ];
  expect(new Set(answers.map(({ status, body }) => `${status} ${body}`)).size).toBe(1);
  expect(answers[0]!.status).toBe(400);
  expect((await ask(mine.agent, await sign(claims(client, { redirect_uri: 'https://evil.example/' })))).status).toBe(
    400,
  );
  expect((await mine.agent.get('/end-session')).status).toBe(400);
  expect(await alive(mine.tokens['access_token']!)).toBe(true);
  expect(await alive(other.tokens['access_token']!)).toBe(true);
});

test('a client without a session in this browser ends nothing (security R73)', async () => {
  const { agent, tokens } = await signedIn();
  const otherClient = await service.createClient({ post_logout_redirect_uris: [afterwards] });
  expect((await ask(agent, await sign(claims(otherClient), otherClient.sharedSecret))).status).toBe(400);
  expect(await alive(tokens['access_token']!)).toBe(true);
});
