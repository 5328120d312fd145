// Runs an OpenID Provider that tells the truth, or any lie that a test asks for, and counts the requests to each of its addresses.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { codeChallenge } from '../../src/oauth/pkce.ts';

type Claims = Record<string, unknown>;
export type Path = 'discovery' | 'authorize' | 'token' | 'jwks' | 'userinfo' | 'par' | 'end_session';

/** What the provider says next. Each member replaces the truth; undefined leaves a claim out. */
export interface Lies {
  /** Members of the discovery document. */
  discovery?: Claims;
  /** Parameters of the answer to the browser. */
  answer?: Record<string, string | undefined>;
  /** Claims of the ID Token. */
  idToken?: Claims;
  /** The header of the ID Token. */
  header?: Claims;
  /** Makes the whole ID Token out of its claims. */
  sign?: (claims: Claims) => Promise<string> | string;
  /** Members of the token response. */
  tokens?: Claims;
  /** Claims of UserInfo. */
  userInfo?: Claims;
  /** Writes the whole answer at one of the addresses. */
  write?: Partial<Record<Path, (response: ServerResponse) => void>>;
}

/** A request of this service that the provider saw. */
interface Seen {
  path: Path;
  query: Record<string, string>;
  form: Record<string, string>;
  authorization: string | undefined;
}

export type Provider = Awaited<ReturnType<typeof startProvider>>;

export const providerClient = { id: 'gatehouse', secret: 'canary-of-the-client-secret-4f2a' };

/** @param user the claims of the user who is signed in there */
export async function startProvider(user: Claims = { sub: 'honest-1' }) {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
  const codes = new Map<string, { nonce: string; challenge: string; redirectUri: string }>();
  const pushed = new Map<string, Record<string, string>>();
  const seen: Seen[] = [];
  let [refreshes, tokens] = [0, 0];
  const state: { user: Claims; lies: Lies; keys: JWK[] } = { user, lies: {}, keys: [jwk] };
  const json = (response: ServerResponse, body: unknown, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  const merged = (truth: Claims, lies: Claims = {}) =>
    Object.fromEntries(Object.entries({ ...truth, ...lies }).filter(([, value]) => value !== undefined));

  const answers: Record<Path, (request: Seen, response: ServerResponse) => Promise<void> | void> = {
    discovery: (_request, response) =>
      json(
        response,
        merged(
          {
            issuer,
            authorization_endpoint: `${issuer}/authorize`,
            token_endpoint: `${issuer}/token`,
            jwks_uri: `${issuer}/jwks`,
            userinfo_endpoint: `${issuer}/userinfo`,
            end_session_endpoint: `${issuer}/end_session`,
            authorization_response_iss_parameter_supported: true,
          },
          state.lies.discovery,
        ),
      ),
    jwks: (_request, response) => json(response, { keys: state.keys }),
    par(request, response) {
      const uri = `urn:pushed:${pushed.size}`;
      pushed.set(uri, request.form);
      json(response, { request_uri: uri, expires_in: 60 }, 201);
    },
    authorize({ query: given }, response) {
      const query = pushed.get(given['request_uri'] ?? '') ?? given;
      const code = `code-${codes.size}-${Math.random().toString(36).slice(2)}`;
      const { nonce = '', code_challenge: challenge = '', redirect_uri: redirectUri = '', state: sent = '' } = query;
      codes.set(code, { nonce, challenge, redirectUri });
      const target = new URL(redirectUri);
      const answer = merged({ code, state: sent, iss: issuer }, state.lies.answer) as Record<string, string>;
      for (const [name, value] of Object.entries(answer)) target.searchParams.set(name, value);
      response.writeHead(302, { location: target.href }).end();
    },
    async token({ form, authorization }, response) {
      const expected = `Basic ${Buffer.from(`${providerClient.id}:${providerClient.secret}`).toString('base64')}`;
      const isClient = authorization === expected || form['client_secret'] === providerClient.secret;
      if (!isClient) return json(response, { error: 'invalid_client' }, 401);
      if (form['grant_type'] === 'refresh_token') {
        const given = { access_token: `refreshed-${++refreshes}`, token_type: 'Bearer', expires_in: 3600 };
        return json(response, merged(given, state.lies.tokens));
      }
      const found = codes.get(form['code'] ?? '');
      codes.delete(form['code'] ?? '');
      if (
        !found ||
        form['redirect_uri'] !== found.redirectUri ||
        codeChallenge(form['code_verifier'] ?? '') !== found.challenge
      )
        return json(response, { error: 'invalid_grant' }, 400);
      const now = Math.floor(Date.now() / 1000);
      const truth = {
        iss: issuer,
        aud: providerClient.id,
        iat: now,
        exp: now + 300,
        nonce: found.nonce,
        ...state.user,
      };
      const claims = merged(truth, state.lies.idToken);
      const header = merged({ alg: 'RS256', kid: 'k1' }, state.lies.header);
      const id_token = state.lies.sign
        ? await state.lies.sign(claims)
        : await new SignJWT(claims as never).setProtectedHeader(header as never).sign(privateKey);
      const given = { access_token: 'canary-of-the-access-token-77aa', token_type: 'Bearer', id_token };
      json(response, merged(given, state.lies.tokens));
    },
    userinfo: (_request, response) => json(response, merged({ ...state.user }, state.lies.userInfo)),
    end_session: (_request, response) => void response.writeHead(204).end(),
  };
  const pathOf = (pathname: string): Path | undefined =>
    pathname === '/.well-known/openid-configuration'
      ? 'discovery'
      : (Object.keys(answers) as Path[]).find((path) => pathname === `/${path}`);

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://provider');
    const path = pathOf(url.pathname);
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    if (!path) return void response.writeHead(404).end();
    const entry = {
      path,
      form,
      query: Object.fromEntries(url.searchParams),
      authorization: request.headers.authorization,
    };
    seen.push(entry);
    const write = state.lies.write?.[path];
    if (write) return write(response);
    await answers[path](entry, response);
  }
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  return {
    issuer,
    host: `127.0.0.1:${port}`,
    /** The settings of a connection to it. */
    settings: { issuer, client_id: providerClient.id },
    privateKey,
    publicJwk: jwk,
    seen,
    count: (path: Path) => seen.filter((one) => one.path === path).length,
    last: (path: Path) => seen.findLast((one) => one.path === path),
    /** The user who is signed in there from now on. */
    be(claims: Claims) {
      state.user = claims;
    },
    /** A logout token (OpenID Connect Back-Channel Logout 2.4). @param lies.sign makes the whole token out of its claims */
    async logoutToken(claims: Claims, lies: Pick<Lies, 'header' | 'sign'> = {}): Promise<string> {
      const now = Math.floor(Date.now() / 1000);
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
      const truth = { iss: issuer, aud: providerClient.id, iat: now, exp: now + 120, jti: `jti-${++tokens}`, events };
      const whole = merged(truth, claims);
      if (lies.sign) return lies.sign(whole);
      const header = merged({ alg: 'RS256', kid: 'k1', typ: 'logout+jwt' }, lies.header);
      return new SignJWT(whole as never).setProtectedHeader(header as never).sign(privateKey);
    },
    lie(lies: Lies) {
      state.lies = lies;
    },
    publish(keys: JWK[]) {
      state.keys = keys;
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
