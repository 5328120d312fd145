// Reads and writes messages in an address (SAML Bindings 3.4), and in a form (3.5): deflated, encoded, and signed over the octets of the query.
import { type KeyObject, sign } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { maxBytes } from './reader/bounds.ts';
import { isSignedBy } from './reader/signature.ts';
import { SamlRefused } from './refused.ts';
import { signingAlgorithm } from './signing.ts';

export type MessageName = 'SAMLRequest' | 'SAMLResponse';

/** Longer ones are dropped (federation 9, SAML Bindings 3.4.3). */
const maxRelayState = 80; // bytes
/** A value that is passed on as it came: never an address of this service. */
export const relayStateOf = (given: string | undefined): string | undefined =>
  given !== undefined && Buffer.byteLength(given) <= maxRelayState ? given : undefined;

export interface QueryMessage {
  name: MessageName;
  /** The inflated bytes. Nothing in them is verified unless `signed`. */
  message: Uint8Array;
  relayState: string | undefined;
  /** Whether a pinned key signed the query: only then this message comes from the holder of the key. */
  signed: boolean;
  /** Whether the query claims a signature. */
  hasSignature: boolean;
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Decodes the value of a form (SAML Bindings 3.5.4). @throws SamlRefused */
export function decodedForm(value: string): Uint8Array {
  // some senders break the lines
  const text = value.replace(/[\r\n\t ]+/g, '');
  if (text.length > Math.ceil(maxBytes / 3) * 4) throw new SamlRefused('weight', 'the message is too large');
  if (!base64.test(text)) throw new SamlRefused('form', 'the message is not base64');
  return Buffer.from(text, 'base64');
}
export const encodedForm = (xml: string): string => Buffer.from(xml).toString('base64');

/** @throws SamlRefused. Inflating ends at the size that a message may have (federation FR24) */
function inflated(value: string): Uint8Array {
  const packed = decodedForm(value);
  try {
    return inflateRawSync(packed, { maxOutputLength: maxBytes });
  } catch (cause) {
    const isLarge = cause instanceof RangeError || (cause as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE';
    throw new SamlRefused(isLarge ? 'weight' : 'form', 'the message cannot be inflated', cause);
  }
}

/**
 * Reads a message from a query, and verifies the signature over the octets as they came (SAML Bindings 3.4.4.1).
 * @param query without the question mark
 * @param keys the pinned keys of the sender
 * @throws SamlRefused
 */
export function readQuery(query: string, keys: readonly KeyObject[]): QueryMessage {
  const raw = new Map<string, string>();
  for (const pair of query.split('&')) {
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
    if (!['SAMLRequest', 'SAMLResponse', 'RelayState', 'SigAlg', 'Signature', 'SAMLEncoding'].includes(name)) continue;
    // two readers could take two of them
    if (raw.has(name)) throw new SamlRefused('form', 'a parameter is repeated');
    raw.set(name, value);
  }
  const names = (['SAMLRequest', 'SAMLResponse'] as const).filter((name) => raw.has(name));
  const [name] = names;
  if (name === undefined || names.length > 1) throw new SamlRefused('form', 'there is not one message');
  const encoding = raw.get('SAMLEncoding');
  if (encoding !== undefined && unescaped(encoding) !== 'urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE')
    throw new SamlRefused('form', 'the message has another encoding');
  const [signature, algorithm] = [raw.get('Signature'), raw.get('SigAlg')];
  const covered = [name, 'RelayState', 'SigAlg'].flatMap((one) => (raw.has(one) ? [`${one}=${raw.get(one)!}`] : []));
  const signed =
    signature !== undefined &&
    algorithm !== undefined &&
    isSignedBy(keys, unescaped(algorithm), Buffer.from(covered.join('&')), decodedForm(unescaped(signature)));
  const relayState = raw.get('RelayState');
  return {
    name,
    message: inflated(unescaped(raw.get(name)!)),
    relayState: relayState === undefined ? undefined : unescaped(relayState),
    signed,
    hasSignature: signature !== undefined || algorithm !== undefined,
  };
}

/** @throws SamlRefused */
function unescaped(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', '%20'));
  } catch (cause) {
    throw new SamlRefused('form', 'the query is not well-formed', cause);
  }
}

/**
 * Writes the address that carries a message, signed by RSA-SHA256 if there is a key.
 * @param uri the registered address of the other side
 */
export function addressWith(
  uri: string,
  { name, xml, relayState }: { name: MessageName; xml: string; relayState?: string | undefined },
  key?: KeyObject,
): string {
  const parts = [`${name}=${encodeURIComponent(deflateRawSync(xml).toString('base64'))}`];
  if (relayState !== undefined) parts.push(`RelayState=${encodeURIComponent(relayState)}`);
  if (key) {
    parts.push(`SigAlg=${encodeURIComponent(signingAlgorithm)}`);
    const signature = sign('sha256', Buffer.from(parts.join('&')), key).toString('base64');
    parts.push(`Signature=${encodeURIComponent(signature)}`);
  }
  const [before, fragment] = uri.split('#', 2) as [string, string?];
  const joined = `${before}${before.includes('?') ? '&' : '?'}${parts.join('&')}`;
  return fragment === undefined ? joined : `${joined}#${fragment}`;
}
