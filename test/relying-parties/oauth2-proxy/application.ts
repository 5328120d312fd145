// Runs an application that leaves sign-in to oauth2-proxy, and the proxy in front of it.
import { spawn } from 'node:child_process';
import { listen, send } from '../../../demo/web.ts';
import { clientId, clientSecret, issuer, port, url } from '../environment.ts';
import { escape, page, signedOutPage } from '../pages.ts';

const program = process.argv[2]!;
const signedOut = new URLSearchParams({ client_id: clientId, post_logout_redirect_uri: `${url}/signed-out` });
const signOut = `/oauth2/sign_out?${new URLSearchParams({ rd: `${issuer}/logout?${signedOut.toString()}` }).toString()}`;

const application = await listen({
  name: 'application',
  port: 0,
  issuer,
  explain: (error) => String(error),
  routes: {
    async 'GET /'(request, response) {
      const accessToken = request.headers['x-forwarded-access-token'] as string;
      // the proxy passes no user name, but a token that fetches it
      const answer = await fetch(`${issuer}/user/info`, { headers: { authorization: `Bearer ${accessToken}` } });
      const { name } = (await answer.json()) as { name: string };
      send(
        response,
        200,
        page(`<h1>Signed in as ${escape(name)}</h1>
          <dl>
            <dt>Subject</dt><dd id="sub">${escape(request.headers['x-forwarded-user'] as string)}</dd>
            <dt>Email</dt><dd id="email">${escape(request.headers['x-forwarded-email'] as string)}</dd>
            <dt>Access token</dt><dd id="access-token">${escape(accessToken)}</dd>
          </dl>
          <p><a href="/">Refresh</a> <a href="${escape(signOut)}">Sign out</a>`),
      );
    },
    'GET /signed-out': (_, response) => send(response, 200, signedOutPage),
  },
});

const proxy = spawn(program, ['--config', 'oauth2-proxy.cfg'], {
  env: {
    OAUTH2_PROXY_HTTP_ADDRESS: `127.0.0.1:${port}`,
    OAUTH2_PROXY_REDIRECT_URL: `${url}/oauth2/callback`,
    OAUTH2_PROXY_UPSTREAMS: application.url,
    OAUTH2_PROXY_OIDC_ISSUER_URL: issuer,
    OAUTH2_PROXY_CLIENT_ID: clientId,
    OAUTH2_PROXY_CLIENT_SECRET: clientSecret,
    OAUTH2_PROXY_COOKIE_SECRET: process.env['SESSION_KEY'],
    // where a browser may be sent after signing out of the proxy
    OAUTH2_PROXY_WHITELIST_DOMAINS: new URL(issuer).host,
  },
  stdio: ['ignore', 'inherit', 'inherit'],
});
proxy.once('exit', (code) => process.exit(code ?? 0));
process.once('SIGTERM', () => proxy.kill());
