// Reads a response: verifies the signature of its assertion, or of the whole, and decrypts the assertion first (federation FR21, FR27).
import type { KeyObject } from 'node:crypto';
import { ns } from '../names.ts';
import { SamlRefused } from '../refused.ts';
import { decryptedAssertion } from './encryption.ts';
import { elementsOf, isNamed, type ParsedXml, parseXml, type XmlElement } from './elements.ts';
import { signaturesIn, verifiedBySignature } from './signature.ts';

export interface ReadResponse {
  /**
   * The response. If only the assertion is signed, no key vouches for it: its members can make the answer refused, and no value comes from them.
   * It has no assertion then.
   */
  response: XmlElement;
  /** The parse of the verified bytes. */
  assertion: XmlElement;
}

const form = (message: string) => new SamlRefused('form', message);
const isAssertion = ({ name }: XmlElement) => name === 'Assertion' || name === 'EncryptedAssertion';

/**
 * @param keys the pinned keys of the identity provider
 * @param decryptionKeys the private keys of this service, of which one decrypts an encrypted assertion
 * @throws SamlRefused
 */
export async function readResponse(
  given: Uint8Array | string,
  keys: readonly KeyObject[],
  decryptionKeys: readonly KeyObject[] = [],
): Promise<ReadResponse> {
  const document = parseXml(given);
  const { root } = document;
  if (!isNamed(root, ns.protocol, 'Response')) throw form('it is no response');
  const [assertion, second] = [...elementsOf(root)].filter(isAssertion);
  if (!assertion || second || !root.children.includes(assertion)) throw form('there is not one assertion at its place');
  if (assertion.namespace !== ns.assertion) throw form('the assertion is of another namespace');
  const isEncrypted = assertion.name === 'EncryptedAssertion';
  const signatures = signaturesIn(root);
  const ofRoot = signatureOf(root, signatures);
  const ofAssertion = isEncrypted ? undefined : signatureOf(assertion, signatures);
  if (signatures.length !== Number(!!ofRoot) + Number(!!ofAssertion)) throw form('a signature is at another place');
  if (!isEncrypted && signatures.length === 0) throw new SamlRefused('signature', 'there is no signature');
  const response = ofRoot && verifiedBySignature(document, { signature: ofRoot, parent: root }, keys);
  if (isEncrypted) {
    const inner = await decryptedAssertion(assertion, decryptionKeys);
    return { response: response ?? withoutAssertion(root), assertion: verifiedInside(parseXml(inner), keys) };
  }
  const verified = ofAssertion && verifiedBySignature(document, { signature: ofAssertion, parent: assertion }, keys);
  return {
    response: response ?? withoutAssertion(root),
    assertion: verified ?? theAssertionOf(response!),
  };
}

/** Anybody can encrypt for this service: the decrypted assertion has a signature of its own (federation F43). */
function verifiedInside(document: ParsedXml, keys: readonly KeyObject[]): XmlElement {
  const { root } = document;
  const signatures = signaturesIn(root);
  const signature = signatureOf(root, signatures);
  const isOne = isNamed(root, ns.assertion, 'Assertion') && [...elementsOf(root)].filter(isAssertion).length === 1;
  if (!isOne || !signature || signatures.length !== 1) throw new SamlRefused('signature', 'it is not signed inside');
  return verifiedBySignature(document, { signature, parent: root }, keys);
}

/** The signature among the children of an element. */
function signatureOf(element: XmlElement, signatures: readonly XmlElement[]): XmlElement | undefined {
  const found = element.children.filter((child) => signatures.includes(child));
  if (found.length > 1) throw form('an element has two signatures');
  return found[0];
}

/** In the verified bytes of a response, too, there is one assertion at its place. */
function theAssertionOf(response: XmlElement): XmlElement {
  const [found, second] = [...elementsOf(response)].filter(isAssertion);
  if (!found || second || !response.children.includes(found) || !isNamed(found, ns.assertion, 'Assertion'))
    throw form('there is not one assertion at its place');
  return found;
}

const withoutAssertion = (root: XmlElement): XmlElement => ({
  ...root,
  children: root.children.filter((child) => !isAssertion(child)),
});
