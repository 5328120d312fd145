// Runs a sample enterprise application server: it admits the members of one group, with the authorization code as its only credential.
import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SignJWT } from 'jose';
import {
  clientName,
  deniedPage,
  insidePage,
  type Notice,
  type Theme,
  themes,
  welcomePage,
} from './application-views.ts';
import { type Approve, approveNew, type Registered, reuse } from './registration.ts';
import { problemPage } from './views.ts';
import { createSessions, keepAtMost, listen, readForm, redirect, send } from './web.ts';

/** The application's registration, as it stores it. It holds no client secret: this application never needs one. */
export interface ApplicationRegistration extends Registered {
  /** Signs end-session requests, and nothing else. */
  shared_secret: string;
  /** The provider's page for users without access. */
  access_denied_uri: string;
}

export interface ApplicationServerOptions {
  issuer: string;
  /** 0 for any free one. */
  port: number;
  /** The registration of an earlier start; used again while the service knows it. */
  registration?: ApplicationRegistration | undefined;
  /** Called when a registration waits for an administrator. */
  approve: Approve;
}

export interface ApplicationServer {
  url: string;
  registration: ApplicationRegistration;
  stop(): Promise<void>;
}

/** One browser's session. */
interface Session {
  /** The states of sign-ins begun in this browser. */
  begun: Map<string, true>;
  /** The user of the session, and the authorization code, which is the handle to this user at the provider. */
  signedIn?: { sub: string; code: string };
  /** The state of a sign-out in progress. */
  signOutState?: string;
  /** A message for the next page. */
  notice?: Notice;
}

/** The provider's answer about a user (UserScope). */
interface UserScope {
  sub: string;
  username: string;
  /** The groups. */
  scope: string[];
}

/** The settings that the provider stores for a user and this application (UserSetting). */
interface Settings {
  /** The user for whom the code was issued. */
  sub: string;
  /** The client to which the code was issued. */
  client_id: string;
  settings: Record<string, unknown>;
}

/** The provider no longer knows the handle: the user signed out, was disabled, or withdrew the consent. */
class HandleEnded extends Error {}

/** The group whose members have access. */
export const admittedGroup = 'harbour-masters';

const scope = 'openid profile scope';
const maxBegun = 10;
const maxForm = 1000; // bytes

/** @throws the system's error when the port is taken, or one with the service's refusal */
export async function startApplicationServer(options: ApplicationServerOptions): Promise<ApplicationServer> {
  const { issuer } = options;
  const sessions = createSessions<Session>('BERTHS_SESSION', () => ({ begun: new Map() }));
  const { url, stop } = await listen({
    name: clientName,
    port: options.port,
    issuer,
    routes: {
      'GET /': home,
      'POST /sign-in': signIn,
      'GET /callback': callback,
      'POST /settings': changeSettings,
      'POST /sign-out': signOut,
      'GET /signed-out': signedOut,
    },
    explain: (error) => (error instanceof Error ? error.message : String(error)),
  });
  let provider: Provider;
  let registration: ApplicationRegistration;
  try {
    provider = await discover(issuer);
    registration = await register(options, provider, url);
    return { url, registration, stop };
  } catch (error) {
    await stop();
    throw error;
  }

  /** Requests the groups for each page: a user who leaves the group loses access with the next click. */
  async function home(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = sessions.find(request);
    const notice = session?.notice;
    if (session) delete session.notice;
    if (!session?.signedIn) return send(response, 200, welcomePage({ issuer, group: admittedGroup, notice }));
    const { code } = session.signedIn;
    try {
      const user = await provider.userScope(code);
      const page = { username: user.username, group: admittedGroup };
      if (!user.scope.includes(admittedGroup)) {
        const accessDenied = `${registration.access_denied_uri}?${new URLSearchParams({ client_id: registration.client_id }).toString()}`;
        return send(response, 403, deniedPage({ ...page, accessDenied }));
      }
      const theme = themeOf((await provider.settings(code)).settings['theme']);
      send(response, 200, insidePage({ ...page, groups: user.scope, theme, notice }));
    } catch (error) {
      endIfHandleEnded(error, session);
      redirect(response, '/');
    }
  }

  function signIn(request: IncomingMessage, response: ServerResponse): void {
    const session = sessions.find(request) ?? sessions.begin(response);
    const state = newState();
    keepAtMost(session.begun, maxBegun - 1);
    session.begun.set(state, true);
    const { client_id } = registration;
    const redirect_uri = `${url}/callback`;
    redirect(response, provider.authorize({ response_type: 'code', client_id, redirect_uri, scope, state }));
  }

  async function callback(request: IncomingMessage, response: ServerResponse, address: URL): Promise<void> {
    const session = sessions.find(request);
    const answer = (parameter: string): string | undefined => {
      const [value, ...more] = address.searchParams.getAll(parameter);
      return more.length === 0 ? value : undefined;
    };
    if (!session?.begun.delete(answer('state') ?? '')) {
      const sentence = 'This sign-in did not begin in this browser, or it is finished already.';
      return send(response, 400, problemPage(clientName, sentence));
    }
    // the answer of another provider, mixed up with ours (RFC 9207 2.4)
    if (answer('iss') !== issuer) {
      return send(response, 400, problemPage(clientName, 'That answer came from another provider.'));
    }
    const code = answer('code');
    if (code === undefined) {
      if (answer('error') !== 'access_denied') throw new Error(answer('error_description') ?? 'There is no code in it');
      session.notice = 'denied';
      return redirect(response, '/');
    }
    // the first use, within the code's minute, makes it the handle
    const { sub, client_id } = await provider.settings(code);
    // a code issued to another application and injected here would give access to another user's account
    if (client_id !== registration.client_id) {
      return send(response, 400, problemPage(clientName, 'That answer was for another application.'));
    }
    // a new session for the user: the old cookie no longer works
    sessions.forget(request);
    sessions.begin(response).signedIn = { sub, code };
    redirect(response, '/');
  }

  async function changeSettings(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = sessions.find(request);
    if (!session?.signedIn) return redirect(response, '/');
    const { code } = session.signedIn;
    if (!(Number(request.headers['content-length']) <= maxForm)) {
      return send(response, 413, problemPage(clientName, 'That form is too long.'));
    }
    const theme = (await readForm(request)).get('theme');
    try {
      if (!(await provider.userScope(code)).scope.includes(admittedGroup)) return redirect(response, '/');
      // null removes the key
      await provider.changeSettings(code, { theme: themeOf(theme) ?? null });
      session.notice = 'kept';
    } catch (error) {
      endIfHandleEnded(error, session);
    }
    redirect(response, '/');
  }

  /** Signs out here, then sends the browser to the provider with a signed request that ends this application's session there. */
  async function signOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const signedIn = sessions.find(request)?.signedIn;
    sessions.forget(request);
    const session = sessions.begin(response);
    // the provider answers a request about a session that is over with an error, which is not a page for users
    if (!signedIn || !(await isAlive(signedIn.code))) {
      session.notice = 'signed-out';
      return redirect(response, '/');
    }
    session.signOutState = newState();
    const ending = await new SignJWT({
      redirect_uri: `${url}/signed-out`,
      state: session.signOutState,
      sub: signedIn.sub,
    })
      .setProtectedHeader({ alg: 'HS256', typ: 'end-session+jwt' })
      .setIssuer(registration.client_id)
      .setAudience(issuer)
      .setIssuedAt()
      .setExpirationTime('60s')
      .setJti(randomUUID())
      .sign(Buffer.from(registration.shared_secret));
    redirect(response, provider.endSession(ending));
  }

  function signedOut(request: IncomingMessage, response: ServerResponse, address: URL): void {
    const session = sessions.find(request);
    if (session?.signOutState !== undefined && session.signOutState === address.searchParams.get('state')) {
      delete session.signOutState;
      session.notice = 'signed-out';
    }
    redirect(response, '/');
  }

  async function isAlive(code: string): Promise<boolean> {
    try {
      await provider.userScope(code);
      return true;
    } catch (error) {
      if (error instanceof HandleEnded) return false;
      throw error;
    }
  }
}

function endIfHandleEnded(error: unknown, session: Session): void {
  if (!(error instanceof HandleEnded)) throw error;
  delete session.signedIn;
  session.notice = 'ended';
}

type Provider = Awaited<ReturnType<typeof discover>>;

/** The provider's addresses from its OAuth server metadata (RFC 8414), by the operations of this application. */
async function discover(issuer: string) {
  const response = await fetch(`${issuer}/.well-known/oauth-authorization-server`, { signal: soon() });
  const metadata = (await response.json()) as Record<string, unknown>;
  if (metadata['issuer'] !== issuer) throw new Error(`There is no provider at ${issuer}.`);
  const address = (member: string): string => {
    const value = metadata[member];
    if (typeof value !== 'string') throw new Error(`The provider at ${issuer} has no ${member}.`);
    return value.replace('{sub}', 'me');
  };
  const withQuery = (member: string, query: Record<string, string>): string =>
    `${address(member)}?${new URLSearchParams(query).toString()}`;
  return {
    registration: address('registration_endpoint'),
    authorize: (query: Record<string, string>): string => withQuery('authorization_endpoint', query),
    endSession: (request: string): string => withQuery('client_end_session_endpoint', { request }),
    userScope: async (code: string): Promise<UserScope> =>
      (await (await withHandle(address('user_scope_endpoint'), code)).json()) as UserScope,
    settings: async (code: string): Promise<Settings> =>
      (await (await withHandle(address('user_settings_endpoint'), code)).json()) as Settings,
    async changeSettings(code: string, settings: Record<string, unknown>): Promise<void> {
      await withHandle(address('user_settings_endpoint'), code, {
        method: 'PUT',
        body: JSON.stringify({ settings }),
        headers: { 'content-type': 'application/json' },
      });
    },
  };
}

/**
 * Requests the user's data from the provider with the code as Bearer; the code never appears in an address or a body.
 * @throws HandleEnded, or the provider's error
 */
async function withHandle(
  address: string,
  code: string,
  init: RequestInit & { headers?: Record<string, string> } = {},
): Promise<Response> {
  const response = await fetch(address, {
    ...init,
    headers: { ...init.headers, authorization: `Bearer ${code}` },
    signal: soon(),
    redirect: 'error',
  });
  if (response.status === 401) throw new HandleEnded('The provider does not take the code: sign in again');
  if (!response.ok) throw await refusal(response);
  return response;
}

/** Uses the registration of an earlier start while it is valid, else registers anew (RFC 7591). */
async function register(
  options: ApplicationServerOptions,
  provider: Provider,
  url: string,
): Promise<ApplicationRegistration> {
  const { issuer, approve } = options;
  const kept = await reuse(options.registration, { issuer, url, approve });
  if (kept) return kept;
  const response = await fetch(provider.registration, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: clientName,
      client_uri: url,
      logo_uri: `${url}/logo.svg`,
      redirect_uris: [`${url}/callback`],
      post_logout_redirect_uris: [`${url}/signed-out`],
      uma_profile: true,
      scope,
    }),
    signal: soon(),
  });
  if (!response.ok) throw await refusal(response);
  const { status, ...answer } = (await response.json()) as ApplicationRegistration & { status: string };
  const registration: ApplicationRegistration = {
    issuer,
    url,
    client_id: answer.client_id,
    shared_secret: answer.shared_secret,
    access_denied_uri: answer.access_denied_uri,
    registration_access_token: answer.registration_access_token,
    registration_client_uri: answer.registration_client_uri,
  };
  if (status === 'disabled') await approveNew(registration, approve);
  return registration;
}

async function refusal(response: Response): Promise<Error> {
  const body = (await response.json().catch(() => ({}))) as { error_description?: unknown };
  const said = typeof body.error_description === 'string' ? body.error_description : `status ${response.status}`;
  return new Error(`The provider refused: ${said}`);
}

const themeOf = (value: unknown): Theme | undefined => themes.find((theme) => theme === value);
const newState = (): string => randomBytes(32).toString('base64url');
const soon = (): AbortSignal => AbortSignal.timeout(10_000);
