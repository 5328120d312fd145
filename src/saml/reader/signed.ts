// Reads a message whose root is signed: what it returns is the parse of the verified bytes alone (federation FR20).
import type { KeyObject } from 'node:crypto';
import { SamlRefused } from '../refused.ts';
import { isNamed, parseXml, type XmlElement } from './elements.ts';
import { signaturesIn, verifiedBySignature } from './signature.ts';

export interface Expected {
  namespace: string;
  name: string;
}

/** Reads a message that needs no signature in it: its sender signed the address, or need not sign. @throws SamlRefused */
export function readUnsigned(given: Uint8Array | string, expected: Expected): XmlElement {
  const { root } = parseXml(given);
  if (!isNamed(root, expected.namespace, expected.name)) throw new SamlRefused('form', 'it is another message');
  return root;
}

/** Whether a message has a signature anywhere. A signature that the reader would not verify must not go unnoticed. */
export const hasSignature = (root: XmlElement): boolean => signaturesIn(root).length > 0;

/**
 * Reads a message that must have one signature by a pinned key, as a child of its root and over the root.
 * @param keys the pinned keys: a key in the message is never used. Without a key nothing is admitted (federation FR22)
 * @throws SamlRefused
 */
export function readSigned(given: Uint8Array | string, keys: readonly KeyObject[], expected: Expected): XmlElement {
  const document = parseXml(given);
  const { root } = document;
  if (!isNamed(root, expected.namespace, expected.name)) throw new SamlRefused('form', 'it is another message');
  const [signature, second] = signaturesIn(root);
  if (!signature || second || !root.children.includes(signature))
    throw new SamlRefused('signature', 'there is not one signature, as a child of the root');
  return verifiedBySignature(document, { signature, parent: root }, keys);
}
