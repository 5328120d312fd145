// Authenticates the client of a request by the one method that it is registered for, and limits failures (RFC 6749 section 2.3,
// OpenID Connect Core 9; security R37).
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { digest } from '../crypto/secrets.ts';
import type { NotedUses } from '../repositories/uses/noted-uses.ts';
import { createInstanceLimit, type Limits } from '../domain/rate-limits/rate-limits.ts';
import { maxClientId } from '../oauth/client-document.ts';
import { clientKindRules } from '../rules/clients/kinds.ts';
import { consoleClientId } from '../rules/clients/console-client.ts';
import {
  clientDisabled,
  invalidClient,
  invalidRequest,
  OAuthError,
  profileMissing,
  unauthorizedClient,
} from '../oauth/errors.ts';
import { type Fapi2Profile, follows } from '../oauth/fapi2.ts';
import { methodOf } from '../oauth/registrable-values.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Store } from '../repositories/store.ts';
import { clientAddress, networkOf } from '../server/network.ts';
import { readParameters, singleValued } from '../server/parameters.ts';
import { text } from '../oauth/text.ts';
import { clientSecretBasic, readBasic, verifySecret } from './client-secret.ts';
import { createSeenCertificates } from './seen-certificates.ts';
import type { ClientAuthenticationMethod, CredentialSource, MethodDependencies } from './method.ts';
import { authenticationMethods } from './methods.ts';

export interface ClientAuthenticationOptions extends Omit<MethodDependencies, 'audiences'> {
  store: Pick<Store, 'clients' | 'auditEvents' | 'transaction'>;
  uses: NotedUses;
  limits: Limits;
  /** Failures a minute of one client in one network. */
  failures: number;
  issuer: string;
  /** The profile that every client must follow. */
  fapi2: Fapi2Profile | undefined;
  /** Paths below the issuer whose addresses are valid audiences of assertions, beside the issuer. */
  audiencePaths: readonly string[];
}

interface Rules {
  /** Whether a public client may use the endpoint. */
  allowPublic?: boolean;
  /** The status of the refusal for a disabled client. */
  disabledStatus?: number;
}

export type AuthenticateClient = (request: FastifyRequest, rules?: Rules) => Promise<Client>;

export type AuthenticateRegistrant = (request: FastifyRequest) => Promise<Client>;

const parameters = z.object({
  client_id: text(maxClientId).optional(),
  client_secret: text(1024).optional(),
  client_assertion: text(8192).optional(),
  client_assertion_type: text(255).optional(),
});

/** Makes the functions that authenticate the client of a request. They throw OAuthError. */
export function createClientAuthentication(options: ClientAuthenticationOptions): {
  authenticateClient: AuthenticateClient;
  authenticateBasic: AuthenticateClient;
  authenticateRegistrant: AuthenticateRegistrant;
} {
  const { limits, issuer } = options;
  const noteCertificate = createSeenCertificates(options.store);
  const countLocally = createInstanceLimit(options.failures);
  const bases = [issuer, ...(options.certificates ? [options.certificates.baseUrl] : [])];
  const audiences = [issuer, ...bases.flatMap((base) => options.audiencePaths.map((path) => base + path))];
  const methods = authenticationMethods.map((method) => method({ ...options, audiences }));
  const publicMethods = methods.filter(({ name }) => methodOf(name).proves === 'nothing');
  const certificateMethods = methods.filter(({ carrier }) => carrier.connection);

  return {
    authenticateClient(request, rules) {
      readParameters(parameters, request.body);
      const certificate = options.certificates?.of(request);
      const source = { headers: request.headers, parameters: singleValued(request.body), certificate };
      const used = methods.filter(({ carrier }) => carries(source, carrier));
      if (used.length > 1 && used.some(({ carrier }) => carrier !== used[0]!.carrier)) throw oneMethodOnly();
      const method = used.find(({ isMeant }) => isMeant?.(source) ?? true) ?? publicMethods[0]!;
      return authenticate(request, method, source, rules);
    },
    /** For addresses without a form: only the header is read. */
    authenticateBasic(request, rules) {
      return authenticate(request, clientSecretBasic, { headers: request.headers, parameters: {} }, rules);
    },
    /** For a repeated registration: the secret is enough, whatever the client's status and registered method. */
    authenticateRegistrant(request) {
      const { clientId, secret } = readBasic(request.headers.authorization ?? '');
      // the stored client, not the cached one: the secret may be a minute old
      return limited(request, clientId, false, async () => {
        const client = await options.store.clients.find(clientId);
        // the secret of another kind is for its proxy alone
        return verifySecret(client && clientKindRules[client.kind].authenticates ? client : undefined, secret);
      });
    },
  };

  function authenticate(
    request: FastifyRequest,
    sent: ClientAuthenticationMethod,
    source: CredentialSource,
    { allowPublic = false, disabledStatus = 400 }: Rules = {},
  ): Promise<Client> {
    const credentials = sent.read(source);
    const { clientId } = credentials;
    // only a client that is registered for that authenticates by the certificate of its connection
    const ofConnection = source.certificate
      ? ({ metadata }: Client) => certificateMethods.find(({ accepts }) => accepts(metadata.token_endpoint_auth_method))
      : undefined;
    return limited(request, clientId, credentials.isCostly || ofConnection !== undefined, async () => {
      const client = await options.clients.find(
        clientId,
        (cached) => cached.status === 'enabled' && (credentials.suits(cached) || ofConnection?.(cached) !== undefined),
      );
      if (!client || !clientKindRules[client.kind].authenticates) throw invalidClient('unknown client');
      const byCertificate = ofConnection?.(client);
      const method = byCertificate ?? sent;
      const parameters = { client_id: clientId };
      await (byCertificate?.read({ ...source, parameters }) ?? credentials).verify(client);
      // RFC 6749 2.3; only a client with the right certificate learns that it counts
      if (byCertificate && !publicMethods.includes(sent)) throw oneMethodOnly();
      const registered = client.metadata.token_endpoint_auth_method;
      // only a client with the right credentials learns what is wrong (security R37, R39)
      if (!method.accepts(registered)) throw wrongMethod(registered);
      // the client_id alone is the right credential of a public client (security R39), once its registrant has collected it
      if (publicMethods.includes(method) && (!allowPublic || client.uncollected))
        throw invalidClient('a public client that is not allowed here, or that its registrant does not know yet');
      if (client.status !== 'enabled') throw clientDisabled(disabledStatus);
      const { fapi2 } = options;
      if (fapi2 !== undefined && client.clientId !== consoleClientId && !follows(client.metadata, fapi2))
        throw unauthorizedClient(profileMissing, disabledStatus);
      options.uses.note('clients', client.clientId);
      if (byCertificate && source.certificate)
        await noteCertificate(clientId, source.certificate.certificate, (event, { auditEvents }) =>
          auditEvents.insert({ ...event, address: clientAddress(request) }, request.log),
        );
      return client;
    });
  }

  /**
   * Authenticates unless it failed too often; counts and records a failure.
   * @param isCostly whether it may verify a signature or fetch keys
   */
  async function limited(
    request: FastifyRequest,
    clientId: string,
    isCostly: boolean,
    authenticated: () => Promise<Client>,
  ): Promise<Client> {
    if (limits.anyPassed) {
      const { network, key } = limitKeys(request, clientId);
      const ofClient = limits.blocked('clientAuthFailures', key);
      // before the work (security R113); to compare a secret costs next to nothing, and a right one is accepted from any network
      const ofNetwork = isCostly ? limits.blocked('clientAuthFailuresPerNetwork', network) : 0;
      if (ofClient > 0 || ofNetwork > 0) throw tooManyFailures(Math.max(ofClient, ofNetwork));
    }
    try {
      return await authenticated();
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'invalid_client') throw error;
      const { network, key } = limitKeys(request, clientId);
      // a network that fails with many clients learns so for known and unknown clients alike; right credentials are still accepted
      const ofNetwork = limits.blocked('clientAuthFailuresPerNetwork', network);
      if (ofNetwork > 0) {
        // not in the database, which invented names would fill; but on this instance, or guesses at the secret of one client would not count
        const held = countLocally(digest('limit', key).toString('base64url'));
        if (held > 0) limits.block('clientAuthFailures', key, held);
        throw tooManyFailures(ofNetwork);
      }
      const event = { type: 'client.authentication_failed', outcome: 'failure', clientId } as const;
      // at once, so that the time of the answer does not tell whether the audit log got a row (security R39)
      const waits = await Promise.all([
        limits.consume('clientAuthFailures', key),
        limits.consume('clientAuthFailuresPerNetwork', network),
        options.store.auditEvents.insertForClient({ ...event, address: clientAddress(request) }, request.log),
      ]);
      const seconds = Math.max(waits[0], waits[1]);
      throw seconds > 0 ? tooManyFailures(seconds) : error;
    }
  }
}

/** Whether a request carries credentials there. */
function carries({ headers, parameters }: CredentialSource, carrier: ClientAuthenticationMethod['carrier']): boolean {
  const { header, parameters: names } = carrier;
  if (header !== undefined && headers[header] !== undefined) return true;
  return names?.some((name) => parameters[name] !== undefined) ?? false;
}

const oneMethodOnly = () => invalidRequest('use only one client authentication method');

/** Failures are counted for each client and network, so that they do not keep the client out in other networks. */
function limitKeys(request: FastifyRequest, clientId: string): { network: string; key: string } {
  const network = networkOf(clientAddress(request));
  return { network, key: `${clientId} ${network}` };
}

/** Right credentials, sent by another method than the registered one. */
function wrongMethod(registered: string): OAuthError {
  const { code, status, headers } = invalidClient();
  const description = `the credentials are correct, but the client is registered for ${registered}: use that method, or change the registration`;
  return new OAuthError(code, description, status, { headers, cause: 'another method than the registered one' });
}

/** Past the limit of failures (security R41). */
function tooManyFailures(seconds: number): OAuthError {
  return new OAuthError('invalid_client', `client authentication failed too often: wait ${seconds} seconds`, 429, {
    headers: { 'retry-after': String(seconds) },
  });
}
