// Reads a message of a SAML application: who sent it, and whether one of its pinned keys signed it (federation F45, F48).
import type { KeyObject } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { addressFacts } from '../../rules/clients/redirect-addresses.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { shownText } from '../../oauth/shown-address.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Store } from '../../repositories/store.ts';
import { readCertificate } from '../../saml/certificates.ts';
import { issuerOf } from '../../saml/identity-provider/authn-request.ts';
import { ns } from '../../saml/names.ts';
import type { XmlElement } from '../../saml/reader/elements.ts';
import { hasSignature, readSigned, readUnsigned } from '../../saml/reader/signed.ts';
import { decodedForm, readQuery } from '../../saml/redirect-binding.ts';
import { SamlRefused } from '../../saml/refused.ts';
import { singleValued } from '../../server/parameters.ts';

/** A SAML application. */
export interface SamlClient extends Client {
  entityId: string;
  acsUris: string[];
}

/** Whether it signs users in: an application of the kind saml that is enabled. */
export const isSamlClient = (client: Client | undefined): client is SamlClient =>
  client?.kind === 'saml' &&
  client.status === 'enabled' &&
  client.entityId !== undefined &&
  client.acsUris !== undefined;

export interface ReceivedMessage {
  client: SamlClient;
  /** What may be read: if the message is signed, the parse of what the signature covers. */
  element: XmlElement;
  /** Whether a pinned key of the application signed it. */
  signed: boolean;
  relayState: string | undefined;
  binding: 'redirect' | 'post';
}

export interface MessageDependencies {
  store: Pick<Store, 'clients'>;
  clients: ClientCache;
}

/** Why a message gets no answer: nothing may be sent to an address that it names. */
export const untrusted = (cause: string, facts = {}): OAuthError =>
  new OAuthError('invalid_request', 'the SAML message cannot be answered', 400, { cause, facts });

/** Turns what the reader does not admit into the refusal of the request. */
export async function admitted<T>(work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SamlRefused)) throw error;
    const status = error.reason === 'weight' ? 413 : 400;
    throw new OAuthError('invalid_request', 'the SAML message cannot be read', status, { cause: error.message });
  }
}

/** The pinned keys of an application. */
const keysOf = ({ certificates = [] }: Client): KeyObject[] =>
  certificates.flatMap((text) => readCertificate(text)?.publicKey ?? []);

/**
 * @param name of the message's element
 * @throws OAuthError if the message is not admitted, its Issuer is no enabled application, or its signature is wrong
 */
export async function receivedMessage(
  { store, clients }: MessageDependencies,
  request: FastifyRequest,
  name: 'AuthnRequest' | 'LogoutRequest',
): Promise<ReceivedMessage> {
  const expected = { namespace: ns.protocol, name };
  const binding = request.method === 'POST' ? 'post' : 'redirect';
  return admitted(async () => {
    const [, query = ''] = /\?([^#]*)/.exec(request.raw.url ?? '') ?? [];
    const form = singleValued(request.body);
    const read =
      binding === 'post'
        ? { message: decodedForm(form['SAMLRequest'] ?? ''), relayState: form['RelayState'], hasSignature: false }
        : readQuery(query, []);
    if ('name' in read && read.name !== 'SAMLRequest') throw untrusted('the message is no request');
    const root = readUnsigned(read.message, expected);
    const issuer = issuerOf(root);
    const client = await findByEntity(issuer);
    const keys = keysOf(client);
    const received = { client, relayState: read.relayState, binding } as const;
    // without a key nothing can be verified, and nothing counts as signed
    if (keys.length === 0) return { ...received, element: root, signed: false };
    if (read.hasSignature) {
      if (!readQuery(query, keys).signed)
        throw untrusted('no certificate of the application fits the signature', facts(client));
      return { ...received, element: root, signed: true };
    }
    if (!hasSignature(root)) return { ...received, element: root, signed: false };
    const element = readSigned(read.message, keys, expected);
    if (issuerOf(element) !== issuer) throw untrusted('the signature covers another Issuer', facts(client));
    return { ...received, element, signed: true };
  });

  async function findByEntity(entityId: string): Promise<SamlClient> {
    const id = await store.clients.findIdByEntity(entityId);
    const client =
      id === undefined
        ? undefined
        : await clients.find(id, (known) => isSamlClient(known) && known.entityId === entityId);
    if (!isSamlClient(client))
      throw untrusted(client ? 'the application is not enabled' : 'there is no SAML application with this entity ID', {
        entity_id: shownText(entityId),
        ...(client && facts(client)),
      });
    return client;
  }
}

export const facts = (client: Client, sent?: string) =>
  addressFacts({ clientId: client.clientId, sent }, client, client.acsUris);
