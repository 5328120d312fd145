// Who a registration request proves to be: by registration access token, secret, initial access token or Idempotency-Key.
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { digest, equalDigests } from '../crypto/secrets.ts';
import { bearerToken } from './bearer-token.ts';
import { readParameters, text } from './parameters.ts';
import type { ServerOptions } from './server-options.ts';
import { conflict, invalidRequest, invalidToken } from '../oauth/errors.ts';
import type { Client } from '../repositories/clients.ts';
import type { Repositories } from '../repositories/index.ts';
import { opaqueTokenHash, opaqueTokenKind } from '../tokens/opaque-token.ts';

const clientPath = z.object({ clientId: text(255) });

export function createRegistrationProof({ store, authenticateRegistrant }: ServerOptions) {
  return { prove, authorize };

  /** Which client a POST proves to be, or that it holds an initial access token; undefined without any proof (security R43). */
  async function prove(
    request: FastifyRequest,
    body: Record<string, unknown>,
  ): Promise<{ client: Client } | { initialAccessToken: true } | undefined> {
    const header = request.headers.authorization;
    if (header !== undefined && /^Basic /i.test(header)) return { client: await authenticateRegistrant(request) };
    if (header !== undefined) {
      const token = bearerToken(request);
      const initial = opaqueTokenHash('initial_access_token', token);
      if (initial && (await store.registrationTokens.isValid(initial))) {
        // the answer to an earlier try may have been lost here, too
        return (await findByKey(request, body)) ?? { initialAccessToken: true };
      }
      const client = await findByRegistrationToken(token, body['client_id']);
      if (client) return { client };
      throw invalidToken('the token is unknown or expired');
    }
    return findByKey(request, body);
  }

  /** The client that was registered under the same Idempotency-Key with the same body. */
  async function findByKey(
    request: FastifyRequest,
    body: Record<string, unknown>,
  ): Promise<{ client: Client } | undefined> {
    const key = idempotencyKey(request, body);
    const earlier = key && (await store.registrationTokens.findByKey(key.keyHash));
    if (!key || !earlier) return undefined;
    if (!equalDigests(earlier.bodyHash, key.bodyHash))
      throw conflict('this Idempotency-Key was used with another body');
    const client = await store.clients.find(earlier.clientId);
    return client && { client };
  }

  async function findByRegistrationToken(token: string, clientId: unknown): Promise<Client | undefined> {
    const hash = opaqueTokenHash('registration_access_token', token);
    if (!hash) return undefined;
    const client = await store.clients.findByRegistrationToken(hash);
    return clientId === undefined || client?.clientId === clientId ? client : undefined;
  }

  /** The client of the address, proven by its registration access token; one answer for all that is wrong (security R44). */
  async function authorize(request: FastifyRequest): Promise<Client> {
    const { clientId } = readParameters(clientPath, request.params);
    const token = bearerToken(request);
    const hash =
      opaqueTokenKind(token) === 'registration_access_token'
        ? opaqueTokenHash('registration_access_token', token)
        : undefined;
    const client = hash && (await store.clients.find(clientId));
    if (!client?.registrationTokenHash || !equalDigests(client.registrationTokenHash, hash!)) {
      throw invalidToken('the registration access token is not that of this client');
    }
    return client;
  }
}

/**
 * Locks the client that a request has proven to hold, if the proof still holds: what was renewed since then is nobody's (security R44).
 * @throws OAuthError invalid_token
 */
export async function lockHeld({ clients }: Pick<Repositories, 'clients'>, held: Client): Promise<Client> {
  const current = await clients.lock(held.clientId);
  if (!current?.registrationTokenHash || !equalDigests(current.registrationTokenHash, held.registrationTokenHash!)) {
    throw invalidToken('the registration access token is not that of this client');
  }
  return current;
}

/** The Idempotency-Key of a request and its body, as they are stored. @throws OAuthError invalid_request for a short one */
export function idempotencyKey(
  request: FastifyRequest,
  body: unknown,
): { keyHash: Buffer; bodyHash: Buffer } | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[!-~]{22,256}$/.test(key)) {
    throw invalidRequest('Idempotency-Key must have at least 128 bits: 22 to 256 printable characters');
  }
  return {
    keyHash: digest('idempotency', key),
    bodyHash: createHash('sha256').update(JSON.stringify(body)).digest(),
  };
}
