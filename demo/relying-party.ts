// A sample application that signs people in by OpenID Connect: registers itself, keeps its sessions in memory, signs out.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as oidc from 'openid-client';
import { homePage, problemPage, type SignedIn, type TokenSet } from './views.ts';

/** The application's registration, as it keeps it. */
export interface Registration {
  issuer: string;
  /** The application's own address, on which its registered addresses hang. */
  url: string;
  client_id: string;
  client_secret: string;
  registration_access_token: string;
  registration_client_uri: string;
}

export interface RelyingPartyOptions {
  issuer: string;
  /** 0 for any free one. */
  port: number;
  /** Of an earlier start; used again while the service knows it. */
  registration?: Registration | undefined;
  /** Is called when a registration waits for an administrator. */
  approve(clientId: string): Promise<void>;
}

export interface RelyingParty {
  url: string;
  registration: Registration;
  stop(): Promise<void>;
}

/** One browser's session. */
interface Session {
  /** Sign-ins begun in this browser, by their state. */
  begun: Map<string, { nonce: string; codeVerifier: string }>;
  signedIn?: SignedIn;
  /** Of a sign-out that was begun. */
  signOutState?: string;
  /** Said once, on the next page. */
  notice?: 'signed-out' | 'refreshed' | 'denied';
}

const clientName = 'Harbour';
const scope = 'openid profile email address phone scope';
const cookieName = 'HARBOUR_SESSION';
const maxSessions = 1000;
const maxBegun = 10;

const file = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
const assets: Record<string, { type: string; body: string }> = {
  '/style.css': { type: 'text/css; charset=utf-8', body: file('style.css') },
  '/logo.svg': { type: 'image/svg+xml', body: file('logo.svg') },
};

/** @throws the system's error when the port is taken, or openid-client's when the service refuses */
export async function startRelyingParty(options: RelyingPartyOptions): Promise<RelyingParty> {
  const { issuer } = options;
  const sessions = new Map<string, Session>();
  let provider: oidc.Configuration;
  let url = '';

  const server = createServer((request, response) => {
    response.setHeader('content-security-policy', policy());
    response.setHeader('x-content-type-options', 'nosniff');
    response.setHeader('referrer-policy', 'same-origin');
    response.setHeader('cache-control', 'no-store');
    answer(request, response).catch((error: unknown) => {
      process.stderr.write(`Harbour: ${explain(error)}\n`);
      send(response, 500, problemPage(`That did not work: ${explain(error)}`));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = async (): Promise<void> => {
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  };
  try {
    const registration = await register(options, url);
    provider = await oidc.discovery(
      new URL(issuer),
      registration.client_id,
      registration.client_secret,
      oidc.ClientSecretBasic(registration.client_secret),
      // the ID Token's signature is checked, though it comes from the token endpoint itself
      { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks], timeout: 10 },
    );
    return { url, registration, stop };
  } catch (error) {
    await stop();
    throw error;
  }

  /** Forms lead to this application, and by a redirect to the service. */
  function policy(): string {
    return `default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' ${new URL(issuer).origin}; base-uri 'none'; frame-ancestors 'none'`;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = new URL(request.url ?? '/', url);
    const asset = assets[address.pathname];
    switch (`${request.method} ${address.pathname}`) {
      case 'GET /':
        return home(request, response);
      case 'POST /sign-in':
        return signIn(request, response);
      case 'GET /callback':
        return callback(request, response, address);
      case 'POST /refresh':
        return refresh(request, response);
      case 'POST /sign-out':
        return signOut(request, response);
      case 'GET /signed-out':
        return signedOut(request, response, address);
      default:
        if (asset && request.method === 'GET') {
          response.writeHead(200, { 'content-type': asset.type, 'cross-origin-resource-policy': 'cross-origin' });
          response.end(asset.body);
          return;
        }
        return send(response, 404, problemPage('There is nothing at this address.'));
    }
  }

  function home(request: IncomingMessage, response: ServerResponse): void {
    const session = find(request);
    const notice = session?.notice;
    if (session) delete session.notice;
    send(response, 200, homePage({ issuer, signedIn: session?.signedIn, notice }));
  }

  async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isOwnForm(request)) return refuse(response);
    const session = find(request) ?? begin(response);
    const codeVerifier = oidc.randomPKCECodeVerifier();
    const state = oidc.randomState();
    const nonce = oidc.randomNonce();
    keepAtMost(session.begun, maxBegun - 1);
    session.begun.set(state, { nonce, codeVerifier });
    const target = oidc.buildAuthorizationUrl(provider, {
      redirect_uri: `${url}/callback`,
      scope,
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
    });
    redirect(response, target.href);
  }

  async function callback(request: IncomingMessage, response: ServerResponse, address: URL): Promise<void> {
    const session = find(request);
    const state = address.searchParams.get('state') ?? '';
    const checks = session?.begun.get(state);
    if (!session || !checks) {
      return send(response, 400, problemPage('This sign-in did not begin in this browser, or it is finished already.'));
    }
    session.begun.delete(state);
    try {
      const tokens = await oidc.authorizationCodeGrant(provider, address, {
        expectedState: state,
        expectedNonce: checks.nonce,
        pkceCodeVerifier: checks.codeVerifier,
        idTokenExpected: true,
      });
      const idToken = tokens.claims()!;
      const userInfo = await oidc.fetchUserInfo(provider, tokens.access_token, idToken.sub);
      // a new session for the person: whoever knew the old cookie does not know this one
      forget(request);
      begin(response).signedIn = { idToken, userInfo, tokens: tokenSet(tokens) };
    } catch (error) {
      if (!(error instanceof oidc.AuthorizationResponseError) || error.error !== 'access_denied') throw error;
      session.notice = 'denied';
    }
    redirect(response, '/');
  }

  async function refresh(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isOwnForm(request)) return refuse(response);
    const session = find(request);
    const refreshToken = session?.signedIn?.tokens.refreshToken;
    if (!session?.signedIn || refreshToken === undefined) return redirect(response, '/');
    const { idToken, tokens: before } = session.signedIn;
    const tokens = await oidc.refreshTokenGrant(provider, refreshToken);
    const userInfo = await oidc.fetchUserInfo(provider, tokens.access_token, idToken.sub);
    session.signedIn = {
      idToken: tokens.claims() ?? idToken,
      userInfo,
      // what an answer leaves out stays as it was (RFC 6749 6)
      tokens: { ...before, ...tokenSet(tokens) },
      before,
    };
    session.notice = 'refreshed';
    redirect(response, '/');
  }

  function signOut(request: IncomingMessage, response: ServerResponse): void {
    if (!isOwnForm(request)) return refuse(response);
    const signedIn = find(request)?.signedIn;
    forget(request);
    const session = begin(response);
    session.signOutState = oidc.randomState();
    const target = oidc.buildEndSessionUrl(provider, {
      post_logout_redirect_uri: `${url}/signed-out`,
      state: session.signOutState,
      ...(signedIn && { id_token_hint: signedIn.tokens.idToken }),
    });
    redirect(response, target.href);
  }

  function signedOut(request: IncomingMessage, response: ServerResponse, address: URL): void {
    const session = find(request);
    if (session?.signOutState !== undefined && session.signOutState === address.searchParams.get('state')) {
      delete session.signOutState;
      session.notice = 'signed-out';
    }
    redirect(response, '/');
  }

  function find(request: IncomingMessage): Session | undefined {
    return sessions.get(cookieOf(request) ?? '');
  }

  function begin(response: ServerResponse): Session {
    keepAtMost(sessions, maxSessions - 1);
    const id = randomBytes(32).toString('base64url');
    const session: Session = { begun: new Map() };
    sessions.set(id, session);
    // an application on https adds Secure
    response.setHeader('set-cookie', `${cookieName}=${id}; Path=/; HttpOnly; SameSite=Lax`);
    return session;
  }

  function forget(request: IncomingMessage): void {
    sessions.delete(cookieOf(request) ?? '');
  }
}

/** Uses the registration of an earlier start while it holds, else registers anew (OpenID Connect Dynamic Client Registration 1.0). */
async function register(options: RelyingPartyOptions, url: string): Promise<Registration> {
  const { issuer, registration: kept, approve } = options;
  if (kept?.issuer === issuer && kept.url === url) {
    const known = await askRegistration(kept, 'GET');
    if (known.ok) {
      const { status } = (await known.json()) as { status?: string };
      if (status === 'disabled') await approve(kept.client_id);
      return kept;
    }
  }
  const registered = await oidc.dynamicClientRegistration(
    new URL(issuer),
    {
      client_name: clientName,
      client_uri: url,
      logo_uri: `${url}/logo.svg`,
      redirect_uris: [`${url}/callback`],
      post_logout_redirect_uris: [`${url}/signed-out`],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_basic',
      require_pkce: true,
      scope,
    },
    undefined,
    { execute: [oidc.allowInsecureRequests], timeout: 10 },
  );
  const metadata = registered.clientMetadata();
  const registration: Registration = {
    issuer,
    url,
    client_id: metadata.client_id,
    client_secret: String(metadata.client_secret),
    registration_access_token: String(metadata['registration_access_token']),
    registration_client_uri: String(metadata['registration_client_uri']),
  };
  if (metadata['status'] === 'disabled') {
    await approve(metadata.client_id).catch(async (error: unknown) => {
      // nothing is left behind that nobody will use (RFC 7592 2.3)
      await askRegistration(registration, 'DELETE').catch(() => undefined);
      throw error;
    });
  }
  return registration;
}

/** The client configuration endpoint (RFC 7592 2). */
function askRegistration(registration: Registration, method: 'GET' | 'DELETE'): Promise<Response> {
  return fetch(registration.registration_client_uri, {
    method,
    headers: { authorization: `Bearer ${registration.registration_access_token}` },
  });
}

function tokenSet(tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers): TokenSet {
  const lifetime = tokens.expiresIn();
  return {
    accessToken: tokens.access_token,
    expiresAt: lifetime === undefined ? undefined : new Date(Date.now() + lifetime * 1000),
    ...(tokens.refresh_token !== undefined && { refreshToken: tokens.refresh_token }),
    ...(tokens.id_token !== undefined && { idToken: tokens.id_token }),
  };
}

/** A form of this application, not of a page elsewhere; the cookie's SameSite says the same to older browsers. */
function isOwnForm(request: IncomingMessage): boolean {
  const site = request.headers['sec-fetch-site'];
  return site === undefined || site === 'same-origin';
}

function refuse(response: ServerResponse): void {
  send(response, 403, problemPage('That form did not come from this application.'));
}

/** Makes room: the oldest go. */
function keepAtMost(map: Map<string, unknown>, count: number): void {
  for (const key of map.keys()) {
    if (map.size <= count) return;
    map.delete(key);
  }
}

function cookieOf(request: IncomingMessage): string | undefined {
  return new RegExp(`(?:^|; )${cookieName}=([A-Za-z0-9_-]{43})(?:;|$)`).exec(request.headers.cookie ?? '')?.[1];
}

function send(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' });
  response.end(html);
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { location });
  response.end();
}

function explain(error: unknown): string {
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError) {
    return error.error_description ?? error.error;
  }
  return error instanceof Error ? error.message : String(error);
}
