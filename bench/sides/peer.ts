// Sends the operations to the peer, at its own addresses.
import { randomBytes } from 'node:crypto';
import { deviceGrant } from '../../src/oauth/registrable-values.ts';
import { certificateHeader } from '../certificates.ts';
import type { Peer } from '../children.ts';
import {
  authorizationParameters,
  basicOf,
  codeFlowOf,
  expectStatus,
  redeem,
  type Tokens,
  tokenRequest,
  userinfoRequest,
} from '../flows.ts';
import { type Ask, loadFlow, loadWith } from '../load.ts';
import { type MakeProof, proofsFor } from '../proofs.ts';
import { WireBrowser } from '../wire-browser.ts';
import { askOver, Wire } from '../wire.ts';
import { pkce } from '../../test/helpers/user-agent.ts';
import { forEach, post, scope, type Side } from './side.ts';

const paths = { authorization: '/auth', userinfo: '/me' };

export async function peerSide({ base, pid, clients }: Peer, people: number): Promise<Side> {
  const { machine, web, ledger, lasting, television } = clients as Record<
    'machine' | 'web' | 'ledger' | 'lasting' | 'television',
    Record<string, string>
  >;

  const proofs = proofsFor(base);
  const certificate = certificateHeader();
  /** From the first page to UserInfo, with a new browser. */
  const signInFlow = async (
    ask: Ask,
    browser: WireBrowser,
    client: Record<string, string>,
    person: number,
    proofs?: MakeProof,
  ): Promise<Tokens> => {
    const { code_verifier, ...challenge } = pkce();
    const page = await browser.get(`/auth?${authorizationParameters(client, scope, challenge)}`);
    const consent = await browser.submit(page, { username: `user-${person}`, password: 'not looked at' });
    const answer = await browser.submit(consent, { decision: 'allow' });
    return redeem(ask, basicOf(client), answer, code_verifier, paths, proofs);
  };
  const prepared = await forEach(people, async (person) => {
    const wire = await Wire.open(base);
    const ask: Ask = (request) => askOver(wire, base, request);
    const browser = new WireBrowser(ask, base);
    const { refresh_token } = await signInFlow(ask, browser, lasting, person);
    const later = new WireBrowser(ask, base);
    const { access_token } = await signInFlow(ask, later, web, person);
    const bound = (await signInFlow(ask, new WireBrowser(ask, base), web, person, proofs)).access_token;
    const certified: Ask = (request) => ask({ ...request, headers: { ...certificate, ...request.headers } });
    const certifiedBrowser = new WireBrowser(certified, base);
    const byCertificate = (await signInFlow(certified, certifiedBrowser, ledger, person)).access_token;
    wire.close();
    return { browser: later, bound, byCertificate, access: access_token, refresh: refresh_token! };
  });
  const flow = codeFlowOf(web, scope, paths);
  const devices = await forEach(people, async () => {
    const { method, path, headers, body } = post('/device/auth', basicOf(television), { scope });
    const answer = await fetch(base + path, { method, headers, body });
    return ((await answer.json()) as { device_code: string }).device_code;
  });
  const introspect = (client: Record<string, string>, tokens: string[]) =>
    tokens.map((token) => post('/token/introspection', basicOf(client), { token, token_type_hint: 'access_token' }));
  const access = prepared.map((each) => each.access);
  return {
    pidOf: () => pid,
    loads: {
      'introspect-live': loadWith(base, introspect(web, access)),
      'introspect-mtls': loadWith(
        base,
        introspect(
          ledger,
          prepared.map((each) => each.byCertificate),
        ),
      ),
      'introspect-inactive': loadWith(
        base,
        introspect(
          web,
          access.map(() => randomBytes(32).toString('base64url')),
        ),
      ),
      'introspect-malformed': loadWith(base, introspect(web, ['no token'])),
      'client-credentials': loadWith(base, [post('/token', basicOf(machine), { grant_type: 'client_credentials' })]),
      'client-credentials-jwt': loadWith(base, [
        post('/token', basicOf(machine), { grant_type: 'client_credentials', resource: 'https://api.example.com/' }),
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
        access.map((token) => ({ method: 'GET', path: '/me', headers: { authorization: `Bearer ${token}` } })),
      ),
      'userinfo-dpop': loadFlow(base, async (ask, connection) => {
        expectStatus(await ask(userinfoRequest('/me', prepared[connection]!.bound, proofs)), 200);
      }),
      'userinfo-mtls': loadWith(
        base,
        prepared.map((each) => {
          const request = userinfoRequest('/me', each.byCertificate);
          return { ...request, headers: { ...certificate, ...request.headers } };
        }),
      ),
      'code-flow': loadFlow(base, async (ask, connection) => void (await flow(ask, prepared[connection]!.browser))),
      'sign-in-flow': loadFlow(
        base,
        async (ask, connection) => void (await signInFlow(ask, new WireBrowser(ask, base), web, connection)),
      ),
      discovery: loadWith(base, [{ method: 'GET', path: '/.well-known/openid-configuration' }]),
      jwks: loadWith(base, [{ method: 'GET', path: '/jwks' }]),
    },
  };
}
