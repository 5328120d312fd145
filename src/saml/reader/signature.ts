// Verifies XML signatures by pinned keys, and reads only the bytes that a signature covers (federation FR20 to FR23).
import { constants, type KeyObject, verify } from 'node:crypto';
import { xmlSignatures } from '../libraries.ts';
import { enveloped, exclusive, ns } from '../names.ts';
import { SamlRefused } from '../refused.ts';
import { childOf, elementsOf, isNamed, type ParsedXml, parseXml, uriOf, type XmlElement } from './elements.ts';

interface Algorithm {
  hash: 'sha256' | 'sha384' | 'sha512';
  key: 'rsa' | 'ec';
  padding?: number;
}

/** By list: no HMAC, whose key would be the certificate, and no SHA-1 (federation FR23). */
export const signatureAlgorithms: Readonly<Record<string, Algorithm>> = {
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': { hash: 'sha256', key: 'rsa' },
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha384': { hash: 'sha384', key: 'rsa' },
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': { hash: 'sha512', key: 'rsa' },
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1': {
    hash: 'sha256',
    key: 'rsa',
    padding: constants.RSA_PKCS1_PSS_PADDING,
  },
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256': { hash: 'sha256', key: 'ec' },
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384': { hash: 'sha384', key: 'ec' },
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512': { hash: 'sha512', key: 'ec' },
};
/** Characters of a list of prefixes. */
const maxPrefixes = 500;
const digests = ['http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2001/04/xmlenc#sha512'];

/** Verifies a signature over bytes by one of the pinned keys. @param algorithm the URI; false for one that is not in the list */
export function isSignedBy(keys: readonly KeyObject[], algorithm: string, data: Uint8Array, signature: Uint8Array) {
  const known = Object.hasOwn(signatureAlgorithms, algorithm) ? signatureAlgorithms[algorithm]! : undefined;
  return known !== undefined && keys.some((key) => verifies(known, key, data, signature));
}

function verifies({ hash, key: type, padding }: Algorithm, key: KeyObject, data: Uint8Array, signature: Uint8Array) {
  if (key.asymmetricKeyType !== type) return false;
  const how = type === 'ec' ? { key, dsaEncoding: 'ieee-p1363' as const } : { key, ...(padding && { padding }) };
  return verify(hash, data, how, signature);
}

/** The algorithm in the form that xml-crypto asks for. */
function verifierOf(uri: string, algorithm: Algorithm) {
  return class {
    getAlgorithmName = () => uri;
    getSignature = (): never => {
      throw new SamlRefused('form', 'this algorithm only verifies');
    };
    verifySignature = (material: string, key: unknown, value: string): boolean =>
      // the reader gives the key, which is one of the pinned keys
      verifies(algorithm, key as KeyObject, Buffer.from(material), Buffer.from(value, 'base64'));
  };
}
const verifiers = Object.fromEntries(
  Object.entries(signatureAlgorithms).map(([uri, algorithm]) => [uri, verifierOf(uri, algorithm)]),
);

const refused = (message: string) => new SamlRefused('signature', message);
const algorithmOf = (element: XmlElement): string | undefined => element.attributes.get('Algorithm');

/** All signatures, of whatever namespace: a message has them only where the reader looks for them. */
export const signaturesIn = (root: XmlElement): XmlElement[] =>
  [...elementsOf(root)].filter(({ name }) => name === 'Signature');

/**
 * Verifies the signature of an element, which is its child.
 * @returns the parse of the bytes that the signature covers: nothing else of the message may be read
 * @throws SamlRefused
 */
export function verifiedBySignature(
  document: ParsedXml,
  { signature, parent }: { signature: XmlElement; parent: XmlElement },
  keys: readonly KeyObject[],
): XmlElement {
  const id = admitSignature(signature, parent);
  const key = signerOf(document, signature, keys);
  const bytes = key && verifiedBytes(document, signature, key);
  if (bytes === undefined) throw refused('no pinned key made the signature');
  const { root } = parseXml(bytes);
  if (!isNamed(root, parent.namespace, parent.name) || root.attributes.get('ID') !== id)
    throw refused('the signature covers another element');
  return root;
}

/**
 * The pinned key that signed the SignedInfo. It is small, and stands before the work on all that it covers: a message that no pinned key signed costs no
 * more than its parse (federation FR24).
 */
function signerOf({ nodeOf }: ParsedXml, signature: XmlElement, keys: readonly KeyObject[]): KeyObject | undefined {
  const { ExclusiveCanonicalization, findAncestorNs } = xmlSignatures();
  const info = part(signature, 'SignedInfo');
  const algorithm = algorithmOf(part(info, 'SignatureMethod'))!;
  // the package asks for a document, and takes every node
  const ancestorNamespaces = findAncestorNs(nodeOf(signature) as Document, "./*[local-name(.)='SignedInfo']");
  const canonical = new ExclusiveCanonicalization().process(nodeOf(info) as Element, { ancestorNamespaces });
  const value = Buffer.from(uriOf(part(signature, 'SignatureValue')), 'base64');
  return keys.find((key) => isSignedBy([key], algorithm, Buffer.from(canonical), value));
}

function verifiedBytes({ text, nodeOf }: ParsedXml, signature: XmlElement, key: KeyObject): string | undefined {
  const { SignedXml } = xmlSignatures();
  const signed = new SignedXml({ publicCert: key, getCertFromKeyInfo: () => null });
  signed.SignatureAlgorithms = verifiers;
  try {
    signed.loadSignature(nodeOf(signature));
    if (!signed.checkSignature(text)) return undefined;
  } catch {
    // a wrong digest and a wrong signature look the same (federation FR27)
    return undefined;
  }
  const covered = signed.getSignedReferences();
  return covered.length === 1 ? covered[0] : undefined;
}

/** Admits one form of signature: one reference, to the parent by its id, with two transforms. @returns the id @throws SamlRefused */
function admitSignature(signature: XmlElement, parent: XmlElement): string {
  only(signature, ['SignedInfo', 'SignatureValue'], ['KeyInfo']);
  const info = part(signature, 'SignedInfo');
  only(info, ['CanonicalizationMethod', 'SignatureMethod', 'Reference']);
  const canonicalization = part(info, 'CanonicalizationMethod');
  if (algorithmOf(canonicalization) !== exclusive) throw refused('the canonicalization is not exclusive');
  admitPrefixes(canonicalization);
  const method = part(info, 'SignatureMethod');
  only(method, []);
  if (!Object.hasOwn(signatureAlgorithms, algorithmOf(method) ?? '')) throw refused('the algorithm is not in the list');
  const reference = part(info, 'Reference');
  only(reference, ['Transforms', 'DigestMethod', 'DigestValue']);
  const id = parent.attributes.get('ID');
  if (id === undefined || reference.attributes.get('URI') !== `#${id}`)
    throw refused('the signature is not over its parent');
  const { children: transforms } = part(reference, 'Transforms');
  if (transforms.length !== 2 || !transforms.every((one) => isNamed(one, ns.signature, 'Transform')))
    throw refused('there are not two transforms');
  if (algorithmOf(transforms[0]!) !== enveloped || algorithmOf(transforms[1]!) !== exclusive)
    throw refused('a transform is not in the list');
  only(transforms[0]!, []);
  admitPrefixes(transforms[1]!);
  const digest = part(reference, 'DigestMethod');
  only(digest, []);
  if (!digests.includes(algorithmOf(digest) ?? '')) throw refused('the digest is not in the list');
  for (const [where, name] of [
    [reference, 'DigestValue'],
    [signature, 'SignatureValue'],
  ] as const)
    if (!/^[A-Za-z0-9+/=\s]+$/.test(uriOf(part(where, name)))) throw refused(`${name} is not base64`);
  return id;
}

/** Exclusive canonicalization may name some prefixes, and has nothing else. Each name is compared with each namespace of the message. */
function admitPrefixes({ children }: XmlElement): void {
  const [one, second] = children;
  if (!one) return;
  const list = one.attributes.get('PrefixList') ?? '';
  if (second || !isNamed(one, exclusive, 'InclusiveNamespaces') || one.children.length > 0 || list.length > maxPrefixes)
    throw refused('a canonicalization has other parameters');
}

/** In the order of the schema: the package takes the first element of a name anywhere in a signature, so none may stand before that of this reader. */
function only({ name, children }: XmlElement, needed: readonly string[], optional: readonly string[] = []): void {
  const names = children.map((child) => (child.namespace === ns.signature ? child.name : ''));
  const expected = [...needed, ...optional.filter((one) => names.includes(one))];
  if (names.join(' ') !== expected.join(' ')) throw refused(`${name} has other elements than it may`);
}

function part(element: XmlElement, name: string): XmlElement {
  const found = childOf(element, ns.signature, name);
  if (!found) throw refused(`${name} is missing`);
  return found;
}
