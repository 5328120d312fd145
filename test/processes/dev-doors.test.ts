// The doors of `gatehouse dev` do what they are asked, or say why they cannot.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callDoor, type Ready, startDevProcess } from '../helpers/dev-process.ts';

const callback = 'http://127.0.0.1:5555/callback';
const out = 'http://127.0.0.1:5555/signed-out';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-dev-doors-'));
const file = join(folder, 'gatehouse.yaml');
writeFileSync(
  file,
  `clients:
  shop:
    client_name: Shop
    redirect_uris: [${callback}]
    post_logout_redirect_uris: [${out}]
    client_secret: shop-secret
  club:
    client_name: Club
    redirect_uris: [${callback}]
    client_secret: club-secret
    access: groups
    access_groups: [crew]
  television:
    client_name: Television
    token_endpoint_auth_method: none
    grant_types: ['${deviceGrant}']
users:
  alice: { password: alice }
  bob: { password: bob }
  former: { password: former, status: disabled }
  careful: { password: careful, totp: JBSWY3DPEHPK3PXP }
groups:
  crew: {}
`,
);

let dev: ReturnType<typeof startDevProcess>;
let ready: Ready;
beforeAll(async () => {
  dev = startDevProcess(folder, ['--config', file], { DEVICE_GRANT: 'on' });
  ready = await dev.ready();
});
afterAll(async () => {
  await dev.stop();
  rmSync(folder, { recursive: true, force: true });
});

const call = (door: string, body: object) => callDoor(ready.issuer, door, body);
const asked = (more: Record<string, string> = {}) => ({
  client_id: 'shop',
  response_type: 'code',
  redirect_uri: callback,
  scope: 'openid profile',
  ...more,
});
const signIn = (more: object) => call('sign-in', { user: 'alice', authorization_request: asked(), ...more });
const post = (path: string, body: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(ready.issuer + path, { method: 'POST', headers, body: new URLSearchParams(body) });

/** The claims of the ID Token that a code buys. */
async function claimsOf(redirect = ''): Promise<Record<string, unknown>> {
  const code = new URL(redirect).searchParams.get('code') ?? '';
  const authorization = `Basic ${Buffer.from('shop:shop-secret').toString('base64')}`;
  const form = { grant_type: 'authorization_code', code, redirect_uri: callback };
  const { id_token: token = '' } = (await (await post('/token', form, { authorization })).json()) as Record<
    string,
    string
  >;
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
}

describe('/dev/sign-in', () => {
  test('signs in the user that it is asked for, and refuses a browser in which another one is signed in (delivery 5)', async () => {
    expect((await signIn({ browser: 'one' })).status).toBe(200);
    const other = { user: 'bob', browser: 'one' };
    expect(await signIn(other)).toMatchObject({
      status: 400,
      error_description: expect.stringContaining('the browser one is signed in as alice, and not as bob'),
    });
    // nor does the other user consent, or decide silently
    for (const prompt of ['consent', 'none'])
      expect(await signIn({ ...other, authorization_request: asked({ prompt }) })).toMatchObject({ status: 400 });
    const { redirect } = await signIn({ ...other, authorization_request: asked({ prompt: 'login' }) });
    expect(await claimsOf(redirect)).toMatchObject({ sub: ready.users[1]!.sub });
  });

  test('a denial where no page asks is refused, and an error of the service stays the answer (delivery 5)', async () => {
    await signIn({});
    expect(await signIn({ decision: 'deny' })).toMatchObject({
      status: 400,
      error_description: expect.stringContaining('add prompt=consent'),
    });
    const denied = await signIn({ decision: 'deny', authorization_request: asked({ prompt: 'consent' }) });
    expect(denied.redirect).toContain('error=access_denied');
    const silent = await signIn({ decision: 'deny', authorization_request: asked({ prompt: 'none' }) });
    expect(silent.redirect).toContain('error=login_required');
  });

  test('shows the methods that it is asked for, and refuses those that no sign-in has (delivery 5)', async () => {
    for (const [amr, acr] of [
      [['pwd'], 'urn:gatehouse:acr:password'],
      [['pwd', 'otp', 'mfa'], 'urn:gatehouse:acr:mfa'],
      [['hwk', 'user', 'mfa'], 'phrh'],
    ] as const)
      expect(await claimsOf((await signIn({ amr })).redirect)).toMatchObject({ amr, acr });
    for (const [amr, reason] of [
      [['nonsense'], 'amr.0 must be one of pwd, otp, hwk, swk, user, mfa'],
      [[], 'amr must contain one of pwd, otp, hwk, swk'],
      [['mfa'], 'amr must contain one of'],
    ] as const)
      expect(await signIn({ amr })).toMatchObject({
        status: 400,
        error_description: expect.stringContaining(reason) as string,
      });
    await signIn({ browser: 'weak' });
    expect(await signIn({ browser: 'weak', amr: ['hwk', 'user', 'mfa'] })).toMatchObject({
      status: 400,
      error_description: expect.stringContaining('is signed in with pwd, and not with hwk user mfa'),
    });
  });

  test('a disabled user cannot sign in, and one with a second factor shows it (delivery 5)', async () => {
    expect(await signIn({ user: 'former' })).toMatchObject({
      status: 400,
      error_description: 'the user former is disabled',
    });
    expect(await signIn({ user: 'careful' })).toMatchObject({
      status: 400,
      error_description: 'the user careful has a second factor: amr must contain mfa',
    });
    const { redirect } = await signIn({ user: 'careful', amr: ['pwd', 'otp', 'mfa'] });
    expect(await claimsOf(redirect)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] });
  });

  test('says why the service refused a request, each time (delivery 5)', async () => {
    const wrong = { authorization_request: asked({ redirect_uri: `${callback}/` }) };
    for (let time = 0; time < 12; time++)
      expect(await signIn(wrong)).toMatchObject({
        status: 400,
        error_description: expect.stringContaining('the redirect URI is not registered for the client'),
        refusal: { client_id: 'shop', sent: `${callback}/`, registered: [callback] },
      });
    expect(await signIn({ authorization_request: asked({ client_id: 'nosuch' }) })).toMatchObject({
      error_description: expect.stringContaining('there is no client with this client_id'),
    });
  });

  test('a user without the group stops at a page, from which a denial returns to the application (delivery 5)', async () => {
    const request = { user: 'bob', authorization_request: asked({ client_id: 'club' }) };
    expect(await signIn(request)).toMatchObject({
      status: 400,
      error_description: expect.stringMatching(/\/access-denied \(403\).*not_in_group/) as string,
    });
    expect((await signIn({ ...request, decision: 'deny' })).redirect).toMatch(/^http:.*\?error=access_denied/);
  });
});

describe('/dev/sign-out', () => {
  test('signs the user of a browser out, and answers where the browser ends (delivery 5)', async () => {
    const { redirect } = await signIn({ browser: 'out' });
    expect(redirect).toContain('code=');
    const request = { client_id: 'shop', post_logout_redirect_uri: out, state: 'xyz' };
    const address = `${ready.issuer}/logout?${new URLSearchParams(request).toString()}`;
    expect(await call('sign-out', { browser: 'out', end_session_request: address })).toEqual({
      status: 200,
      redirect: `${out}?state=xyz`,
    });
    const silent = await signIn({ browser: 'out', authorization_request: asked({ prompt: 'none' }) });
    expect(silent.redirect).toContain('error=login_required');
    // without a request of a client the browser stays at the page that says so
    await signIn({ browser: 'out' });
    expect(await call('sign-out', { browser: 'out' })).toMatchObject({ status: 200, page: expect.any(String) });
    expect((await signIn({ browser: 'out', authorization_request: asked({ prompt: 'none' }) })).redirect).toContain(
      'error=login_required',
    );
  });

  test('refuses a browser that it does not know, and says why a return address is refused (delivery 5)', async () => {
    expect(await call('sign-out', { browser: 'unknown' })).toMatchObject({
      status: 400,
      error_description: expect.stringContaining('no user has signed in with the browser unknown'),
    });
    await signIn({ browser: 'stays' });
    const request = { client_id: 'shop', post_logout_redirect_uri: `${out}/` };
    expect(await call('sign-out', { browser: 'stays', end_session_request: request })).toMatchObject({
      status: 400,
      refusal: { sent: `${out}/`, registered: [out] },
    });
    const silent = await signIn({ browser: 'stays', authorization_request: asked({ prompt: 'none' }) });
    expect(silent.redirect).toContain('code=');
  });
});

test('/dev/device decides about a device for a user, and refuses a code that none shows (delivery 5)', async () => {
  const begin = async () =>
    (await (await post('/device_authorization', { client_id: 'television', scope: 'openid' })).json()) as Record<
      string,
      string
    >;
  const poll = async (code = '') =>
    (await (
      await post('/token', { grant_type: deviceGrant, client_id: 'television', device_code: code })
    ).json()) as object;
  const first = await begin();
  const allowed = { user: 'alice', user_code: first['user_code'] };
  expect(await call('device', allowed)).toEqual({ status: 200, decision: 'allow' });
  expect(await poll(first['device_code'])).toMatchObject({ access_token: expect.any(String) });
  const second = await begin();
  const denied = { user: 'alice', user_code: second['user_code'], decision: 'deny' };
  expect(await call('device', denied)).toEqual({ status: 200, decision: 'deny' });
  expect(await poll(second['device_code'])).toMatchObject({ error: 'access_denied' });
  expect(await call('device', allowed)).toMatchObject({
    status: 400,
    error_description: expect.stringContaining('no device waits for the code'),
  });
});

test('/dev/time says which seconds it takes (delivery 5)', async () => {
  for (const seconds of [1e9, -1, 0.5])
    expect(await call('time', { seconds })).toMatchObject({
      status: 400,
      error_description: 'seconds must be a whole number of seconds from 0 to 316224000',
    });
});
