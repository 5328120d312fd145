// Creates what the requests name: clients, users, sessions, codes, tokens, forms; and creates them anew when they are used up.
import { createHmac, randomUUID } from 'node:crypto';
import { cibaGrant, deviceGrant } from '../../src/oauth/registrable-values.ts';
import { openConsole } from '../helpers/console.ts';
import { askUser } from '../helpers/ciba.ts';
import { deviceCodes } from '../helpers/device.ts';
import { newProofKey, postWithProof, proofFor } from '../helpers/dpop.ts';
import { adminToken, call, obtainCode, redeem } from '../helpers/grants.ts';
import type { TestService } from '../helpers/service.ts';
import { startDirectory } from '../helpers/scim.ts';
import { authorizationUrl, hiddenFields, pkce, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { basic, endSessionAddress, everyClaim, everyScope, register, signedOutUri, wholeClient } from '../spec/kit.ts';

const redirectUri = 'https://rp.example.com/callback';

/** Values by name; where there are several, a request takes one of them. */
export type World = Map<string, string[]>;

const responseTypes = [
  'code',
  'id_token',
  'code id_token',
  'code token',
  'id_token token',
  'code id_token token',
  'none',
];

/** The part that stays the same for a whole run. */
export async function foundWorld(service: TestService): Promise<World> {
  const world: World = new Map();
  const client = await service.createClient({
    ...wholeClient,
    response_types: responseTypes,
    grant_types: ['authorization_code', 'refresh_token', 'implicit', deviceGrant, cibaGrant],
    resource_uris: ['https://api.example.com/'],
  });
  const machine = await service.createClient({
    redirect_uris: [],
    grant_types: ['client_credentials'],
    scope: 'email',
  });
  const publicClient = await service.createClient({ token_endpoint_auth_method: 'none' });
  const disabled = await service.createClient({}, { status: 'disabled' });
  const signing = await service.createClient({
    redirect_uris: [],
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_jwt',
  });
  const admin = await adminToken(service);
  const proofKey = await newProofKey();
  world.set('jkt', [proofKey.jkt]);
  world.set('client_id', [client.clientId]);
  world.set('client_secret', [client.clientSecret]);
  world.set('basic', [client.basic]);
  world.set('machine', [machine.basic]);
  world.set('public_id', [publicClient.clientId]);
  world.set('disabled_id', [disabled.clientId]);
  world.set('disabled', [disabled.basic]);
  world.set('admin', [`Bearer ${admin}`]);
  world.set('scim', [`Bearer ${(await startDirectory(service, admin, 'fuzzed')).token}`]);
  const administrator = await service.createUser({ admin: true });
  const reviewer = new UserAgent(service);
  await reviewer.signIn(administrator);
  const { agent: console } = await openConsole(service, administrator);
  const proofs = (name: string, token?: string) => {
    const [method, path] = name.split(' ') as [string, string];
    const options = { method, ...(token !== undefined && { token }) };
    return Promise.all([1, 2, 3, 4].map(() => proofFor(proofKey, service.issuer + path, options)));
  };
  renewals.set(world, async () => {
    const user = await service.createUser({
      email: `${randomUUID()}@example.com`,
      groups: ['staff'],
      claims: everyClaim,
    });
    const agent = new UserAgent(service);
    const ask = { scope: `${everyScope} offline_access`, prompt: 'consent' };
    const codes: string[] = [];
    for (let index = 0; index < 5; index++) codes.push(await obtainCode(service, client, user, ask, agent));
    const tokens: Record<string, unknown>[] = [];
    for (const code of codes.splice(0, 2)) tokens.push((await redeem(service.issuer, client, code)).body);
    const grant = { grant_type: 'authorization_code', code: codes.pop()!, redirect_uri: redirectUri };
    const bound = (await postWithProof(service, '/token', client, grant, proofKey)).body['access_token'] as string;
    world.set('dpop access_token', [`DPoP ${bound}`]);
    // several of each, since one is used up by its request
    for (const name of ['POST /token', 'POST /par', 'POST /device_authorization', 'POST /bc-authorize'])
      world.set(`proof ${name}`, await proofs(name));
    for (const name of ['GET /user/info', 'POST /user/info', 'GET /user/me/info'])
      world.set(`proof ${name}`, await proofs(name, bound));
    const of = (name: string) => tokens.map((each) => each[name] as string);
    world.set('sub', [user.sub]);
    world.set('username', [user.username]);
    world.set('new_name', [randomUUID(), randomUUID(), randomUUID(), randomUUID()]);
    world.set('password', [user.password]);
    world.set('code', codes);
    world.set('access_token', of('access_token'));
    world.set('refresh_token', of('refresh_token'));
    world.set('id_token', of('id_token'));
    world.set('handle', of('client_session_handle'));
    for (const name of ['access_token', 'handle', 'code'])
      world.set(
        `bearer ${name}`,
        world.get(name)!.map((each) => `Bearer ${each}`),
      );

    const { body } = await register({ issuer: service.issuer } as TestService, { client_name: 'Victim' });
    world.set('victim', [body['client_id']!]);
    world.set('victim_secret', [body['client_secret']!]);
    world.set('victim_basic', [basic(body['client_id']!, body['client_secret']!)]);
    world.set('registration', [`Bearer ${body['registration_access_token']!}`]);
    const deferred = await register(service, { registration_mode: ['approval'] });
    world.set('registration_code', [deferred.body['registration_code']!]);
    world.set('verification_code', [deferred.body['verification_code']!]);

    const inApi = (path: string, options = {}) =>
      call(`${service.issuer}/admin/api${path}`, { token: admin, ...options });
    const { sessions } = (await inApi(`/sessions?sub=${user.sub}`)).body as { sessions: { id: string }[] };
    world.set(
      'session_id',
      sessions.map(({ id }) => id),
    );
    world.set('cursor', [String((await inApi('/clients?limit=1')).body['next_cursor'])]);
    const initial = await inApi('/registration-tokens', { method: 'POST', body: {} });
    world.set('initial', [`Bearer ${String(initial.body['initial_access_token'])}`]);

    const recovery = await inApi(`/users/${user.sub}/recovery-link`, { method: 'POST', body: {} });
    world.set('mailed_link', [new URL(recovery.body['recovery_uri'] as string).searchParams.get('token')!]);

    const signUp = await inApi('/sign-up-links', {
      method: 'POST',
      // each world has its own
      body: {
        name: `Harbour crew ${randomUUID()}`,
        uses: 9,
        expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      },
    });
    world.set('sign_up_link_id', [String(signUp.body['id'])]);
    world.set('sign_up_link', [new URL(signUp.body['uri'] as string).searchParams.get('token')!]);

    // the forms that the browser is showing
    const cookies = (of: UserAgent) => [...of.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const forms = async (form: string, path: string, browser: UserAgent) => {
      const fields = hiddenFields((await browser.follow(await browser.get(path))).body);
      world.set(`csrf ${form}`, [fields['csrf'] ?? '']);
      if (fields['transaction'] !== undefined) world.set(`transaction ${form}`, [fields['transaction']]);
    };
    await forms('/account', '/account/applications', agent);
    world.set('csrf /account/email/verification', ['']);
    await forms('/sign-up/link', `/sign-up/link?token=${world.get('sign_up_link')![0]!}`, agent);
    for (const path of ['/account/email', '/password/forgotten', '/sign-up', '/logout']) await forms(path, path, agent);
    for (const page of ['/account/sessions', '/account/data', '/account/profile/edit', '/account/passkeys'])
      await forms(page, page, agent);
    const device = await deviceCodes(service.issuer, client);
    world.set('user_code', [device.user_code]);
    world.set('device_code', [device.device_code]);
    const asked = await askUser(service.issuer, client, { login_hint: user.username });
    world.set('auth_req_id', [String(asked.body['auth_req_id'])]);
    const requests = await agent.get('/account/requests');
    world.set('csrf /account/requests', [hiddenFields(requests.body)['csrf'] ?? '']);
    world.set('backchannel_request', [hiddenFields(requests.body)['request'] ?? '']);
    await forms('/device', `/device?user_code=${device.user_code}`, agent);
    await forms('/consent', authorizationUrl(service.issuer, client, ask), agent);
    await forms('/authenticate', `/authenticate?client_id=${client.clientId}&redirect_uri=${redirectUri}`, agent);
    world.set('cookies', [cookies(agent)]);
    const newcomer = new UserAgent(service);
    await forms('/login', authorizationUrl(service.issuer, client), newcomer);
    world.set('newcomer', [cookies(newcomer)]);
    const review = await reviewer.get(`/admin/registration?verification_code=${world.get('verification_code')![0]!}`);
    for (const [name, value] of Object.entries(hiddenFields(review.body))) world.set(`review ${name}`, [value]);
    world.set('reviewer', [cookies(reviewer)]);
    world.set('console', [cookies(console)]);

    const push = { response_type: 'code', scope: 'openid', redirect_uri: redirectUri };
    const pushed = await fetch(`${service.issuer}/par`, {
      method: 'POST',
      body: new URLSearchParams(push),
      headers: { authorization: client.basic },
    });
    world.set('request_uri', [((await pushed.json()) as { request_uri: string }).request_uri]);
    const claims = { ...push, client_id: client.clientId, aud: service.issuer, iss: client.clientId };
    world.set('request', [`${part({ alg: 'none' })}.${part(claims)}.`]);
    const now = Math.floor(Date.now() / 1000);
    const asserted = {
      iss: signing.clientId,
      sub: signing.clientId,
      aud: service.issuer,
      jti: randomUUID(),
      exp: now + 60,
    };
    world.set('assertion', [hs256(asserted, signing.clientSecret)]);
    const address = await endSessionAddress(service, client, { redirect_uri: signedOutUri });
    world.set('end_session', [address.slice(address.indexOf('=') + 1)]);
    world.set('challenge', [pkce().code_challenge]);
  });
  await renew(world);
  return world;
}

const renewals = new WeakMap<World, () => Promise<void>>();

/** Replaces the values that requests use up by fresh ones. */
export const renew = (world: World): Promise<void> => renewals.get(world)!();

/** Whether the service still works: a user signs in, and the client gets tokens that work. */
export async function worksAsEver(service: TestService): Promise<void> {
  const client = await service.createClient();
  const user = await service.createUser();
  const { body } = await redeem(service.issuer, client, await obtainCode(service, client, user));
  const answer = await call(`${service.issuer}/user/info`, { token: body['access_token'] as string });
  if (answer.body['sub'] !== user.sub) throw new Error(`no claims: ${JSON.stringify(answer.body)}`);
  const refresh_token = body['refresh_token'] as string;
  const again = await tokenRequest(service.issuer, client, { grant_type: 'refresh_token', refresh_token });
  if (again.status !== 200) throw new Error(`no refresh: ${JSON.stringify(again.body)}`);
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function hs256(claims: Record<string, unknown>, secret: string): string {
  const content = `${part({ alg: 'HS256' })}.${part(claims)}`;
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
}
