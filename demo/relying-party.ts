// Runs a sample application that signs users in by OpenID Connect: it registers itself, keeps its sessions in memory, and signs out.
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as oidc from 'openid-client';
import { type Approve, registered, type SecretRegistration } from './registration.ts';
import { homePage, problemPage, type SignedIn, type TokenSet } from './views.ts';
import { createSessions, keepAtMost, listen, redirect, send } from './web.ts';

/** The application's registration, as it stores it. */
export interface RelyingPartyOptions {
  issuer: string;
  /** 0 for any free one. */
  port: number;
  /** The registration of an earlier start; used again while the service knows it. */
  registration?: SecretRegistration | undefined;
  /** Called when a registration waits for an administrator. */
  approve: Approve;
}

export interface RelyingParty {
  url: string;
  registration: SecretRegistration;
  stop(): Promise<void>;
}

/** One browser's session. */
interface Session {
  /** Sign-ins begun in this browser, by their state. */
  begun: Map<string, { nonce: string; codeVerifier: string }>;
  signedIn?: SignedIn;
  /** The state of a sign-out in progress. */
  signOutState?: string;
  /** A message for the next page. */
  notice?: 'signed-out' | 'refreshed' | 'denied';
}

const clientName = 'Harbour';
const scope = 'openid profile email address phone scope';
const maxBegun = 10;

/** @throws the system's error when the port is taken, or openid-client's when the service refuses */
export async function startRelyingParty(options: RelyingPartyOptions): Promise<RelyingParty> {
  const { issuer } = options;
  const sessions = createSessions<Session>('HARBOUR_SESSION', () => ({ begun: new Map() }));
  let provider: oidc.Configuration;
  const { url, stop } = await listen({
    name: clientName,
    port: options.port,
    issuer,
    routes: {
      'GET /': home,
      'POST /sign-in': signIn,
      'GET /callback': callback,
      'POST /refresh': refresh,
      'POST /sign-out': signOut,
      'GET /signed-out': signedOut,
    },
    explain,
  });
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

  function home(request: IncomingMessage, response: ServerResponse): void {
    const session = sessions.find(request);
    const notice = session?.notice;
    if (session) delete session.notice;
    send(response, 200, homePage({ issuer, signedIn: session?.signedIn, notice }));
  }

  async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = sessions.find(request) ?? sessions.begin(response);
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
    const session = sessions.find(request);
    const state = address.searchParams.get('state') ?? '';
    const checks = session?.begun.get(state);
    if (!session || !checks) {
      return send(
        response,
        400,
        problemPage(clientName, 'This sign-in did not begin in this browser, or it is finished already.'),
      );
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
      // a new session for the user: the old cookie no longer works
      sessions.forget(request);
      sessions.begin(response).signedIn = { idToken, userInfo, tokens: tokenSet(tokens) };
    } catch (error) {
      if (!(error instanceof oidc.AuthorizationResponseError) || error.error !== 'access_denied') throw error;
      session.notice = 'denied';
    }
    redirect(response, '/');
  }

  async function refresh(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = sessions.find(request);
    const refreshToken = session?.signedIn?.tokens.refreshToken;
    if (!session?.signedIn || refreshToken === undefined) return redirect(response, '/');
    const { idToken, tokens: before } = session.signedIn;
    const tokens = await oidc.refreshTokenGrant(provider, refreshToken);
    const userInfo = await oidc.fetchUserInfo(provider, tokens.access_token, idToken.sub);
    session.signedIn = {
      idToken: tokens.claims() ?? idToken,
      userInfo,
      // tokens that an answer omits stay as they were (RFC 6749 6)
      tokens: { ...before, ...tokenSet(tokens) },
      before,
    };
    session.notice = 'refreshed';
    redirect(response, '/');
  }

  function signOut(request: IncomingMessage, response: ServerResponse): void {
    const signedIn = sessions.find(request)?.signedIn;
    sessions.forget(request);
    const session = sessions.begin(response);
    session.signOutState = oidc.randomState();
    const target = oidc.buildEndSessionUrl(provider, {
      post_logout_redirect_uri: `${url}/signed-out`,
      state: session.signOutState,
      ...(signedIn && { id_token_hint: signedIn.tokens.idToken }),
    });
    redirect(response, target.href);
  }

  function signedOut(request: IncomingMessage, response: ServerResponse, address: URL): void {
    const session = sessions.find(request);
    if (session?.signOutState !== undefined && session.signOutState === address.searchParams.get('state')) {
      delete session.signOutState;
      session.notice = 'signed-out';
    }
    redirect(response, '/');
  }
}

/** Uses the registration of an earlier start while it is valid, else registers anew (OpenID Connect Dynamic Client Registration 1.0). */
const register = ({ issuer, approve, registration }: RelyingPartyOptions, url: string): Promise<SecretRegistration> =>
  registered(
    registration,
    { issuer, url, approve },
    {
      client_name: clientName,
      client_uri: url,
      logo_uri: `${url}/logo.svg`,
      redirect_uris: [`${url}/callback`],
      post_logout_redirect_uris: [`${url}/signed-out`],
      grant_types: ['authorization_code', 'refresh_token'],
      require_pkce: true,
      scope,
    },
  );

function tokenSet(tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers): TokenSet {
  const lifetime = tokens.expiresIn();
  return {
    accessToken: tokens.access_token,
    expiresAt: lifetime === undefined ? undefined : new Date(Date.now() + lifetime * 1000),
    ...(tokens.refresh_token !== undefined && { refreshToken: tokens.refresh_token }),
    ...(tokens.id_token !== undefined && { idToken: tokens.id_token }),
  };
}

function explain(error: unknown): string {
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError) {
    return error.error_description ?? error.error;
  }
  return error instanceof Error ? error.message : String(error);
}
