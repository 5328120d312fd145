// Runs oidc-provider, an OpenID Provider of other authors, with a sign-in form and a consent form of its own, in memory on the loopback.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Provider } from 'oidc-provider';

export interface OidcProviderClient {
  id: string;
  secret: string;
  redirectUri: string;
  signedOutUri: string;
  backchannelLogoutUri: string;
}

const lifetime = 600; // seconds

const pageOf = (inner: string) =>
  `<!doctype html><html lang="en"><title>oidc-provider</title><link rel="icon" href="data:,"><main><h1>oidc-provider</h1>${inner}</main></html>`;
const htmlOf = (inner: string) => pageOf(`<form method="post">${inner}</form>`);
const pages: Record<string, string> = {
  login: htmlOf('<label>Account <input name="account" autofocus></label><button>Sign in</button>'),
  consent: htmlOf('<button id="agree">Agree</button>'),
};

/** @param clientOf what is registered there, once the provider's own address is known */
export async function startOidcProvider(clientOf: (issuer: string) => Promise<OidcProviderClient>) {
  const answers: { handler?: (request: IncomingMessage, response: ServerResponse) => Promise<void> } = {};
  const server = createServer((request, response) => {
    answers.handler!(request, response).catch((error: unknown) => {
      process.stderr.write(`oidc-provider: ${String(error)}\n`);
      response.writeHead(500).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = `http://${host}`;
  const client = await clientOf(issuer);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [client.redirectUri],
        post_logout_redirect_uris: [client.signedOutUri],
        backchannel_logout_uri: client.backchannelLogoutUri,
        backchannel_logout_session_required: true,
      },
    ],
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, name: `Account ${sub}`, preferred_username: sub, email: `${sub}@peer.example` }),
    }),
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email'] },
    ttl: { Interaction: lifetime, Session: lifetime, Grant: lifetime, AccessToken: lifetime, IdToken: lifetime },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      // its own pages load a font from another site
      rpInitiatedLogout: {
        enabled: true,
        logoutSource(context, form) {
          context.body = pageOf(`${form}<button form="op.logoutForm" name="logout" value="yes">Sign out</button>`);
        },
        postLogoutSuccessSource(context) {
          context.body = pageOf('<p>You are signed out.</p>');
        },
      },
      pushedAuthorizationRequests: { enabled: true },
    },
    // its own dispatcher refuses the loopback
    fetch: (url, options) => globalThis.fetch(url, { ...options, dispatcher: undefined } as RequestInit),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    pkce: { required: () => true },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'peer' }] },
  });
  const callback = provider.callback();
  answers.handler = async (request, response) => {
    if (request.url!.startsWith('/interaction/')) return interact(provider, request, response);
    await callback(request, response);
  };
  return {
    issuer,
    host,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (request.method === 'GET')
    return void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(pages[prompt.name]);
  const form = new URLSearchParams(await text(request));
  if (prompt.name === 'login') {
    const login = { accountId: form.get('account')! };
    return provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false });
  }
  const known = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const grant = known ?? new provider.Grant({ accountId: session!.accountId, clientId: params['client_id'] as string });
  const { missingOIDCScope, missingOIDCClaims } = prompt.details as Record<string, string[] | undefined>;
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '));
  if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims);
  const consent = { grantId: await grant.save() };
  await provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}
