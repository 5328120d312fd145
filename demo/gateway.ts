// Runs a sample application, the gateway that it calls, and an API behind the gateway: the gateway exchanges each token that it receives for one of
// that API (RFC 8693).
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { type BerthVisitor, berthPage, type Call } from './gateway-views.ts';
import { type Approve, registered, type SecretRegistration } from './registration.ts';
import { problemPage } from './views.ts';
import { createSessions, keepAtMost, listen, redirect, send } from './web.ts';

/** The two clients: the API behind the gateway is none. */
export interface GatewayRegistrations {
  application: SecretRegistration;
  gateway: SecretRegistration;
}

export interface GatewayOptions {
  issuer: string;
  /** 0 for any free one. */
  port: number;
  /** The registrations of an earlier start; each is used again while the service knows it. */
  registrations?: Partial<GatewayRegistrations> | undefined;
  /** Called when a registration waits for an administrator. */
  approve: Approve;
}

export interface Gateway {
  url: string;
  registrations: GatewayRegistrations;
  stop(): Promise<void>;
}

/** One browser's session. */
interface Session {
  /** Sign-ins begun in this browser, by their state. */
  begun: Map<string, { nonce: string; codeVerifier: string }>;
  visitor?: BerthVisitor & { accessToken: string };
}

const clientName = 'Berth Finder';
const readBerths = 'berths.read';
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
const maxBegun = 10;

/** What an administrator creates for it: the two APIs, and the policy by which the gateway exchanges tokens of the application. */
export function gatewayDeclarations({ application, gateway }: GatewayRegistrations) {
  const [entry, berths] = [`${gateway.url}/gateway`, `${gateway.url}/berths`];
  const description = { en: 'See where your boat lies', de: 'Sehen, wo Ihr Boot liegt', ar: 'معرفة مكان رسوّ قاربك' };
  // the tokens are JWTs, so that the page can show what is in them
  const api = { access_token_format: 'jwt', scopes: [{ value: readBerths, description }] };
  return {
    resources: [
      { resource: entry, name: 'Harbour gateway', client_id: gateway.client_id, clients: 'approved', ...api },
      { resource: berths, name: 'Harbour berths', ...api },
    ],
    policy: {
      name: 'Harbour gateway to berths',
      client_id: gateway.client_id,
      mode: 'delegate',
      subject_clients: [application.client_id],
      resources: [berths],
      scopes: [readBerths],
    },
  };
}

/** @throws the system's error when the port is taken, or openid-client's when the service refuses */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { issuer } = options;
  const sessions = createSessions<Session>('BERTHS_SESSION', () => ({ begun: new Map() }));
  // reads the keys again when a token names one that it does not know
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  let application: oidc.Configuration;
  let gateway: oidc.Configuration;
  const { url, stop } = await listen({
    name: clientName,
    port: options.port,
    issuer,
    routes: {
      'GET /': home,
      'POST /sign-in': signIn,
      'GET /callback': callback,
      'POST /ask-gateway': (request, response) => ask('/gateway', request, response),
      'POST /ask-berths': (request, response) => ask('/berths', request, response),
      'POST /sign-out': signOut,
      'GET /gateway': answerAsGateway,
      'GET /berths': answerAsBerths,
    },
    explain,
  });
  try {
    const registrations = await register(options, url);
    const discover = ({ client_id: id, client_secret: secret }: SecretRegistration) =>
      oidc.discovery(new URL(issuer), id, undefined, oidc.ClientSecretBasic(secret), {
        execute: [oidc.allowInsecureRequests],
        timeout: 10,
      });
    application = await discover(registrations.application);
    gateway = await discover(registrations.gateway);
    return { url, registrations, stop };
  } catch (error) {
    await stop();
    throw error;
  }

  // the application

  function home(request: IncomingMessage, response: ServerResponse): void {
    send(response, 200, berthPage({ issuer, visitor: sessions.find(request)?.visitor }));
  }

  async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = sessions.find(request) ?? sessions.begin(response);
    const codeVerifier = oidc.randomPKCECodeVerifier();
    const state = oidc.randomState();
    const nonce = oidc.randomNonce();
    keepAtMost(session.begun, maxBegun - 1);
    session.begun.set(state, { nonce, codeVerifier });
    const target = oidc.buildAuthorizationUrl(application, {
      redirect_uri: `${url}/callback`,
      scope: `openid profile ${readBerths}`,
      // the token is for the gateway, and for no other API
      resource: `${url}/gateway`,
      // so that it cannot read UserInfo: the name comes in the ID Token (OpenID Connect Core 5.5)
      claims: JSON.stringify({ id_token: { name: null } }),
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
      const problem = 'This sign-in did not begin in this browser, or it is finished already.';
      return send(response, 400, problemPage(clientName, problem));
    }
    session.begun.delete(state);
    try {
      const expected = { expectedState: state, expectedNonce: checks.nonce, pkceCodeVerifier: checks.codeVerifier };
      const tokens = await oidc.authorizationCodeGrant(application, address, expected);
      const { sub, name = sub } = tokens.claims()!;
      // a new session for the user: the old cookie no longer works
      sessions.forget(request);
      sessions.begin(response).visitor = { name: String(name), accessToken: tokens.access_token };
    } catch (error) {
      if (!(error instanceof oidc.AuthorizationResponseError) || error.error !== 'access_denied') throw error;
    }
    redirect(response, '/');
  }

  /** Calls one of the two APIs with the token of the application. */
  async function ask(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const visitor = sessions.find(request)?.visitor;
    if (visitor) visitor.calls = await callApi(path, visitor.accessToken);
    redirect(response, '/');
  }

  function signOut(request: IncomingMessage, response: ServerResponse): void {
    sessions.forget(request);
    redirect(response, '/');
  }

  // the gateway

  async function answerAsGateway(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await accept(request, response, '/gateway');
    if (!received) return;
    try {
      const exchanged = await oidc.genericGrantRequest(gateway, exchangeGrant, {
        subject_token: received,
        subject_token_type: accessTokenType,
        resource: `${url}/berths`,
      });
      json(response, 200, { calls: await callApi('/berths', exchanged.access_token) });
    } catch (error) {
      if (!(error instanceof oidc.ResponseBodyError)) throw error;
      json(response, 502, { said: `The service exchanged nothing: ${explain(error)}.` });
    }
  }

  // the API behind the gateway

  async function answerAsBerths(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (await accept(request, response, '/berths')) json(response, 200, { said: 'Berth 7, at the east quay' });
  }

  /** The token of a request to an API. Refuses a token that is not for this API (RFC 9068 4). */
  async function accept(request: IncomingMessage, response: ServerResponse, path: string): Promise<string | undefined> {
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    try {
      const { payload } = await jwtVerify<{ scope?: string }>(token, keys, {
        issuer,
        audience: url + path,
        typ: 'at+jwt',
        requiredClaims: ['exp', 'sub', 'client_id'],
      });
      if (payload.scope?.split(' ').includes(readBerths)) return token;
      json(response, 403, { said: `The token does not have the scope ${readBerths}.` });
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
      response.setHeader('www-authenticate', 'Bearer error="invalid_token"');
      json(response, 401, { said: 'The token is not for this API, or it is no longer valid.' });
    }
    return undefined;
  }

  /** Calls an API. @returns this call, and the calls that the API made for it */
  async function callApi(path: string, accessToken: string): Promise<Call[]> {
    const answer = await fetch(url + path, {
      headers: { authorization: `Bearer ${accessToken}` },
      signal: AbortSignal.timeout(10_000),
    });
    const { said, calls = [] } = (await answer.json()) as { said?: string; calls?: Call[] };
    const token = contentOf(accessToken);
    return [{ token, status: answer.status, said: said ?? calls.at(-1)?.said ?? '' }, ...calls];
  }
}

/** What is in a JWT, for the page only: the API that receives the token verifies it. */
const contentOf = (token: string): JWTPayload =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as JWTPayload;

/** Uses the registrations of an earlier start while they are valid, else registers anew (RFC 7591). */
async function register(options: GatewayOptions, url: string): Promise<GatewayRegistrations> {
  const { registrations = {} } = options;
  const application = await registered(
    registrations.application,
    { ...options, url },
    {
      client_name: clientName,
      client_uri: url,
      logo_uri: `${url}/logo.svg`,
      redirect_uris: [`${url}/callback`],
      grant_types: ['authorization_code'],
      scope: 'openid profile',
    },
  );
  const gateway = await registered(
    registrations.gateway,
    { ...options, url },
    {
      client_name: 'Harbour gateway',
      redirect_uris: [],
      response_types: [],
      grant_types: [exchangeGrant],
    },
  );
  return { application, gateway };
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function explain(error: unknown): string {
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError) {
    return error.error_description ?? error.error;
  }
  return error instanceof Error ? error.message : String(error);
}
