// Makes messages of SAML for tests: an identity provider that signs what the test says, also what no honest one would.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SignedXml } from 'xml-crypto';
import { makeKeyWithCertificate } from '../../src/saml/certificates.ts';
import { ns } from '../../src/saml/names.ts';

export interface TestKey {
  privateKey: KeyObject;
  certificate: string;
}

const keys = new Map<string, Promise<TestKey>>();
/** A key for the tests of a file. The same name gives the same key. */
export function testKey(name: string): Promise<TestKey> {
  const made = keys.get(name) ?? makeKeyWithCertificate(name, new Date());
  keys.set(name, made);
  return made;
}

const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';

export interface Signing {
  algorithm?: string;
  digest?: string;
  canonicalization?: string;
  transforms?: string[];
  /** Prefixes of namespaces that the canonicalization includes. */
  prefixes?: string[];
}

/** Signs the element with this id, by whatever algorithms the test names. */
export function signed(xml: string, id: string, { privateKey, certificate }: TestKey, how: Signing = {}): string {
  const signer = new SignedXml({
    privateKey,
    publicCert: certificate,
    signatureAlgorithm: how.algorithm ?? 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: (how.canonicalization ?? exclusive) as typeof exclusive,
  });
  signer.addReference({
    xpath: `//*[@ID='${id}']`,
    transforms: how.transforms ?? [enveloped, exclusive],
    digestAlgorithm: how.digest ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
    ...(how.prefixes && { inclusiveNamespacesPrefixList: how.prefixes }),
  });
  const issuer = `//*[@ID='${id}']/*[local-name(.)='Issuer']`;
  signer.computeSignature(xml, { prefix: 'ds', location: { reference: issuer, action: 'after' } });
  return signer.getSignedXml();
}

export interface AssertionParts {
  id?: string;
  issuer?: string;
  nameId?: string;
  nameIdAttributes?: string;
  audience?: string;
  recipient?: string;
  inResponseTo?: string | undefined;
  now?: Date;
  /** Replaces parts of the text before it is signed. */
  edit?(xml: string): string;
  attributes?: Readonly<Record<string, string | string[]>>;
  sessionIndex?: string;
  context?: string;
}

export const time = (now: Date, seconds = 0): string =>
  new Date(now.getTime() + seconds * 1000).toISOString().replace(/\.\d{3}Z$/, 'Z');

/** An assertion as large identity providers write it. */
export function assertion(parts: AssertionParts = {}): string {
  const {
    id = '_a1',
    issuer = 'https://idp.example/entity',
    nameId = 'ann-1',
    nameIdAttributes = ' Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"',
    audience = 'https://sp.example/metadata',
    recipient = 'https://sp.example/acs',
    inResponseTo = '_request',
    now = new Date(),
    edit = (xml: string) => xml,
    attributes = {},
    sessionIndex = '_session1',
    context = 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
  } = parts;
  const isAnswer = !('inResponseTo' in parts) || parts.inResponseTo !== undefined;
  const values = Object.entries(attributes).map(
    ([name, value]) =>
      `<saml:Attribute Name="${name}">${[value]
        .flat()
        .map((one) => `<saml:AttributeValue>${one}</saml:AttributeValue>`)
        .join('')}</saml:Attribute>`,
  );
  return edit(
    `<saml:Assertion xmlns:saml="${ns.assertion}" ID="${id}" Version="2.0" IssueInstant="${time(now)}"><saml:Issuer>${issuer}</saml:Issuer>` +
      `<saml:Subject><saml:NameID${nameIdAttributes}>${nameId}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">` +
      `<saml:SubjectConfirmationData${isAnswer ? ` InResponseTo="${inResponseTo}"` : ''} NotOnOrAfter="${time(now, 300)}" Recipient="${recipient}"/></saml:SubjectConfirmation></saml:Subject>` +
      `<saml:Conditions NotBefore="${time(now, -60)}" NotOnOrAfter="${time(now, 300)}"><saml:AudienceRestriction><saml:Audience>${audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>` +
      `<saml:AuthnStatement AuthnInstant="${now.toISOString()}" SessionIndex="${sessionIndex}"><saml:AuthnContext><saml:AuthnContextClassRef>${context}</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>` +
      `${values.length > 0 ? `<saml:AttributeStatement>${values.join('')}</saml:AttributeStatement>` : ''}</saml:Assertion>`,
  );
}

export interface ResponseParts {
  id?: string;
  issuer?: string;
  destination?: string;
  inResponseTo?: string | undefined;
  status?: string;
  now?: Date;
  edit?(xml: string): string;
}

export function response(inside: string, parts: ResponseParts = {}): string {
  const {
    id = '_r1',
    issuer = 'https://idp.example/entity',
    destination = 'https://sp.example/acs',
    inResponseTo = '_request',
    status = '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/>',
    now = new Date(),
    edit = (xml: string) => xml,
  } = parts;
  const isAnswer = !('inResponseTo' in parts) || parts.inResponseTo !== undefined;
  return edit(
    `<samlp:Response xmlns:samlp="${ns.protocol}" ID="${id}" Version="2.0" IssueInstant="${time(now)}" Destination="${destination}"${isAnswer ? ` InResponseTo="${inResponseTo}"` : ''}>` +
      `<saml:Issuer xmlns:saml="${ns.assertion}">${issuer}</saml:Issuer><samlp:Status>${status}</samlp:Status>${inside}</samlp:Response>`,
  );
}

/** A signature with an algorithm that xml-crypto does not make, such as HMAC or ECDSA. */
export function signedBy(xml: string, id: string, algorithm: string, sign: (material: string) => string): string {
  const signer = new SignedXml({
    privateKey: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey,
    signatureAlgorithm: algorithm,
    canonicalizationAlgorithm: exclusive,
    getKeyInfoContent: () => null,
  });
  signer.SignatureAlgorithms = {
    [algorithm]: class {
      getAlgorithmName = () => algorithm;
      getSignature = (material: unknown) => sign(String(material));
      verifySignature = () => false;
    },
  };
  signer.addReference({
    xpath: `//*[@ID='${id}']`,
    transforms: [enveloped, exclusive],
    digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha256',
  });
  const issuer = `//*[@ID='${id}']/*[local-name(.)='Issuer']`;
  signer.computeSignature(xml, { prefix: 'ds', location: { reference: issuer, action: 'after' } });
  return signer.getSignedXml();
}
