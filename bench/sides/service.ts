// Sends the operations to the service.
import { issuerTag } from '../../src/browser/cookies.ts';
import {
  basicOf,
  authorizationParameters,
  codeFlowOf,
  expectStatus,
  makeUsers,
  ownPaths,
  redeem,
  redirectUri,
  signIn,
  type Tokens,
  tokenRequest,
  userinfoRequest,
} from '../flows.ts';
import { type Child, command } from '../children.ts';
import { type Ask, loadFlow, loadWith } from '../load.ts';
import { deviceGrant } from '../../src/oauth/registrable-values.ts';
import { newOpaqueToken } from '../../src/tokens/opaque-token.ts';
import { pkce } from '../../test/helpers/user-agent.ts';
import { WireBrowser } from '../wire-browser.ts';
import { askOver, Wire } from '../wire.ts';
import { proofsFor } from '../proofs.ts';
import { maxPasswords } from '../operations.ts';
import { createSite, siteRequest } from '../protected-site.ts';
import { certificateLoads, exchangeLoads } from './bound.ts';
import { scimLoads } from './scim.ts';
import { forEach, post, scope, type Side } from './side.ts';

/** The headers of the sites of the two operations. */
const siteHeaders = [
  ['remote-user', 'remote-groups', 'remote-email', 'remote-name'],
  ['remote-user', 'x-gatehouse-assertion'],
];

/**
 * @param cheap the same service with password hashes that cost nothing, on the same database
 * @param hasSites whether protected sites are measured: the other operations are measured without any
 * @param more.exchanges whether exchanges are measured: the other operations are measured without a policy
 * @param more.certified the same service that takes certificates, on the same database, if operations with certificates are measured
 */
export async function serviceSide(
  service: Child,
  cheap: Child,
  settings: Record<string, string>,
  people: number,
  hasSites = false,
  { exchanges = false, certified }: { exchanges?: boolean; certified?: Child | undefined } = {},
): Promise<Side> {
  const { base } = service;
  const create = (...options: string[]) => command(['client', 'create', ...options], settings);
  const admin = await create('--name', 'Admin', '--grant-type', 'client_credentials', '--scope', 'admin');
  const machine = await create('--name', 'Bench', '--grant-type', 'client_credentials');
  const api = await createApi(settings);
  const apiClient = await create('--name', 'API client', '--grant-type', 'client_credentials', '--scope', api.scope);
  const codes = ['--redirect-uri', redirectUri, '--grant-type', 'authorization_code'];
  const web = await create('--name', 'Web', ...codes, '--first-party');
  const lasting = await create('--name', 'Lasting', ...codes, '--grant-type', 'refresh_token', '--first-party');
  const third = await create('--name', 'Third', ...codes);
  const television = await create('--name', 'Television', '--grant-type', deviceGrant);

  // browsers that need only a session got it without the cost of a hash: with hashes the preparation for 256 connections took minutes
  const persons = await makeUsers(cheap.base, basicOf(admin), people, 'user');
  const hashed = await makeUsers(base, basicOf(admin), Math.min(people, maxPasswords), 'hashed');
  const flow = codeFlowOf(web, scope);
  const lastingFlow = codeFlowOf(lasting, scope);
  const proofs = proofsFor(base);
  const boundFlow = codeFlowOf(web, scope, ownPaths, proofs);
  const prepared = await forEach(people, async (index) => {
    const { cookies } = await signIn(cheap.base, persons[index]!);
    // a browser keeps all that its sign-in sets; the names and values have a tag of their issuer
    const own = (text: string) => text.replace(issuerTag(cheap.base), issuerTag(base));
    const agent = { cookies: new Map([...cookies].map(([name, value]) => [own(name), own(value)])) };
    const wire = await Wire.open(base);
    const ask: Ask = (request) => askOver(wire, base, request);
    const { access_token, id_token } = await flow(ask, agent);
    const { refresh_token } = await lastingFlow(ask, agent);
    const bound = (await boundFlow(ask, agent)).access_token;
    wire.close();
    return { agent, bound, access: access_token, id: id_token!, refresh: refresh_token! };
  });
  const agents = prepared.map(({ agent }) => agent);
  const cheapPersons = await makeUsers(cheap.base, basicOf(admin), people, 'cheap');
  const signInFlow = async (ask: Ask, index: number): Promise<Tokens> => {
    const { code_verifier, ...challenge } = pkce();
    const browser = new WireBrowser(ask, cheap.base);
    const parameters = authorizationParameters(third, scope, { ...challenge, prompt: 'consent' });
    const page = await browser.get(`/authorize?${parameters}`);
    const consent = await browser.submit(page, { ...cheapPersons[index]! });
    const answer = await browser.submit(consent, { decision: 'allow' });
    return redeem(ask, basicOf(third), answer, code_verifier, ownPaths);
  };

  const devices = await forEach(people, async () => {
    const { method, path, headers, body } = post('/device_authorization', basicOf(television), { scope });
    const answer = await fetch(base + path, { method, headers, body });
    return ((await answer.json()) as { device_code: string }).device_code;
  });
  const [plain, asserted] = await Promise.all(
    (hasSites ? siteHeaders : []).map(async (headers, index) => {
      const site = await createSite(settings, `site-${index}.example`, headers);
      return forEach(people, (person) => siteRequest(base, site, prepared[person]!.agent.cookies));
    }),
  );
  const introspect = (tokens: string[]) =>
    tokens.map((token) => post('/introspect', basicOf(web), { token, token_type_hint: 'access_token' }));
  const bearer = (index: number) => ({ authorization: `Bearer ${prepared[index]!.access}` });
  const everybody = Array.from({ length: people }, (_, index) => index);
  const subs = await forEach(people, async (index) => {
    const answer = await fetch(`${base}/user/info`, { headers: bearer(index) });
    return ((await answer.json()) as { sub: string }).sub;
  });
  const settingsOf = (index: number) => `/user/${subs[index]}/settings`;
  const body = JSON.stringify({ settings: { theme: 'dark', lines: 50 } });
  return {
    pidOf: (operation) =>
      (operation === 'sign-in-flow' ? cheap : operation === 'userinfo-mtls' ? (certified ?? service) : service).pid,
    loads: {
      'introspect-live': loadWith(base, introspect(prepared.map((each) => each.access))),
      'introspect-inactive': loadWith(base, introspect(everybody.map(() => newOpaqueToken('access_token').token))),
      'introspect-malformed': loadWith(base, introspect(['no token']), 400),
      'introspect-jwt': loadWith(base, introspect(prepared.map((each) => each.id))),
      ...(plain && { 'forward-auth': loadWith(base, plain) }),
      ...(asserted && { 'forward-auth-assertion': loadWith(base, asserted) }),
      'client-credentials': loadWith(base, [post('/token', basicOf(machine), { grant_type: 'client_credentials' })]),
      'client-credentials-jwt': loadWith(base, [
        post('/token', basicOf(apiClient), { grant_type: 'client_credentials', resource: api.resource }),
      ]),
      refresh: loadFlow(base, async (ask, connection) => {
        const form = { grant_type: 'refresh_token', refresh_token: prepared[connection]!.refresh };
        prepared[connection]!.refresh = (await tokenRequest(ask, basicOf(lasting), form)).refresh_token!;
      }),
      'device-poll': loadWith(
        base,
        devices.map((code) => post('/token', basicOf(television), { grant_type: deviceGrant, device_code: code })),
        400,
      ),
      userinfo: loadWith(
        base,
        everybody.map((index) => ({ method: 'GET', path: '/user/info', headers: bearer(index) })),
      ),
      'userinfo-dpop': loadFlow(base, async (ask, connection) => {
        expectStatus(await ask(userinfoRequest('/user/info', prepared[connection]!.bound, proofs)), 200);
      }),
      'code-flow': loadFlow(base, async (ask, connection) => void (await flow(ask, prepared[connection]!.agent))),
      'sign-in-flow': loadFlow(cheap.base, async (ask, connection) => void (await signInFlow(ask, connection))),
      password: loadFlow(base, async (ask, connection) => {
        const browser = new WireBrowser(ask, base, { follows: false });
        const page = await browser.get('/login');
        expectStatus(await browser.submit(page, { ...hashed[connection]! }), 303);
      }),
      discovery: loadWith(base, [{ method: 'GET', path: '/.well-known/openid-configuration' }]),
      jwks: loadWith(base, [{ method: 'GET', path: '/jwks' }]),
      'settings-read': loadWith(
        base,
        everybody.map((index) => ({ method: 'GET', path: settingsOf(index), headers: bearer(index) })),
      ),
      'settings-write': loadWith(
        base,
        everybody.map((index) => ({
          method: 'PUT',
          path: settingsOf(index),
          headers: { ...bearer(index), 'content-type': 'application/json' },
          body,
        })),
      ),
      ...(await scimLoads(base, settings)),
      ...(exchanges && (await exchangeLoads(base, settings, agents))),
      ...(certified && (await certificateLoads(service, certified, settings, agents))),
    },
  };
}

/** An API whose access tokens are JWTs, with one scope. */
async function createApi(settings: Record<string, string>): Promise<{ resource: string; scope: string }> {
  const api = { resource: 'https://api.example.com/', scope: 'reports.read' };
  const options = ['--name', 'Reports', '--scope', `${api.scope}=Read reports`, '--access-token-format', 'jwt'];
  await command(['resource', 'create', api.resource, ...options, '--access-token-lifetime', '3600'], settings);
  return api;
}
