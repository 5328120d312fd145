// Signs an element of our own messages by RSA-SHA256, with the signature as its child (SAML Core 5.4).
import type { KeyObject } from 'node:crypto';
import { xmlSignatures } from './libraries.ts';
import { enveloped, exclusive, ns } from './names.ts';

export const signingAlgorithm = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';

export interface SigningKey {
  privateKey: KeyObject;
  /** PEM. It goes into KeyInfo, which tells the other side which of our published keys signed. */
  certificate: string;
}

/**
 * Signs the element with this id. The signature stands after its Issuer, as the schema asks.
 * @param id one that this service made, and that stands in the text once
 */
export function signElement(xml: string, id: string, { privateKey, certificate }: SigningKey): string {
  if (!/^[A-Za-z_][\w.-]*$/.test(id)) throw new TypeError('an id of another form');
  const { SignedXml } = xmlSignatures();
  const signed = new SignedXml({
    privateKey,
    publicCert: certificate,
    signatureAlgorithm: signingAlgorithm,
    canonicalizationAlgorithm: exclusive,
  });
  const path = `//*[@ID='${id}']`;
  signed.addReference({
    xpath: path,
    transforms: [enveloped, exclusive],
    digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha256',
  });
  const issuer = `${path}/*[local-name(.)='Issuer' and namespace-uri(.)='${ns.assertion}']`;
  signed.computeSignature(xml, { prefix: 'ds', location: { reference: issuer, action: 'after' } });
  return signed.getSignedXml();
}
