// Runs an application of openid-client with its defaults: it finds the provider by discovery, and sends its secret in the form.
import * as client from 'openid-client';
import { createSessions, listen, redirect, send } from '../../../demo/web.ts';
import { clientId, clientSecret, issuer, port, url } from '../environment.ts';
import { homePage, signedOutPage, type Visitor } from '../pages.ts';

interface Session {
  checks?: { pkceCodeVerifier: string; expectedState: string; expectedNonce: string };
  visitor?: Visitor;
  refreshToken?: string | undefined;
  idToken?: string | undefined;
}

const provider = await client.discovery(new URL(issuer), clientId, clientSecret, undefined, {
  execute: [client.allowInsecureRequests],
});
// pushes the request where the provider takes that (RFC 9126)
const begin = provider.serverMetadata().pushed_authorization_request_endpoint
  ? client.buildAuthorizationUrlWithPAR
  : client.buildAuthorizationUrl;
const sessions = createSessions<Session>('SESSION', () => ({}));

await listen({
  name: 'openid-client',
  port,
  issuer,
  explain: (error) => String(error),
  routes: {
    async 'GET /'(request, response) {
      const visitor = sessions.find(request)?.visitor;
      if (visitor) return send(response, 200, homePage(visitor, { refreshes: true }));
      const checks = {
        pkceCodeVerifier: client.randomPKCECodeVerifier(),
        expectedState: client.randomState(),
        expectedNonce: client.randomNonce(),
      };
      sessions.begin(response).checks = checks;
      const target = await begin(provider, {
        redirect_uri: `${url}/callback`,
        scope: 'openid profile email',
        code_challenge: await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
        code_challenge_method: 'S256',
        state: checks.expectedState,
        nonce: checks.expectedNonce,
      });
      redirect(response, target.href);
    },
    async 'GET /callback'(request, response, address) {
      const checks = sessions.find(request)?.checks;
      if (!checks) return redirect(response, '/');
      const tokens = await client.authorizationCodeGrant(provider, address, { ...checks, idTokenExpected: true });
      const { sub } = tokens.claims()!;
      const { name, email } = await client.fetchUserInfo(provider, tokens.access_token, sub);
      sessions.forget(request);
      const session = sessions.begin(response);
      session.visitor = { sub, name: name ?? '', email: email ?? '', accessToken: tokens.access_token };
      session.refreshToken = tokens.refresh_token;
      session.idToken = tokens.id_token;
      redirect(response, '/');
    },
    async 'POST /refresh'(request, response) {
      const session = sessions.find(request);
      if (!session?.visitor || session.refreshToken === undefined) return redirect(response, '/');
      const tokens = await client.refreshTokenGrant(provider, session.refreshToken);
      session.refreshToken = tokens.refresh_token ?? session.refreshToken;
      session.visitor.accessToken = tokens.access_token;
      redirect(response, '/');
    },
    'POST /sign-out'(request, response) {
      const idToken = sessions.find(request)?.idToken;
      sessions.forget(request);
      const target = client.buildEndSessionUrl(provider, {
        post_logout_redirect_uri: `${url}/signed-out`,
        ...(idToken !== undefined && { id_token_hint: idToken }),
      });
      redirect(response, target.href);
    },
    'GET /signed-out': (_, response) => send(response, 200, signedOutPage),
  },
});
