// Each endpoint accepts its own kind of secret and no other, in any disguise, and no secret is chosen by a client.
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cibaGrant, deviceGrant } from '../../src/oauth/registrable-values.ts';
import { tokenPrefixes } from '../../src/tokens/opaque-token.ts';
import { adminToken, call, obtainCode, redeem, withoutLimits } from '../helpers/grants.ts';
import { ask, createSite, SiteBrowser, type TestSite } from '../helpers/protected-sites.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { everyScope, form, wholeClient } from '../spec/kit.ts';

type Kind = keyof typeof tokenPrefixes;
/** A known browser's token is accepted nowhere by itself; attacks/known-browser.test.ts shows its use. */
type UsableKind = Exclude<Kind, 'known_browser'>;
const kinds = Object.keys(tokenPrefixes) as Kind[];
const usableKinds = kinds.filter((kind): kind is UsableKind => kind !== 'known_browser');
const redirect_uris = ['https://rp.example.com/callback'];

let service: TestService;
let client: TestClient;
let site: TestSite;
let admin: string;
let secrets: Record<Kind, string>;
/** The browser of the user who signed in. */
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, DEVICE_GRANT: 'on', CIBA: 'on' } });
  client = await service.createClient({
    ...wholeClient,
    grant_types: ['authorization_code', 'refresh_token', 'implicit', deviceGrant, cibaGrant],
  });
  admin = await adminToken(service);
  const user = await service.createUser();
  agent = new UserAgent(service);
  const scope = { scope: everyScope };
  const { body } = await redeem(service.issuer, client, await obtainCode(service, client, user, scope, agent));
  const { body: initial } = await call(`${service.issuer}/admin/api/registration-tokens`, { token: admin, body: {} });
  const recoveryLink = `${service.issuer}/admin/api/users/${user.sub}/recovery-link`;
  const { body: recovery } = await call(recoveryLink, { token: admin, body: {} });
  const { body: deferred } = await call(`${service.issuer}/register`, {
    body: { redirect_uris, registration_mode: ['approval'] },
  });
  const pushed = await form(
    `${service.issuer}/par`,
    { client_id: client.clientId, redirect_uri: client.redirectUri, response_type: 'code', scope: 'openid' },
    { authorization: client.basic },
  );
  await call(`${service.issuer}/admin/api/scim-sources`, { token: admin, body: { id: 'entra', name: 'Entra' } });
  const { body: scim } = await call(`${service.issuer}/admin/api/scim-sources/entra/tokens`, {
    method: 'POST',
    token: admin,
  });
  const device = await form(
    `${service.issuer}/device_authorization`,
    { client_id: client.clientId },
    { authorization: client.basic },
  );
  const asked = await form(
    `${service.issuer}/bc-authorize`,
    { scope: 'openid', login_hint: 'nobody' },
    { authorization: client.basic },
  );
  const { body: signUp } = await call(`${service.issuer}/admin/api/sign-up-links`, {
    token: admin,
    body: { name: 'Crew', uses: 1, expires_at: new Date(Date.now() + 3_600_000).toISOString() },
  });
  site = await createSite(service, admin, 'site.example');
  const browser = new SiteBrowser(service);
  await browser.signIn(site, user);
  secrets = {
    authorization_code: await obtainCode(service, client, user, scope, agent),
    access_token: body['access_token'] as string,
    client_session_handle: body['client_session_handle'] as string,
    refresh_token: body['refresh_token'] as string,
    registration_access_token: client.registrationAccessToken,
    initial_access_token: initial['initial_access_token'] as string,
    registration_code: deferred['registration_code'] as string,
    session: agent.cookies.get('JSESSIONOPENID')!.split('.')[1]!,
    device_code: device.body['device_code'] as string,
    auth_req_id: asked.body['auth_req_id'] as string,
    pushed_authorization_request: (pushed.body['request_uri'] as string).split(':').at(-1)!,
    known_browser: agent.cookies.get('GATEHOUSE_KNOWN_BROWSER')!,
    scim_token: scim['token'] as string,
    mailed_link: new URL(recovery['recovery_uri'] as string).searchParams.get('token')!,
    sign_up_link: new URL(signUp['uri'] as string).searchParams.get('token')!,
    site_session: browser.jar(site.host).get('__Host-gatehouse')!,
  };
});
afterAll(() => service?.stop());

const status = async (answer: Promise<{ status: number }>) => (await answer).status;

/** Presents a secret where its kind is expected, and returns whether it is accepted. */
const accepts: Record<UsableKind, (secret: string) => Promise<boolean>> = {
  access_token: async (token) => (await status(call(`${service.issuer}/user/info`, { token }))) === 200,
  client_session_handle: async (token) => (await status(call(`${service.issuer}/user/me/info`, { token }))) === 200,
  registration_access_token: async (token) =>
    (await status(call(`${service.issuer}/register/${client.clientId}`, { token }))) === 200,
  initial_access_token: async (token) =>
    (await call(`${service.issuer}/register`, { token, body: { redirect_uris } })).body['status'] === 'enabled',
  session: async (cookie) => {
    const other = new UserAgent(service);
    other.cookies.set('JSESSIONOPENID', cookie);
    return (await other.get('/account')).status === 200;
  },
  pushed_authorization_request: async (reference) => {
    const request_uri = `urn:ietf:params:oauth:request_uri:${reference}`;
    const parameters = new URLSearchParams({ client_id: client.clientId, request_uri });
    const { location } = await agent.follow(await agent.get(`/authorize?${parameters.toString()}`));
    return location?.includes('code=') ?? false;
  },
  // a GET request does not consume the link
  mailed_link: async (token) => (await status(new UserAgent(service).get(`/password/reset?token=${token}`))) === 200,
  scim_token: async (token) =>
    (await status(call(`${service.issuer}/scim/v2/entra/ServiceProviderConfig`, { token }))) === 200,
  site_session: async (cookie) => (await status(ask(service, site, { cookie: `__Host-gatehouse=${cookie}` }))) === 200,
  sign_up_link: async (token) => (await status(new UserAgent(service).get(`/sign-up/link?token=${token}`))) === 200,
  registration_code: async (code) =>
    (await call(`${service.issuer}/register`, { body: { registration_code: code } })).status === 202,
  device_code: async (code) => {
    const { body } = await tokenRequest(service.issuer, client, { grant_type: deviceGrant, device_code: code });
    return ['authorization_pending', 'slow_down'].includes(String(body['error']));
  },
  auth_req_id: async (id) => {
    const { body } = await tokenRequest(service.issuer, client, { grant_type: cibaGrant, auth_req_id: id });
    return ['authorization_pending', 'slow_down'].includes(String(body['error']));
  },
  refresh_token: async (token) =>
    (await status(tokenRequest(service.issuer, client, { grant_type: 'refresh_token', refresh_token: token }))) === 200,
  authorization_code: async (code) =>
    (await status(
      tokenRequest(service.issuer, client, {
        grant_type: 'authorization_code',
        code,
        redirect_uri: client.redirectUri,
      }),
    )) === 200,
};
/** The user operations accept any token of a client session (decisions section 5); a registered client repeats its registration (section 2). */
const alsoAccepted: Partial<Record<UsableKind, Kind[]>> = {
  client_session_handle: ['access_token', 'authorization_code'],
  initial_access_token: ['registration_access_token'],
};

/** Replaces the prefix of a secret by that of another kind, with a valid checksum. */
function disguised(secret: string, kind: Kind, change: (random: string) => string = (random) => random): string {
  const body = tokenPrefixes[kind] + change(secret.slice(5, 48));
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return body + checksum.toString('base64url');
}

test.each(usableKinds)(
  'where %s is expected, no other kind is accepted, unchanged or with the expected prefix and checksum (security R18, R30)',
  async (expected) => {
    for (const kind of kinds.filter((each) => each !== expected)) {
      if (!alsoAccepted[expected]?.includes(kind)) expect(await accepts[expected](secrets[kind]), kind).toBe(false);
      expect(await accepts[expected](disguised(secrets[kind], expected)), `${kind} in disguise`).toBe(false);
    }
  },
);

test.each(usableKinds)(
  'a %s with a character removed, added or in the other case is unknown, and the correct one still works (security R27)',
  async (kind) => {
    const right = secrets[kind];
    const flip = (random: string) =>
      random.replace(/[A-Za-z]/, (letter) => (/[a-z]/.test(letter) ? letter.toUpperCase() : letter.toLowerCase()));
    const wrong = [right.slice(0, -1), right.slice(1), `${right}A`, right.toUpperCase(), disguised(right, kind, flip)];
    for (const random of [flip, (text: string) => text.slice(1), (text: string) => `A${text}`])
      wrong.push(disguised(right, kind, random));
    for (const secret of wrong) expect(await accepts[kind](secret)).toBe(false);
    expect(await accepts[kind](right)).toBe(true);
  },
);

test('a client secret is stored as a fast digest for its purpose (security R28)', async () => {
  const [row] = await service.database.sql<{ stored: Buffer }>(
    'SELECT client_secret_hash AS stored FROM clients WHERE client_id = $1',
    [client.clientId],
  );
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  expect(row!.stored.toString('hex')).toBe(sha256(`client_secret\0${client.clientSecret}`));
  // the purpose keeps the digests of different kinds apart
  expect(row!.stored.toString('hex')).not.toBe(sha256(client.clientSecret));
});

test('no client chooses a secret, nor does a change by an administrator, and each secret is shown once (security R40)', async () => {
  const chosen = Object.fromEntries(
    ['client_secret', 'shared_secret', 'registration_access_token'].map((name) => [name, 'a'.repeat(43)]),
  );
  const { status, body } = await call(`${service.issuer}/register`, { body: { redirect_uris, ...chosen } });
  expect(status).toBe(201);
  const issued = ['client_secret', 'shared_secret', 'registration_access_token'].map((name) => body[name] as string);
  expect(new Set([...issued, 'a'.repeat(43)]).size).toBe(4);
  for (const secret of issued) expect(secret.length).toBeGreaterThanOrEqual(43);
  const address = body['registration_client_uri'] as string;
  const token = body['registration_access_token'] as string;
  const shown = JSON.stringify((await call(address, { token })).body);
  // the registration access token is the one that the client presented (RFC 7592 3)
  for (const secret of issued.slice(0, 2)) expect(shown).not.toContain(secret);
  const change = { client_id: body['client_id'], redirect_uris, client_secret: 'a'.repeat(43) };
  expect((await call(address, { method: 'PUT', token, body: change })).status).toBe(400);
  // an administrator gives a new client the client_secret that it had before, and nothing else (delivery 2)
  for (const [name, value] of Object.entries(chosen).slice(1)) {
    const body = { redirect_uris, client_name: 'Chosen', [name]: value };
    const byAdministrator = await call(`${service.issuer}/admin/api/clients`, { token: admin, body });
    expect(byAdministrator.status, name).toBe(400);
  }
  const made = await call(`${service.issuer}/admin/api/clients`, { token: admin, body: { redirect_uris } });
  const changed = await call(`${service.issuer}/admin/api/clients/${made.body['client_id'] as string}`, {
    token: admin,
    method: 'PATCH',
    body: { client_secret: 'a'.repeat(43) },
  });
  expect(changed.status).toBe(400);
});
