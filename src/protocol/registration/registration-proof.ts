// Finds which client a registration request proves to be: by registration access token, secret, initial access token or Idempotency-Key.
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { digest, equalDigests } from '../../crypto/secrets.ts';
import { bearerToken } from '../../sender-constraint/protected-resource.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { conflict, invalidRequest, invalidToken } from '../../oauth/errors.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { opaqueTokenHash, opaqueTokenKind } from '../../tokens/opaque-token.ts';
import type { AuthenticateRegistrant } from '../../client-authentication/client-authentication.ts';

const clientPath = z.object({ clientId: text(255) });

/** The same for every cause, so that nobody finds out which clients exist (security R44). */
const foreignToken =
  'the registration access token is not valid for this client: the token was replaced, the client was deleted, or the token belongs to another client';

/** The proof of a POST. */
export type Proof = { client: Client; /** By an Idempotency-Key alone. */ byKey?: true } | { initialAccessToken: true };

export interface RegistrationProofDependencies {
  store: Pick<Store, 'clients' | 'registrationTokens'>;
  authenticateRegistrant: AuthenticateRegistrant;
}

export function createRegistrationProof({ store, authenticateRegistrant }: RegistrationProofDependencies) {
  return { prove, authorize };

  /** Finds the client that a POST proves to be, or its initial access token; undefined without proof (security R43). */
  async function prove(request: FastifyRequest, body: Record<string, unknown>): Promise<Proof | undefined> {
    // a malformed key is refused, even beside another proof
    idempotencyKey(request, body);
    const header = request.headers.authorization;
    if (header !== undefined && /^Basic /i.test(header)) return { client: await authenticateRegistrant(request) };
    if (header !== undefined) {
      const token = bearerToken(request);
      const initial = opaqueTokenHash('initial_access_token', token);
      // such a registration is enabled at once, so no Idempotency-Key can repeat it (security R120)
      if (initial && (await store.registrationTokens.isValid(initial))) return { initialAccessToken: true };
      const client = await findByRegistrationToken(token, body['client_id']);
      if (client) return { client };
      throw invalidToken('the token is unknown or expired');
    }
    return findByKey(request, body);
  }

  /** Finds the client that was registered with the same Idempotency-Key and body, and has never been enabled. */
  async function findByKey(request: FastifyRequest, body: Record<string, unknown>): Promise<Proof | undefined> {
    const key = idempotencyKey(request, body);
    const earlier = key && (await store.registrationTokens.findByKey(key.keyHash));
    const client = earlier && (await store.clients.find(earlier.clientId));
    // the key only repeats a lost answer: if it renewed the credentials of an enabled client, it would be a credential itself (security R120)
    if (!key || !client || client.everEnabled) return undefined;
    if (!equalDigests(earlier.bodyHash, key.bodyHash))
      throw conflict('this Idempotency-Key was used with another body');
    return { client, byKey: true };
  }

  async function findByRegistrationToken(token: string, clientId: unknown): Promise<Client | undefined> {
    const hash = opaqueTokenHash('registration_access_token', token);
    if (!hash) return undefined;
    const client = await store.clients.findByRegistrationToken(hash);
    return clientId === undefined || client?.clientId === clientId ? client : undefined;
  }

  /** Authenticates the client of the path by its registration access token; every failure has the same answer (security R44). */
  async function authorize(request: FastifyRequest): Promise<Client> {
    const { clientId } = readParameters(clientPath, request.params);
    const token = bearerToken(request);
    const hash =
      opaqueTokenKind(token) === 'registration_access_token'
        ? opaqueTokenHash('registration_access_token', token)
        : undefined;
    const client = hash && (await store.clients.find(clientId));
    if (!client?.registrationTokenHash || !equalDigests(client.registrationTokenHash, hash!)) {
      throw invalidToken(foreignToken);
    }
    return client;
  }
}

/**
 * Locks the client that a request has proven to be, unless its token has been renewed since (security R44).
 * @throws OAuthError invalid_token
 */
export async function lockHeld({ clients }: Pick<Repositories, 'clients'>, held: Client): Promise<Client> {
  const current = await clients.lock(held.clientId);
  if (!current?.registrationTokenHash || !equalDigests(current.registrationTokenHash, held.registrationTokenHash!)) {
    throw invalidToken(foreignToken);
  }
  return current;
}

const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const hexadecimal = /^([0-9a-f]{32}|[0-9a-f]{64})$/i;
const base64url = /^([\w-]{22}|[\w-]{43})$/;

/** Whether a key looks like 128 or 256 random bits; words of that length mostly repeat too many characters (security R120). */
const isRandomKey = (key: string): boolean =>
  uuidV4.test(key) || hexadecimal.test(key) || (base64url.test(key) && new Set(key).size >= 12);

/** The stored hashes of a request's Idempotency-Key and body. @throws OAuthError invalid_request for a malformed key */
export function idempotencyKey(
  request: FastifyRequest,
  body: unknown,
): { keyHash: Buffer; bodyHash: Buffer } | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !isRandomKey(key)) {
    throw invalidRequest(
      'Idempotency-Key must be random: a UUIDv4, 32 or 64 hexadecimal digits, or 16 or 32 bytes in base64url without padding',
    );
  }
  return {
    keyHash: digest('idempotency', key),
    bodyHash: createHash('sha256').update(JSON.stringify(body)).digest(),
  };
}
