// Sends requests with tokens that are bound to a certificate, and exchanges tokens (RFC 8705 3, RFC 8693).
import { tokenExchangeGrant } from '../../src/oauth/registrable-values.ts';
import { tokenTypes } from '../../src/oauth/token-exchange.ts';
import { pkce } from '../../test/helpers/user-agent.ts';
import { certificateHeader, certificateHost } from '../certificates.ts';
import { type Child, command } from '../children.ts';
import { authorizationParameters, basicOf, codeFlowOf, redirectUri, tokenRequest, userinfoRequest } from '../flows.ts';
import { type Ask, type Load, loadWith } from '../load.ts';
import { askOver, Wire } from '../wire.ts';
import { forEach, post, scope } from './side.ts';

/** Browsers with a session at the service. */
type Browsers = readonly { cookies: Map<string, string> }[];

const codes = ['--redirect-uri', redirectUri, '--grant-type', 'authorization_code', '--first-party'];
const navigation = { accept: 'text/html', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' };

/** @param certified the same service, on the same database, that takes certificates from a proxy */
export async function certificateLoads(
  { base }: Child,
  certified: Child,
  settings: Record<string, string>,
  browsers: Browsers,
): Promise<Record<'introspect-mtls' | 'userinfo-mtls', Load>> {
  const bound = '--tls-client-certificate-bound-access-tokens';
  const client = await command(['client', 'create', '--name', 'Ledger', ...codes, bound], settings);
  const headers = { host: certificateHost, ...certificateHeader() };
  const flow = codeFlowOf(client, scope);
  const tokens = await forEach(browsers.length, async (index) => {
    const [wire, withCertificate] = [await Wire.open(base), await Wire.open(certified.base)];
    // a browser has no certificate, and there is no page for it at this host
    const ask: Ask = (request) =>
      request.path.startsWith('/authorize')
        ? askOver(wire, base, request)
        : askOver(withCertificate, certified.base, { ...request, headers: { ...headers, ...request.headers } });
    const { access_token } = await flow(ask, browsers[index]!);
    for (const each of [wire, withCertificate]) each.close();
    return access_token;
  });
  return {
    'introspect-mtls': loadWith(
      base,
      tokens.map((token) => post('/introspect', basicOf(client), { token, token_type_hint: 'access_token' })),
    ),
    'userinfo-mtls': loadWith(
      certified.base,
      tokens.map((token) => {
        const request = userinfoRequest('/user/info', token);
        return { ...request, headers: { ...headers, ...request.headers } };
      }),
    ),
  };
}

/** A gateway exchanges tokens that an application got for it. */
export async function exchangeLoads(
  base: string,
  settings: Record<string, string>,
  browsers: Browsers,
): Promise<Record<'token-exchange', Load>> {
  const [entry, orders, read] = ['https://entry.example.com/', 'https://orders.example.com/', 'orders.read'];
  const application = await command(['client', 'create', '--name', 'Application', ...codes], settings);
  const exchanges = ['--grant-type', tokenExchangeGrant];
  const gateway = await command(['client', 'create', '--name', 'Gateway', ...exchanges], settings);
  const named = ['--name', 'Gateway', '--client', gateway['client_id']!, '--clients', 'approved'];
  await command(['resource', 'create', entry, ...named, '--scope', `${read}=See orders`], settings);
  await command(['resource', 'create', orders, '--name', 'Orders', '--scope', `${read}=See orders`], settings);
  const policy = ['--client', gateway['client_id']!, '--subject-client', application['client_id']!];
  const rights = ['--resource', orders, '--scope', read];
  await command(['exchange-policy', 'create', 'gateway', ...policy, ...rights], settings);

  const tokens = await forEach(browsers.length, async (index) => {
    const { code_verifier, ...challenge } = pkce();
    const asked = { ...challenge, resource: entry };
    const parameters = authorizationParameters(application, `openid ${read}`, asked);
    const cookie = [...browsers[index]!.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const wire = await Wire.open(base);
    const ask: Ask = (request) => askOver(wire, base, request);
    const { location } = await ask({
      method: 'GET',
      path: `/authorize?${parameters}`,
      headers: { cookie, ...navigation },
    });
    const code = new URL(location!).searchParams.get('code')!;
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier };
    const { access_token } = await tokenRequest(ask, basicOf(application), form);
    wire.close();
    return access_token;
  });
  return {
    'token-exchange': loadWith(
      base,
      tokens.map((token) =>
        post('/token', basicOf(gateway), {
          grant_type: tokenExchangeGrant,
          subject_token: token,
          subject_token_type: tokenTypes.accessToken,
          resource: orders,
        }),
      ),
    ),
  };
}
