// Runs an application of oauth4webapi: each step of the protocol is a call of its own, and the ID Token's signature is checked too.
import * as oauth from 'oauth4webapi';
import { createSessions, listen, redirect, send } from '../../../demo/web.ts';
import { clientId, clientSecret, issuer, port, url } from '../environment.ts';
import { homePage, signedOutPage, type Visitor } from '../pages.ts';

interface Session {
  checks?: { codeVerifier: string; state: string; nonce: string };
  visitor?: Visitor;
  refreshToken?: string | undefined;
  idToken?: string | undefined;
}

const insecure = { [oauth.allowInsecureRequests]: true };
const as = await oauth.processDiscoveryResponse(
  new URL(issuer),
  await oauth.discoveryRequest(new URL(issuer), insecure),
);
const client: oauth.Client = { client_id: clientId };
const authentication = oauth.ClientSecretBasic(clientSecret);
const redirectUri = `${url}/callback`;
const sessions = createSessions<Session>('SESSION', () => ({}));

await listen({
  name: 'oauth4webapi',
  port,
  issuer,
  explain: (error) => String(error),
  routes: {
    async 'GET /'(request, response) {
      const visitor = sessions.find(request)?.visitor;
      if (visitor) return send(response, 200, homePage(visitor, { refreshes: true }));
      const checks = {
        codeVerifier: oauth.generateRandomCodeVerifier(),
        state: oauth.generateRandomState(),
        nonce: oauth.generateRandomNonce(),
      };
      sessions.begin(response).checks = checks;
      const target = new URL(as.authorization_endpoint!);
      target.search = new URLSearchParams({
        client_id: clientId,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'openid profile email',
        code_challenge: await oauth.calculatePKCECodeChallenge(checks.codeVerifier),
        code_challenge_method: 'S256',
        state: checks.state,
        nonce: checks.nonce,
      }).toString();
      redirect(response, target.href);
    },
    async 'GET /callback'(request, response, address) {
      const checks = sessions.find(request)?.checks;
      if (!checks) return redirect(response, '/');
      const parameters = oauth.validateAuthResponse(as, client, address, checks.state);
      const answer = await oauth.authorizationCodeGrantRequest(
        as,
        client,
        authentication,
        parameters,
        redirectUri,
        checks.codeVerifier,
        insecure,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(as, client, answer, {
        expectedNonce: checks.nonce,
        requireIdToken: true,
      });
      await oauth.validateApplicationLevelSignature(as, answer, insecure);
      const { sub } = oauth.getValidatedIdTokenClaims(tokens)!;
      const userInfo = await oauth.userInfoRequest(as, client, tokens.access_token, insecure);
      const { name, email } = await oauth.processUserInfoResponse(as, client, sub, userInfo);
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
      const answer = await oauth.refreshTokenGrantRequest(as, client, authentication, session.refreshToken, insecure);
      const tokens = await oauth.processRefreshTokenResponse(as, client, answer);
      session.refreshToken = tokens.refresh_token ?? session.refreshToken;
      session.visitor.accessToken = tokens.access_token;
      redirect(response, '/');
    },
    'POST /sign-out'(request, response) {
      const idToken = sessions.find(request)?.idToken;
      sessions.forget(request);
      const target = new URL(as.end_session_endpoint!);
      target.searchParams.set('post_logout_redirect_uri', `${url}/signed-out`);
      if (idToken !== undefined) target.searchParams.set('id_token_hint', idToken);
      redirect(response, target.href);
    },
    'GET /signed-out': (_, response) => send(response, 200, signedOutPage),
  },
});
