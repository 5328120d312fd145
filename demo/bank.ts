// Runs a sample bank that follows FAPI 2.0 Message Signing: it authenticates by a key, signs and pushes its requests, reads signed answers, and its
// tokens are bound to a key by DPoP. Its customers allow each payment by itself (RFC 9396).
import type { IncomingMessage, ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import * as oidc from 'openid-client';
import { type BankNotice, bankPage, type Customer } from './bank-views.ts';
import { allowedPayment, invoices, type Payment, paymentType } from './payments.ts';
import { type Approve, approveNew, type Registered, reuse } from './registration.ts';
import { problemPage } from './views.ts';
import { createSessions, keepAtMost, listen, readForm, redirect, send } from './web.ts';

/** The bank's registration, as it stores it. */
export interface BankRegistration extends Registered {
  /** The private key of `jwks`, by which the bank authenticates and signs its requests. */
  key: JWK;
  /** The types of authorization details that it may request. A registration of an earlier version has none. */
  types?: string[];
}

export interface BankOptions {
  issuer: string;
  /** 0 for any free one. */
  port: number;
  /** The registration of an earlier start; used again while the service knows it. */
  registration?: BankRegistration | undefined;
  /** Called when a registration waits for an administrator. */
  approve: Approve;
}

export interface Bank {
  url: string;
  registration: BankRegistration;
  stop(): Promise<void>;
}

/** One browser's session. */
interface Session {
  /** Sign-ins begun in this browser, by their state. */
  begun: Map<string, { nonce: string; codeVerifier: string; payment: Payment | undefined }>;
  customer?: Customer & { sub: string; accessToken: string };
  /** A message for the next page. */
  notice?: BankNotice;
}

const clientName = 'Quayside Bank';
const scope = 'openid profile';
const alg = 'ES256';
const maxBegun = 10;

/** @throws the system's error when the port is taken, or openid-client's when the service refuses */
export async function startBank(options: BankOptions): Promise<Bank> {
  const { issuer } = options;
  const sessions = createSessions<Session>('BANK_SESSION', () => ({ begun: new Map() }));
  let provider: oidc.Configuration;
  let signingKey: oidc.PrivateKey;
  let DPoP: oidc.DPoPHandle;
  const { url, stop } = await listen({
    name: clientName,
    port: options.port,
    issuer,
    routes: {
      'GET /': home,
      'POST /sign-in': signIn,
      'POST /pay': pay,
      'GET /callback': callback,
      'POST /use-without-key': useWithoutKey,
      'POST /sign-out': signOut,
    },
    explain,
  });
  try {
    const registration = await register(options, url);
    signingKey = { key: await importKey(registration.key), kid: registration.key.kid! };
    provider = await oidc.discovery(
      new URL(issuer),
      registration.client_id,
      { authorization_signed_response_alg: alg, id_token_signed_response_alg: alg },
      oidc.PrivateKeyJwt(signingKey),
      { execute: [oidc.allowInsecureRequests, oidc.useJwtResponseMode, oidc.enableNonRepudiationChecks], timeout: 10 },
    );
    // the key of the tokens: another one after each start, since the bank keeps no tokens
    DPoP = oidc.getDPoPHandle(provider, await oidc.randomDPoPKeyPair(alg));
    return { url, registration, stop };
  } catch (error) {
    await stop();
    throw error;
  }

  function home(request: IncomingMessage, response: ServerResponse): void {
    const session = sessions.find(request);
    const notice = session?.notice;
    if (session) delete session.notice;
    send(response, 200, bankPage({ issuer, customer: session?.customer, notice }));
  }

  async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await ask(request, response);
  }

  /** Asks the customer to allow one payment. */
  async function pay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const payment = invoices[(await readForm(request)).get('invoice') ?? ''];
    if (payment && sessions.find(request)?.customer) await ask(request, response, payment);
    else redirect(response, '/');
  }

  async function ask(request: IncomingMessage, response: ServerResponse, payment?: Payment): Promise<void> {
    const session = sessions.find(request) ?? sessions.begin(response);
    const codeVerifier = oidc.randomPKCECodeVerifier();
    const state = oidc.randomState();
    const nonce = oidc.randomNonce();
    keepAtMost(session.begun, maxBegun - 1);
    session.begun.set(state, { nonce, codeVerifier, payment });
    const parameters = {
      ...(payment && { authorization_details: JSON.stringify([payment]) }),
      redirect_uri: `${url}/callback`,
      scope,
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
    };
    // the signed request is pushed, so that the browser carries only a reference (RFC 9101, RFC 9126)
    const { searchParams } = await oidc.buildAuthorizationUrlWithJAR(provider, parameters, signingKey);
    redirect(response, (await oidc.buildAuthorizationUrlWithPAR(provider, searchParams, { DPoP })).href);
  }

  async function callback(request: IncomingMessage, response: ServerResponse, address: URL): Promise<void> {
    const session = sessions.find(request);
    // the state is in the signed answer: it is read to find the sign-in, and verified with the answer
    const state = stateOf(address.searchParams.get('response') ?? '');
    const checks = session?.begun.get(state);
    if (!session || !checks) {
      const problem = 'This sign-in did not begin in this browser, or it is finished already.';
      return send(response, 400, problemPage(clientName, problem));
    }
    session.begun.delete(state);
    try {
      const expected = { expectedState: state, expectedNonce: checks.nonce, pkceCodeVerifier: checks.codeVerifier };
      const tokens = await oidc.authorizationCodeGrant(provider, address, expected, undefined, { DPoP });
      const { sub } = tokens.claims()!;
      const { name = sub } = await oidc.fetchUserInfo(provider, tokens.access_token, sub, { DPoP });
      const thumbprint = await DPoP.calculateThumbprint();
      // a new session for the user: the old cookie no longer works
      sessions.forget(request);
      const next = sessions.begin(response);
      next.customer = { name, sub, thumbprint, accessToken: tokens.access_token };
      const { payment } = checks;
      if (!payment) return redirect(response, '/');
      // only the customer who asked for the payment pays it
      const isSame = session.customer?.sub === sub;
      const paid = isSame ? allowedPayment(payment, tokens['authorization_details']) : undefined;
      next.notice = paid ? { kind: 'paid', paid } : { kind: 'not-paid' };
    } catch (error) {
      if (!(error instanceof oidc.AuthorizationResponseError) || error.error !== 'access_denied') throw error;
      session.notice = { kind: checks.payment ? 'not-paid' : 'denied' };
    }
    redirect(response, '/');
  }

  /** Does what a thief of the token would do: uses it without the key. */
  async function useWithoutKey(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = sessions.find(request);
    if (session?.customer) {
      const { userinfo_endpoint: address } = provider.serverMetadata();
      const headers = { authorization: `Bearer ${session.customer.accessToken}` };
      const answer = await fetch(address!, { headers, signal: AbortSignal.timeout(10_000) });
      session.notice = { kind: answer.ok ? 'taken' : 'refused', status: answer.status };
    }
    redirect(response, '/');
  }

  function signOut(request: IncomingMessage, response: ServerResponse): void {
    sessions.forget(request);
    sessions.begin(response).notice = { kind: 'signed-out' };
    redirect(response, '/');
  }
}

/** Uses the registration of an earlier start while it is valid, else registers anew (OpenID Connect Dynamic Client Registration 1.0). */
async function register(options: BankOptions, url: string): Promise<BankRegistration> {
  const { issuer, approve } = options;
  const { registration: earlier } = options;
  const mayPay = earlier?.types?.includes(paymentType.type);
  const kept = await reuse(mayPay ? earlier : undefined, { issuer, url, approve });
  if (kept) return kept;
  const pair = await generateKeyPair(alg, { extractable: true });
  const named = async (key: CryptoKey): Promise<JWK> => ({ ...(await exportJWK(key)), kid: 'bank-1', alg, use: 'sig' });
  const key = await named(pair.privateKey);
  const registered = await oidc.dynamicClientRegistration(
    new URL(issuer),
    {
      client_name: clientName,
      client_uri: url,
      logo_uri: `${url}/logo.svg`,
      redirect_uris: [`${url}/callback`],
      // the profile allows http only on a loopback address, for a native application (FAPI 2.0 Security Profile 5.3.2.2)
      application_type: 'native',
      grant_types: ['authorization_code'],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [await named(pair.publicKey)] },
      fapi2: 'message_signing',
      authorization_details_types: [paymentType.type],
      scope,
    },
    undefined,
    { execute: [oidc.allowInsecureRequests], timeout: 10 },
  );
  const metadata = registered.clientMetadata();
  const registration: BankRegistration = {
    issuer,
    url,
    client_id: metadata.client_id,
    key,
    types: [paymentType.type],
    registration_access_token: String(metadata['registration_access_token']),
    registration_client_uri: String(metadata['registration_client_uri']),
  };
  if (metadata['status'] === 'disabled') await approveNew(registration, approve);
  return registration;
}

const importKey = (key: JWK) =>
  crypto.subtle.importKey('jwk', key as JsonWebKey, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);

/** The state in a signed answer, not yet verified; empty if there is none. */
function stateOf(answer: string): string {
  try {
    const content = JSON.parse(Buffer.from(answer.split('.')[1] ?? '', 'base64url').toString()) as { state?: unknown };
    return String(content.state ?? '');
  } catch {
    return '';
  }
}

function explain(error: unknown): string {
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError) {
    return error.error_description ?? error.error;
  }
  return error instanceof Error ? error.message : String(error);
}
