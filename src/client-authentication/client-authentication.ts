// Client authentication: exactly one method a request, equal to the registered one; client_secret_basic and client_secret_post count as one
// (RFC 6749 2.3, OpenID Connect Core 9; security R37).
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { digest, equalDigests } from '../crypto/secrets.ts';
import { type ClientAuthenticationMethod, needsSecret } from '../oauth/client-metadata.ts';
import { clientDisabled, invalidClient, invalidRequest, OAuthError } from '../oauth/errors.ts';
import { FetchRefused } from '../outbound/guarded-fetch.ts';
import type { ClientCache } from '../repositories/clients/client-cache.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Store } from '../repositories/store.ts';
import type { Limits } from '../repositories/rate-limits/rate-limits.ts';
import {
  AssertionRefused,
  assertionMethod,
  assertionSubject,
  verifyClientAssertion,
} from '../tokens/client-assertion.ts';
import type { ClientKeys } from '../tokens/client-keys.ts';
import type { TokenService } from '../tokens/token-service.ts';
import { createCallLimit } from '../domain/call-limit.ts';
import { clientAddress, networkOf } from '../server/network.ts';
import { readParameters, text } from '../server/parameters.ts';

export interface ClientAuthenticationOptions {
  clients: ClientCache;
  store: Store;
  tokens: TokenService;
  clientKeys: ClientKeys;
  limits: Limits;
  /** Failures a minute of one client in one network. */
  failures: number;
  issuer: string;
  /** Paths below the issuer whose addresses are valid audiences of assertions, beside the issuer. */
  audiencePaths: readonly string[];
}

export type AuthenticateClient = (
  request: FastifyRequest,
  options?: { allowPublic?: boolean; disabledStatus?: number },
) => Promise<Client>;

export type AuthenticateRegistrant = (request: FastifyRequest) => Promise<Client>;

const credentials = z.object({
  client_id: text(255).optional(),
  client_secret: text(1024).optional(),
  client_assertion: text(8192).optional(),
  client_assertion_type: text(255).optional(),
});

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

type Presented =
  | { method: 'secret'; clientId: string; secret: string }
  | { method: 'jwt'; clientId: string; assertion: string }
  | { method: 'none'; clientId: string };

/** Makes the functions that authenticate the client of a request, by its form body or by a Basic header. They throw OAuthError. */
export function createClientAuthentication(options: ClientAuthenticationOptions): {
  authenticateClient: AuthenticateClient;
  authenticateBasic: AuthenticateClient;
  authenticateRegistrant: AuthenticateRegistrant;
} {
  const { limits } = options;
  const countHere = createCallLimit(options.failures);
  const audiences = [options.issuer, ...options.audiencePaths.map((path) => options.issuer + path)];

  return {
    authenticateClient: (request, rules) => authenticate(request, present(request), rules),
    /** For addresses without a form: the header is all that is looked at. */
    authenticateBasic: (request, rules) =>
      authenticate(request, { method: 'secret', ...readBasic(request.headers.authorization ?? '') }, rules),
    /** For a repeat registration: the secret alone counts, whatever the client's state and registered method. */
    authenticateRegistrant: (request) => {
      const { clientId, secret } = readBasic(request.headers.authorization ?? '');
      return counted(request, clientId, async () => {
        // what is stored, not what is remembered: the secret may be a minute old
        const client = await options.store.clients.find(clientId);
        // one that was made for a change that waits proves nothing before its approval (security R116)
        return withSecret(client && needsSecret(client.metadata) ? client : undefined, secret);
      });
    },
  };

  function authenticate(
    request: FastifyRequest,
    presented: Presented,
    { allowPublic = false, disabledStatus = 400 }: Parameters<AuthenticateClient>[1] = {},
  ): Promise<Client> {
    const costly = presented.method === 'jwt';
    return counted(request, presented.clientId, () => check(presented, allowPublic, disabledStatus), costly);
  }

  /**
   * Authenticates unless that failed too often; a failure is counted and recorded.
   * @param costly whether the check may verify a signature or fetch keys
   */
  async function counted(
    request: FastifyRequest,
    clientId: string,
    authenticated: () => Promise<Client>,
    costly = false,
  ): Promise<Client> {
    if (limits.anyPassed) {
      const { network, key } = placeOf(request, clientId);
      const ofClient = limits.blocked('clientAuthFailures', key);
      // before the work (security R113); comparing a secret costs next to nothing, and a right one passes in any network
      const ofNetwork = costly ? limits.blocked('clientAuthFailuresPerNetwork', network) : 0;
      if (ofClient > 0 || ofNetwork > 0) throw tooManyFailures(Math.max(ofClient, ofNetwork));
    }
    try {
      return await authenticated();
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'invalid_client') throw error;
      const { network, key } = placeOf(request, clientId);
      // whoever fails with client after client is told so for known and unknown ones alike; what is right still passes
      const often = limits.blocked('clientAuthFailuresPerNetwork', network);
      if (often > 0) {
        // not in the database, which names without end would fill; but counted, else guesses at one client were free now
        const held = countHere(digest('limit', key).toString('base64url'));
        if (held > 0) limits.block('clientAuthFailures', key, held);
        throw tooManyFailures(often);
      }
      const event = { type: 'client.authentication_failed', outcome: 'failure', clientId } as const;
      // at once, so that the clock does not tell whether the trail got a row (security R39)
      const [ofClient, ofNetwork] = await Promise.all([
        limits.consume('clientAuthFailures', key),
        limits.consume('clientAuthFailuresPerNetwork', network),
        options.store.auditEvents.insertForClient({ ...event, address: clientAddress(request) }, request.log),
      ]);
      const seconds = Math.max(ofClient, ofNetwork);
      throw seconds > 0 ? tooManyFailures(seconds) : error;
    }
  }

  async function check(presented: Presented, allowPublic: boolean, disabledStatus: number): Promise<Client> {
    let passed: Client | undefined;
    const client = await options.clients.find(presented.clientId, (known) => {
      if (!mayPass(known, presented)) return false;
      passed = known;
      return true;
    });
    const registered = client?.metadata.token_endpoint_auth_method;
    if (!client || !registered) throw invalidClient('unknown client');
    if (presented.method === 'none') {
      if (registered !== 'none') throw invalidClient(`the client is registered for ${registered}`);
      // without credentials a disabled public client is nobody
      if (!allowPublic || client.status !== 'enabled')
        throw invalidClient('a public client that is disabled or not allowed here');
      return client;
    }
    let sent: ClientAuthenticationMethod;
    if (presented.method === 'jwt') {
      // anybody can register keys: none is used for a client that was never enabled (security R113)
      if (!client.everEnabled) throw invalidClient('an assertion of a client that was never enabled');
      sent = assertionMethod(presented.assertion);
      await checkAssertion(client, sent, presented.assertion);
    } else {
      // what passed was compared there: its secret need not be hashed again
      // one that was made for a change that waits proves nothing before its approval (security R116)
      if (client !== passed) withSecret(needsSecret(client.metadata) ? client : undefined, presented.secret);
      // the two ways to send a secret count as one
      sent = registered === 'client_secret_post' ? registered : 'client_secret_basic';
    }
    // only a client with the right credentials is told (security R37, R39)
    if (sent !== registered) throw wrongMethod(registered);
    if (client.status !== 'enabled') throw clientDisabled(disabledStatus);
    return client;
  }

  async function checkAssertion(client: Client, method: ClientAuthenticationMethod, assertion: string): Promise<void> {
    const { clientId } = client;
    // for another method than the registered one no algorithm is registered, and nothing is fetched only to tell so
    const metadata =
      method === client.metadata.token_endpoint_auth_method
        ? client.metadata
        : { ...client.metadata, token_endpoint_auth_signing_alg: undefined, jwks_uri: undefined };
    const secret = method === 'client_secret_jwt' ? options.tokens.clientSecret(client) : undefined;
    if (method === 'client_secret_jwt' && !secret) throw invalidClient('the secret is not stored as a key');
    try {
      const keys = secret ? { secret } : { jwks: (fresh: boolean) => options.clientKeys(metadata, fresh) };
      const { jti, expiresAt } = await verifyClientAssertion(
        assertion,
        { clientId, metadata },
        keys,
        audiences,
        options.tokens.now(),
      );
      if (!(await options.store.clients.useAssertion(client.clientId, digest('jti', jti), expiresAt))) {
        throw invalidClient('the assertion was used before');
      }
    } catch (error) {
      if (error instanceof AssertionRefused || error instanceof FetchRefused) throw invalidClient(error.message);
      throw error;
    }
  }
}

/** By what failures are counted: for each client and network, so that nobody's keep another caller of the same client out. */
function placeOf(request: FastifyRequest, clientId: string): { network: string; key: string } {
  const network = networkOf(clientAddress(request));
  return { network, key: `${clientId} ${network}` };
}

/** Whether a client as it is remembered may be what the request says: an assertion is another question. */
function mayPass({ status, metadata, secretHash }: Client, presented: Presented): boolean {
  if (status !== 'enabled' || !accepts(metadata.token_endpoint_auth_method, presented.method)) return false;
  return presented.method !== 'secret' || isSecret(secretHash, presented.secret);
}

function isSecret(hash: Buffer | undefined, secret: string): boolean {
  return hash !== undefined && equalDigests(digest('client_secret', secret), hash);
}

/** The client if this is its secret. @throws OAuthError invalid_client */
function withSecret(client: Client | undefined, secret: string): Client {
  if (!client || !isSecret(client.secretHash, secret)) throw invalidClient('wrong client secret');
  return client;
}

/** Right credentials, sent by another method than the registered one. */
function wrongMethod(registered: ClientAuthenticationMethod): OAuthError {
  const { code, status, headers } = invalidClient();
  const description = `the credentials are right, but the client is registered for ${registered}: authenticate by that method, or change the registration`;
  return new OAuthError(code, description, status, { headers, cause: 'another method than the registered one' });
}

/** Past the limit of failures (security R41). */
function tooManyFailures(seconds: number): OAuthError {
  return new OAuthError('invalid_client', `client authentication failed too often: wait ${seconds} seconds`, 429, {
    headers: { 'retry-after': String(seconds) },
  });
}

function accepts(registered: ClientAuthenticationMethod, presented: Presented['method']): boolean {
  if (presented === 'jwt') return registered === 'client_secret_jwt' || registered === 'private_key_jwt';
  if (presented === 'secret') return registered === 'client_secret_basic' || registered === 'client_secret_post';
  return registered === presented;
}

function present(request: FastifyRequest): Presented {
  const body = readParameters(credentials, request.body);
  const header = request.headers.authorization;
  const mechanisms = [header, body.client_secret, body.client_assertion ?? body.client_assertion_type].filter(
    (part) => part !== undefined,
  );
  if (mechanisms.length > 1) throw invalidRequest('use one method of client authentication only');
  if (header !== undefined) {
    const basic = readBasic(header);
    if (body.client_id !== undefined && body.client_id !== basic.clientId) {
      throw invalidRequest('client_id differs from the client of the Authorization header');
    }
    return { method: 'secret', ...basic };
  }
  if (body.client_assertion !== undefined) {
    if (body.client_assertion_type !== assertionType)
      throw invalidRequest(`client_assertion_type must be ${assertionType}`);
    const subject = assertionSubject(body.client_assertion);
    if (subject === undefined || (body.client_id !== undefined && body.client_id !== subject))
      throw invalidClient('the assertion names no or another client');
    return { method: 'jwt', clientId: subject, assertion: body.client_assertion };
  }
  if (body.client_id === undefined) throw invalidClient('no credentials');
  return body.client_secret !== undefined
    ? { method: 'secret', clientId: body.client_id, secret: body.client_secret }
    : { method: 'none', clientId: body.client_id };
}

/**
 * Client id and secret of a Basic header: strict base64, then form-decoded (RFC 6749 2.3.1, security R38).
 * @throws OAuthError invalid_client
 */
export function readBasic(header: string): { clientId: string; secret: string } {
  const match = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header);
  if (!match) throw invalidClient('not a Basic header');
  const bytes = Buffer.from(match[1]!, 'base64');
  if (bytes.toString('base64') !== match[1]) throw invalidClient('not strict base64');
  const pair = bytes.toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 1 || /[\x00-\x1f\x7f\ufeff\ufffd]/.test(pair)) throw invalidClient('not a pair of client id and secret');
  let credentials: { clientId: string; secret: string };
  try {
    credentials = { clientId: formDecode(pair.slice(0, colon)), secret: formDecode(pair.slice(colon + 1)) };
  } catch {
    throw invalidClient('not form-encoded');
  }
  if (/[\x00-\x1f\x7f]/.test(credentials.clientId + credentials.secret)) throw invalidClient('control characters');
  return credentials;
}

function formDecode(value: string): string {
  return /[%+]/.test(value) ? decodeURIComponent(value.replaceAll('+', ' ')) : value;
}
